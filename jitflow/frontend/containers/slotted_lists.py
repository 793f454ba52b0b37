"""Lists of which the run decides which of their items are there: ``if row.ok: kept.append(row)``.

Each item that is appended has a slot (`outside.slots`), so it may be anything: an object of the caller's, an array.
As long as it is known which are there, the list does what Python's does. Where the run decides, what an item has as its
number in the order is its position, and that of the next one is how many there are: what comes in or goes moves all
behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.containers.slotted_entries import (
    Entries,
    SlottedThing,
    as_bool_value,
    as_value,
    count_of,
    in_order,
    item_of,
    number_of,
    ranks_of,
    sum_of,
    wrapped,
    wrapped_bool,
)
from jitflow.frontend.control.branch import and_, choose, or_
from jitflow.frontend.control.comparisons import equal, is_traced
from jitflow.frontend.control.logic import as_bool
from jitflow.frontend.control.raising import fail, raise_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.slots import ITEM, NEXT, ORDER, THERE
from jitflow.frontend.outside.special_methods import has_method
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.texts import text
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.runtime.objects.returned_containers import list_of_slots

__all__ = ["SlottedList", "raise_absent"]


class SlottedList(SlottedThing):
    """A list whose items are known, if not whether they are there."""

    kind = list

    def fill(self, items: Any) -> None:
        self.extend(items)

    def maker(self, keys: Sequence[Any]) -> Callable[..., Any]:
        return list_of_slots

    # -- what Python's list does --------------------------------------------------------------------

    def _numbers(self) -> list[int] | None:
        """The numbers of the items in their order, if these are known to be there; else None."""
        ordered = in_order(self) or []
        is_known = len(ordered) == len(self.slots.possible()) and all(self.slots[THERE, one] is True for one in ordered)
        return ordered if is_known else None

    def _known(self, name: str) -> list[int]:
        numbers = self._numbers()
        if numbers is None:
            raise self.refusal(name)
        return numbers

    def _as_python(self, name: str, change: Callable[[list[Any]], Any]) -> Any:
        """Do what Python does to a list of numbers of slots; what is new in it is an item."""
        numbers: list[Any] = self._known(name)
        before = [*numbers]
        found = change(numbers)
        self._change()
        for number in before:
            if number not in numbers:
                self._remove(number)
        for order, number in enumerate(numbers):
            if isinstance(number, _New):
                number = numbers[order] = self._add(number.item)
            self.slots[ORDER, number] = order
        self.slots[NEXT] = len(numbers)
        return found

    def _add(self, item: Any) -> int:
        number = self.slots.add(len(self.slots.keys_known))
        self.slots[THERE, number], self.slots[ITEM, number] = True, item
        return number

    # -- what changes it ----------------------------------------------------------------------------

    @raising_for_the_program
    def append(self, item: Any) -> None:
        """``list.append``."""
        self._change()
        number, following = self._add(item), self.slots[NEXT]
        self.slots[ORDER, number], self.slots[NEXT] = following, sum_of(following, 1)

    @raising_for_the_program
    def extend(self, items: Any) -> None:
        """``list.extend``."""
        if isinstance(items, SlottedList) and items._numbers() is None:
            self._extend_by_slots(items)
            return
        known = [*(items if not isinstance(items, SlottedThing) else items.known_items() or ())]
        for item in known:
            self.append(item)

    def _extend_by_slots(self, other: SlottedList) -> None:
        self._change()
        slots, ranks, following, length = other.slots, ranks_of(other), self.slots[NEXT], count_of(other)
        for there, item, rank in [(slots[THERE, one], slots[ITEM, one], rank) for one, rank in ranks.items()]:
            number = self._add(item)
            self.slots[THERE, number], self.slots[ORDER, number] = there, sum_of(following, wrapped(rank))
        self.slots[NEXT] = sum_of(following, length)

    def __iadd__(self, items: Any) -> SlottedList:
        self.extend(items)
        return self

    @raising_for_the_program
    def insert(self, position: Any, item: Any) -> None:
        """``list.insert``."""
        if self._numbers() is not None and type(position) is int:
            self._as_python("list.insert", lambda numbers: numbers.insert(position, _New(item)))
            return
        self._change()
        place: Any = 0
        if not (type(position) is int and position == 0):
            length = as_value(self.slots[NEXT])
            front = values.emit("maximum", from_front(integer(position), length), values.constant(0, I64))
            place = wrapped(values.emit("minimum", front, length))
        self._move(place, 1)
        self.slots[ORDER, self._add(item)] = place

    def _move(self, place: Any, by: int) -> None:
        """Those from a place on go to other positions."""
        for number in self.slots.possible():
            order = self.slots[ORDER, number]
            if type(place) is int and (place == 0 or type(order) is int):
                is_behind: Any = place == 0 or order >= place
            else:
                is_behind = wrapped_bool(values.emit("greater_equal", as_value(order), as_value(place)))
            if is_behind is not False:
                moved = (
                    by
                    if is_behind is True
                    else wrapped(values.emit("multiply", as_value(number_of(is_behind)), as_value(by)))
                )
                self.slots[ORDER, number] = sum_of(order, moved)
        self.slots[NEXT] = sum_of(self.slots[NEXT], by)

    @raising_for_the_program
    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """``list.sort``."""
        numbers = self._known("list.sort")
        keys = {
            number: item if key is None else key(item) for number in numbers for item in (self.slots[ITEM, number],)
        }
        if is_traced([*keys.values()]):
            raise self.refusal("list.sort, which asks what only the running program knows,")
        self._as_python("list.sort", lambda numbers: numbers.sort(key=lambda number: keys[number], reverse=reverse))

    def reverse(self) -> None:
        """``list.reverse``."""
        self._as_python("list.reverse", lambda numbers: numbers.reverse())

    @raising_for_the_program
    def pop(self, position: Any = -1) -> Any:
        """``list.pop``."""
        is_filled = self.truth()
        if is_filled is False:
            fail(IndexError, "pop from empty list")
        if is_filled is not True:
            values.check(is_filled, IndexError, "pop from empty list")
        return self._take(position, "pop index out of range", self._among)

    @raising_for_the_program
    def __delitem__(self, position: Any) -> None:
        if type(position) is slice:
            self._as_python("del", lambda numbers: numbers.__delitem__(position))
            return
        self._take(position, "list assignment index out of range", lambda here: None)

    def _take(self, position: Any, message: str, among: Callable[[list[tuple[int, Value]]], Any]) -> Any:
        numbers = self._numbers()
        if numbers is not None and type(position) is int and -len(numbers) <= position < len(numbers):
            item = self.slots[ITEM, numbers[position]]
            self._as_python("del", lambda numbers: numbers.__delitem__(position))
            return item
        front, here = self._at(position, message)
        item = among(here)
        self._leave(0 if type(position) is int and position == 0 else wrapped(front), here)
        return item

    def _leave(self, place: Any, here: Sequence[tuple[int, Value]]) -> None:
        """The item at a place goes; of each number it is known whether it is there."""
        self._change()
        for number, is_here in here:
            is_left = values.emit("logical_and", as_bool_value(self.slots[THERE, number]), _not(is_here))
            self.slots[THERE, number] = wrapped_bool(is_left)
        self._move(place, -1)

    def clear(self) -> None:
        """``list.clear``."""
        super().clear()
        self.slots[NEXT] = 0

    @raising_for_the_program
    def remove(self, item: Any) -> None:
        """``list.remove``."""
        first, is_there, equal_ones = self._first(item)
        if not equal_ones:
            fail(ValueError, "list.remove(x): x not in list")
        values.check(is_there, ValueError, "list.remove(x): x not in list")
        self._leave(wrapped(first), [(number, values.emit("equal", rank, first)) for number, rank in equal_ones])

    @raising_for_the_program
    def index(self, item: Any, *bounds: Any) -> Any:
        """``list.index``."""
        if bounds:
            raise self.refusal("list.index with bounds")
        first, is_there, _ = self._first(item)
        return choose(tracers.wrap(is_there), lambda: wrapped(first), lambda: raise_absent(item, "list"), item)

    def _first(self, item: Any) -> tuple[Value, Value, list[tuple[int, Value]]]:
        """Where the first item is that is equal to one, whether there is one, and the numbers that may be it."""
        slots, length = self.slots, as_value(self.slots[NEXT])
        equal_ones = []
        for number, rank in ranks_of(self).items():
            there, other = slots[THERE, number], slots[ITEM, number]
            is_it = and_(there, lambda: _is_equal(other, item))  # noqa: B023
            if is_it is not False:
                equal_ones.append((number, rank, values.select(as_bool_value(is_it), rank, length)))
        first = reduce(partial(values.emit, "minimum"), [found for _, _, found in equal_ones], length)
        return first, values.emit("less", first, length), [(number, rank) for number, rank, _ in equal_ones]

    # -- single items -------------------------------------------------------------------------------

    def _at(self, position: Any, message: str) -> tuple[Value, list[tuple[int, Value]]]:
        """A position from the front, and of each number whether it is there. Raises IndexError where there is none."""
        length = as_value(self.slots[NEXT])
        front = from_front(integer(position), length)
        is_inside = (values.emit("greater_equal", front, values.constant(0, I64)), values.emit("less", front, length))
        values.check(values.emit("logical_and", *is_inside), IndexError, message)
        here = [(number, values.emit("equal", rank, front)) for number, rank in ranks_of(self).items()]
        if not here:
            fail(IndexError, message)
        return front, here

    def _among(self, here: list[tuple[int, Value]]) -> Any:
        (number, is_here), *others = here
        item = self.slots[ITEM, number]
        rest = [self.slots[ITEM, other] for other, _ in others]
        return choose(tracers.wrap(is_here), lambda: item, lambda: self._among(others), item, *rest) if others else item

    @raising_for_the_program
    def __getitem__(self, position: Any) -> Any:
        numbers = self._numbers()
        if type(position) is slice:
            return [self.slots[ITEM, number] for number in self._known("a slice")[position]]
        if numbers is not None and type(position) is int and -len(numbers) <= position < len(numbers):
            return self.slots[ITEM, numbers[position]]
        return self.item_at(position)

    def item_at(self, position: Any) -> Any:
        """The item at a position of the run."""
        return self._among(self._at(position, "list index out of range")[1])

    @raising_for_the_program
    def __setitem__(self, position: Any, item: Any) -> None:
        numbers = self._numbers()
        if type(position) is slice:
            made = [_New(one) for one in item]
            self._as_python("a store to a slice", lambda numbers: numbers.__setitem__(position, made))
        elif numbers is not None and type(position) is int and -len(numbers) <= position < len(numbers):
            self._change()
            self.slots[ITEM, numbers[position]] = item
        else:
            _, here = self._at(position, "list assignment index out of range")
            self._change()
            for number, is_here in here:
                before = self.slots[ITEM, number]
                self.slots[ITEM, number] = choose(
                    tracers.wrap(is_here), lambda: item, lambda: before, item, before  # noqa: B023
                )  # fmt: skip

    # -- the whole ----------------------------------------------------------------------------------

    def contains(self, item: Any) -> Any:
        found: Any = False
        for number in self.slots.possible():
            there, other = self.slots[THERE, number], self.slots[ITEM, number]
            found = or_(found, lambda: and_(there, lambda: _is_equal(other, item)))  # noqa: B023
        return found

    def counted(self, item: Any) -> Any:
        """``list.count``."""
        found: Any = 0
        for number in self.slots.possible():
            there, other = self.slots[THERE, number], self.slots[ITEM, number]
            found = sum_of(found, number_of(and_(there, lambda: _is_equal(other, item))))  # noqa: B023
        return found

    def __add__(self, other: Any) -> Any:
        return self.with_added(other) if isinstance(other, list | SlottedList) else NotImplemented

    @reflected
    def __radd__(self, other: Any) -> Any:
        return SlottedList.of(other).with_added(self) if isinstance(other, list) else NotImplemented

    def __mul__(self, number: Any) -> Any:
        raise self.refusal("`*`")

    __rmul__ = __imul__ = __mul__

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, list):
            raise self.refusal("== of two lists,")
        answer: Any = count_of(self) == len(other)
        for place, item in enumerate(other):
            answer = and_(answer, lambda: as_bool(_is_equal(self[place], item)))  # noqa: B023
        return answer

    __hash__ = None  # type: ignore[assignment]

    # -- going through it ---------------------------------------------------------------------------

    def known_items(self) -> Iterator[Any] | None:
        return self._one_by_one() if self._numbers() is not None else None

    def _one_by_one(self) -> Iterator[Any]:
        """The items, as Python goes through a list that may change meanwhile."""
        position = 0
        while position < len(numbers := self._known("a change in a loop that goes through it,")):
            yield self.slots[ITEM, numbers[position]]
            position += 1

    def entered(self) -> Any:
        return _Live(self)

    def gone_through(self) -> Source:
        return Entries(self, item_of)


def raise_absent(wanted: Any, kind: str) -> NoReturn:
    """What ``index`` raises: of an object whose text is where it lies, as it does of tuples."""
    if kind == "list" and has_method(type(wanted), "__repr__"):
        raise_(ValueError(text((wanted, ord("r"), ""), " is not in list")))
    raise_(ValueError(f"{kind}.index(x): x not in {kind}"))


class _New:
    """An item that has no slot yet."""

    def __init__(self, item: Any) -> None:
        self.item = item


class _Live:
    """What a loop asks in front of each turn, and for each item: the list may change meanwhile."""

    def __init__(self, items: SlottedList) -> None:
        self._items = items

    def holds_position(self, position: Any) -> Any:
        return position < count_of(self._items)

    def item(self, position: Any) -> Any:
        return self._items.item_at(position)


def _is_equal(one: Any, other: Any) -> Any:
    return True if one is other else as_bool(equal(one, other))


def _not(answer: Value) -> Value:
    return values.emit("logical_not", answer)
