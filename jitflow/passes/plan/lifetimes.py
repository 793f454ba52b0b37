"""Which memory each value shows, and where it is used for the last time.

The *roots* of a value are the values whose memory it may show: an array that an op computes, a variable, an array of
the heap and an array that a loop carries are their own; a view and a load have the roots of what they show; a place
that comes into a region or out of it has those of everything that may arrive there. A root is at home in the region
that defines it, and its memory is given back there, after the last op that uses it or anything that shows it, in
whatever region that is. A tape is a root, too, and in use as long as an array that it lends (`lending.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.effects import calls_again
from jitflow.ir.ops.held_arrays import WORD_BYTES
from jitflow.ir.renaming import renamed_by
from jitflow.ir.types import Place, Tape, Tensor, Variable
from jitflow.passes.plan.lending import lent_arrays

__all__ = ["Lifetimes", "edges"]

Roots = frozenset[Value]
_NOTHING: Roots = frozenset()


class Lifetimes:
    """The roots of every value of a function, and the uses of every root."""

    def __init__(self, function: Function) -> None:
        self.region = function.region
        self.sources: dict[Value, list[Value]] = {}
        """What may arrive at a parameter of a region, or at a result of an op with regions."""
        self.home: dict[Value, Region] = {}
        self.shown: dict[Value, Value] = {}
        """What each view and load shows a part of."""
        self.lender = lent_arrays(function)
        """For each array that stays on the tape from which it is popped, the tape."""
        self.whole: dict[Value, Value] = {}
        """What a view shows all of, under other names of its sizes."""
        self._roots: dict[Value, Roots] = {}
        self._follow(function.region, function.region.parameters)
        self._numbers = {root: number for number, root in enumerate(self.home)}
        self.kept: set[Value] = set()
        """Variables that outlive the region that makes them, as what a place may show: nobody knows for how long."""
        self._find_kept(function.region)
        self._last: dict[Region, dict[Value, int]] = {}
        self._find_uses(function.region)

    def roots(self, value: Value) -> Roots:
        """The values whose memory ``value`` may show; none for numbers."""
        return self._roots.get(value, _NOTHING)

    def number(self, root: Value) -> int:
        """The number by which a program tells a root from others."""
        return self._numbers[root]

    # Roots

    def _follow(self, region: Region, owned: Sequence[Value]) -> None:
        while self._spread(region, owned):
            pass

    def _spread(self, region: Region, owned: Sequence[Value]) -> bool:
        """Pass roots on from operands to results; whether one has learnt of new ones."""
        for parameter in owned:
            if isinstance(parameter.type, Tensor | Variable | Place):
                self._make_root(parameter, region)
        changed = False
        for op in region.ops:
            if "view" in op.definition.traits or op.name == "load":
                shown = self.roots(op.operands[0])
                changed |= shown != self.roots(op.result)
                self._roots[op.result] = shown
                self.shown[op.result] = op.operands[0]
                before = renamed_by(op)
                if before is not None:
                    self.whole[op.result] = self.whole.get(before, before)
                continue
            if not op.regions or op.name == "fusion":
                for result in op.results:
                    if isinstance(result.type, Tensor | Variable | Tape) or op.name == "show_items":
                        self._make_root(result, region)
                continue
            for target, sources in edges(op):
                self.sources[target] = sources
                if isinstance(target.type, Tensor):
                    self._make_root(target, region)
                elif isinstance(target.type, Variable | Place):
                    arriving = self.roots(target).union(*map(self.roots, sources))
                    changed |= arriving != self.roots(target)
                    self._roots[target] = arriving
            for inner in op.regions:
                changed |= self._spread(inner, [p for p in inner.parameters if isinstance(p.type, Tensor)])
        return changed

    def _make_root(self, value: Value, region: Region) -> None:
        self._roots[value] = frozenset((value,))
        self.home[value] = region

    def _find_kept(self, region: Region) -> None:
        for op in region.ops:
            for inner in op.regions if op.name != "fusion" else ():
                places = (value for value in inner.yielded if isinstance(value.type, Variable | Place))
                self.kept.update(root for place in places for root in self.roots(place) if self.home[root] is inner)
                self._find_kept(inner)

    # Uses

    def _find_uses(self, region: Region) -> None:
        last = self._last[region] = dict.fromkeys(region.parameters, -1)
        for number, op in enumerate(region.ops):
            for root in self._used_by(op):
                last[root] = number
            for result in op.results:
                last.setdefault(result, number)
            if op.name != "fusion":
                for inner in op.regions:
                    self._find_uses(inner)

    def _used_by(self, op: Op) -> Counter[Value]:
        """How often an op, with all that is inside it, names something that shows each root."""
        operands = [*op.operands, *(operand for region in op.regions for o in walk(region) for operand in o.operands)]
        used = Counter(root for operand in operands for root in self.roots(operand))
        used.update(self.lender[root] for root in list(used) if root in self.lender)
        return used

    def last_use(self, root: Value, region: Region) -> int | None:
        """The number of the last op of a region that uses a root, -1 for a parameter that nothing uses."""
        return self._last[region].get(root)

    def uses(self, root: Value, op: Op) -> int:
        """How often an op names something that shows a root."""
        return self._used_by(op)[root]

    def ending(self, region: Region) -> dict[int, list[Value]]:
        """For each op of a region, by number, the roots at home there that nothing uses after it."""
        by_op: dict[int, list[Value]] = {}
        for value, number in self._last[region].items():
            if self.home.get(value) is region and value in self.roots(value):
                by_op.setdefault(number, []).append(value)
        return by_op

    # Places

    def is_whole(self, place: Value) -> bool:
        """Whether a place never is a view: it shows whole variables, as they lie in memory."""
        return not self.viewed_by(place)

    def viewed_by(self, place: Value) -> Roots:
        """The roots of which a place may show a view, rather than all of it as it lies in memory."""
        return self._origins(place)[1]

    def is_plain(self, place: Value) -> bool:
        """Whether a place always shows a whole variable that was made here, so that it lies in C order."""
        origins, viewed = self._origins(place)
        return not viewed and not any(
            (self.home[root] is self.region and root in self.region.parameters)
            or (isinstance(root.type, Place) and root.type.dtype.itemsize < WORD_BYTES)
            for root in origins
        )

    def _origins(self, place: Value) -> tuple[Roots, Roots]:
        """The variables that arrive at a place by flowing through regions alone, and the roots of others."""
        seen: set[Value] = set()
        viewed: set[Value] = set()
        found: set[Value] = set()
        frontier = [place]
        while frontier:
            value = frontier.pop()
            value = self.whole.get(value, value)
            if value in seen:
                continue
            seen.add(value)
            if value in self.sources:
                frontier.extend(self.sources[value])
            elif self.roots(value) == {value}:
                found.add(value)
            else:
                viewed |= self.roots(value)
        return frozenset(found), frozenset(viewed)


def edges(op: Op) -> Iterator[tuple[Value, list[Value]]]:
    """For each parameter of a region of a control-flow op, and each of its results, the values that may arrive."""
    if op.name == "if":
        for position, result in enumerate(op.results):
            yield result, [region.yielded[position] for region in op.regions]
        return
    if op.name == "recursion":
        calls = [op, *calls_again(op)]
        for position, parameter in enumerate(op.regions[0].parameters):
            yield parameter, [call.operands[position] for call in calls]
        for position, result in enumerate(op.results):
            yield result, [op.regions[0].yielded[position]]
        return
    initial = op.operands[3:] if op.name == "for" else op.operands
    body = op.regions[-1]
    for position, arrives in enumerate(zip(initial, body.yielded, strict=True)):
        for region in op.regions:
            yield region.parameters[position + (op.name == "for")], list(arrives)
        yield op.results[position], list(arrives)
