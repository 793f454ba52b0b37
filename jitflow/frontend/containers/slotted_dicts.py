"""Dicts of which the run decides which of their keys are there: Python's methods on slots (`outside.slots`).

What is there for certain is so while tracing, and costs nothing. Where the run decides, `KeyError` is a check, and the
order of insertion is a number for each key, by which whoever goes through the dict, or gets it, puts them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.containers.slotted_entries import (
    Entries,
    SlottedThing,
    as_bool_value,
    as_value,
    count_of,
    in_order,
    item_of,
    key_of,
    number_of,
    numbers_before,
    pair_of,
    sum_of,
    wrapped,
    wrapped_bool,
)
from jitflow.frontend.control.branch import and_, choose, or_
from jitflow.frontend.control.comparisons import equal
from jitflow.frontend.control.logic import as_bool, not_
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.slots import ITEM, NEXT, ORDER, THERE, Slotted
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.absent import UNBOUND
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import I64
from jitflow.runtime.objects.returned_containers import dict_of_slots

__all__ = ["SlottedDict", "for_each_key"]


def for_each_key(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is called once for each kind that its key may be of. What it raises, the program raises."""
    raising_for_the_program(method)

    @wraps(method)
    def call(self: Any, key: Any, *others: Any) -> Any:
        if type(key) is Alternatives:
            return key.each(lambda one: method(self, one, *others), self, *others)
        return method(self, key, *others)

    return call


