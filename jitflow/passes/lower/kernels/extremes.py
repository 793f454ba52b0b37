"""Where an extreme is: the position of the first largest or smallest element, or of the first nan.

That of narrow numbers is *located* along a row: each block is folded to its extreme, and searched once more only if
that is better than all before it. Lanes that carry positions would be eight times as wide as a byte.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I16, I64
from jitflow.ir.types import Vector
from jitflow.passes.lower.kernels.reduction import Reduction, highest, lowest
from jitflow.passes.schedule.folding import BLOCK, folding_of

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.elements import Elements

__all__ = ["ArgReduction"]


class ArgReduction(Reduction):
    """The position of the first extreme element. State: the extreme so far and its position, unless located by lane."""

    def __init__(self, op: Op, lowering: Elements) -> None:
        super().__init__(op, lowering)
        largest = op.name == "reduce_argmax"
        self.better, self.extremum = ("greater", "maximum") if largest else ("less", "minimum")
        self.identity = (lowest if largest else highest)(self.dtype)
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
        index = emitter.position
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
