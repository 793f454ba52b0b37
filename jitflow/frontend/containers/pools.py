"""Pools: where the objects of a class lie that the running program makes, as many as it likes (`pooled_objects`).

A pool is a list of the running program with an entry for each object, a tuple of its attributes; an object is the
number of its entry. So attributes have types as items have, which the trace starts anew to widen, and an attribute that
is None or a node is of several kinds. The entry is made when the constructor is done: until then, the object is one of
Python's like others. One that hands itself on before that is in the pool from the start. Where some objects lack an
attribute, a bool beside it says which have it. Entries stay until the call ends.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType, MemberDescriptorType
from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.containers.containers import NOTHING, as_item, is_unknown, made, refusal
from jitflow.frontend.containers.held_items import standing_for
from jitflow.frontend.containers.item_types import Kept, item_type, parts_inside
from jitflow.frontend.containers.untold import note_lacking
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.local_types import placeholder
from jitflow.frontend.control.logic import not_
from jitflow.frontend.outside.made_objects import MADE_OF, fields_of, made_class
from jitflow.frontend.outside.pooled_objects import (
    NUMBER,
    POOL,
    Layout,
    Pools,
    Reads,
    begin_anew_pooled,
    is_key,
    is_pooled,
    is_same_object,
    number_of_object,
    pool_of,
    pool_site,
    with_number,
)
from jitflow.frontend.outside.special_methods import has_method
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import begin_anew_rewritten
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.types import Item, Reference, words_of
from jitflow.runtime.objects.returned_objects import PoolTable

__all__ = ["Pool", "make_pools"]


class _Rows(dict[Site, Any]):
    """The entries of each pool of a trace, by its site."""


def make_pools() -> None:
    """Make the pools of classes of which an earlier trace has found that they need one: they are there everywhere."""
    trace = current_trace()
    rows, pools = trace.state(_Rows), trace.state(Pools)
    for site, layout in trace.choices.sites(Choice.POOLED).items():
        known = "".join(one if one.isalnum() and one.isascii() else "_" for one in site.name.rpartition(".")[2])
        name = known if known not in pools.kinds else f"{known}_{len(pools.kinds)}"
        pools.kinds[name] = None if layout is None else layout.kind
        if layout is None:
            continue
        pools.names[site] = name
        place = Site(Choice.GROWING, site.file, site.line, f"the objects of {site.name} {', '.join(layout.names)}")
        rows[site] = made("list", place, trace.choices.answer(place))


class Pool:
    """The objects of one class in a trace."""

    def __init__(self, proxy: Any, site: Site, layout: Layout) -> None:
        trace, pools = current_trace(), current_trace().state(Pools)
        self.site, self.layout, self.rows = site, layout, trace.state(_Rows)[site]
        self.users = users = proxy._jitflow_object
        name = pools.names[site]
        self.reference = Reference(name=name, is_key=is_key(users))
        pools[name] = self
        self._first = () if layout.names else (0,)  # an entry is something
        base = made_class(proxy)
        assert base is not None
        self.first = _derived(base, proxy, self, {})
        found: dict[str, Any] = {**_MEMBERS, **({} if has_method(users, "__eq__") else _BY_IDENTITY)}
        cached = (name for one in users.__mro__ for name, member in vars(one).items() if isinstance(member, _CACHED))
        found |= {name: property(partial(_refuse_cached, name)) for name in cached}
        found |= {name: property(partial(_read, name), partial(_store, name)) for name in layout.names}
        self.kind = _derived(base, proxy, self, found)

    # -- objects ------------------------------------------------------------------------------------

    def made(self, args: Any, keywords: Any) -> Any:
        """A new object."""
        if not self.layout.early:
            thing = type.__call__(self.first, *args, **keywords)
            self._settle(thing)
            return thing
        thing = object.__new__(self.kind)
        self._enter(thing, {})
        thing.__init__(*args, **keywords)
        if not self.rows.is_known:
            self.rows.admitted(NOTHING, tuple(None if part is _UNTOLD else part for part in self.rows.sample[1]))
        return thing

    def _settle(self, thing: Any) -> None:
        """Put an object that Python has made into the pool."""
        fields = fields_of(thing)
        self._enter(thing, fields)
        getattr(thing, "__dict__", {}).clear()
        for member in (member for kind in type(thing).__mro__ for member in vars(kind).values()):
            if isinstance(member, MemberDescriptorType) and member.__name__ in fields:
                member.__delete__(thing)
        object.__setattr__(thing, "__class__", self.kind)

    def _enter(self, thing: Any, fields: Mapping[str, Any]) -> None:
        """Append the entry of an object that has some attributes."""
        names, missing = self.layout.names, self.layout.missing
        self._require_names(fields, {name for name in names if name not in fields})
        parts = [self._item(name, fields[name]) if name in fields else self._nothing(place)
                 for place, name in enumerate(names)]  # fmt: skip
        entry = (*self._first, *parts, *(name in fields for name in names if name in missing))
        object.__setattr__(thing, NUMBER, self.rows.length)
        if (words := self._admitted(entry)) is not None:
            self.rows.op("append_item", *words)

    def _admitted(self, entry: tuple[Any, ...]) -> list[Value] | None:
        """The words of an entry; None if nobody knows yet what objects hold in some attribute.

        What one of them lacks others tell.
        """
        if not self.rows.is_known and self.rows.sample is not None:
            entry = tuple(told if part is _UNTOLD or is_unknown(part) else part
                          for part, told in zip(entry, self.rows.sample[1], strict=True))  # fmt: skip
        if any(part is _UNTOLD for part in entry):
            self.rows.sample = None, entry
            note_lacking(self.rows.site, item_type(tuple(None if part is _UNTOLD else part for part in entry)))
            return None
        return self.rows.admitted(NOTHING, entry)  # type: ignore[no-any-return]

    def _require_names(self, given: Any, lacking: set[str]) -> None:
        """Start the trace anew if an object has other attributes than the last trace has found."""
        names, missing = self.layout.names, self.layout.missing
        new = [name for name in given if name not in names]
        if new or not lacking <= missing:
            self._begin_anew(replace(self.layout, names=(*names, *new), missing=missing | lacking))

    def _item(self, name: str, part: Any) -> Any:
        """What an object holds in an attribute. Raises for what no object in a pool can hold."""
        part = as_item(part)
        if item_type(part) is None and not is_unknown(part):
            begin_anew_pooled(parts_inside(part))
            kind = part.__class__.__name__
            raise refusal(
                f"what {name} of an object of class {self.users.__name__} holds, {_WHICH}",
                "give it numbers, texts, arrays, tuples of such, lists, dicts, other such objects or None",
                found=f"one of class {'numpy.ndarray' if isinstance(part, tracers.ArrayTracer) else kind}",
            )
        return part

    def _nothing(self, place: int) -> Any:
        """What is in an entry in the place of an attribute that an object lacks."""
        kind = self._types[place] if self.rows.is_known else None
        return _UNTOLD if kind is None else Kept(kind, [placeholder(current_trace(), word) for word in words_of(kind)])

    def _begin_anew(self, layout: Layout) -> NoReturn:
        raise current_trace().begin_anew(Restart(self.site, layout))

    def begin_early(self) -> Exception | Restart:
        """What to raise so that objects are in the pool before their constructor runs."""
        name = self.users.__name__
        if self.layout.early:
            return refusal(
                f"an object of class {name} that is made without its constructor", f"call the class: {name}(...)"
            )
        if has_method(self.users, "__setattr__"):
            return refusal(
                f"an object of class {name}, which is frozen, that its constructor hands on",
                "hand it on when it is made",
            )
        return current_trace().begin_anew(Restart(self.site, replace(self.layout, early=True)))

    def table(self, place: int) -> PoolTable:
        """What makes objects of Python's of the entries, which are a container at a place among those returned."""
        missing = tuple(name for name in self.layout.names if name in self.layout.missing)
        return self.users, self.layout.names, missing, place, self.rows.held

    # -- attributes ---------------------------------------------------------------------------------

    @property
    def _types(self) -> tuple[Item, ...]:
        """The types of the attributes, and of the bools that say which are there."""
        return self.rows.held.item[len(self._first) :]  # type: ignore[no-any-return]

    def _entry(self, thing: Any) -> list[Any]:
        """The attributes of an object, and the bools that say which are there."""
        if not self.rows.is_known:
            _, row = self.rows.sample
            return [*row[len(self._first) :]]
        return [*self._read(thing, "", lambda: self._parts(thing))]

    def _parts(self, thing: Any) -> list[Kept]:
        words = iter(self.rows.op("get_item", tracers.lift(number_of_object(thing)))[len(self._first) :])
        return [Kept(kind, [next(words) for _ in words_of(kind)]) for kind in self._types]

    def _read(self, thing: Any, part: str, make: Callable[[], Any]) -> Any:
        """What is read of an object, once as long as nothing is stored."""
        reads, number = current_trace().state(Reads), tracers.lift(number_of_object(thing))
        return reads.read(self.reference.name, number, part, make)

    def _flag(self, name: str) -> int:
        """Where in an entry it stands whether an attribute is there."""
        names = self.layout.names
        return len(names) + [one for one in names if one in self.layout.missing].index(name)

    def read(self, thing: Any, name: str) -> Any:
        """An attribute of an object."""
        found = self._part(thing, name)
        if name not in self.layout.missing:
            return found
        is_there = self.has(thing, name)
        if any(name in vars(base) for base in self.users.__mro__):
            return choose(is_there, lambda: found, lambda: self._of_class(thing, name))
        if is_there is not True:
            message = f"'{self.users.__name__}' object has no attribute '{name}'"
            values.check(tracers.lift(is_there), AttributeError, message)
        return found

    def _part(self, thing: Any, name: str) -> Any:
        """What stands for a part of the entry of an object."""
        part = self._entry(thing)[self.layout.names.index(name)]
        if type(part) is not Kept:
            return part
        return self._read(thing, name, lambda: _whole(part))

    def _of_class(self, thing: Any, name: str) -> Any:
        """An attribute of the class."""
        return getattr(super(self.kind, thing), name)

    def has(self, thing: Any, name: str) -> Any:
        """Whether an object has an attribute that some lack."""
        return _whole(self._entry(thing)[self._flag(name)])

    def copied(self, thing: Any) -> Any:
        """Another object that holds the same."""
        if not self.rows.is_known:
            return thing
        made, number = self.rows.length, tracers.lift(number_of_object(thing))
        self.rows.op("append_item", *self.rows.op("get_item", number))
        return with_number(self.kind, made)

    def store(self, thing: Any, name: str, value: Any) -> None:
        """Let an object hold something."""
        if name not in self.layout.names:
            self._require_names((name,), {name})
        entry = self._entry(thing)
        entry[self.layout.names.index(name)] = self._item(name, value)
        if name in self.layout.missing:
            entry[self._flag(name)] = True
        if (words := self._admitted((*self._first, *entry))) is not None:
            self.rows.op("set_item", tracers.lift(number_of_object(thing)), *words)
            current_trace().state(Reads).forget()