class SlottedDict(SlottedThing):
    """A dict whose keys are known, if not whether they are there."""

    def fill(self, items: Any) -> None:
        self.update(items)

    # -- single keys --------------------------------------------------------------------------------

    def number(self, key: Any, item: Any = None) -> int | None:
        """The number of a key that is known."""
        surface.restart_keyed(self, key, item)
        hash(key)  # raises for what is no key, or asks for the number
        key = _plain(key)
        number = self.slots.number_of(key)
        known = key if number is None else self.slots.keys_known[number]
        if repr(known) != repr(key) and self.slots[THERE, number] is not True:
            raise refusal("keys that are equal in a dict of which the run decides which keys are there",
                          "give all keys one type: int(k), float(k)", found=f"{known!r} and {key!r}")  # fmt: skip
        return number

    def there(self, number: int | None) -> Any:
        """Whether a key is there: an answer, or a bool of the running program."""
        return False if number is None else self.slots[THERE, number]

    def maker(self, keys: Sequence[Any]) -> Callable[..., Any]:
        return partial(dict_of_slots, self.empty, tuple(keys))

    @property
    def empty(self) -> Callable[[], Any]:
        """What makes one of Python's that holds nothing."""
        return self.kind

    def _require(self, key: Any) -> int:
        """The number of a key that is there. Raises KeyError where it is not."""
        number = self.number(key)
        there = self.there(number)
        if there is False:
            raise_(KeyError(key))
        if there is not True:
            choose(there, lambda: None, lambda: raise_(KeyError(key)))
        assert number is not None
        return number

    @for_each_key
    def contains(self, key: Any) -> Any:
        return self.there(self.number(key))

    @for_each_key
    def __getitem__(self, key: Any) -> Any:
        return self.slots[ITEM, self._require(key)]

    @for_each_key
    def __setitem__(self, key: Any, item: Any) -> None:
        number, slots = self.number(key, item), self.slots
        if number is not None and slots[THERE, number] is True and slots[ITEM, number] is item:
            return  # ``d[key] += 1`` of an array ends with that
        self._change()
        number = slots.add(_plain(key)) if number is None else number
        there, order, following = (slots[what] for what in ((THERE, number), (ORDER, number), NEXT))
        if there is not True:
            slots.put_last(number)
        if there is False:
            slots[ORDER, number], slots[NEXT] = following, sum_of(following, 1)
        elif there is not True:
            is_there = as_bool_value(there)
            slots[ORDER, number] = wrapped(values.select(is_there, as_value(order), as_value(following)))
            slots[NEXT] = sum_of(following, wrapped(values.cast(values.emit("logical_not", is_there), I64)))
        slots[THERE, number], slots[ITEM, number] = True, item

    @for_each_key
    def __delitem__(self, key: Any) -> None:
        self._remove(self._require(key))

    @for_each_key
    def get(self, key: Any, default: Any = None) -> Any:
        """``dict.get``."""
        number = self.number(key, default)
        there = self.there(number)
        if type(there) is bool:
            return self.slots[ITEM, number] if there else default
        item = self.slots[ITEM, number]
        return choose(there, lambda: item, lambda: default, item, default)

    @for_each_key
    def setdefault(self, key: Any, default: Any = None) -> Any:
        """``dict.setdefault``."""
        number = self.number(key, default)
        there = self.there(number)
        if there is True:
            return self.slots[ITEM, number]
        if there is False:
            self[key] = default
            return default
        choose(there, lambda: None, lambda: self.__setitem__(key, default), self, default)
        return self.slots[ITEM, number]

    @for_each_key
    def pop(self, key: Any, *default: Any) -> Any:
        """``dict.pop``."""
        number = self.number(key)
        there = self.there(number)
        if not default or there is True:
            return self._remove(self._require(key))
        if there is False:
            return default[0]
        assert number is not None
        item = self.slots[ITEM, number]
        found = choose(there, lambda: item, lambda: default[0], item, *default)
        self._remove(number)
        return found

    # -- the whole ----------------------------------------------------------------------------------

    def popitem(self) -> Any:
        """``dict.popitem``."""
        ordered = in_order(self)
        return self._last_of(self.slots.possible() if ordered is None else ordered[::-1], ordered is not None)

    def _last_of(self, numbers: Sequence[int], is_ordered: bool) -> Any:
        """Take the entry that came last, of some of which it is known that one is, if there is one."""
        if not numbers:
            raise_(KeyError("popitem(): dictionary is empty"))
        number, *others = numbers
        slots = self.slots
        is_last: Any = slots[THERE, number]
        for other in () if is_ordered else slots.possible():
            if other != number:
                is_last = and_(is_last, partial(self._came_before, other, number))

        def take() -> Any:
            return slots.keys_known[number], self._remove(number)

        return choose(is_last, take, lambda: self._last_of(others, is_ordered), self, slots[ITEM, number])

    def _came_before(self, one: int, other: int) -> Any:
        """Whether an entry is not there, or came before another."""
        slots = self.slots
        return or_(not_(slots[THERE, one]), lambda: slots[ORDER, one] < slots[ORDER, other])

    @raising_for_the_program
    def update(self, *others: Any, **named: Any) -> None:
        """``dict.update``."""
        for other in (*others, named):
            if isinstance(other, Slotted):
                self._update_from(other)
            elif isinstance(other, Mapping):
                for key, item in other.items():
                    self[key] = item
            else:
                own_loop(other.items() if hasattr(other, "items") else other, lambda pair: self.__setitem__(*pair))

    def _update_from(self, other: Slotted) -> None:
        slots = other.slots
        ordered = in_order(other)
        if ordered is None:
            self._update_in_order_of(other)
            return
        for number in ordered:
            store = partial(self.__setitem__, slots.keys_known[number], slots[ITEM, number])
            choose(slots[THERE, number], store, lambda: None, self, slots[ITEM, number])

    def _update_in_order_of(self, other: Slotted) -> None:
        """The same where the run decides about the order: what is new here comes in the order that it has there."""
        self._change()
        self.slots.is_in_sequence = False
        slots, own, possible = other.slots, self.slots, other.slots.possible()
        following, added = own[NEXT], []
        for number in possible:
            place = own.number_of(slots.keys_known[number])
            place = own.add(slots.keys_known[number]) if place is None else place
            is_absent = values.emit("logical_not", as_bool_value(own[THERE, place]))
            added.append((number, place, values.emit("logical_and", as_bool_value(slots[THERE, number]), is_absent)))
        for number, place, is_new in added:
            there, item, before = slots[THERE, number], slots[ITEM, number], own[ITEM, place]
            order = sum_of(following, wrapped(numbers_before(slots, number, [(one, new) for one, _, new in added])))
            own[ORDER, place] = wrapped(values.select(is_new, as_value(order), as_value(own[ORDER, place])))
            own[NEXT] = sum_of(own[NEXT], number_of(tracers.wrap(is_new)))
            is_kept = there is not True and before is not UNBOUND
            own[ITEM, place] = choose(there, lambda: item, lambda: before, item, before) if is_kept else item  # noqa: B023
            is_there = values.emit("logical_or", as_bool_value(own[THERE, place]), as_bool_value(there))
            is_certain = there is True or own[THERE, place] is True
            own[THERE, place] = True if is_certain else wrapped_bool(is_there)

    def __or__(self, other: Any) -> Any:
        return self.with_added(other) if isinstance(other, dict | Recorded) else NotImplemented

    @reflected
    def __ror__(self, other: Any) -> Any:
        return SlottedDict.of(other).with_added(self) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def keys(self) -> Any:
        """``dict.keys``."""
        return _View(self, key_of)

    def values(self) -> Any:
        """``dict.values``."""
        return _View(self, item_of)

    def items(self) -> Any:
        """``dict.items``."""
        return _View(self, pair_of)

    def known_items(self) -> Iterator[Any] | None:
        found: Iterator[Any] | None = self.keys().known_items()
        return found

    def entered(self) -> Any:
        return self.keys().entered()

    def gone_through(self) -> Source:
        found: Source = self.keys().gone_through()
        return found

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, dict | Slotted):
            return False
        one, another = (thing if isinstance(thing, Slotted) else SlottedDict.of(thing) for thing in (self, other))
        answer: Any = count_of(one) == count_of(another)
        for number in one.slots.possible():
            answer = and_(answer, partial(_is_in, one, number, another))
        return answer

    __hash__ = None  # type: ignore[assignment]


