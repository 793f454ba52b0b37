"""Objects of the user's classes that lie in a pool of the running program: one stands for a number.

As a rule an object that the program makes is one of Python's, changes once for each time that a block is traced, and
keeps its form (`made_objects`). That does not do for nodes of lists, trees and graphs, of which only the run knows how
many there are and which holds which. Where it does not, the trace starts anew, and all objects of the class lie in a
pool (`python.pools`): what stands for one is its number, which branches, loops and containers hand on as they do other
numbers; what is read of it and stored in it are ops, so it is one object by all its names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.made_objects import MADE_OF, Classes, fields_of, users_class
from jitflow.frontend.outside.special_methods import has_method
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Undoable, current_trace
from jitflow.frontend.tracers import lift, wrap
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Reference
from jitflow.records import dataclass

__all__ = ["NUMBER", "POOL", "Layout", "MadeInside", "ObjectPool", "Pools", "Reads", "begin_anew_pooled",
           "compared_in_python", "has_attribute", "is_being_made", "is_key", "is_of_users_class", "is_pooled",
           "is_same_object", "may_lack", "note_class", "number_of_object", "pool_of", "pool_site", "pooled_object",
           "reference_type", "with_number"]  # fmt: skip

POOL = "__jitflow_pool__"
"""The attribute of a class whose objects lie in a pool, or will when they are made, that holds it."""
NUMBER = "_jitflow_number"
"""The attribute of such an object that holds its number."""


@dataclass(frozen=True)
class Layout:
    """What the objects of a class hold: the names of their attributes; those that some of them may be ``missing``.

    ``early``: they are in the pool before their constructor runs, because that hands them on.
    """

    kind: type
    names: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()
    early: bool = False


class ObjectPool(Protocol):
    """The objects of one class."""

    kind: type
    """The class of what stands for one."""
    reference: Reference
    rows: Any
    """Its entries."""

    def read(self, thing: Any, name: str) -> Any:
        """An attribute of one of them."""

    def store(self, thing: Any, name: str, value: Any) -> None:
        """Let one of them hold something."""

    def table(self, place: int) -> Any:
        """What makes objects of Python's of the entries, which are a container at a place among those returned."""

    def has(self, thing: Any, name: str) -> Any:
        """Whether an object has an attribute that some lack."""

    def copied(self, thing: Any) -> Any:
        """Another object that holds the same."""

    @property
    def layout(self) -> Layout:
        """What they hold."""

    def begin_early(self) -> Any:
        """Start the trace anew, with objects that are in the pool before their constructor runs."""


class Pools(dict[str, ObjectPool]):
    """The pools of a trace, by the names of their references."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[Site, str] = {}
        self.kinds: dict[str, type | None] = {}
        """The classes by these names, of which the program need not have read all by now."""

    def __missing__(self, name: str) -> ObjectPool:
        trace, kind = current_trace(), self.kinds[name]
        assert trace.adopt_class is not None
        assert kind is not None
        trace.adopt_class(kind)._jitflow_class()
        return self[name]


class Reads(Undoable):
    """What has been read of objects in pools since something was last stored in one.

    What is read again is the same thing, so that a check of the first tells of what kind the second is.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, Value, str], tuple[Scope, Any]] = {}

    def read(self, name: str, number: Value, part: str, make: Callable[[], Any]) -> Any:
        """A part of an object of a class, which a function makes if it is not known here."""
        scope, found = self._known.get((name, number, part), (None, None))
        if scope is None or not _runs_before(scope):
            found = make()
            self._known[name, number, part] = current_trace().scope, found
        return found

    def forget(self) -> None:
        """Something may have been stored."""
        self._known.clear()

    def mark(self) -> Callable[[], None]:
        """Reads may be taken back."""
        return self.forget


def _runs_before(scope: Scope) -> bool:
    """Whether what was recorded in a scope has run when the program comes here, and not in an earlier turn."""
    for one in current_trace().scope.around():
        if one is scope or not one.is_branch:
            return one is scope
    return False


def pool_of(thing: Any) -> ObjectPool | None:
    """The pool of an object, if it lies in one or is being made there."""
    found: ObjectPool | None = vars(type(thing)).get(POOL)
    return found


