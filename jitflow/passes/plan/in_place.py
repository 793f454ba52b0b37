"""Results that their kernel writes to the place that they are stored to, so that nothing is copied.

The value of a ``store`` qualifies if a kernel in the same region computes it for this store alone, and if nobody could
tell that the write came early: nothing between the two touches what the place shows, nor may fail while a caller sees
it; the place is known before the fusion; and the kernel itself reads nothing that it overwrites, but for elements that
it replaces at the very same position (``u += v``).

    %1 = fusion %0, %a (...)                 %p = slice %u
    %p = slice %u                     as     launch ... , %u      (the kernel writes to where %p lies)
    store %p, %1
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field

from jitflow.ir.core import Function, Op, Region, Value, uses, walk, walk_inside
from jitflow.ir.dims import symbols
from jitflow.ir.effects import ANYTHING, Effects
from jitflow.ir.layout import Layout
from jitflow.ir.types import Index, Tensor, dims_of
from jitflow.passes.fusion.nest import Nest
from jitflow.passes.plan.meeting import Meeting
from jitflow.records import dataclass

__all__ = ["Early", "early_pushes", "early_stores", "replaces_own_elements"]

_Touching = dict[Value | None, list[int]]


@dataclass(frozen=True, slots=True)
class Early:
    """A store that may happen with its fusion, once its place's views (``views``, in order) are lowered."""

    store: Op
    views: tuple[Op, ...] = field(default=())


def early_stores(function: Function, effects: Effects, meeting: Meeting) -> dict[Value, Early]:
    """For each result of a fusion or a product that may be written where it is stored to, that store."""
    if not any(op.name == "store" for op in walk(function.region)):
        return {}
    finder = _Finder(function, effects, meeting)
    finder.search(function.region)
    return finder.found


class _Finder:
    def __init__(self, function: Function, effects: Effects, meeting: Meeting) -> None:
        self.effects = effects
        self.meeting = meeting
        self.counts: Counter[Value] = uses(function.region)
        self.binding: dict[Region, list[tuple[int, set[str]]]] = {}
        self.found: dict[Value, Early] = {}

    def search(self, region: Region) -> None:
        position = {result: number for number, op in enumerate(region.body) for result in op.results}
        touching = self._touching(region) if any(op.name == "store" for op in region.body) else {}
        for number, op in enumerate(region.body):
            if op.name == "store":
                self._consider(region, position, touching, number, op)
            elif op.name != "fusion":
                for inner in op.regions:
                    self.search(inner)

    def _touching(self, region: Region) -> _Touching:
        """For all storage the numbers of the ops that have to do with it, views apart; under None those that may fail.

        Asked for each pair of a store and an op before it, what is in the way would take as long as their product.
        """
        found: _Touching = {}
        for number, op in enumerate(region.body):
            if "view" in op.definition.traits:
                continue
            keys: set[Value | None] = {root for operand in _arrays_read(op) for root in self.meeting.where(operand)}
            for access in self.effects.of(op):
                keys |= access.places
                if access.kind in ("check", "external"):
                    keys.add(None if access.kind == "check" else ANYTHING)
            for key in keys:
                found.setdefault(key, []).append(number)
        return found

    def _consider(
        self, region: Region, position: dict[Value, int], touching: _Touching, number: int, store: Op
    ) -> None:
        place, value = store.operands
        start = position.get(value)
        if start is None or not isinstance(value.type, Tensor) or not value.type.dims or self.counts[value] != 1:
            return
        fusion = region.body[start]
        if fusion.name not in ("fusion", "matmul") or (_checks_elements(fusion) and self._is_visible(place)):
            return
        views = self._views(region, position, place, start)
        if views is None:
            return
        for op in self._between(region, touching, start, number):
            if self.effects.conflict(op, store) or self._reads(op, place):
                return
        self.found[value] = Early(store, views)

    def _between(self, region: Region, touching: _Touching, start: int, number: int) -> Iterator[Op]:
        """The ops behind ``start``, before a store, that may have to do with what that writes to."""
        place = region.body[number].operands[0]
        places = {*self.effects.places(place), *self.meeting.where(place)}
        for key in touching if ANYTHING in places else (*places, ANYTHING, None):
            numbers = touching.get(key, [])
            yield from (
                region.body[one] for one in numbers[bisect_right(numbers, start) : bisect_left(numbers, number)]
            )

    def _views(self, region: Region, position: dict[Value, int], place: Value, start: int) -> tuple[Op, ...] | None:
        """The views between the fusion and the store that make the place; None if they need what is computed there."""
        if position.get(place, -1) <= start:
            return ()
        late = {name for number, names in self._binding(region) if number >= start for name in names}
        views: list[Op] = []
        while position.get(place, -1) > start:
            op = region.body[position[place]]
            if "view" not in op.definition.traits or late & _sizes_named(op):
                return None
            views.append(op)
            place = op.operands[0]
        return tuple(reversed(views))

    def _binding(self, region: Region) -> list[tuple[int, set[str]]]:
        """The ops of a region, by number, that bind sizes."""
        if region not in self.binding:
            names = ((number, {*_sizes_bound(op)}) for number, op in enumerate(region.body))
            self.binding[region] = [(number, bound) for number, bound in names if bound]
        return self.binding[region]

    def _is_visible(self, place: Value) -> bool:
        visible = self.effects.visible
        return visible is None or not visible.isdisjoint(self.effects.places(place))

    def _reads(self, op: Op, place: Value) -> bool:
        """Whether an op, or one inside it, reads a tensor that shows what the place shows."""
        return any(self.meeting.may_meet(operand, place) for operand in _arrays_read(op))