def _is_in(one: Slotted, number: int, other: Slotted) -> Any:
    """Whether an entry of one dict, if it is there, is one of another."""
    place = other.slots.number_of(one.slots.keys_known[number])
    there = False if place is None else other.slots[THERE, place]
    absent = not_(one.slots[THERE, number])
    return choose(absent, lambda: True, lambda: and_(
        there, lambda: as_bool(equal(one.slots[ITEM, number], other.slots[ITEM, place]))))  # fmt: skip


def _plain(key: Any) -> Any:
    """A key whose numbers are known, or of which they are asked."""
    return str(key) if type(key) is TracedText else tracers.known_key(key)


class _View(Recorded, Source):
    """The keys, the items or the pairs of a dict."""

    may_change = True
    flows = True
    once = False
    __jitflow_arrays__ = ("owner", "shown")

    def __init__(self, owner: SlottedDict, shown: Callable[[Any, Any], Any]) -> None:
        self.owner, self.shown = owner, shown

    @property
    def length(self) -> Any:
        return self.owner.length

    def truth(self) -> Any:
        return self.owner.truth()

    def settled(self) -> Any:
        return self

    def contains(self, thing: Any) -> Any:
        """``thing in keys``."""
        if self.shown is key_of:
            return self.owner.contains(thing)
        raise refusal("`in` of the items of a dict of which the run decides which keys are there", "ask for the key")

    def known_items(self) -> Iterator[Any] | None:
        entries = Entries(self.owner, self.shown)
        return entries.one_by_one() if entries.are_known else None

    def entered(self) -> Any:
        return Entries(self.owner, self.shown)

    def gone_through(self) -> Source:
        return Entries(self.owner, self.shown)