def is_pooled(thing: Any) -> bool:
    """Whether it is an object in a pool. One that is being made, and is asked for, has to be there already."""
    pool = pool_of(thing)
    if pool is None:
        return False
    if is_being_made(thing):
        raise pool.begin_early()
    return True


def is_being_made(thing: Any) -> bool:
    """Whether it is an object whose constructor runs, and which will lie in a pool."""
    pool = pool_of(thing)
    return pool is not None and pool.kind is not type(thing)


def number_of_object(thing: Any) -> Any:
    """Its number among the objects of its class."""
    return object.__getattribute__(thing, NUMBER)


def with_number(kind: type, number: Any) -> Any:
    """The object of a class with a number."""
    thing: Any = object.__new__(kind)
    object.__setattr__(thing, NUMBER, number)
    return thing


def pooled_object(name: str, number: Any) -> Any:
    """The object with a number in the pool of a name."""
    return with_number(current_trace().state(Pools)[name].kind, number)


def reference_type(thing: Any) -> Reference:
    """The type of an object as an item."""
    pool = pool_of(thing)
    assert pool is not None
    return pool.reference


def pool_site(kind: type) -> Site:
    """Where it is known whether the objects of a class lie in a pool."""
    return Site(Choice.POOLED, kind.__module__, id(kind), kind.__qualname__)


class MadeInside(dict[Site, Layout]):
    """The classes of the user's of which branches and loops have made objects."""


def note_class(kind: type) -> None:
    """Objects of a class are made here."""
    trace = current_trace()
    if trace.scope is not trace.root and may_be_pooled(kind):
        trace.state(MadeInside)[pool_site(users_class(kind))] = Layout(users_class(kind))


def may_be_pooled(kind: type) -> bool:
    """Whether objects of a class that the program makes may lie in a pool, and do not."""
    return not issubclass(kind, tuple | BaseException) and POOL not in vars(kind)


def begin_anew_pooled(things: Iterable[Any]) -> None:
    """Start the trace anew, with the objects of classes of the user's among these in pools, if that has not failed."""
    trace = current_trace()
    for thing in things:
        kind = users_class(type(thing))
        site = pool_site(kind)
        if is_of_users_class(thing) and not trace.choices.is_settled(site):
            raise trace.begin_anew(Restart(site, Layout(kind, tuple(fields_of(thing))), is_wish=True))


def compared_in_python(function: Callable[..., Any], items: Sequence[Any], *args: Any, **keywords: Any) -> Any:
    """What a function of Python's does that compares items.

    Objects that only the run can compare are numbers in pools when the trace has started anew.
    """
    try:
        return function(items, *args, **keywords)
    except UserNotImplementedError:
        parts = (part for item in (*items, *args) for part in (item if type(item) is tuple else (item,)))
        begin_anew_pooled(parts)
        raise


def is_of_users_class(thing: Any) -> bool:
    """Whether the program has made an object of a class of the user's, which lies in no pool but may do so."""
    kind = type(thing)
    is_made = MADE_OF in vars(kind) or (dataclasses.is_dataclass(kind) and id(kind) in current_trace().state(Classes))
    return is_made and may_be_pooled(kind)


def is_key(kind: type) -> bool:
    """Whether objects of a class are equal to themselves alone."""
    return not has_method(kind, "__eq__") and not has_method(kind, "__hash__")


def may_lack(thing: Any, name: Any) -> bool:
    """Whether it is an object in a pool of whose class some objects lack an attribute."""
    pool = pool_of(thing)
    return pool is not None and is_pooled(thing) and name in pool.layout.missing


def has_attribute(thing: Any, name: str) -> Any:
    """Whether an object in a pool has an attribute that some lack."""
    pool = pool_of(thing)
    assert pool is not None
    return pool.has(thing, name)


def is_same_object(one: Any, other: Any) -> Any:
    """Whether two objects in pools are one."""
    if type(one) is not type(other):
        return False
    first, second = (lift(number_of_object(thing)) for thing in (one, other))
    return wrap(as_weak(values.emit("equal", first, second), BOOL))
