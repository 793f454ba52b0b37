"""A plain reduction, and what all reductions are asked: state, elements, lanes, blocks, chunks.

*Plain* ones fold every element into one accumulator a lane. Of those that keep more (`sums.py`, `extremes.py`) some are
blocked: what only these are asked stands here without a body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import F32, DType
from jitflow.ir.types import Tensor, Vector

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.elements import Elements

__all__ = ["IDENTITY", "Reduction", "highest", "lowest"]


def lowest(dtype: DType) -> object:
    """What every number of a dtype is above, or equal to."""
    if dtype.is_complex:
        return complex(-np.inf, -np.inf)
    if dtype.is_float:
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype.numpy).min)


def highest(dtype: DType) -> object:
    """What every number of a dtype is below, or equal to."""
    if dtype.is_complex:
        return complex(np.inf, np.inf)
    if dtype.is_float:
        return np.inf
    return True if dtype.kind == "b" else int(np.iinfo(dtype.numpy).max)


def _all_bits(dtype: DType) -> object:
    return True if dtype.kind == "b" else (-1 if dtype.kind == "i" else int(np.iinfo(dtype.numpy).max))


IDENTITY: dict[str, Callable[[DType], object]] = {
    "add": lambda dtype: 0,
    "multiply": lambda dtype: 1,
    "maximum": lowest,
    "minimum": highest,
    "fmax": lambda dtype: np.nan if dtype.is_float else lowest(dtype),
    "fmin": lambda dtype: np.nan if dtype.is_float else highest(dtype),
    "logical_and": lambda dtype: True,
    "logical_or": lambda dtype: False,
    "logical_xor": lambda dtype: False,
    "bitwise_and": _all_bits,
    "bitwise_or": lambda dtype: False if dtype.kind == "b" else 0,
    "bitwise_xor": lambda dtype: False if dtype.kind == "b" else 0,
}


def _zero(dtype: DType) -> object:
    return 0


class Reduction:
    """A plain reduction: one accumulator, folded with one op."""

    blocked = False
    second_phase = False
    located = False
    running = False
    """Whether what it has come to is a result after each element."""

    def __init__(self, op: Op, lowering: Elements) -> None:
        self.op = op
        self.lowering = lowering
        self.emitter = lowering.emitter
        self.operand = lowering.nest.origin(op.operands[0])
        self.fold = op.name.removeprefix("reduce_")
        operand = op.operands[0].type
        assert isinstance(operand, Tensor)
        self.dtype = operand.dtype
        self.accumulator = (
            F32 if self.dtype.name in ("f16", "bf16") and self.fold in ("add", "m2", "multiply") else self.dtype
        )
        self.lanes = lowering.lanes
        self.state: list[Value] = []
        """What blocks have come to, or all elements where there are none."""
        self.sums: list[Value] = []
        """What the elements of a block come to."""
        self.deviations: list[Value] = []
        """Sums of their deviations from its mean, and of the squares of these."""
        self.count: Value
        """How many elements its block has, where it is gone over twice."""
        self.places: list[Value] = []
        """Where its extreme is, as far as it has been searched."""

    # State

    def begin(self) -> None:
        """Set ``state`` to what it is before any element."""
        self.state = [self.lanes_of(IDENTITY[self.fold](self.accumulator), self.accumulator)]

    def nothing(self) -> Sequence[Value]:
        """What ``state`` is, when it is closed, before any element."""
        lanes, self.lanes = self.lanes, 0 if self.lowering.horizontal else self.lanes
        self.begin()
        self.lanes = lanes
        return self.state

    def lanes_of(self, number: object, dtype: DType) -> Value:
        """A constant shaped as the accumulators are."""
        return self.emitter.number(number, dtype, self.lanes)

    def element(self, identity: object) -> Value:
        """The operand's lanes at this position, as accumulators; lanes past the end of a row are the identity."""
        value = self.lowering.value(self.op.operands[0])
        if self.accumulator != self.dtype:
            value = self.emitter.elementwise("cast", value, dtype=self.accumulator)
        if self.lanes:
            value = self.emitter.splat(value, self.lanes)
        if self.lowering.horizontal and self.lowering.mask is not None:
            other = self.lanes_of(identity, self.accumulator)
            value = self.emitter.elementwise("select", self.lowering.mask, value, other)
        return value

    def step(self) -> None:
        """Fold the element at this position into ``state``."""
        element = self.element(IDENTITY[self.fold](self.accumulator))
        self.state = [self.emitter.elementwise(self.fold, self.state[0], element)]

    def close(self) -> None:
        """Fold the lanes of ``state`` into one, if they belong to one row: behind a chunk."""
        self.state = [self.folded(self.state[0], self.fold)]

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        """The state behind ``before``, the closed one of what comes earlier, and this one, which is closed too."""
        return [self.emitter.elementwise(self.fold, *before, *self.state)]

    def finish(self) -> Value:
        """The result: lanes folded into one number if they belong to one row."""
        return self.narrow(self.folded(self.state[0], self.fold))

    def folded(self, value: Value, fold: str) -> Value:
        if self.lowering.horizontal and isinstance(value.type, Vector):
            return self.emitter.emit("fold_lanes", value, combine=fold)
        return value

    def narrow(self, value: Value) -> Value:
        return value if self.accumulator == self.dtype else self.emitter.elementwise("cast", value, dtype=self.dtype)

    # Ends before the last element

    def undecided(self) -> Value:
        """Whether elements to come may change the result."""
        return self._none_holds(self.state[0], self.fold == "logical_or")

    def _none_holds(self, flags: Value, wanted: bool) -> Value:
        """Whether no lane of ``flags`` is as wanted."""
        arithmetic = self.emitter.elementwise
        found = flags if wanted else arithmetic("logical_not", flags)
        if isinstance(found.type, Vector):
            found = self.emitter.emit("any_lane", found)
        return arithmetic("logical_not", found)

    # Loops that are written out

    def visit_step(self, elements: list[Value]) -> None:
        """Note the element at this step."""
        elements.append(self.element(IDENTITY.get(self.fold, _zero)(self.accumulator)))

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        """Fold the elements of all steps into ``state``."""
        self.state = [self.tree(self.fold, elements)]

    def tree(self, fold: str, elements: list[Value]) -> Value:
        """The elements folded as the lanes of a vector are: halves onto each other."""
        values = list(elements)
        half = 1 << max(len(values) - 1, 0).bit_length()
        while half > 1:
            half //= 2
            for position in range(half, len(values)):
                values[position - half] = self.emitter.elementwise(fold, values[position - half], values[position])
            del values[half:]
        return values[0]

    # Blocks: only blocked reductions have them

    def partial(self) -> Value:
        return self.lanes_of(0, self.accumulator)

    def accumulate(self, partial: Value) -> Value:
        return self.emitter.elementwise("add", partial, self.element(0))

    def combine(self, total: Value, first: Value | None = None) -> None:
        raise NotImplementedError

    def centre(self, total: Value, count: Value) -> None:
        raise NotImplementedError

    def no_deviations(self) -> Sequence[Value]:
        raise NotImplementedError

    def deviate(self, pair: Sequence[Value]) -> Sequence[Value]:
        raise NotImplementedError

    def combine_moments(self, pair: Sequence[Value], count: Value) -> None:
        raise NotImplementedError

    def extreme(self, lanes: Value) -> Value:
        raise NotImplementedError

    def is_better(self, extreme: Value) -> Value:
        raise NotImplementedError

    def begin_search(self, extreme: Value, first: Value) -> None:
        raise NotImplementedError

    def match(self, places: Value) -> Value:
        raise NotImplementedError

    def place(self, places: Value, first: Value) -> Value:
        raise NotImplementedError

    def two_sum(self, left: Value, right: Value) -> tuple[Value, Value]:
        """The sum and its rounding error (Knuth 1969)."""
        arithmetic = self.emitter.elementwise
        total = arithmetic("add", left, right)
        virtual = arithmetic("subtract", total, left)
        lost_left = arithmetic("subtract", left, arithmetic("subtract", total, virtual))
        lost_right = arithmetic("subtract", right, virtual)
        return total, arithmetic("add", lost_left, lost_right)