def _arrays_read(op: Op) -> list[Value]:
    """The arrays that an op, or one inside it, reads."""
    operands = [*op.operands, *(operand for inner in walk_inside(op) for operand in inner.operands)]
    return [operand for operand in operands if isinstance(operand.type, Tensor)]


def early_pushes(function: Function, effects: Effects) -> dict[Value, Op]:
    """For each result of a fusion that may be written where it is pushed, that push."""
    found: dict[Value, Op] = {}
    if any(op.name == "push" for op in walk(function.region)):
        for op in _pushed_early(function.region, effects, uses(function.region)):
            found.setdefault(op.operands[1], op)
    return found


def _pushed_early(region: Region, effects: Effects, counts: Counter[Value]) -> Iterator[Op]:
    made = {result: number for number, op in enumerate(region.body) for result in op.results}
    popped = {op.operands[0] for op in walk(region) if op.name == "pop"}
    for number, op in enumerate(region.body):
        if op.name != "push":
            for inner in op.regions if op.name != "fusion" else ():
                yield from _pushed_early(inner, effects, counts)
            continue
        tape, value = op.operands
        start = made.get(value)
        if start is None or region.body[start].name != "fusion" or not dims_of(value.type):
            continue
        if made.get(tape, -1) > start:
            continue
        lasts = counts[value] == 1 or (tape not in made and tape not in popped)
        between = region.body[start + 1 : number]
        if lasts and not any(effects.conflict(other, op) for other in between):
            yield op


def _checks_elements(fusion: Op) -> bool:
    """Whether a kernel may fail after it has written something."""
    inside = (op for region in fusion.regions for op in region.body)
    return any("gather" in op.definition.traits and op.own_effects for op in inside)


def _sizes_bound(op: Op) -> Iterator[str]:
    """The sizes that the results of an op bind, or may."""
    if "binds" in op.attributes:
        yield op.attributes["binds"]
    if op.regions and op.name != "fusion":
        for result in op.results:
            dims = (result.type.dim,) if isinstance(result.type, Index) else dims_of(result.type)
            for dim in dims:
                if dim is not None:
                    yield from symbols(dim)


def _sizes_named(view: Op) -> set[str]:
    """The sizes that a view mentions."""
    found = {name for dim in dims_of(view.result.type) for name in symbols(dim)}
    for value in view.attributes.values():
        for dim in value if isinstance(value, tuple) else (value,):
            found.update(symbols(dim))
    return found


def replaces_own_elements(
    fusion: Op, find_nest: Callable[[], Nest], parameter: Value, result: Value, layout: Layout,
    apart: Callable[[Value], bool],
) -> bool:  # fmt: skip
    """Whether a kernel reads ``parameter`` only where it writes ``result``, which lies as ``layout`` says.

    Then an element is read before it is replaced, and never after. ``apart`` says of a value that it shows none of the
    elements that are written.
    """
    if any("gather" in op.definition.traits for op in fusion.regions[0].body):
        return False
    nest = find_nest()
    shape = nest.axes.classes(result)
    if not _is_written_last(nest, result):
        return False
    for op in nest.computed:
        for value in op.operands:
            if value not in nest.layouts or nest.buffer_of(value) is not parameter:
                continue
            if (nest.layouts[value] != layout or nest.axes.classes(value) != shape) and not apart(value):
                return False
    return True


def _is_written_last(nest: Nest, result: Value) -> bool:
    """Whether nothing is read again, at any position of the result, once it is written there.

    What a reduction goes into is written behind all sweeps. What is as large as what is reduced is written while the
    reductions read, if there is one sweep, and none of them reads twice.
    """
    reductions = [op for op in nest.computed if "reduction" in op.definition.traits]
    yielded = nest.region.yielded
    if not reductions:
        shape = nest.axes.classes(result)
        return len(shape) == len(nest.order) or all(nest.axes.classes(value) == shape for value in yielded)
    inner = [value for value in yielded if any(loop.reduced for loop in nest.loops_of(value))]
    if result not in inner:
        outer = {loop for loop in nest.order if not loop.reduced}
        return nest.stage.get(result, 0) > 0 and outer == {*nest.loops_of(result)}
    read = [op.operands[0] for op in reductions]
    return all(nest.stage.get(value, 0) == 0 for value in (*read, *inner)) and _READING_TWICE.isdisjoint(
        op.name for op in reductions
    )


_READING_TWICE = frozenset(("reduce_m2", "reduce_argmax", "reduce_argmin"))
"""Reductions that read what they fold more than once, or may."""
