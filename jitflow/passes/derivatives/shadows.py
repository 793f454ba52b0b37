"""Shadows of places that the program hands on: arrays that a loop swaps, or that a branch chooses.

Which variable such a place shows is known only when the program runs, so the forward sweep hands on the shadow wherever
it hands on the place. The shadows of these variables therefore exist before the forward sweep needs them. Backwards, a
loop hands its shadows on the other way: what it gave to the next turn, it gets back.

    %u, %v = for ... %a, %b (..., %1, %2) {     %u, %v, %u', %v' = for ... %a, %b, %a', %b' (..., %1, %2, %1', %2') {
      ...                                  ->     ...
      yield %2, %1                                yield %2, %1, %2', %1'
    }                                           }

Relies on loops that only swap what they carry, outside of other loops. Others hand on contents (`contents.py`) or are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.types import Place, Variable
from jitflow.passes.derivatives.activity import Activity
from jitflow.passes.derivatives.notation import Notation
from jitflow.records import dataclass

__all__ = ["Shadows", "handed_on", "sources"]


@dataclass(frozen=True, eq=False)
class _Handing:
    """What an op of the forward sweep hands on besides."""

    ahead: tuple[Op, ...]
    """Ops in front of it, which give the shadows that arrive."""
    initial: tuple[Value, ...]
    results: tuple[Value, ...]
    parameters: tuple[tuple[Value, ...], ...]
    """For each region the shadows that it takes."""
    closing: tuple[tuple[tuple[Op, ...], tuple[Value, ...]], ...]
    """For each region the ops at its end, and the shadows that it yields."""


class Shadows:
    """The shadows in one forward sweep."""

    def __init__(self, region: Region, activity: Activity, producers: Mapping[Value, Op]) -> None:
        self.activity = activity
        self.producers = producers
        self.of: dict[Value, Value] = {}
        """The shadow of each place that a region takes or an op gives, in the forward sweep."""
        self.early: dict[Value, Value] = {}
        """The shadow of each variable that the program hands on."""
        self.making: dict[Value, tuple[Op, ...]] = {}
        """For each of these the ops that make its shadow."""
        self._handed: dict[Op, _Handing] = {}
        self.region = region
        self._enter(region)

    def outside(self) -> list[Op]:
        """The ops that make the shadows of variables that the region does not make itself."""
        made = {result for op in self.region.body for result in op.results}
        return [op for root, ops in self.making.items() if root not in made for op in ops]

    # -- what is handed on

    def _enter(self, region: Region) -> None:
        for op in region.body:
            positions = handed_on(op, self.activity)
            if positions and region is not self.region:
                raise _refusal(op)  # a reverse turn does not know what the forward turn showed
            if not positions:
                for inner in op.regions:
                    self._enter(inner)
            elif op.name == "if":
                self._branch(op, positions)
            else:
                self._loop(op, positions)

    def _branch(self, op: Op, positions: Sequence[int]) -> None:
        closing = []
        for inner in op.regions:
            self._enter(inner)
            closing.append(self._closing(inner, positions, op))
        results = self._twins([op.results[number] for number in positions])
        self._handed[op] = _Handing((), (), results, ((), ()), tuple(closing))

    def _loop(self, op: Op, positions: Sequence[int]) -> None:
        first = 3 if op.name == "for" else 0
        m = Notation(Builder(loc=op.loc))
        initial = tuple(self._shadow(m, op.operands[first + number], op) for number in positions)
        shift = 1 if op.name == "for" else 0
        parameters = tuple(
            self._twins([region.parameters[shift + number] for number in positions]) for region in op.regions
        )
        results = self._twins([op.results[number] for number in positions])
        body = op.regions[-1]
        self._enter(body)
        closing = [((), ()) for _ in op.regions[:-1]]
        handing = [*closing, self._closing(body, positions, op)]
        self._handed[op] = _Handing(tuple(m.builder.ops), initial, results, parameters, tuple(handing))

    def _closing(self, region: Region, positions: Sequence[int], op: Op) -> tuple[tuple[Op, ...], tuple[Value, ...]]:
        m = Notation(Builder(loc=op.loc))
        yielded = tuple(self._shadow(m, region.yielded[number], op) for number in positions)
        return tuple(m.builder.ops), yielded

    def _twins(self, places: Sequence[Value]) -> tuple[Value, ...]:
        """New values for the shadows of places that arrive somewhere."""
        twins = []
        for place in places:
            assert isinstance(place.type, Place)
            twin = self.of[place] = Value(place.type)
            twins.append(twin)
        return tuple(twins)

    def _shadow(self, m: Notation, place: Value, op: Op) -> Value:
        if place in self.of:
            return self.of[place]
        if isinstance(place.type, Variable):
            return self._early(place, op)
        source = self.producers.get(place)
        if source is None or "view" not in source.definition.traits:
            raise _refusal(op)
        return m(source.name, self._shadow(m, source.operands[0], op), **dict(source.attributes))

    def _early(self, variable: Value, op: Op) -> Value:
        if variable not in self.early:
            source = self.producers.get(variable)
            if source is not None and source not in self.region.ops and self._is_inside(source):
                raise _refusal(op)
            m = Notation(Builder(loc=op.loc))
            self.early[variable] = m("variable", m.zeros(variable.type))
            self.making[variable] = tuple(m.builder.ops)
        return self.early[variable]

    def _is_inside(self, source: Op) -> bool:
        """Whether an op stands in a region inside of the forward sweep."""
        frontier = [inner for op in self.region.body for inner in op.regions]
        while frontier:
            region = frontier.pop()
            if source in region.ops:
                return True
            frontier += [inner for op in region.body for inner in op.regions]
        return False

    # -- the forward sweep as it is then

    def ahead_of(self, op: Op) -> tuple[Op, ...]:
        """The ops in front of an op that hands on shadows."""
        more = self._handed.get(op)
        return () if more is None else more.ahead

    def extended(self, original: Op, op: Op) -> Op:
        """``op``, which ``original`` has become, with the shadows that it hands on."""
        more = self._handed.get(original)
        if more is None:
            return op
        regions = []
        for region, taken, (ops, yielded) in zip(op.regions, more.parameters, more.closing, strict=True):
            closing = replace(region.ops[-1], operands=(*region.yielded, *yielded))
            regions.append(Region((*region.parameters, *taken), (*region.body, *ops, closing)))
        return replace(
            op,
            operands=(*op.operands, *more.initial),
            results=(*op.results, *more.results),
            regions=tuple(regions),
        )


def handed_on(op: Op, activity: Activity) -> tuple[int, ...]:
    """The positions among the results of an op of the places that it hands on and that matter."""
    if not op.regions:
        return ()
    return tuple(
        number for number, value in enumerate(op.results) if isinstance(value.type, Place) and value in activity
    )


def sources(op: Op, positions: Sequence[int]) -> tuple[int, ...]:
    """For each place that a loop hands on, the position of the one that shows it in the turn before.

    Raises `UserNotImplementedError` for a loop that does more than swap.
    """
    body, shift = op.regions[-1], 1 if op.name == "for" else 0
    carried = {body.parameters[shift + number]: number for number in positions}
    found = [carried.get(body.yielded[number]) for number in positions]
    if None in found or len(set(found)) != len(found):
        raise _refusal(op)
    return tuple(number for number in found if number is not None)


def _refusal(op: Op) -> UserNotImplementedError:
    error = UserNotImplementedError(
        "the gradient of a loop or branch that hands on an array which has another name too, and which is written to",
        mend="give each array one name: where it gets a second one, take a copy of it (first = u.copy())",
    )
    return error.at(op.loc)
