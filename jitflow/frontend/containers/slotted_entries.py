"""Going through a dict of which the run decides which of its keys are there, in which order: see `slotted_dicts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import bind, integer
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.logic import not_, truth
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.running import Running
from jitflow.frontend.control.steps import Source, python_int
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.slots import ITEM, NEXT, ORDER, THERE, Slots, Slotted
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.absent import UNBOUND
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64

__all__ = ["Entries", "SlottedThing", "as_bool_value", "as_value", "count_of", "in_order", "item_of", "key_of",
           "number_of", "numbers_before", "pair_of", "ranks_of", "sum_of", "wrapped", "wrapped_bool"]  # fmt: skip


def key_of(key: Any, item: Any) -> Any:
    """What ``keys`` shows of an entry."""
    return key


def item_of(key: Any, item: Any) -> Any:
    """What ``values`` shows."""
    return item


def pair_of(key: Any, item: Any) -> Any:
    """What ``items`` shows."""
    return key, item


def in_order(thing: Slotted) -> list[int] | None:
    """The numbers of the keys that may be there, in their order, if that is known.

    What is known of their sequence does not hold in a turn or call that may be behind others, which change it.
    """
    slots, possible, trace = thing.slots, thing.slots.possible(), current_trace()
    is_known = all(type(slots[ORDER, number]) is int for number in possible)
    is_once = not trace.storage.is_in_a_loop and not trace.state(Running).bodies
    if not is_known and thing.kind is not list and slots.is_in_sequence and is_once:
        return possible
    return sorted(possible, key=lambda number: slots[ORDER, number]) if is_known else None


class SlottedThing(Slotted, Source):
    """What dicts and lists with slots have in common."""

    once = False

    @classmethod
    def of(cls, items: Any) -> Any:
        """One that the program makes."""
        made = cls()
        made.home = current_trace().scope
        made.fill(items)
        return made

    def fill(self, items: Any) -> None:
        """Put there what is in ``items``, behind what there is."""
        raise NotImplementedError

    def with_added(self, other: Any) -> Any:
        """A new one with what is in another one as well."""
        made = self.copy()
        made.fill(other)
        return made

    @raising_for_the_program
    def clear(self) -> None:
        """``dict.clear`` and ``list.clear``."""
        for number in self.slots.possible():
            self._remove(number)

    def __ne__(self, other: Any) -> Any:
        return not_(self == other)

    def __getattr__(self, name: str) -> Any:
        word = self.kind.__name__
        if name.startswith("_") or not hasattr(self.kind, name):
            raise AttributeError(f"'{word}' object has no attribute '{name}'")
        raise self.refusal(f"{word}.{name}")

    def refusal(self, what: str) -> Exception:
        """The error for what is not compiled."""
        what, of_list = f"{what} of a {self.kind.__name__} of which the run decides what is in it", self.kind is list
        return refusal(what, "go through it in a loop, and append to another list what is wanted" if of_list else
                       "ask for one key after the other: d.get(key)")  # fmt: skip

    def __no_order(self, other: Any) -> Any:
        raise self.refusal("an order")

    __lt__ = __le__ = __gt__ = __ge__ = __no_order

    def _change(self) -> None:
        """The dict is about to be changed."""
        if self.is_closed:
            current_trace().state(Stores).open_container(self)

    def _remove(self, number: int) -> Any:
        self._change()
        item, self.slots[ITEM, number], self.slots[THERE, number] = self.slots[ITEM, number], UNBOUND, False
        return item

    @property
    def length(self) -> Any:
        return count_of(self)

    def truth(self) -> Any:
        bits = [self.slots[THERE, number] for number in self.slots.possible()]
        if any(bit is True for bit in bits):
            return True
        return reduce(partial(values.emit, "logical_or"), map(as_bool_value, bits)) if bits else False

    def is_same(self, other: Any) -> Any:
        return self is other


class Entries(Recorded, Source):
    """The entries that there are when a loop begins. Keys that are added or removed meanwhile are an error."""

    once = False

    def __init__(self, owner: Slotted, shown: Callable[[Any, Any], Any]) -> None:
        self._owner, self._shown, slots = owner, shown, owner.slots
        self._began = self._counts()
        ordered = in_order(owner)
        self._numbers = slots.possible() if ordered is None else ordered
        self.are_known = ordered is not None and all(slots[THERE, number] is True for number in ordered)
        if self.are_known:
            self.count = self.span = len(self._numbers)
            return
        self._ranks = ranks_of(owner)
        self.count = self.span = bind(as_value(self._began[0]), "length")

    def _counts(self) -> tuple[Any, Any]:
        """How many keys there are, and how often one was added."""
        return count_of(self._owner), self._owner.slots[NEXT]

    def require_unchanged(self) -> None:
        """Raise as Python does where keys were added or removed since the loop has begun."""
        messages = "dictionary changed size during iteration", "dictionary keys changed during iteration"
        for message, began, now in zip(messages, self._began, self._counts(), strict=True):
            if type(began) is int and type(now) is int and began != now:
                raise_(RuntimeError(message))
            if began is not now and not (type(began) is int and type(now) is int):
                is_same = values.emit("equal", as_value(began), as_value(now))
                values.check(is_same, RuntimeError, message)

    def one_by_one(self) -> Iterator[Any]:
        """The entries, where they are known."""
        for position in range(len(self._numbers)):
            yield self.item(position)
            self.require_unchanged()

    def holds_position(self, position: Any) -> Any:
        """Whether a loop goes on, which asks in front of each turn."""
        self.require_unchanged()
        return position < self._began[0]

    def item(self, position: Any) -> Any:
        if self.are_known:
            return self._entry(self._numbers[position])
        ranked = [(number, self._ranks[number]) for number in self._numbers]
        return self._among(ranked, integer(position), [self._owner.slots[ITEM, number] for number in self._numbers])

    def _entry(self, number: int) -> Any:
        slots = self._owner.slots
        return self._shown(slots.keys_known[number], slots[ITEM, number])

    def _among(self, ranked: list[tuple[int, Value]], position: Value, items: list[Any]) -> Any:
        (number, rank), *others = ranked
        if not others:
            return self._entry(number)
        is_here = tracers.wrap(values.emit("equal", rank, position))
        return choose(is_here, lambda: self._entry(number), lambda: self._among(others, position, items), *items)


def ranks_of(owner: Slotted) -> dict[int, Value]:
    """By the number of each key that may be there, at which position it stands; -1 for one that is not there."""
    slots, ordered = owner.slots, in_order(owner)
    if owner.kind is list:
        return {number: position if slots[THERE, number] is True else
                values.select(as_bool_value(slots[THERE, number]), position, as_value(-1))
                for number in slots.possible() for position in (as_value(slots[ORDER, number]),)}  # fmt: skip
    counted = [(number, as_bool_value(slots[THERE, number])) for number in slots.possible()]
    if ordered is None:
        return {number: values.select(there, numbers_before(slots, number, counted), as_value(-1))
                for number, there in counted}  # fmt: skip
    before: Any = 0
    ranks: dict[int, Value] = {}
    for number in ordered:
        there = slots[THERE, number]
        position = as_value(before)
        ranks[number] = position if there is True else values.select(as_bool_value(there), position, as_value(-1))
        before = sum_of(before, number_of(there))
    return ranks


def numbers_before(slots: Slots, number: int, counted: Sequence[tuple[int, Value]]) -> Value:
    """How many of those that are counted, by a bool of the running program, stand in front of a key."""
    before: Any = 0
    for other, is_counted in counted:
        is_before = values.emit("less", as_value(slots[ORDER, other]), as_value(slots[ORDER, number]))
        before = sum_of(before, number_of(tracers.wrap(values.emit("logical_and", is_before, is_counted))))
    return as_value(before)


# -- numbers of slots ---------------------------------------------------------------------------------------


def as_bool_value(there: Any) -> Value:
    """Whether a key is there, as a bool of the running program."""
    answer = truth(there)
    return values.constant(answer, BOOL) if type(answer) is bool else values.cast(answer, BOOL)


def as_value(number: Any) -> Value:
    """A number of slots as an i64."""
    return values.constant(number, I64) if type(number) is int else values.cast(tracers.lift(number), I64)


def wrapped(number: Value) -> Any:
    """An i64 as a number of slots."""
    return python_int(tracers.wrap(number))


def wrapped_bool(there: Value) -> Any:
    """A bool as what slots have of whether a key is there: Python's."""
    return tracers.wrap(values.emit("cast", there, dtype=BOOL, weak=True))


def number_of(there: Any) -> Any:
    """1 for a key that is there, else 0."""
    return int(there) if type(there) is bool else wrapped(values.cast(as_bool_value(there), I64))


def sum_of(one: Any, other: Any) -> Any:
    """A sum of numbers of slots, which are small."""
    if type(one) is int and type(other) is int:
        return one + other
    return wrapped(values.emit("add", as_value(one), as_value(other)))


def count_of(thing: Slotted) -> Any:
    """How many keys are there."""
    if thing.kind is list:
        return thing.slots[NEXT]
    bits = [number_of(thing.slots[THERE, number]) for number in thing.slots.possible()]
    return reduce(sum_of, bits, 0)
