"""The loops of a nest that schedules are made of: which become one, which may be vectors, what each sweep computes.

Neighbouring loops become one where every access steps through both without a gap (`_collapse`): a C-contiguous array
of any rank is one long loop. What is summed up is one long row wherever it would be as an array of its own, for that is
part of what a sum means: operands that do not go on evenly from row to row, as a bias, are `uneven`, and brought into
scratch memory a block at a time. A short innermost loop of known length (the channels of an image) joins the one around
it even where some operands repeat in each round: lanes then are a multiple of that length, and such an operand is the
same vector throughout (`period`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.fusion.nest import Access, Loop, Nest, is_folded, rounds
from jitflow.passes.schedule.cost import (
    LONGEST_PERIOD,
    MOST_PERIOD_LANES,
    NARROWEST_SCATTERED,
    PERIOD_LANES,
    WORTH_SAVING,
    cost_of,
    is_short,
)
from jitflow.records import cached

__all__ = ["JoinedLoops"]


class JoinedLoops:
    """What is true of a nest whatever its schedule; loops here are those after joining."""

    def __init__(
        self, nest: Nest, backwards: bool = False, into: dict[Value, Layout] | None = None, periodic: bool = True
    ) -> None:
        """``backwards``: all loops run in reversed order."""
        self.nest = nest
        self.backwards = backwards
        self.into = into or {}
        self.yielded = nest.region.yielded
        self._known_costs: dict[Value, int] = {}
        self.order = nest.order[::-1] if backwards else nest.order
        self._joined: dict[Loop, Loop] = {loop: loop for loop in self.order}
        self._dropped: set[Loop] = set()
        outer, reduced = ([loop for loop in self.order if loop.reduced is kind] for kind in (False, True))
        self.periodic = periodic
        self.vector_choice = self._choose_vector(outer, reduced)
        self.outer, self.reduced = self._collapse(outer), self._collapse(reduced)
        self.uneven: dict[Value, Access] = {}
        """How operands lie along the `parts` of the one reduced loop, if they do not go on evenly along it."""
        self.parts: Sequence[Loop] = ()
        self._evenly: Sequence[tuple[Loop, Loop, Dim]] = ()
        if periodic:
            self._join_unevenly()
        self.period = self._join_period() if periodic else 0
        self.vector = None if self.vector_choice is None else self._joined[self.vector_choice]
        self.cost = sum(cost_of(op) for op in nest.computed)
        self.widest_item = self._widest_item()
        self.sweeps = 1 + max(
            [nest.stage.get(op.operands[0], 0) for op in nest.computed if is_folded(op)]
            + [nest.stage.get(value, 0) for value in self.yielded if self._is_inner(value)],
            default=-1,
        )
        self.saved = self._choose_saved()

    def _widest_item(self) -> int:
        """The bytes of the widest elements, of those in reduced loops if there are any.

        What is made once of a sum, as a mean through f64, does not decide how wide the vectors are that are summed up.
        """
        found = [
            value.type.dtype.real.itemsize
            for op in self.nest.computed
            for value in (*op.operands, *op.results)
            if isinstance(value.type, Tensor) and self._is_inside(op)
        ]
        return max(found, default=8)

    def _is_inside(self, op: Op) -> bool:
        """Whether an op stands in the reduced loops, if there are any."""
        values = (*op.operands, *op.results)
        return not self.reduced or any(self.varies(value, loop) for value in values for loop in self.reduced)

    # Accesses

    def output_layout(self, value: Value) -> Layout:
        """Where memory exists, or as the plan has it."""
        return self.into[value] if value in self.into else self.nest.result_layout(value, self.backwards)

    def _natural_strides(self, value: Value) -> dict[Loop, Dim]:
        return self.nest.strides_of(value, self.output_layout(value))

    def output_access(self, value: Value) -> Access:
        """Where a result is written."""
        assert isinstance(value.type, Tensor | Scalar)
        return self.access(
            Access(value, value.type.dtype, self.output_layout(value).offset, self._natural_strides(value))
        )

    def access(self, access: Access) -> Access:
        """An access in terms of the joined loops."""
        if self.period and self._repeats(access.strides):
            return Access(access.buffer, access.dtype, access.offset, {}, self._inner_stride(access.strides))
        found = self._by_parts(access)
        if not self._goes_on(access.strides):
            found.strides[self.reduced[0]] = access.dtype.itemsize  # as it lies in scratch memory
        return found

    def reach(self) -> Dim:
        """How many bytes from where it begins an operand or a result may lie, at most."""
        nest, reach = self.nest, cast(Dim, 0)
        lying = [*nest.layouts.items(), *((value, self.output_layout(value)) for value in self.yielded)]
        for value, layout in lying:
            steps = (
                maximum(stride, -1 * stride) * dim
                for stride, dim in zip(layout.strides, dims_of(value.type), strict=True)
            )
            reach = maximum(reach, sum(steps, start=cast(Dim, _itemsize(value))) + layout.offset)
        return reach

    def loops_of(self, value: Value) -> tuple[Loop, ...]:
        """The joined loops of a value's axes."""
        return tuple(self._joined[loop] for loop in self.nest.loops_of(value) if loop not in self._dropped)

    def varies(self, value: Value, loop: Loop) -> bool:
        """Whether a value changes along a joined loop."""
        if value in self.nest.layouts:
            return self.access(self.nest.access(value)).strides.get(loop, 0) != 0
        return any(self._joined[own] is loop for own in self.nest.varying.get(value, ()))

    def loop(self, value: Value, axis: int) -> Loop:
        """The loop along one axis of a value."""
        return self._joined[self.nest.loop_of[self.nest.axes.find((value, axis))]]

    # The vector loop

    def _choose_vector(self, outer: list[Loop], reduced: list[Loop]) -> Loop | None:
        innermost = [loops[-1] for loops in (outer, reduced) if loops]
        candidates = [loop for loop in innermost if not loop.in_order]
        if not candidates or (candidates != innermost and not self._lies_along(candidates[0])):
            return None
        if outer and reduced and self.periodic and is_short(reduced):
            return outer[-1]
        natural_last = self.order[-1]
        if self.periodic and not reduced and self._only_scatters(natural_last):
            return None

        folds = any(map(_is_reduction, self.nest.computed))
        considered = self._folded if folds else self.nest.loads

        def score(loop: Loop) -> tuple[int, int, int, bool]:
            gathers = sum(1 for load in considered if load.strides.get(loop, 0) != 0 and not _unit(load, loop))
            loads = sum(1 for load in considered if _unit(load, loop))
            stores = sum(1 for value in self.yielded if self._natural_strides(value).get(loop) == _itemsize(value))
            return -gathers, loads, 0 if folds else stores, loop is natural_last

        return max(candidates, key=score)

    def _lies_along(self, loop: Loop) -> bool:
        """Whether all that a nest reads and writes lies side by side along a loop, or does not vary along it."""
        accesses = [(load.strides, load.dtype.itemsize) for load in self.nest.loads]
        accesses += [(self._natural_strides(value), _itemsize(value)) for value in self.yielded]
        return all(strides.get(loop, 0) in (0, itemsize) for strides, itemsize in accesses)

    def _only_scatters(self, loop: Loop) -> bool:
        """Whether all that a nest does is to store elements which lie apart and are narrower than what is scattered.

        A vector would come apart into as many stores as it has lanes, each with a branch of its own in the tail.
        """
        return all(op.name in ("broadcast", "copy") for op in self.nest.computed) and all(
            _itemsize(value) < NARROWEST_SCATTERED
            and self._natural_strides(value).get(loop, 0) not in (0, _itemsize(value))
            for value in self.yielded
        )

    @cached
    def _folded(self) -> Sequence[Access]:
        """How what is folded lies, or would lie alone, so that bits do not depend on what it is fused with.

        Of what is larger than all that it is computed of, as distances are, these count: nobody would write it.
        """
        values = [self.nest.origin(op.operands[0]) for op in self.nest.computed if _is_reduction(op)]
        frontier = list(values)
        seen: dict[Value, None] = {}
        while frontier:
            value = self.nest.origin(frontier.pop())
            op = self.nest.producer.get(value)
            if value in seen or (op is None and value not in self.nest.layouts):
                continue
            seen[value] = None
            if op is not None and value not in self.nest.layouts:
                frontier.extend(op.operands[1:] if op.name == "gather" else op.operands)
        read = [self.nest.access(value) for value in seen if value in self.nest.layouts]
        if not any(all(load.strides.get(loop, 0) != 0 for loop in self.order) for load in read):
            return read
        return [self.nest.access_alone(value, read) for value in values]

    def _collapse(self, loops: list[Loop]) -> list[Loop]:
        """Join neighbours that every access steps through without a gap."""
        result: list[Loop] = []
        for loop in loops:
            if result and self._can_join(result[-1], loop):
                loop = self._join(result.pop(), loop)
            result.append(loop)
        return result

    def _join_unevenly(self) -> None:
        """Join reduced loops that not all operands step through without a gap, if what they are computed to would."""
        nest, parts = self.nest, self.reduced
        if len(parts) < 2 or self.vector_choice is None or not self.vector_choice.reduced:
            return
        asks_where = any(op.name in ("iota", "gather") for op in nest.computed)
        if asks_where or not any(map(rounds, nest.computed)) or any(loop.in_order for loop in parts):
            return
        self._evenly = [(self._own(outer), self._own(inner), inner.dim) for outer, inner in pairwise(parts)]
        alone = (access.strides for access in self._folded)
        if not all(map(self._goes_on, (*alone, *map(self._natural_strides, self.yielded)))):
            self._evenly = ()
            return
        read = (value for op in nest.computed for value in op.operands if value in nest.layouts)
        uneven = (value for value in read if not self._goes_on(nest.access(value).strides))
        self.uneven = {value: self._by_parts(nest.access(value)) for value in uneven}
        self.parts, joined = parts, parts[0]
        for part in parts[1:]:
            joined = self._join(joined, part)
        self.reduced = [joined]

    def _by_parts(self, access: Access) -> Access:
        """An access in terms of the loops as they are joined so far."""
        strides = {self._joined[loop]: stride for loop, stride in access.strides.items() if loop not in self._dropped}
        return Access(access.buffer, access.dtype, access.offset, strides)

    def _goes_on(self, strides: dict[Loop, Dim]) -> bool:
        """Whether memory is stepped through without a gap from one row to the next."""
        return all(strides.get(outer, 0) == strides.get(inner, 0) * dim for outer, inner, dim in self._evenly)

    def _join(self, outer: Loop, inner: Loop) -> Loop:
        joined = Loop(outer.dim * inner.dim, inner.reduced, inner.in_order)
        self._dropped.update(key for key, value in self._joined.items() if value is outer)
        for key, value in list(self._joined.items()):
            if value in (outer, inner):
                self._joined[key] = joined
        return joined

    def _join_period(self) -> int:
        """The length of a short innermost loop that was joined with the loop around it, 0 if there is none."""
        if len(self.outer) < 2 or self.reduced or self.vector_choice is None:
            return 0
        around, inner = self.outer[-2:]
        length = inner.dim
        if self._joined[self.vector_choice] is not inner or not isinstance(length, int) or length > LONGEST_PERIOD:
            return 0
        if math.lcm(length, PERIOD_LANES) > MOST_PERIOD_LANES or any(
            op.name in ("iota", "gather") for op in self.nest.computed
        ):
            return 0
        self._around, self._inner = self._own(around), self._own(inner)
        for strides in self._all_strides():
            if self._repeats(strides):
                if any(stride != 0 for own, stride in strides.items() if own is not self._inner):
                    return 0
            elif strides.get(self._around, 0) != strides.get(self._inner, 0) * length:
                return 0
        self.outer[-2:] = [self._join(around, inner)]
        return length

    def _repeats(self, strides: dict[Loop, Dim]) -> bool:
        """Whether an operand is the same in every round of the loop around the short one, but varies along that."""
        return strides.get(self._around, 0) == 0 and strides.get(self._inner, 0) != 0

    def _inner_stride(self, strides: dict[Loop, Dim]) -> Dim:
        return strides[self._inner]

    def _can_join(self, outer: Loop, inner: Loop) -> bool:
        outer_key, inner_key = self._own(outer), self._own(inner)
        outers = {key for key, value in self._joined.items() if value is outer}
        for strides in self._all_strides():
            if strides.get(outer_key, 0) != strides.get(inner_key, 0) * inner.dim:
                return False
        for op in self.nest.computed:
            varying = self.nest.varying[op.result]
            if (inner_key in varying) != bool(outers & varying):
                return False
            if op.name == "gather" and inner_key in varying:
                return False
        return True

    def _own(self, loop: Loop) -> Loop:
        """The nest's loop whose strides are those of a joined loop: the innermost of them."""
        (own,) = (key for key, value in self._joined.items() if value is loop and key not in self._dropped)
        return own

    def _all_strides(self) -> Iterator[dict[Loop, Dim]]:
        for load in self.nest.loads:
            yield load.strides
        for value in self.yielded:
            yield self._natural_strides(value)

    # Sweeps

    def _is_inner(self, value: Value) -> bool:
        return any(loop.reduced for loop in self.nest.loops_of(value))

    def reductions(self, sweep: int) -> list[Op]:
        """The reductions that sweep number ``sweep`` computes."""
        return [op for op in self.nest.computed
                if is_folded(op) and self.nest.stage[op.result] == sweep + _is_reduction(op)]  # fmt: skip

    def stores(self, sweep: int) -> list[Value]:
        """The results that are written inside sweep number ``sweep``."""
        return [v for v in self.yielded if self._is_inner(v) and self.nest.stage.get(v, 0) == sweep]

    def sweep_cost(self, sweep: int) -> int:
        """Roughly how many instructions one step of a sweep takes for a vector."""
        needed = self._needed[sweep] if sweep < len(self._needed) else set()
        return sum(cost_of(self.nest.producer[value]) for value in needed)

    def last_need(self, value: Value) -> int:
        """The last sweep that needs a value."""
        return max(sweep for sweep in range(self.sweeps) if value in self._needed[sweep])

    def _choose_saved(self) -> dict[Value, int]:
        """Values that an earlier sweep has computed at some cost and a later one reads again, with that sweep."""
        nest = self.nest
        self._needed = [self._closure(sweep) for sweep in range(self.sweeps)]
        saved: dict[Value, int] = {}
        for sweep in range(1, self.sweeps):
            for value in sorted(self._needed[sweep], key=lambda v: -self._cost(v)):
                if not any(loop.reduced for loop in nest.varying.get(value, ())) or value in nest.layouts:
                    continue
                if self._cost(value) <= WORTH_SAVING or not self._is_frontier(value, sweep):
                    continue
                earlier = [k for k in range(sweep) if value in self._needed[k]]
                if earlier:
                    saved.setdefault(value, earlier[0])
        return saved

    def _is_frontier(self, value: Value, sweep: int) -> bool:
        """Whether something that only this sweep can compute reads the value directly."""
        if value in self.yielded and self.nest.stage[value] == sweep:
            return False
        for op in self.nest.computed:
            if value in (self.nest.origin(operand) for operand in op.operands):
                stage = self.nest.stage[op.result] - (1 if _is_reduction(op) else 0)
                if stage == sweep > self.nest.stage[value]:
                    return True
        return False

    def _closure(self, sweep: int) -> set[Value]:
        """What a sweep computes: everything behind its reductions and stores that varies inside it."""
        needed: set[Value] = set()
        frontier = [op.operands[0] for op in self.reductions(sweep)] + self.stores(sweep)
        while frontier:
            value = self.nest.origin(frontier.pop())
            op = self.nest.producer.get(value)
            if value in needed or op is None or value in self.nest.layouts:
                continue
            needed.add(value)
            if not _is_reduction(op):
                frontier.extend(op.operands)
        return needed

    def is_cheap(self, value: Value) -> bool:
        """Whether a value is rather computed again than kept."""
        return self._cost(value) <= WORTH_SAVING

    def _cost(self, value: Value) -> int:
        """The cost of computing a value from memory and from what lies outside of sweeps."""
        value = self.nest.origin(value)
        if value not in self._known_costs:
            self._known_costs[value] = self._cost_anew(value)
        return self._known_costs[value]

    def _cost_anew(self, value: Value) -> int:
        op = self.nest.producer.get(value)
        if op is None or value in self.nest.layouts or _is_reduction(op):
            return 0
        if not any(loop.reduced for loop in self.nest.varying[value]):
            return 0
        return cost_of(op) + sum(self._cost(operand) for operand in set(op.operands))


def _is_reduction(op: Op) -> bool:
    return "reduction" in op.definition.traits


def _itemsize(value: Value) -> int:
    assert isinstance(value.type, Tensor | Scalar)
    return value.type.dtype.itemsize


def _unit(access: Access, loop: Loop) -> bool:
    return access.strides.get(loop, 0) == access.dtype.itemsize
