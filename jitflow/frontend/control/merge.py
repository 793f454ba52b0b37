"""Where paths meet: the locals after a branch, and what a loop carries round.

A local that is the same object on every path stays that object. Numbers and arrays of different paths become one
number or array of their common type (`kinds.py`), tuples and the like item by item; everything else has to be equal.

An array that comes out of a merge is a value of its own. If the program writes to it later, it matters that it *is* one
of the arrays that went in, when these can be seen by another name. Then the trace starts anew (`Restart`) and carries
the array as a *place*, a view of memory that other names may show as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.kinds import Kind, converted, join, kind_of, placeholder, renamed
from jitflow.frontend.numpy import values
from jitflow.frontend.scopes import Scope
from jitflow.frontend.storage import Site
from jitflow.frontend.trace import Trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Place, Scalar, Tensor, Type

__all__ = ["Leaves", "MaybeUnbound", "Slot", "agreeing", "common_kind", "flatten", "result_of"]


@dataclass(frozen=True, eq=False)
class MaybeUnbound:
    """A local that is bound only if ``condition`` holds, and then is ``thing``."""

    thing: Any
    condition: Value


@dataclass(frozen=True, eq=False)
class Leaves:
    """The numbers, arrays and other things in a structure of tuples, lists and dicts, and its shape."""

    items: tuple[Any, ...]
    shape: Any
    rebuild: Callable[[Sequence[Any]], Any]

    @property
    def is_unbound(self) -> bool:
        """Whether the local is not bound."""
        return self.shape is None and self.items[0] is UNBOUND


def flatten(thing: Any) -> Leaves:
    """A structure taken apart."""
    kind = type(thing)
    if kind in (tuple, list) or (isinstance(thing, tuple) and hasattr(kind, "_fields")):
        make = (lambda items: kind(*items)) if hasattr(kind, "_fields") else kind
        return _group([*thing], (kind, len(thing)), make)
    if kind is dict:
        keys = tuple(thing)
        return _group([*thing.values()], (dict, keys), lambda items: dict(zip(keys, items, strict=True)))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type | tracers.Tracer) and kind is thing.__class__:
        names = tuple(field.name for field in dataclasses.fields(thing) if field.init)
        parts = [getattr(thing, name) for name in names]
        return _group(parts, (kind, names), lambda items: kind(**dict(zip(names, items, strict=True))))
    return Leaves((thing,), None, lambda items: items[0])


def _group(parts: list[Any], shape: Any, make: Callable[[list[Any]], Any]) -> Leaves:
    leaves = [flatten(part) for part in parts]

    def rebuild(items: Sequence[Any]) -> Any:
        rest = list(items)
        made = []
        for leaf in leaves:
            count = len(leaf.items)
            made.append(leaf.rebuild(rest[:count]))
            del rest[:count]
        return make(made)

    items = tuple(item for leaf in leaves for item in leaf.items)
    return Leaves(items, (shape, tuple(leaf.shape for leaf in leaves)), rebuild)


def agreeing(things: Sequence[Any]) -> bool:
    """Whether a local need not be merged: one object, or constants that cannot be told apart."""
    first, *others = things
    for other in others:
        if other is first:
            continue
        if type(other) is not type(first) or isinstance(other, tracers.Tracer) or kind_of(other) is not None:
            if type(other) is type(first) and type(first) in (bool, int, float, complex) and repr(other) == repr(first):
                continue
            return False
        try:
            if not bool(other == first):
                return False
        except Exception:
            return False
    return True


def common_kind(name: str, things: Sequence[Any], fresh: Callable[[], Dim]) -> Kind:
    """The type of what a local is on several paths. Raises `UserTypeError` where there is none."""
    found: Kind | None = None
    for thing in things:
        if thing is UNBOUND:
            continue
        kind = kind_of(thing)
        if kind is None:
            raise located(_no_common_type(name, things))
        try:
            found = kind if found is None else join(found, kind, fresh)
        except UserTypeError as error:
            raise located(UserTypeError(f"{name} is {error.message}", found=error.found, mend=error.mend)) from None
    assert found is not None
    return found


def _no_common_type(name: str, things: Sequence[Any]) -> UserTypeError:
    found = " and ".join(_describe(thing) for thing in things)
    return UserTypeError(
        f"{name} has no common type on the paths that the running program chooses from",
        found=found,
        expected="numbers or arrays on every path, or the same object",
        mend="give it a number or an array on every path",
    )


def _describe(thing: Any) -> str:
    kind = kind_of(thing)
    return str(kind) if kind is not None else "None" if thing is None else f"a {type(thing).__name__}"


@dataclass(eq=False)
class Slot:
    """One merged number or array: its type, where its site is, and the type of what flows along the edges."""

    name: str
    kind: Kind
    site: Site
    as_place: bool = False
    shared: bool = False
    """Whether something flows in that other names may show."""

    @property
    def type(self) -> Type:
        """The type of a region's parameter or result."""
        if self.as_place:
            assert isinstance(self.kind, Tensor)
            return Place(self.kind.dtype, self.kind.dims)
        return self.kind

    def incoming(self, thing: Any, scope: Scope, home: Scope | None = None) -> Value:
        """What flows in from a path whose ops ``scope`` collects. ``home`` is the region around all paths."""
        trace = current_trace()
        with trace.region(scope):
            if thing is UNBOUND and not self.as_place:
                return placeholder(trace, self.kind)
            if self.as_place:
                return self._place(trace, thing, scope, home)
            if isinstance(thing, tracers.ArrayTracer):
                self.shared |= not trace.storage.is_fresh(thing._value, scope)
            return converted(thing, self.kind)

    def _place(self, trace: Trace, thing: Any, scope: Scope, home: Scope | None) -> Value:
        storage = trace.storage
        assert isinstance(self.kind, Tensor)
        fits = isinstance(thing, tracers.ArrayTracer) and thing.type.dtype == self.kind.dtype
        if fits and (home is None or not storage.is_fresh(thing._value, scope)):
            return renamed(storage.place(thing._value), self.kind)
        if thing is UNBOUND:
            with trace.region(home or scope):
                return storage.memory(self.kind)
        value = converted(thing, self.kind)
        home = home or scope
        if not all(map(trace.is_visible_in(home), values.dims(value))):
            raise located(
                UserNotImplementedError(
                    f"{self.name} is a new array on one path and one that other names show on another, and is written "
                    "to later",
                    mend=f"copy it before: {self.name} = {self.name}.copy()",
                )
            )
        with trace.region(home):
            memory = storage.memory(self.kind)
        trace.add("store", memory, value)
        return memory

    def outgoing(self, value: Value) -> Any:
        """The program's object for a parameter or result."""
        return result_of(self, value)


def result_of(slot: Slot, value: Value) -> Any:
    """The tracer of a merged number or array."""
    storage = current_trace().storage
    if slot.as_place:
        assert isinstance(slot.kind, Tensor)
        shown = Value(slot.kind, slot.name)
        storage.adopt(shown, value)
        return tracers.wrap(shown, owned=False)
    if isinstance(slot.kind, Scalar):
        return tracers.wrap(value)
    assert isinstance(value.type, Tensor)
    storage.made_here(value)
    tracer = tracers.wrap(value, owned=True)
    storage.merged[value] = slot
    return tracer
