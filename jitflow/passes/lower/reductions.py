"""How each reduction keeps its partial results.

*Plain* reductions fold every element into one accumulator a lane. Floating-point sums are *blocked*: plain partial sums
inside a block, and compensated addition between blocks (Knuth's TwoSum), so that the error does not grow with the
length; NumPy's pairwise summation has the same purpose. ``reduce_m2`` takes a second pass over each block while it is
in the cache, around the block's own mean, and joins the blocks by the formula of Chan, Golub and LeVeque (1983). The
position of an extreme of narrow numbers is *located* along a row: each block is folded to its extreme, and searched
once more only if that is better than all before it. Lanes that carry positions would be eight times as wide as a byte.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import F32, I16, I64, DType
from jitflow.ir.types import Tensor, Vector
from jitflow.passes.schedule.folding import BLOCK, folding_of

if TYPE_CHECKING:
    from jitflow.passes.lower.elements import Elements

__all__ = ["Reduction", "reduction_for"]


def _lowest(dtype: DType) -> object:
    if dtype.is_complex:
        return complex(-np.inf, -np.inf)
    if dtype.is_float:
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype.numpy).min)


def _highest(dtype: DType) -> object:
    if dtype.is_complex:
        return complex(np.inf, np.inf)
    if dtype.is_float:
        return np.inf
    return True if dtype.kind == "b" else int(np.iinfo(dtype.numpy).max)


def _all_bits(dtype: DType) -> object:
    return True if dtype.kind == "b" else (-1 if dtype.kind == "i" else int(np.iinfo(dtype.numpy).max))


_IDENTITY: dict[str, Callable[[DType], object]] = {
    "add": lambda dtype: 0,
    "multiply": lambda dtype: 1,
    "maximum": _lowest,
    "minimum": _highest,
    "fmax": lambda dtype: np.nan if dtype.is_float else _lowest(dtype),
    "fmin": lambda dtype: np.nan if dtype.is_float else _highest(dtype),
    "logical_and": lambda dtype: True,
    "logical_or": lambda dtype: False,
    "logical_xor": lambda dtype: False,
    "bitwise_and": _all_bits,
    "bitwise_or": lambda dtype: False if dtype.kind == "b" else 0,
    "bitwise_xor": lambda dtype: False if dtype.kind == "b" else 0,
}


def _zero(dtype: DType) -> object:
    return 0


def reduction_for(op: Op, lowering: Elements) -> Reduction:
    """The strategy for a reduction op."""
    name = op.name.removeprefix("reduce_")
    if name in ("argmax", "argmin"):
        return ArgReduction(op, lowering)
    if name == "m2":
        return MomentReduction(op, lowering)
    operand = op.operands[0].type
    assert isinstance(operand, Tensor)
    if name == "add" and operand.dtype.kind in "fc":
        return SumReduction(op, lowering)
    return Reduction(op, lowering)


class Reduction:
    """A plain reduction: one accumulator, folded with one op."""

    blocked = False
    second_phase = False
    located = False

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
        self.places: list[Value] = []
        """Where its extreme is, as far as it has been searched."""

    # State

    def begin(self) -> None:
        """Set ``state`` to what it is before any element."""
        self.state = [self.lanes_of(_IDENTITY[self.fold](self.accumulator), self.accumulator)]

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
        element = self.element(_IDENTITY[self.fold](self.accumulator))
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
        elements.append(self.element(_IDENTITY.get(self.fold, _zero)(self.accumulator)))

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


class SumReduction(Reduction):
    """A floating-point sum. State: the sum of blocks and what rounding lost."""

    blocked = True

    def begin(self) -> None:
        zero = self.lanes_of(0, self.accumulator)
        self.state = [zero, zero]

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        zero = self.lanes_of(0, self.accumulator)
        self.state = [self.emitter.elementwise("add", self.tree("add", elements), zero), zero]

    def combine(self, total: Value, first: Value | None = None) -> None:
        """Add a block that starts at ``first``. One at 0 is added to nothing, which short rows need not wait for."""

        def added() -> Sequence[Value]:
            sum_of_blocks, lost = self.state
            sum_of_blocks, error = self.two_sum(sum_of_blocks, total)
            return [sum_of_blocks, self.emitter.elementwise("add", lost, error)]

        def alone() -> Sequence[Value]:
            return [total, self.lanes_of(0, self.accumulator)]

        if first is None or not self.is_one_row:
            self.state = list(added())
        else:
            follows = self.emitter.emit("less", self.emitter.size(0), first)
            self.state = list(self.emitter.either(follows, added, alone))

    def close(self) -> None:
        total, lost = self.state
        lost = self._where_several(lambda: self.folded(lost, "add"), lambda: self.emitter.number(0, self.accumulator))
        self.state = [self.folded(total, "add"), lost]

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        arithmetic = self.emitter.elementwise
        total, error = self.two_sum(before[0], self.state[0])
        return [total, arithmetic("add", arithmetic("add", before[1], self.state[1]), error)]

    def finish(self) -> Value:
        """The sum with what rounding lost, which is nothing in a row of one block."""
        total = self.folded(self.state[0], "add")

        def corrected() -> Value:
            arithmetic = self.emitter.elementwise
            lost = self.folded(self.state[1], "add")
            usable = arithmetic("isfinite", lost)
            return arithmetic("select", usable, arithmetic("add", total, lost), total)

        return self.narrow(self._where_several(corrected, lambda: total))

    def _where_several(self, body: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """What ``body`` gives, or the other where the row is of one block."""
        if not self.is_one_row:
            return body()
        row = self.emitter.size(self.lowering.reduced[0].dim)
        several = self.emitter.emit("less", self.emitter.size(BLOCK), row)
        (found,) = self.emitter.either(several, lambda: [body()], lambda: [otherwise()])
        return found

    @property
    def is_one_row(self) -> bool:
        """Whether what is summed is one row, whose lanes are partial sums."""
        return self.lowering.horizontal and len(self.lowering.reduced) == 1


class MomentReduction(Reduction):
    """Sum of squared deviations. State: count, mean (high and low part), sum of squares around it."""

    blocked = True
    second_phase = True

    def begin(self) -> None:
        lanes = 0 if self.lowering.horizontal else self.lanes
        zero = self.emitter.number(0, self.accumulator, lanes)
        self.state = [zero, zero, zero, zero]
        self.mean: Value
        self.spread_mean: Value

    def centre(self, total: Value, count: Value) -> None:
        self.count = self.emitter.emit("cast", count, dtype=self.accumulator)
        self.mean = self.emitter.elementwise("divide", self.folded(total, "add"), self.count)

    def no_deviations(self) -> Sequence[Value]:
        zero = self.lanes_of(0, self.accumulator)
        return [zero, zero]

    def deviate(self, pair: Sequence[Value]) -> Sequence[Value]:
        """Adds up deviations from the block's mean, and their squares; the former correct the mean's rounding."""
        arithmetic = self.emitter.elementwise
        value = self.lowering.value(self.op.operands[0])
        if self.accumulator != self.dtype:
            value = arithmetic("cast", value, dtype=self.accumulator)
        deviation = arithmetic("subtract", value, self.mean)
        if self.lanes:
            deviation = self.emitter.splat(deviation, self.lanes)
        if self.lowering.horizontal and self.lowering.mask is not None:
            zero = self.lanes_of(0, self.accumulator)
            deviation = arithmetic("select", self.lowering.mask, deviation, zero)
        return [
            arithmetic("add", pair[0], deviation),
            arithmetic("add", pair[1], arithmetic("multiply", deviation, deviation)),
        ]

    def combine_moments(self, pair: Sequence[Value], count: Value) -> None:
        arithmetic = self.emitter.elementwise
        first, second = (self.folded(value, "add") for value in pair)
        low = arithmetic("divide", first, self.count)
        second = arithmetic("subtract", second, arithmetic("multiply", first, low))
        total, mean, mean_low, moment = self._joined(self.state, (self.count, self.mean, low, second))
        self.state = [self._like(total), mean, self._like(mean_low), moment]

    def _joined(self, before: Sequence[Value], part: Sequence[Value]) -> Sequence[Value]:
        """Count, mean, its low part, and the squares around it, of what comes before and of a part behind that."""
        arithmetic = self.emitter.elementwise
        (so_far, mean, mean_low, moment), (count, own, low, second) = before, part
        total = arithmetic("add", so_far, count)
        delta = arithmetic("add", arithmetic("subtract", own, mean), arithmetic("subtract", low, mean_low))
        weight = arithmetic("divide", count, total)
        mean, error = self.two_sum(mean, arithmetic("multiply", delta, weight))
        between = arithmetic("multiply", arithmetic("multiply", delta, delta), arithmetic("multiply", so_far, weight))
        moment = arithmetic("add", moment, arithmetic("add", second, between))
        return [total, mean, arithmetic("add", mean_low, error), moment]

    def close(self) -> None:
        """There are no lanes: blocks are closed."""

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        return self._joined(before, self.state)

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        arithmetic = self.emitter.elementwise
        self.centre(self.tree("add", elements), count)
        deviations = [arithmetic("subtract", element, self.mean) for element in elements]
        squares = [arithmetic("multiply", deviation, deviation) for deviation in deviations]
        self.combine_moments((self.tree("add", deviations), self.tree("add", squares)), count)

    def _like(self, value: Value) -> Value:
        return value if self.lowering.horizontal or not self.lanes else self.emitter.splat(value, self.lanes)

    def finish(self) -> Value:
        return self.narrow(self.state[3])


class ArgReduction(Reduction):
    """The position of the first extreme element. State: the extreme so far and its position, unless located by lane."""

    def __init__(self, op: Op, lowering: Elements) -> None:
        super().__init__(op, lowering)
        largest = op.name == "reduce_argmax"
        self.better, self.extremum = ("greater", "maximum") if largest else ("less", "minimum")
        self.identity = (_lowest if largest else _highest)(self.dtype)
        folding = folding_of(op, lowering.joined, distributed=lowering.target.distributed)
        self.blocked, self.located = folding.blocked, folding.located

    def begin(self) -> None:
        lanes = 0 if self.located else self.lanes
        self.state = [self.emitter.number(self.identity, self.dtype, lanes), self.emitter.number(0, I64, lanes)]

    def is_better(self, extreme: Value) -> Value:
        """Whether a number, or lanes, come before the best so far; the first nan comes before all numbers."""
        arithmetic = self.emitter.elementwise
        best = self.state[0]
        better = arithmetic(self.better, extreme, best)
        if not self.dtype.is_float:
            return better
        still_number = arithmetic("logical_not", arithmetic("isnan", best))
        return arithmetic(
            "logical_or",
            arithmetic("logical_and", better, still_number),
            arithmetic("logical_and", arithmetic("isnan", extreme), still_number),
        )

    def step(self) -> None:
        arithmetic = self.emitter.elementwise
        best, position = self.state
        element = self.element(self.identity)
        better = self.is_better(element)
        here = self._linear_position()
        self.state = [arithmetic("select", better, element, best), arithmetic("select", better, here, position)]

    def undecided(self) -> Value:
        return self._none_holds(self.state[0], self.better == "greater")

    # Located in blocks

    def partial(self) -> Value:
        return self.lanes_of(self.identity, self.dtype)

    def accumulate(self, partial: Value) -> Value:
        return self.emitter.elementwise(self.extremum, partial, self.element(self.identity))

    def extreme(self, lanes: Value) -> Value:
        """The best of a block."""
        return self.folded(lanes, self.extremum)

    def begin_search(self, extreme: Value, first: Value) -> None:
        """Look for the extreme of the block that begins at ``first``."""
        self.searched = extreme, first
        self.places = [self._nowhere()]

    def _nowhere(self) -> Value:
        """Positions behind all of a block's, which fit into few bits."""
        return self.lanes_of(2 * BLOCK, I16)

    def match(self, places: Value) -> Value:
        """The first places of a block's extreme so far, with those of the elements at this position."""
        arithmetic, emitter = self.emitter.elementwise, self.emitter
        extreme, first = self.searched
        element = self.element(self.identity)
        same = arithmetic("equal", element, extreme)
        if self.dtype.is_float:
            same = arithmetic("logical_or", same, arithmetic("isnan", element))
        index = emitter.scope.index
        assert index is not None
        distance = emitter.emit("cast", emitter.emit("subtract", index, first), dtype=I16)
        here = arithmetic("add", distance, emitter.emit("lane_index", dtype=I16, lanes=self.lanes))
        return arithmetic("minimum", places, arithmetic("select", same, here, self._nowhere()))

    def place(self, places: Value, first: Value) -> Value:
        """The number of the first place among the reduced loops."""
        arithmetic, emitter = self.emitter.elementwise, self.emitter
        place = emitter.emit("cast", self.folded(places, "minimum"), dtype=I64)
        place = arithmetic("add", place, emitter.index_scalar(first))
        scale: Dim = 1
        for inner, loop in itertools.pairwise(reversed(self.lowering.reduced)):
            scale = scale * inner.dim
            share = emitter.index_scalar(emitter.size(scale))
            place = arithmetic("add", place, arithmetic("multiply", self.lowering.position(loop), share))
        return place

    def visit_step(self, elements: list[Value]) -> None:
        self.step()

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        pass

    def _linear_position(self) -> Value:
        """The C-order number of this position among the reduced loops."""
        arithmetic = self.emitter.elementwise
        total: Value | None = None
        scale: Dim = 1
        for loop in reversed(self.lowering.reduced):
            share = self.lowering.position(loop)
            if scale != 1:
                share = arithmetic("multiply", share, self.emitter.index_scalar(self.emitter.size(scale)))
            total = share if total is None else arithmetic("add", total, share)
            scale = scale * loop.dim
        if total is None:
            return self.lanes_of(0, I64)
        return self.emitter.splat(total, self.lanes) if self.lanes else total

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        mine, self.state = self.state, list(before)
        better = self.is_better(mine[0])
        return [self.emitter.elementwise("select", better, new, old) for new, old in zip(mine, before, strict=True)]

    def finish(self) -> Value:
        self.close()
        return self.state[1]

    def close(self) -> None:
        best, position = self.state
        if not (self.lowering.horizontal and isinstance(best.type, Vector)):
            return  # located, or one a lane
        arithmetic = self.emitter.elementwise
        extreme = self.folded(best, self.extremum)
        same = arithmetic("equal", best, extreme)
        if self.dtype.is_float:
            same = arithmetic("logical_or", same, arithmetic("isnan", best))
        last = self.lanes_of(int(np.iinfo(np.int64).max), I64)
        self.state = [extreme, self.folded(arithmetic("select", same, position, last), "minimum")]