class _Untold:
    """In the place of an attribute of which nobody knows yet what it holds."""


_UNTOLD = _Untold()


def _whole(part: Any) -> Any:
    return standing_for(part.kind, iter(part.words)) if type(part) is Kept else part


def _derived(base: type, proxy: Any, pool: Pool, members: dict[str, Any]) -> type:
    """A class of the objects in a pool, before or behind their constructor: Python lets one become the other."""
    own: type = type(base)
    maker = type(own.__name__, (own,), {"__call__": lambda kind, *args, **keywords: pool.made(args, keywords)})
    namespace = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
    found: type = maker(
        base.__name__, (base,), {**namespace, "__slots__": (NUMBER,), MADE_OF: proxy, POOL: pool, **members}
    )
    return found


# -- what Python asks ---------------------------------------------------------------------------------


def _pool(thing: Any) -> Pool:
    found = pool_of(thing)
    assert isinstance(found, Pool)
    return found


@raising_for_the_program
def _read(name: str, thing: Any) -> Any:
    return _pool(thing).read(thing, name)


@raising_for_the_program
def _store(name: str, thing: Any, value: Any) -> None:
    _pool(thing).store(thing, name, value)


def _refuse_cached(name: str, thing: Any) -> NoReturn:
    raise _refused(thing, f"{name}, which is computed once,", "make it a property, or an attribute")


