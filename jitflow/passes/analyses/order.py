"""What an op must stay behind, beyond the values that it reads.

`fuse` takes the ops of a region apart and puts them together anew. Three things keep order:

- *checks*: no op overtakes a check, since kernels and layouts trust what was checked. An index out of range, which a
  kernel finds itself, is no such check, nor is arithmetic that may fail: who trusts it reads what it gives;
- *storage*: an op that reads a loaded value stays between the writes that it stands between, and so do the loads and
  the writes themselves; what a caller sees of a call that raised is written before the op that raises;
- *sizes*: what mentions a size follows the op that binds it;
- *messages*: who waits for another device has done first what stands before it.

An op that only reads through views counts as reading what they show.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any

from jitflow.ir.core import Op, Region, Value, walk_inside
from jitflow.ir.dims import Expression
from jitflow.ir.effects import ANYTHING, Access, Effects
from jitflow.ir.types import Index, Tensor, Type, dims_of

__all__ = ["Order", "bound_sizes", "find_order", "is_free", "named_sizes", "reads_of", "sizes_inside"]  # fmt: skip

_WAITING = ("recv", "meet")

Order = Mapping[Op, Sequence[Op]]
"""For each op the earlier ops of its region that it must follow."""


def reads_of(op: Op) -> Iterator[Value]:
    """The operands of an op and of the ops in its regions."""
    yield from op.operands
    for inner in walk_inside(op):
        yield from inner.operands


def is_free(op: Op) -> bool:
    """Views and numbers: nothing to compute, so they take no part in the order, and every kernel gets a copy."""
    if op.name == "constant":
        return not isinstance(op.result.type, Tensor)
    return "view" in op.definition.traits or op.name == "size"


def find_order(
    body: Sequence[Op],
    effects: Effects | None,
    producer: Mapping[Value, Op],
    finds_failures: Callable[[Op], bool],
    sizes: Set[str] = frozenset(),
) -> Order:
    """The order among the ops of a region.

    ``effects`` is None if the function has neither storage nor regions; ``producer`` knows also the free ops and loads
    around the region; ``finds_failures`` says of an op that may fail whether it finds out itself; ``sizes`` are bound
    around the region.
    """
    order = _Order(effects, producer, finds_failures)
    for op in body:
        if not is_free(op):
            order.add(op)
    if effects is not None or any("binds" in op.attributes for op in body):
        _follow_binders(body, producer, order.before, sizes)
    return order.before


class _Order:
    def __init__(
        self, effects: Effects | None, producer: Mapping[Value, Op], finds_failures: Callable[[Op], bool]
    ) -> None:
        self.effects = effects
        self.producer = producer
        self.finds_failures = finds_failures
        self.before: dict[Op, list[Op]] = {}
        self.check: Op | None = None
        self.arithmetic: Op | None = None
        """The last arithmetic that may fail, since the last check: what fails later stays behind it."""
        self.external: Op | None = None
        self.failing: list[Op] = []
        self.visible: list[Op] = []
        """The writes that a caller can see, since the last check."""
        self.writers: dict[Value, dict[Value | None, Op]] = {}
        self.readers: dict[Value, dict[Value | None, list[Op]]] = {}
        """Of each variable, by role, the last op that writes to it, and those that have read it since."""
        self.entered: list[Op] = []
        self.effective: list[Op] = []
        """What has any effect, since the last op that is ordered with everything."""

    def add(self, op: Op) -> None:
        """Enter the next op of the program."""
        accesses = self._accesses(op)
        earlier: dict[Op, None] = {}
        if self.check is not None:
            earlier[self.check] = None
        kinds = {access.kind for access in accesses} - {"allocates"}
        if kinds and self.external is not None:
            earlier[self.external] = None
        if op.name in _WAITING:
            earlier.update(dict.fromkeys(self.entered))
        if "external" in kinds:
            earlier.update(dict.fromkeys(self.effective))
        for access in accesses:
            if access.kind == "reads":
                earlier.update(dict.fromkeys(self._writers_of(access)))
            elif access.kind == "writes":
                earlier.update(dict.fromkeys(self._writers_of(access)))
                earlier.update(dict.fromkeys(self._readers_of(access)))
                if self._is_visible(access):
                    earlier.update(dict.fromkeys(self.failing))
        fails = not kinds.isdisjoint(("check", "external"))
        if fails:
            earlier.update(dict.fromkeys(self.visible))
            if self.arithmetic is not None:
                earlier[self.arithmetic] = None
        self._enter(op, accesses, fails)
        self.entered.append(op)
        if earlier:
            self.before[op] = list(earlier)

    def _enter(self, op: Op, accesses: frozenset[Access], fails: bool) -> None:
        for access in accesses:
            if access.kind == "writes":
                self._write(op, access)
        for access in accesses:
            if access.kind == "reads":
                for place in access.places:
                    self.readers.setdefault(place, {}).setdefault(access.role, []).append(op)
            elif access.kind == "external":
                self.external, self.effective = op, []
        if accesses:
            self.effective.append(op)
        if fails:
            self.failing.append(op)
            if _is_arithmetic(op):
                self.arithmetic = op
            elif not self.finds_failures(op):
                self.check, self.visible, self.arithmetic = op, [], None

    def _accesses(self, op: Op) -> frozenset[Access]:
        if self.effects is None:
            return frozenset(Access(effect.kind) for effect in op.own_effects)
        accesses = self.effects.of(op)
        loads = {load for load in map(self._load_behind, reads_of(op)) if load is not None}
        return accesses | {self.effects.access("reads", load.operands[0]) for load in loads}

    def _load_behind(self, value: Value) -> Op | None:
        """The load that ``value`` is a view of."""
        op = self.producer.get(value)
        while op is not None and "view" in op.definition.traits:
            op = self.producer.get(op.operands[0])
        return op if op is not None and op.name == "load" else None

    def _is_visible(self, access: Access) -> bool:
        assert self.effects is not None
        visible = self.effects.visible
        return visible is None or not visible.isdisjoint(access.places)

    def _write(self, op: Op, access: Access) -> None:
        if self._is_visible(access):
            self.visible.append(op)
        for place in access.places:
            if access.role is None:
                self.writers[place], self.readers[place] = {None: op}, {}
            else:
                self.writers.setdefault(place, {})[access.role] = op
                self.readers.setdefault(place, {})[access.role] = []

    def _writers_of(self, access: Access) -> Iterator[Op]:
        for place in self.writers if ANYTHING in access.places else (ANYTHING, *access.places):
            for role, op in self.writers.get(place, {}).items():
                if not self._apart(role, access):
                    yield op

    def _readers_of(self, access: Access) -> Iterator[Op]:
        for place in self.readers if ANYTHING in access.places else (ANYTHING, *access.places):
            for role, ops in self.readers.get(place, {}).items():
                if not self._apart(role, access):
                    yield from ops

    def _apart(self, role: Value | None, access: Access) -> bool:
        assert self.effects is not None
        return self.effects.roles is not None and self.effects.roles.apart(role, access.role)


def _is_arithmetic(op: Op) -> bool:
    """Whether nothing in an op may fail but Python's arithmetic with numbers, and it writes nothing."""
    for inner in (op, *walk_inside(op)):
        kinds = {effect.kind for effect in inner.own_effects}
        if not kinds <= {"check"} or (kinds and not inner.attributes.get("checked")):
            return False
    return True


