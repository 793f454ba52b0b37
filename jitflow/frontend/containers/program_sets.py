"""Sets of the running program: Python's methods as ops on a container (`containers`)."""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import NOTHING, ProgramContainer, made, refusal
from jitflow.frontend.containers.held_items import KINDS, python_int, standing_for
from jitflow.frontend.containers.item_types import item_type
from jitflow.frontend.containers.program_keys import ProgramKeyed, is_there
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.control.branch import and_, choose
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.types import TEXT, Container
from jitflow.runtime.objects.set_orders import order_of_adding

__all__ = ["ProgramSet", "is_set"]


class ProgramSet(ProgramKeyed):
    """A set of the running program, whose order is that of Python's."""

    held = Container(kind="set")

    def add(self, key: Any) -> None:
        """``set.add``."""
        if (found := self.admitted(key, NOTHING)) is not None:
            self.enter(*found)

    def remove(self, key: Any) -> None:
        """``set.remove``."""
        place = self.find(key)
        self._key_error(place, key)
        assert place is not None
        self.op("remove_item", place)

    def discard(self, key: Any) -> None:
        """``set.discard``."""
        place = self.find(key)
        if place is not None:
            choose(tracers.wrap(is_there(place)), lambda: self._take(place), lambda: None)

    def _take(self, place: Value) -> None:
        self.op("remove_item", place)

    def update(self, *others: Any) -> None:
        """``set.update``."""
        for other in others:
            if type(other) is dict:
                other = _dict_of(other)
            if not isinstance(other, set | frozenset | ProgramKeyed):
                own_loop(other, self.add)
            elif not self._is_like(other := self._as_keys(other)):
                pass
            elif other.held.kind in ("set", "dict"):  # as Python looks into what is exactly one of these
                self.op("merge_keys", other.value)
            else:
                own_loop(other.keys(), self.add)

    def entered(self) -> Any:
        return _Keys(self)

    def gone_through(self) -> Source:
        found: Source = self.in_order().gone_through()
        return found

    def in_order(self, *, any_order: bool = False) -> Any:
        """Its keys in a list of their own, in Python's order unless ``any_order`` does."""
        if not self.is_known:
            return made("list", None, None)
        if TEXT in self.held.keys and not any_order:
            raise refusal("the order of a set of texts, which is another one in each process",
                          "go through sorted(...) of it")  # fmt: skip
        (keys,) = self.op("keys_of")
        return standing_for(Container(item=self.held.key), iter([keys]))

    def pop(self) -> Any:
        """``set.pop``."""
        if not self.is_known:
            raise_(KeyError("pop from an empty set"))
        values.check(self.truth(), KeyError, "pop from an empty set")
        (place,) = self.op("next_key")
        key = self.entry(place)[0]
        self.op("remove_item", place)
        return key

    # -- with other sets ----------------------------------------------------------------------------

    def _as_keys(self, other: Any) -> Any:
        """A set of Python's, whose keys are known, as one of the running program."""
        if isinstance(other, ProgramKeyed):
            return other
        order = order_of_adding([*other])
        if order is None:
            raise refusal("a set of Python's in this order beside one of the running program", "begin with set()")
        found = self._empty(None if not order else Container(kind="set", key=item_type(order[0])))
        for key in order:
            found.add(key)
        return found

    def _as_set(self, other: Any) -> Any:
        """``set(other)`` of what is none."""
        if isinstance(other, ProgramSet | set | frozenset):
            return self._as_keys(other)
        found = self._empty(self.held if self.is_known else None)
        found.update(other)
        return found

    def _is_like(self, other: Any) -> bool:
        """Whether both have keys of one type, which is told of this set if nobody knows it; false of what has none."""
        if not other.is_known:
            return False
        if not self.is_known:
            self._start_anew(Container(kind="set", key=other.held.key))
        if self.held.key != other.held.key:
            raise self.of_several_keys(other.held.key)
        return True

    def _empty(self, held: Container | None = None) -> Any:
        """A new set."""
        return made("set", None, held)

    def _new(self, *parts: Any) -> Any:
        """A new set of the type of this one or of others."""
        known = next((part.held.key for part in (self, *parts) if part.is_known), None)
        return self._empty(None if known is None else Container(kind="set", key=known))

    def copy(self) -> Any:
        """``set.copy``."""
        return self.union()

    def union(self, *others: Any) -> Any:
        """``set.union``."""
        parts = [self._as_set(other) if isinstance(other, set | frozenset) else other for other in others]
        found = self._new(*(part for part in parts if isinstance(part, ProgramSet)))
        found.update(self)
        for part in parts:
            if isinstance(part, ProgramSet) and part.is_known and self.is_known:
                self._is_like(part)
                programs.join(found, self, part)
            else:
                found.update(part)
        return found

    def intersection(self, *others: Any) -> Any:
        """``set.intersection``."""
        found = self if others else self.copy()
        for other in others:
            one = found
            if not isinstance(other, ProgramSet | set | frozenset):
                found = self._new()
                own_loop(other, lambda key, found=found, one=one: programs.add_common(found, one, key))
                continue
            other = self._as_keys(other)
            found = self._new(other)
            if one.is_known and other.is_known:
                one._is_like(other)
                programs.intersect(found, one, other)
        return found

    def difference(self, *others: Any) -> Any:
        """``set.difference``."""
        if not others:
            return self.copy()
        first, *rest = others
        found = self._new()
        if not self.is_known:
            return found
        first = _dict_of(first) if type(first) is dict else first
        if is_set(first) or (isinstance(first, ProgramKeyed) and first.held.kind == "dict"):
            other = self._as_keys(first)
            if other.is_known:
                self._is_like(other)
                programs.differ(found, self, other)
            else:
                found.update(self)
        else:
            found.update(self)
            found.difference_update(first)
        found.difference_update(*rest)
        return found

    def symmetric_difference(self, other: Any) -> Any:
        """``set.symmetric_difference``."""
        other = self._as_set(other)
        found = self._new(other)
        found.update(other)
        found.symmetric_difference_update(self)
        return found

    def intersection_update(self, *others: Any) -> None:
        """``set.intersection_update``."""
        found = self.intersection(*others)
        if self.is_known and found.is_known:
            self.op("swap_keys", found.value)

    def difference_update(self, *others: Any) -> None:
        """``set.difference_update``."""
        for other in others:
            if not self.is_known or (isinstance(other, ProgramContainer) and not other.is_known):
                continue
            if not is_set(other):
                own_loop(other, self.discard)
            elif self._is_like(other := self._as_keys(other)):
                programs.take_off(self, other)
            self.op("settle_keys")

    def symmetric_difference_update(self, other: Any) -> None:
        """``set.symmetric_difference_update``."""
        other = self._as_set(other)
        if self._is_like(other):
            programs.toggle_all(self, other)

    def issubset(self, other: Any) -> Any:
        """``set.issubset``."""
        return programs.is_subset(self, self._as_set(other))

    def issuperset(self, other: Any) -> Any:
        """``set.issuperset``."""
        return programs.is_subset(self._as_set(other), self)

    def isdisjoint(self, other: Any) -> Any:
        """``set.isdisjoint``."""
        return programs.is_disjoint(self, other)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, ProgramSet | set | frozenset):
            return False
        other = self._as_keys(other)
        return and_(self.length == other.length, lambda: programs.is_subset(self, other))

    def __ne__(self, other: Any) -> Any:
        return not_(self == other)

    def __le__(self, other: Any) -> Any:
        return self.issubset(other) if is_set(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other) if is_set(other) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        other = self._as_keys(other)
        return and_(self.length < other.length, lambda: self.issubset(other))

    def __gt__(self, other: Any) -> Any:
        return self._as_keys(other) < self if is_set(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def _dict_of(keys: Any) -> Any:
    """A dict of the running program with the keys of one of Python's."""
    held = next((Container(kind="dict", key=item_type(key), item=item_type(0)) for key in keys), None)
    found = made("dict", None, held)
    for key in keys:
        found[key] = 0
    return found


def is_set(thing: Any) -> bool:
    """Whether it is a set, of Python's or of the running program."""
    return isinstance(thing, ProgramSet | set | frozenset)


def _operator(method: str) -> Any:
    def operate(self: Any, other: Any) -> Any:
        return getattr(self, method)(other) if is_set(other) else NotImplemented

    return operate


def _reflected(method: str) -> Any:
    def operate(self: Any, other: Any) -> Any:
        return getattr(self._as_keys(other), method)(self) if is_set(other) else NotImplemented

    return operate


def _in_place(method: str) -> Any:
    def operate(self: Any, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        getattr(self, method)(other)
        return self

    return operate


for _symbol, _method in {
    "or": "union",
    "and": "intersection",
    "sub": "difference",
    "xor": "symmetric_difference",
}.items():
    setattr(ProgramSet, f"__{_symbol}__", _operator(_method))
    setattr(ProgramSet, f"__r{_symbol}__", reflected(_reflected(_method)))
    setattr(ProgramSet, f"__i{_symbol}__", _in_place("update" if _symbol == "or" else f"{_method}_update"))


class _Keys(Recorded):
    """A loop through the keys of a set: what is added or removed meanwhile is an error."""

    def __init__(self, owner: ProgramSet) -> None:
        self._owner = owner
        self._keys = owner.in_order()
        if owner.is_known:
            self._length, self._changes = owner.number(), owner.op("container_changes")[0]

    def holds_position(self, position: Any) -> Any:
        if not self._owner.is_known:
            return False
        self._owner.require_unchanged(self._changes, self._length, "Set")
        return position < python_int(self._length)

    def item(self, position: Any) -> Any:
        return self._keys.item(position)


KINDS.update(set=ProgramSet)