_CACHED = functools.cached_property


@raising_for_the_program
def _get_attribute(thing: Any, name: str) -> Any:
    if name == "__dict__":
        raise _refused(thing, "the __dict__", "name the attributes")
    return object.__getattribute__(thing, name)


@raising_for_the_program
def _set_attribute(thing: Any, name: str, value: Any) -> None:
    pool = _pool(thing)
    own = next(vars(base)["__setattr__"] for base in pool.users.__mro__ if "__setattr__" in vars(base))
    member = inspect.getattr_static(pool.users, name, None)
    has_room = isinstance(member, MemberDescriptorType) or pool.users.__dictoffset__ != 0
    if own is not object.__setattr__:  # of a frozen dataclass, which raises
        own(thing, name, value)
    elif has_room and (isinstance(member, MemberDescriptorType) or not hasattr(type(member), "__set__")):
        pool.store(thing, name, value)
    else:  # a property, or what Python raises
        object.__setattr__(thing, name, value)


@raising_for_the_program
def _delete_attribute(thing: Any, name: str) -> None:
    raise _refused(thing, f"{name}, which is deleted,", "store None there")


def _equals(thing: Any, other: Any) -> Any:
    return is_same_object(thing, other) if is_pooled(other) else NotImplemented


def _differs(thing: Any, other: Any) -> Any:
    return not_(is_same_object(thing, other)) if is_pooled(other) else NotImplemented


def _hash(thing: Any) -> int:
    begin_anew_rewritten(current_trace())
    raise _refused(thing, "the hash", "use a number or text that it holds as a key; or a dict or set that is made in "
                                      "the compiled function")  # fmt: skip


def _reduce(thing: Any, protocol: int) -> Any:
    raise _refused(thing, "a copy", "make another one of what it holds")


_BY_IDENTITY: Mapping[str, Any] = MappingProxyType({"__eq__": _equals, "__ne__": _differs, "__hash__": _hash})
_MEMBERS: Mapping[str, Any] = MappingProxyType(
    {
        "__reduce_ex__": _reduce,
        "__getattribute__": _get_attribute,
        "__setattr__": _set_attribute,
        "__delattr__": _delete_attribute,
    }
)


def _refused(thing: Any, what: str, mend: str) -> UserNotImplementedError:
    return refusal(f"{what} of an object of class {type(thing).__name__}, {_WHICH}", mend)


_WHICH = "of which the run decides which it is"


def _pooled_class(proxy: Any) -> type | None:
    """The class of the objects that the program makes of the class behind a proxy, if these lie in a pool."""
    trace = active_trace()
    if trace is None:
        return None
    site = pool_site(proxy._jitflow_object)
    layout = trace.choices.answer(site)
    return None if layout is None else Pool(proxy, site, layout).first


surface.install(pooled_class=_pooled_class)
