"""Lists that grow and shrink where the running program decides: ``if x > 0: out.append(x)``.

A list lives in Python while the program is traced, which is enough as long as the trace knows what it holds. Where a
branch or loop changes it otherwise, the trace starts anew (`Restart`), and the statement that makes the list makes a
`Growing` in its place: tapes of the running program with its items (`taped_lists`), and a variable with their number.
It is one object by however many names the program knows it, so aliases are right, and what changes it are ops, which
regions record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import bind, from_front, integer
from jitflow.frontend.containers.containers import made, refusal
from jitflow.frontend.containers.giving_way import begin_anew_in_heap, made_in_heap
from jitflow.frontend.containers.list_tapes import Form, number_less, repeat
from jitflow.frontend.containers.lists import Listed, ListedScalars, in_order
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.containers.taped_lists import TapedList, size_of
from jitflow.frontend.control.changing_lists import site_of_making
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.dtypes import I64

__all__ = ["Growing", "as_growing"]


class Growing(TapedList):
    """A list that the running program changes."""

    def __init__(self, items: Sequence[Any], name: str, site: Site, form: Form | None) -> None:
        super().__init__(name, site, form)
        for item in items:
            self.append(item)

    def change(self, *_: Any, **__: Any) -> NoReturn:
        self.begin_anew_in_heap()
        super().change()
        raise AssertionError

    def gone_through(self) -> Source:
        return _Turns(self)

    def begin_anew_in_heap(self) -> None:
        """Start the trace anew with a list of the heap, for what a list on tapes cannot do, if that can be."""
        if self.form is not None:
            begin_anew_in_heap(self.made_at, self.form)

    # -- what changes it ----------------------------------------------------------------------------

    def append(self, item: Any) -> None:
        """``list.append``."""
        if type(item) is tracers.Alternatives:
            item.each(self.append)
            return
        self._require_rest()
        number = self.number
        for column, part in self._admitted(item):
            column.push(part)
        self._set(values.emit("add", number, values.constant(1, I64)))

    def pop(self, position: Any = -1) -> Any:
        """``list.pop``."""
        self._require_rest()
        number = self.number
        if self._is_without_form():
            fail(IndexError, "pop from empty list")
        values.check(self.truth(), IndexError, "pop from empty list")
        if type(position) is int and position == -1:
            item = self._given([column.pop() for column in self.known.columns], stays=False)
        else:
            place = self._place(position, "pop index out of range")
            item = self._peeked(place, stays=False)
            self._close_gap(place)
            for column in self.known.columns:
                column.pop()
        self._set(number_less(number))
        return item

    def insert(self, position: Any, item: Any) -> None:
        """``list.insert``."""
        self._require_rest()
        length, zero = self.number, values.constant(0, I64)
        front = from_front(integer(position), length)
        front = values.emit("minimum", values.emit("maximum", front, zero), length)
        self.append(item)
        self._open_gap(values.emit("subtract", self.number, front))
        self[tracers.wrap(values.emit("cast", front, dtype=I64, weak=True))] = item

    def extend(self, items: Any) -> None:
        """``list.extend``."""
        own_loop(items.settled() if items is self else items, lambda item: self.append(item))

    def __iadd__(self, items: Any) -> Growing:
        self.extend(items)
        return self

    def __add__(self, other: Any) -> Any:
        return _new(f"{self.name} + ...", self, other) if isinstance(other, list | Listed) else NotImplemented

    @reflected
    def __radd__(self, other: Any) -> Any:
        return _new(f"... + {self.name}", other, self) if isinstance(other, list | Listed) else NotImplemented

    def copy(self) -> Any:
        """``list.copy``."""
        return _new(f"{self.name}.copy()", self)

    def clear(self) -> None:
        """``list.clear``."""
        self._require_rest()
        self.drain()
        self._set(values.constant(0, I64))

    def reverse(self) -> None:
        """``list.reverse``."""
        self._rearrange(lambda array: array[::-1].copy())

    def sort(self, **keywords: Any) -> None:
        """``list.sort``."""
        if keywords.keys() - {"reverse"}:
            self.begin_anew_in_heap()
            raise refusal("list.sort(key=...) of a list that the running program changes", "use sorted(..., key=...)")
        if self.form is not None and not self.form.is_number:
            self.begin_anew_in_heap()
            raise refusal("sort() of a list of other items than numbers of one type, which the running program changes",
                           "sort np.array of it")  # fmt: skip
        kind = Listed if self.weak else ListedScalars
        self._rearrange(lambda array: in_order(kind(array), **keywords).array)

    def drain(self) -> None:
        """Take off all items: a reverse sweep puts back what was taken, and takes what was put."""

        def take(position: Any) -> None:
            for column in self.known.columns:
                column.pop()

        repeat(size_of(self.number), take)

    # -- single items -------------------------------------------------------------------------------

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self.settled()[position]
        if self._is_without_form():
            fail(IndexError, "list index out of range")
        return self._peeked(self._place(position, "list index out of range"))

    def __setitem__(self, position: Any, item: Any) -> None:
        if isinstance(position, slice):
            self.begin_anew_in_heap()
            raise refusal("a store to a slice of a list that the running program changes", "store item by item")
        self._require_rest()
        if type(item) is tracers.Alternatives:
            item.each(lambda one: self.__setitem__(position, one))
            return
        admitted = self._admitted(item)
        place = self._place(position, "list assignment index out of range")
        for column, part in admitted:
            column.poke(place, part)

    def __delitem__(self, position: Any) -> None:
        if isinstance(position, slice):
            self.begin_anew_in_heap()
            raise refusal("deleting a slice of a list that the running program changes", "pop item by item")
        self._place(position, "list assignment index out of range")
        self.pop(position)

    def _rearrange(self, changed: Callable[[Any], Any]) -> None:
        """Hold in each column what a function makes of the array of what it holds."""
        self._require_rest()
        if self._is_without_form():
            return
        length = self.number
        columns = [(column, changed(column.array(size_of(length)))) for column in self.known.columns]

        def put(position: Any) -> None:
            place = values.emit("subtract", length, integer(position))
            for column, array in columns:
                column.poke(place, array[position])

        repeat(size_of(length), put)


class _Turns(Source):
    """A loop through as many items as a list has when the loop begins; until it ends, the list has as many."""

    once = False

    def __init__(self, growing: Growing) -> None:
        self._growing, self._length = growing, growing.number
        self.count = self.span = bind(self._length, "length")

    def begin(self) -> None:
        self._growing._loops += 1

    def end(self) -> None:
        self._growing._loops -= 1

    def item(self, position: Any) -> Any:
        return self._growing.item(position, self._length)


def _refused(name: str) -> Any:
    def refuse(items: Growing, *_: Any, **__: Any) -> NoReturn:
        items.begin_anew_in_heap()
        raise refusal(f"list.{name} of a list that the running program changes",
                       "use append, pop, len, a loop, or np.array of the list")  # fmt: skip

    return refuse


for _name in ("__contains__", "__iter__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
              "__ge__", "__mul__", "__rmul__", "__imul__", "remove", "index",
              "__len__", "__bool__", "__reversed__", "__str__", "__repr__", "__format__", "__copy__", "__deepcopy__",
              "__reduce_ex__"):  # fmt: skip
    setattr(Growing, _name, _refused(_name))


def _new(name: str, *parts: Any) -> Any:
    """A list of the running program with the items of these, one after the other."""
    trace = current_trace()
    site = site_of_making(name)
    form = trace.choices.answer(site)
    held = made_in_heap(site)
    found: Any = Growing([], name, site, None if form is True else form) if held is None else made("list", site, held)
    for part in parts:
        found.extend(part)
    return found


def as_growing(name: str, items: Listed) -> Any:
    """A list of the running program with these items."""
    return _new(name, items)
