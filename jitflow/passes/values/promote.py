"""Promotion: what the program knows to be in storage is not read from there, and what nobody reads is not written.

Two sweeps. Forwards, a load of a place gives the value that was last stored to it, or a view of what was stored to a
place around it, as long as nothing in between may have written to its elements; a variable is known to hold what it
starts as. Backwards, a store vanishes if its place is overwritten, or never read again, before anybody looks: a caller
looks at what it can see where the function ends or may fail. A variable that only lives in one stretch of code so
becomes a plain value, and one of which a loop writes every row before anybody looks starts as no matter what.

    %v: var f64[n] = variable %x                 %0: f64[n] = multiply %x, %x
    store %v, %0  [= multiply %x, %x]      ->    yield %0
    %1: f64[n] = load %v
    yield %1

Places are the same if they are the same views on the same variable. What is known before an ``if`` is known inside; of
a loop, what it does not write to. Relies on `jitflow.ir.effects`. It does not carry contents round loops, and leaves
``dce`` the variables that nobody uses any more. Where a stored value is still used after its store, `reload` reads it
from where it was stored to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jitflow.ir.by_place import ByPlace
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.effects import ANYTHING, Access, Effects
from jitflow.ir.types import Place, Tensor, Variable, dims_of
from jitflow.passes.analyses.extents import Extents, covers
from jitflow.passes.rules.identity import keep_apart
from jitflow.records import cached, dataclass

__all__ = ["promote"]

Views = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]


@dataclass(frozen=True, slots=True)
class _Where:
    """A place: views, outermost last, on a variable or on a place that comes from elsewhere."""

    root: Value
    views: Views = ()

    @property
    def part(self) -> dict[str, Any] | None:
        """The attributes of the slice of the root that a place is all of, None if it is not all of one."""
        if not self.views or self.views[0][0] != "slice" or any(name != "reshape" for name, _ in self.views[1:]):
            return None
        return dict(self.views[0][1])

    def part_of(self, other: _Where) -> bool:
        """Whether this place is a view of ``other``, or ``other`` itself."""
        return self.root is other.root and self.views[: len(other.views)] == other.views


def promote(function: Function) -> Function:
    """The function without loads of what is known and stores that nobody reads."""
    if not any(op.name in ("store", "variable") for op in walk(function.region)):
        return function
    places = _Places(function)
    region = _Forwards(places).region(function.region, _Known())
    region = _Backwards(places, function).region(region, _Dead())
    return replace(function, region=keep_apart(function.region, region))


class _Places:
    """The places of a function by their views, and what ops do to them."""

    def __init__(self, function: Function) -> None:
        self.effects = Effects(function)
        self.where: dict[Value, _Where] = {}
        for op in walk(function.region):
            if "view" in op.definition.traits and isinstance(op.result.type, Place):
                source = self.of(op.operands[0])
                attributes = tuple(sorted(op.attributes.items()))
                self.where[op.result] = _Where(source.root, (*source.views, (op.name, attributes)))

    def of(self, place: Value) -> _Where:
        return self.where.get(place, _Where(place))


# -- forwards ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Content:
    """What a place is known to hold."""

    value: Value
    access: Access


class _Known:
    """What places are known to hold."""

    def __init__(self) -> None:
        self.contents: dict[_Where, _Content] = {}
        self.places = ByPlace[_Where]()

    def copy(self) -> _Known:
        other = _Known()
        other.contents, other.places = dict(self.contents), self.places.copy()
        return other

    def add(self, where: _Where, content: _Content) -> None:
        self.contents[where] = content
        self.places.add(where, content.access.places)

    def leave(self, op: Op, effects: Effects) -> None:
        """Forget what an op may have written over."""
        accesses = effects.of(op)
        if not accesses:
            return
        if any(access.kind == "external" for access in accesses) and op.name != "print":
            self.contents, self.places = {}, ByPlace()
        for access in accesses:
            if access.kind == "writes":
                for where in self.places.meeting(access.places):
                    if effects.overlap(self.contents[where].access, access):
                        del self.contents[where]
                        self.places.discard(where)


class _Forwards:
    def __init__(self, places: _Places) -> None:
        self.places = places
        self.effects = places.effects
        self.values: dict[Value, Value] = {}

    def region(self, region: Region, outside: _Known) -> Region:
        """The region with its loads of what is known replaced."""
        known = outside.copy()
        builder = Builder()
        for op in region.ops:
            if not self.values.keys().isdisjoint(op.operands):
                op = replace(op, operands=tuple(self.values.get(operand, operand) for operand in op.operands))
            if op.name == "load":
                value = self.known_value(op, known, builder)
                if value is not None:
                    self.values[op.result] = value
                    continue
            if op.regions:
                inside = known
                if op.name != "if":
                    inside = known.copy()
                    inside.leave(op, self.effects)
                op = replace(op, regions=tuple(self.region(inner, inside) for inner in op.regions))
            builder.ops.append(op)
            known.leave(op, self.effects)
            self.note(op, known)
        return Region(region.parameters, tuple(builder.ops))

    def note(self, op: Op, known: _Known) -> None:
        """Learn what an op puts where."""
        if op.name == "variable":
            known.add(_Where(op.result), _Content(op.operands[0], self.effects.access("reads", op.result)))
        elif op.name == "store":
            place, value = op.operands
            known.add(self.places.of(place), _Content(value, self.effects.access("reads", place)))

    def known_value(self, load: Op, known: _Known, builder: Builder) -> Value | None:
        """What a load gives, if that is known."""
        wanted = self.places.of(load.operands[0])
        for length in reversed(range(len(wanted.views) + 1)):
            content = known.contents.get(_Where(wanted.root, wanted.views[:length]))
            if content is not None:
                break
        else:
            return None
        builder.loc = load.loc
        kind = load.result.type
        assert isinstance(kind, Tensor)
        value = content.value
        if isinstance(value.type, Tensor) and (length < len(wanted.views) or value.type == kind):
            if not dims_of(value.type) and length < len(wanted.views):
                return builder.make("broadcast", value, dims=kind.dims, axes=())
            for name, attributes in wanted.views[length:]:
                value = builder.make(name, value, **dict(attributes))
            return value
        return builder.make("broadcast", value, dims=kind.dims, axes=())


# -- backwards -----------------------------------------------------------------------------------------

_Dead = ByPlace[_Where]
"""The places that nobody reads any more."""


class _Backwards:
    def __init__(self, places: _Places, function: Function) -> None:
        self.places = places
        self.effects = places.effects
        self.function = function

    def region(self, region: Region, behind: _Dead) -> Region:
        """The region without its dead stores; ``behind`` are the places that nobody reads behind it."""
        dead = behind.copy()
        for variable in self.local(region):
            self.add(dead, _Where(variable))
        kept: list[Op] = []
        for op in reversed(region.ops):
            if op.name == "store" and self.is_dead(op, dead):
                continue
            if op.regions:
                inside = dead
                if op.name != "if":
                    inside = dead.copy()
                    self.leave(inside, op)
                op = replace(op, regions=tuple(self.region(inner, inside) for inner in op.regions))
            kept.append(op)
            if op.name == "variable" and self.is_overwritten(op, dead):
                kept[-1:] = reversed(_started_empty(op))
            self.leave(dead, op)
            if op.name == "store":
                self.add(dead, self.places.of(op.operands[0]))
            elif op.name == "for":
                for where in self.covered(op):
                    self.add(dead, where)
        kept.reverse()
        return Region(region.parameters, tuple(kept))

    def add(self, dead: _Dead, where: _Where) -> None:
        dead.add(where, self.effects.places(where.root))

    def local(self, region: Region) -> set[Value]:
        """The variables that a region makes and does not hand out."""
        made = {op.result for op in region.body if op.name == "variable"}
        for value in region.yielded if made else ():
            if isinstance(value.type, Variable | Place):
                shown = self.effects.places(value)
                made = set() if ANYTHING in shown else made - shown
        return made

    def is_dead(self, store: Op, dead: _Dead) -> bool:
        where = self.places.of(store.operands[0])
        return any(_Where(where.root, where.views[:length]) in dead for length in range(len(where.views) + 1))

    def covered(self, loop: Op) -> set[_Where]:
        """The variables that no caller sees of which a loop overwrites every row, and reads none."""
        accesses = self.effects.of(loop)
        reads = [access for access in accesses if access.kind == "reads"]
        if any(access.kind == "external" for access in accesses):
            return set()
        found = set()
        for op in loop.regions[0].body:
            where = self.places.of(op.operands[0]) if op.name == "store" else None
            part = None if where is None else where.part
            if where is None or part is None or not isinstance(where.root.type, Variable):
                continue
            own = self.effects.access("reads", where.root)
            if self.effects.is_visible(own) or any(self.effects.overlap(own, access) for access in reads):
                continue
            if covers(loop, part, where.root.type.dims):
                found.add(_Where(where.root))
        return found

    def is_overwritten(self, variable: Op, dead: _Dead) -> bool:
        """Whether nobody reads what a variable starts as."""
        if _Where(variable.result) in dead:
            return True
        near = dead.meeting(frozenset({variable.result}))
        parts = [where.part for where in near if where.root is variable.result]
        slices = [part for part in parts if part is not None]
        return len(slices) > 1 and self.extents.fill(slices, dims_of(variable.result.type))

    @cached
    def extents(self) -> Extents:
        """Proofs, which most functions need none of."""
        return Extents(self.function)

    def leave(self, dead: _Dead, op: Op) -> None:
        """Keep of ``dead`` what nobody reads from the op on."""
        for access in self.effects.of(op):
            if access.kind == "external":
                near = list(dead)
            elif access.kind == "check":
                near = [where for where in dead if self.effects.is_visible(self.own(where))]
            elif access.kind == "reads":
                near = [w for w in dead.meeting(access.places) if self.effects.overlap(self.own(w), access)]
            else:
                continue
            for where in near:
                dead.discard(where)

    def own(self, where: _Where) -> Access:
        return self.effects.access("reads", where.root)


def _started_empty(variable: Op) -> list[Op]:
    """The variable, whose first content nobody reads."""
    (first,) = variable.operands
    if not isinstance(first.type, Tensor) or not first.type.dims:
        return [variable]
    builder = Builder(loc=variable.loc)
    empty = builder.make("empty", dtype=first.type.dtype, dims=first.type.dims)
    return [*builder.ops, replace(variable, operands=(empty,))]
