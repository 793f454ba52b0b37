"""Dicts of the running program: Python's methods as ops on a container (`containers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import made, refusal
from jitflow.frontend.containers.factories import factory_by_name, factory_name
from jitflow.frontend.containers.held_items import KINDS, python_int, size_of
from jitflow.frontend.containers.program_keys import ProgramKeyed, is_there
from jitflow.frontend.containers.program_sets import ProgramSet, is_set
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.control.branch import and_, choose
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Container

__all__ = ["ProgramDefaultDict", "ProgramDict"]


class ProgramDict(ProgramKeyed):
    """A dict of the running program."""

    held = Container(kind="dict")

    def __getitem__(self, key: Any) -> Any:
        place = self.find(key)
        if not self.is_known and self.sample is not None:
            return self.sample[1]
        self._key_error(place, key)
        assert place is not None
        return self.entry(place)[1]

    def __setitem__(self, key: Any, item: Any) -> None:
        if (found := self.admitted(key, item)) is not None:
            self.enter(*found)

    def __delitem__(self, key: Any) -> None:
        place = self.find(key)
        self._key_error(place, key)
        assert place is not None
        self.op("remove_item", place)

    def get(self, key: Any, default: Any = None) -> Any:
        """``dict.get``."""
        place = self.find(key)
        if place is None:
            return default if self.sample is None else self.sample[1]
        there = tracers.wrap(is_there(place))
        return choose(there, lambda: self.entry(place)[1], lambda: default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """``dict.setdefault``."""
        found = self.admitted(key, default)
        if found is None:
            return default
        place = self.find(key)
        assert place is not None

        def enter() -> Any:
            self.enter(*found)
            return default

        return choose(tracers.wrap(is_there(place)), lambda: self.entry(place)[1], enter)

    def pop(self, key: Any, *default: Any) -> Any:
        """``dict.pop``."""
        place = self.find(key)
        if place is None:
            return default[0] if default else raise_(KeyError(key))

        def take() -> Any:
            item = self.entry(place)[1]
            self.op("remove_item", place)
            return item

        if default:
            return choose(tracers.wrap(is_there(place)), take, lambda: default[0])
        self._key_error(place, key)
        return take()

    def popitem(self) -> Any:
        """``dict.popitem``."""
        if not self.is_known:
            raise_(KeyError("popitem(): dictionary is empty"))
        values.check(self.truth(), KeyError, "popitem(): dictionary is empty")
        self.op("settle_keys")
        place = values.emit("subtract", self.number(), values.constant(1, I64))
        entry = self.entry(place)
        self.op("remove_item", place)
        return entry

    def update(self, *others: Any, **named: Any) -> None:
        """``dict.update``."""
        for other in others:
            pairs = other.items() if isinstance(other, dict | ProgramDict) else other
            own_loop(pairs, lambda pair: self.__setitem__(*pair))
        if named:
            self._refuse("update(name=...)")

    def in_order(self) -> Any:
        self.op("settle_keys")
        return self

    def _joined(self, *parts: Any) -> Any:
        """A new dict with the entries of several."""
        known = next((part.held for part in (self, *parts) if isinstance(part, ProgramDict) and part.is_known), None)
        found = made(self.held.kind, None, None if known is None else replace(known, kind=self.held.kind))
        for part in parts:
            ProgramDict.update(found, part)
        return found

    def __or__(self, other: Any) -> Any:
        return self._joined(self, other) if isinstance(other, dict | ProgramDict) else NotImplemented

    @reflected
    def __ror__(self, other: Any) -> Any:
        return self._joined(other, self) if isinstance(other, dict | ProgramDict) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def copy(self) -> Any:
        """``dict.copy``."""
        found = made(self.held.kind, None, self.held)
        found.site = self.site
        found.update(self)
        return found

    # -- going through it ---------------------------------------------------------------------------

    def keys(self) -> View:
        """``dict.keys``."""
        return View(self, _key)

    def values(self) -> View:
        """``dict.values``."""
        return View(self, _item)

    def items(self) -> View:
        """``dict.items``."""
        return View(self, _pair)

    def entered(self) -> Any:
        return self.keys().entered()

    def gone_through(self) -> Source:
        return self.keys().gone_through()

    def __eq__(self, other: Any) -> Any:
        return programs.equal_dicts(self, other) if isinstance(other, ProgramDict | dict) else False

    def __ne__(self, other: Any) -> Any:
        return not_(self == other)

    __hash__ = None  # type: ignore[assignment]


def _key(key: Any, item: Any) -> Any:
    return key


def _item(key: Any, item: Any) -> Any:
    return item


def _pair(key: Any, item: Any) -> Any:
    return key, item


class View(Recorded, Source):
    """The keys, the items or the pairs of a dict."""

    may_change = True
    flows = True
    once = False
    __jitflow_arrays__ = ("owner", "shown")

    def __init__(self, owner: ProgramDict, shown: Callable[[Any, Any], Any]) -> None:
        self.owner, self.shown = owner, shown

    @property
    def length(self) -> Any:
        return self.owner.length

    def truth(self) -> Value:
        return self.owner.truth()

    def settled(self) -> Any:
        return self

    def is_same(self, other: Any) -> Any:
        return self is other

    def entered(self) -> Any:
        """The loop begins: entries stand one behind the other from now on."""
        return _Entries(self.owner, self.shown)

    def gone_through(self) -> Source:
        return _Counted(self.owner, self.shown)

    def contains(self, thing: Any) -> Any:
        """``thing in keys``."""
        if self.shown is not _pair:
            return self.owner.contains(thing)
        key, item = thing
        return and_(self.owner.contains(key), lambda: self.owner[key] == item)

    # -- as a set, as CPython's ``dictviews_sub`` and its like go about it ---------------------------

    def in_set(self) -> Any:
        """``set(view)``."""
        is_told = self.shown is _key and self.owner.is_known
        return _set_of(self, Container(kind="set", key=self.owner.held.key) if is_told else None)

    def isdisjoint(self, other: Any) -> Any:
        """``keys.isdisjoint``."""
        return self.in_set().isdisjoint(other)

    def __and__(self, other: Any) -> Any:
        if not _is_view_or_set(other) or not self.owner.is_known:
            return self._common(other, self)
        swaps = self.length <= other.length if isinstance(other, ProgramSet) else other.length > self.length
        return choose(swaps, lambda: self._common(self, other), lambda: self._common(other, self))

    def _common(self, keys: Any, there: Any) -> Any:
        found = self.in_set() if not self.owner.is_known else _set_of((), self.in_set().held)
        own_loop(keys, lambda key: programs.add_common(found, there, key))
        return found

    __rand__ = __and__

    def __eq__(self, other: Any) -> Any:
        return self.in_set() == _in_set(other) if _is_view_or_set(other) or is_set(other) else False

    def __ne__(self, other: Any) -> Any:
        return not_(self == other)

    __hash__ = Recorded.__hash__


def _is_view_or_set(thing: Any) -> bool:
    return isinstance(thing, View | ProgramSet)


def _in_set(thing: Any) -> Any:
    return thing.in_set() if isinstance(thing, View) else thing


def _set_of(keys: Any, held: Container | None = None) -> Any:
    found = made("set", None, held)
    found.update(keys)
    return found


def _updated(method: str) -> tuple[Any, Any]:
    """An operator whose result is a set of what stands left, changed by what stands right; and the reflected one."""

    def operate(left: Any, right: Any) -> Any:
        found = left.in_set() if isinstance(left, View) else _set_of(left)
        getattr(found, method)(right)
        return found

    return operate, lambda self, other: operate(other, self)


def _compared(method: str) -> Any:
    def compare(self: View, other: Any) -> Any:
        found = is_set(other) or isinstance(other, View)
        return getattr(self.in_set(), method)(_in_set(other)) if found else NotImplemented

    return compare


for _name, _method in (("sub", "difference_update"), ("or", "update"), ("xor", "symmetric_difference_update")):
    _operate, _reflected = _updated(_method)
    setattr(View, f"__{_name}__", _operate)
    setattr(View, f"__r{_name}__", _reflected)
for _name in ("__le__", "__lt__", "__ge__", "__gt__"):
    setattr(View, _name, _compared(_name))


class _Entries(Recorded):
    """A loop through the entries of a dict: what is added or removed meanwhile is an error."""

    def __init__(self, owner: ProgramDict, shown: Callable[[Any, Any], Any]) -> None:
        self._owner, self._shown = owner, shown
        if owner.is_known:
            owner.op("settle_keys")
            self._length, self._changes = owner.number(), owner.op("container_changes")[0]

    def holds_position(self, position: Any) -> Any:
        if not self._owner.is_known:
            return False
        self._owner.require_unchanged(self._changes, self._length, "dictionary")
        return position < python_int(self._length)

    def item(self, position: Any) -> Any:
        if not self._owner.is_known:
            return self._shown(*self._owner.entry(values.constant(0, I64)))
        return self._shown(*self._owner.entry(integer(position)))


class _Counted(Source):
    """The entries that there are when a loop begins, in what does not ask again."""

    once = False

    def __init__(self, owner: ProgramDict, shown: Callable[[Any, Any], Any]) -> None:
        self._entries = _Entries(owner, shown)
        self.count = self.span = tracers.dim_of(size_of(owner.number()))

    def item(self, position: Any) -> Any:
        return self._entries.item(position)


class ProgramDefaultDict(ProgramDict):
    """A defaultdict: a key that is not there has what the factory makes, 0 or an empty container say."""

    held = Container(kind="defaultdict")

    def __init__(self, reference: Any = None) -> None:
        super().__init__(reference)
        self.factory: Callable[[], Any] | None = None

    def make_items_by(self, factory: Any) -> None:
        """Take what Python calls for a key that is not there."""
        self.factory = factory
        factory_name(factory)

    def __getitem__(self, key: Any) -> Any:
        if not self.is_known:
            return self._entered(key)
        place = self.find(key)
        if place is None:
            return self._entered(key)
        return choose(tracers.wrap(is_there(place)), lambda: self.entry(place)[1], lambda: self._entered(key))

    def _entered(self, key: Any) -> Any:
        """What is under a key that is not there, and is put there."""
        item = self._default()
        if (found := self.admitted(key, item)) is None:
            return self.sample[1]
        self.enter(*found)
        return item

    def _default(self) -> Any:
        if self.held.factory:
            return factory_by_name(self.held.factory)()
        if isinstance(self.held.item, Container):
            return made(self.held.item.kind, None, self.held.item)
        if self.held.item is None:
            return self._made_by_factory()
        raise refusal("a defaultdict of the running program of which nobody knows what makes its items",
                      "use defaultdict(int), defaultdict(float) or defaultdict(list)")  # fmt: skip

    def _made_by_factory(self) -> Any:
        factory, site = self.factory, self.site
        name = getattr(factory, "__name__", "")
        if factory is None or site is None or name not in ("list", "set", "dict", "deque"):
            return None if factory is None else factory()
        inner = replace(site, name=f"{site.name}.default")
        return made(name, inner, current_trace().choices.answer(inner))


KINDS.update(dict=ProgramDict, defaultdict=ProgramDefaultDict)