def _follow_binders(
    body: Sequence[Op], producer: Mapping[Value, Op], before: dict[Op, list[Op]], sizes: Set[str]
) -> None:
    """Ops follow those that bind the sizes that they mention, or that the views mention through which they read."""
    binders: dict[str, Op] = {}
    for op in body:
        for name in bound_sizes(op):
            if name not in sizes:
                binders.setdefault(name, op)
    if not binders:
        return
    mentioned = _Mentioned(binders, producer)
    for op in body:
        if not is_free(op):
            needed = dict.fromkeys(binders[name] for name in sorted(mentioned.by(op)) if binders[name] is not op)
            before.setdefault(op, []).extend(needed)


class _Mentioned:
    """Which of some sizes ops mention, or the views through which they read."""

    def __init__(self, sizes: Collection[str], producer: Mapping[Value, Op]) -> None:
        self._sizes = sizes
        self._producer = producer
        self._known: dict[Op, frozenset[str]] = {}

    def by(self, op: Op) -> frozenset[str]:
        known = self._known.get(op)
        if known is None:
            names = {name for inner in (op, *walk_inside(op)) for name in inner.sizes if name in self._sizes}
            known = self._known[op] = frozenset(names).union(*map(self._behind, reads_of(op)))
        return known

    def _behind(self, value: Value) -> frozenset[str]:
        op = self._producer.get(value)
        return self.by(op) if op is not None and is_free(op) else frozenset()


def bound_sizes(op: Op) -> Iterator[str]:
    """The sizes that an op binds, if nothing has before it."""
    if "binds" in op.attributes:
        yield op.attributes["binds"]
    elif op.definition.infer is None and "sized" not in op.definition.traits:
        for result in op.results:
            yield from named_sizes(result.type)


def sizes_inside(region: Region) -> Iterator[str]:
    """The sizes that a region and those inside it bind, if nothing around it has bound them."""
    for parameter in region.parameters:
        yield from named_sizes(parameter.type)
    for op in region.ops:
        yield from bound_sizes(op)
        for inner in op.regions:
            yield from sizes_inside(inner)


def named_sizes(kind: Type) -> Iterator[str]:
    """The sizes that stand alone in a type, which so binds them where it comes first."""
    for dim in _dims(kind):
        if isinstance(dim, Expression) and dim.is_symbol:
            yield str(dim)


def _dims(kind: Type) -> tuple[Any, ...]:
    if isinstance(kind, Index):
        return () if kind.dim is None else (kind.dim,)
    return dims_of(kind)
