"""The one question about order: whether two ops conflict.

Effects are derived, never stored: from the rows of the table, from the effects of ops inside regions, and from what a
place may point to. A pass that moves, merges or drops ops asks here.

Two ops conflict when one writes storage that the other reads or writes; when one may fail and the other writes what a
caller can see, or may fail as well (a program that raises does it at the first op that fails); when one is ordered with
everything outside (a print, a message, a call) and the other has any effect.

*Place sets.* A place shows one or several variables; its set are their values. A view of a place has its place's set;
what flows into a region or out of it has the union. A parameter of type ``place`` may show anything. Distinct variables
never overlap, unless the function was specialised for arguments that do: the attribute ``overlap`` of the function
then makes all its parameters one. Storage made inside a region and not yielded by it is nobody else's business.
Containers may be any of their type, and a caller sees those of a type that it passes. What they hold is two storages,
their items and which entries there are: a list keeps its length while its items change. Places that a loop swaps never
meet, though their sets do (`jitflow.ir.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from jitflow.ir.apart import Roles
from jitflow.ir.core import Function, Op, Region, Value, walk_inside
from jitflow.ir.dtypes import F64
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.types import Buffer, Container, Place, Tape, Tensor, Variable, containers_in
from jitflow.records import dataclass

__all__ = [
    "ANYTHING",
    "Access",
    "Effects",
    "calls_again",
    "carried_in",
    "conflict",
    "is_pure",
    "is_removable",
    "is_storage",
    "is_view",
    "may_fail",
    "written_by",
]

ANYTHING = Value(Place(F64, ()), "anything")
"""Stands for all storage in a place set: nobody knows what the place shows."""
_FAILURE = Value(Place(F64, ()), "failure")
"""Stands for what decides in which state a caller sees a program that fails."""

PlaceSet = frozenset[Value]
_NO_ACCESS: frozenset[Access] = frozenset()
_NOTHING: PlaceSet = frozenset()

_UNKNOWN: PlaceSet = frozenset({ANYTHING})
_STORAGE = (Variable, Place, Tape, Buffer)


@dataclass(frozen=True, slots=True)
class Access:
    """An effect with what it acts on: ``kind`` as in `Effect`, ``places`` empty unless it reads or writes.

    ``role`` is that of the place, as `jitflow.ir.apart` has it.
    """

    kind: str
    places: PlaceSet = frozenset()
    role: Value | None = None


class Effects:
    """Answers about the ops of one function or region, whose place sets it computes once.

    Made without a function it knows only what an op itself tells: a variable is itself, every other place may be
    anything.
    """

    def __init__(self, scope: Function | Region | None = None) -> None:
        self.sets: dict[Value, PlaceSet] = {}
        self._known: dict[Op, frozenset[Access]] = {}
        self.roles: Roles | None = None
        self.visible: set[Value] | None = None
        """Storage that outlives the scope; None if nobody knows which does."""
        if scope is None:
            return
        region = scope.region if isinstance(scope, Function) else scope
        self.visible = {ANYTHING, *region.parameters}
        for op in region.ops:
            if op.name == "pass_container":
                self.visible.update(*map(_containers, containers_in(op.result.type)))
        overlap = isinstance(scope, Function) and scope.attributes.get("overlap")
        for parameter in region.parameters:
            if overlap and isinstance(parameter.type, Variable):
                self.sets[parameter] = _UNKNOWN
        self._spread(region.ops)
        if any(op.regions for op in region.ops):
            self.roles = Roles(region, lambda one, other: not _overlap(self.places(one), self.places(other)))

    def places(self, value: Value) -> PlaceSet:
        """The variables, tapes or buffers that ``value`` may show."""
        known = self.sets.get(value)
        if known is not None:
            return known
        if isinstance(value.type, Container):
            return _containers(value.type)
        return frozenset({value}) if isinstance(value.type, Variable | Tape) else _UNKNOWN

    def access(self, kind: str, place: Value, part: str = "") -> Access:
        """Reading or writing ``place``, or a part of it."""
        places = self.places(place)
        if part and isinstance(place.type, Container):
            places = _containers(place.type, part)
        return Access(kind, places, None if self.roles is None else self.roles.of(place))

    def overlap(self, first: Access, second: Access) -> bool:
        """Whether the two may touch the same elements."""
        if self.roles is not None and self.roles.apart(first.role, second.role):
            return False
        return _overlap(first.places, second.places)

    def may_meet(self, first: Value, second: Value) -> bool:
        """Whether two places may show common elements."""
        return self.overlap(self.access("reads", first), self.access("reads", second))

    def of(self, op: Op) -> frozenset[Access]:
        """Everything that an op does to the world outside it."""
        if not op.definition.effects and not op.regions:
            return _NO_ACCESS
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = self._find(op)
        return known

    def written(self, op: Op) -> PlaceSet:
        """All that an op may write to."""
        accesses = self.of(op)
        if not accesses:
            return _NOTHING
        return frozenset().union(*(access.places for access in accesses if access.kind == "writes"))

    def touched(self, op: Op) -> PlaceSet:
        """Storage by which ops that conflict are found (`jitflow.ir.by_place`): of two that do, the sets meet."""
        places: set[Value] = set()
        for access in self.of(op):
            if access.kind == "external":
                places.add(ANYTHING)
            elif access.kind == "check" or (access.kind == "writes" and self.is_visible(access)):
                places.add(_FAILURE)
            places |= access.places
        return frozenset(places)

    def is_visible(self, access: Access) -> bool:
        """Whether a caller may see what is written."""
        return self.visible is None or not self.visible.isdisjoint(access.places)

    def _find(self, op: Op) -> frozenset[Access]:
        accesses: set[Access] = set()
        for effect in op.own_effects:
            if effect.kind in ("reads", "writes"):
                accesses.add(self.access(effect.kind, op.operands[effect.operand], effect.part))
            else:
                accesses.add(Access(effect.kind))
        for kind, attribute in _OF_TYPES if op.name == "recur" else ():
            accesses |= {Access(kind, _containers(type)) for type in op.attributes.get(attribute, ())}
        for region in op.regions:
            local = self._local(region)
            for inner in region.ops:
                for access in self.of(inner):
                    places = access.places - local
                    if places or access.kind not in ("reads", "writes"):
                        role = None if access.role is None or _is_inside(access.role, region) else access.role
                        accesses.add(Access(access.kind, places, role))
        return frozenset(accesses)

    def conflict(self, first: Op, second: Op) -> bool:
        """Whether swapping the two ops could change what the program does."""
        ours, theirs = self.of(first), self.of(second)
        return any(self._ordered(a, b) or self._ordered(b, a) for a in ours for b in theirs)

    def _local(self, region: Region) -> PlaceSet:
        """Storage that only this region can reach: made here, and shown by nothing that it yields."""
        made = {result for op in region.ops for result in op.results if op.name in ("variable", "tape")}
        for value in region.yielded if made else ():
            if isinstance(value.type, _STORAGE):
                shown = self.places(value)
                made = set() if ANYTHING in shown else made - shown
        return frozenset(made)

    def _ordered(self, first: Access, second: Access) -> bool:
        if first.kind == "external":
            return second.kind != "allocates"
        if first.kind == "writes":
            if second.kind == "check":
                return self.is_visible(first)
            return second.kind in ("reads", "writes") and self.overlap(first, second)
        return first.kind == "check" and second.kind == "check"

    def _spread(self, ops: Iterable[Op]) -> None:
        """Pass place sets on along views and edges of regions until nothing new is learnt."""
        ways, changed = list(_ways(ops)), True
        while changed:
            changed = False
            for target, source in ways:
                before = self.sets.get(target, frozenset())
                self.sets[target] = after = before | self.places(source)
                changed = changed or after != before


_OF_TYPES = (("reads", "read"), ("writes", "written"))
"""The attributes of a `recur` that say what it does to containers, which are known by their types alone."""


@cache
def _containers(kind: Container, part: str = "") -> PlaceSet:
    """Stands for all containers of a type: a reference may be to any of them, and to no other storage."""
    if part:
        return frozenset({Value(kind, part)})
    return _containers(kind, "items") | _containers(kind, "entries")


def conflict(first: Op, second: Op, effects: Effects | None = None) -> bool:
    """Whether swapping the two ops could change what the program does.

    ``effects`` knows the function that they stand in; without it every place may show anything.
    """
    return (effects or Effects()).conflict(first, second)


def is_storage(value: Value) -> bool:
    """Whether a value is memory, or shows some."""
    return isinstance(value.type, Variable | Place | Tape)


def is_view(op: Op) -> bool:
    """Whether an op shows a value otherwise; views of storage are storage."""
    return "view" in op.definition.traits and isinstance(op.result.type, Tensor)


def is_pure(op: Op) -> bool:
    """Whether an op only computes its results: it may be moved, repeated, merged with its equal, or dropped."""
    return not _kinds(op)


def is_removable(op: Op) -> bool:
    """Whether an op whose results nobody uses may be dropped: it changes nothing and cannot fail."""
    return _kinds(op) <= {"reads", "allocates"}


def may_fail(op: Op) -> bool:
    """Whether an op may raise."""
    return not _kinds(op).isdisjoint(("check", "external"))


def _kinds(op: Op) -> set[str]:
    """The effects of an op, knowing the place sets inside its own regions only."""
    if not op.regions:
        return {effect.kind for effect in op.own_effects} if op.definition.effects else set()
    effects = Effects()
    effects._spread((op,))
    return {access.kind for access in effects.of(op)}


def written_by(ops: Sequence[Op]) -> Iterator[PlaceSet]:
    """What each of the writes among some ops may touch."""
    effects = Effects()
    effects._spread(ops)
    for op in ops:
        yield from (access.places for access in effects.of(op) if access.kind == "writes")


def _is_inside(role: Value, region: Region) -> bool:
    return role in region.parameters or any(role in op.results for op in region.body)


def _overlap(first: PlaceSet, second: PlaceSet) -> bool:
    return ANYTHING in first or ANYTHING in second or not first.isdisjoint(second)


def _ways(ops: Iterable[Op]) -> Iterator[tuple[Value, Value]]:
    """On which ways storage comes from one name to another: the names it goes to and comes from, in program order."""
    for op in ops:
        if not op.regions:
            shows = "view" in op.definition.traits or op.name in ("offset", "show_items")
            if shows and isinstance(op.result.type, _STORAGE):
                yield op.result, op.operands[0]
            continue
        for region in op.regions:
            yield from _storage_pairs(region.parameters, _arriving(op, region))
            yield from _ways(region.ops)
        if op.name in ("for", "while"):
            for region in op.regions:
                yield from _storage_pairs(carried_in(op, region), op.regions[-1].yielded)
        elif op.name == "recursion":
            for again in calls_again(op):
                yield from _storage_pairs(op.regions[0].parameters, again.operands)
        for source in _leaving(op):
            yield from _storage_pairs(op.results, source)


def _storage_pairs(targets: Sequence[Value], sources: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
    for target, source in zip(targets, sources, strict=True):
        if isinstance(target.type, _STORAGE):
            yield target, source


def _arriving(op: Op, region: Region) -> Sequence[Value]:
    """The values for a region's parameters, on entry."""
    if op.name in DERIVATIVE_NAMES or op.name in ("attend", "overlap_block", "multiply_tile", "share"):
        return region.parameters  # these take and yield values, never storage
    return op.operands[2:] if op.name == "for" else () if op.name == "if" else op.operands


def calls_again(recursion: Op) -> Iterator[Op]:
    """The ops in the region of a recursion that call it again."""
    return (
        op
        for op in walk_inside(recursion)
        if op.name == "recur" and op.attributes["function"] == recursion.attributes["function"]
    )


def carried_in(op: Op, region: Region) -> Sequence[Value]:
    """The parameters of a region of a loop or branch that stand for the results."""
    return region.parameters[1:] if op.name == "for" else region.parameters


def _leaving(op: Op) -> Iterable[Sequence[Value]]:
    """What may become the results of an op with regions."""
    if op.name == "if":
        return [region.yielded for region in op.regions]
    if op.name == "for":
        return [op.operands[3:], op.regions[0].yielded]
    if op.name == "while":
        return [op.operands, op.regions[1].yielded]
    if op.name in DERIVATIVE_NAMES:
        return []
    return [op.regions[0].yielded]
