"""Lists that grow and shrink where the running program decides: ``if x > 0: out.append(x)``.

A list lives in Python while the program is traced, which is enough as long as the trace knows what it holds. Where a
branch or loop changes it otherwise, the trace starts anew (`Restart`), and the statement that makes the list makes a
`Growing` in its place: tapes of the running program with its items (`columns`), and a variable with their number. It is
one object by however many names the program knows it, so aliases are right, and what changes it are ops, which regions
record.

All items are of one form: numbers of one kind, Python's or NumPy's, so that each is given back as what it was, tuples
of such, or arrays of one shape. The first item tells which. Of an array the list has a copy, which is as good as the
array as long as nothing writes to either of the two; what would is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserRuntimeError
from jitflow.frontend.arrays.runtime_sizes import bind, from_front, integer
from jitflow.frontend.control.changing_lists import ProgramLists
from jitflow.frontend.control.loop import for_
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.sources import Source
from jitflow.frontend.python.list_tapes import Column, Form, form_of, number_less, repeat
from jitflow.frontend.python.lists import Listed, ListedArrays, ListedScalars, in_order, tuples_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.types import Scalar, Tape, Tensor

__all__ = ["Growing"]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the items of a list: the form of all, and the columns that hold them."""

    form: Form | None = None
    columns: tuple[Column, ...] = ()


class Growing(Listed):
    """A list of which only the running program knows how many items it has. ``form`` is theirs if that is known."""

    may_change = True

    def __init__(self, items: Sequence[Any], name: str, site: Site, form: Form | None) -> None:
        trace = current_trace()
        if not trace.scope.is_differentiated and any(scope.is_differentiated for scope in trace.scope.around()):
            raise _refusal(
                f"a list that the running program changes, made in a loop or branch of what is differentiated: {name}",
                "make the list before the loop, or write to an array",
            )
        trace.state(ProgramLists).growing.append(self)
        self._trace, self.home = trace, trace.scope
        self._name, self._site = name, site
        self._count = trace.make("variable", values.constant(0, I64))
        self.known = _Known()
        self._is_asked = False
        """Whether the program has looked at the items before one of them told the kind."""
        self._arrays: list[Value] = []
        """What it has copies of."""
        self._loops = 0
        """How many loops go through it."""
        if form is not None:
            self._become(form)
        for item in items:
            self.append(item)

    # -- what it holds ------------------------------------------------------------------------------

    @property
    def form(self) -> Form | None:
        """The form of its items, if that is known."""
        return self.known.form

    @property
    def weak(self) -> bool:
        kind = self._form_or_float().kinds[0]
        return isinstance(kind, Scalar) and kind.weak

    @property
    def number(self) -> Value:
        """How many items there are, an i64."""
        self._require_here()
        return values.as_scalar(self._trace.make("load", self._count))

    @property
    def length(self) -> Any:
        """``len(self)``."""
        return tracers.wrap(values.emit("cast", self.number, dtype=I64, weak=True))

    def truth(self) -> Value:
        """Whether there is an item."""
        return values.emit("greater", self.number, values.constant(0, I64))

    @property
    def array(self) -> Any:
        """The items in an array that nobody else shows."""
        return self.settled().array

    def as_array(self) -> Any:
        """``np.array(self)``: an empty list makes an array of floats."""
        form = self._form_or_float()
        if not form.is_number or form.kinds[0].dtype != F64:
            message = f"an array of the list {self._name}, which is empty: NumPy's would be one of floats"
            values.check(self.truth(), NotImplementedError, message)
        return self.array

    def settled(self) -> Listed:
        """The items that there are now, as a list that does not change."""
        form, size = self._form_or_float(), _size(self.number)
        if self._is_without_form():
            return Listed(surface.apply_function(np.empty, ((size,),), {}))
        columns = [column.array(size) for column in self.known.columns]
        if form.is_tuple:
            return tuples_of(tuple(column.number.weak for column in self.known.columns))(*columns)
        return (Listed if self.weak else ListedScalars if form.is_number else ListedArrays)(*columns)

    def returned(self) -> Listed:
        """What the program returns of it: a list of its own."""
        storage = self._trace.storage
        if any(map(storage.is_parameter, storage.behind(*self._arrays))):
            raise _refusal(
                f"a list that the running program changes, {self._name}, which is returned and has an argument in it",
                "append a copy of it, x.copy(), or return np.array of the list",
            )
        return self.settled()

    def gone_through(self) -> Source:
        return _Turns(self)

    # -- what changes it ----------------------------------------------------------------------------

    def append(self, item: Any) -> None:  # type: ignore[override]
        """``list.append``."""
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
            item = self._given([column.pop() for column in self.known.columns])
        else:
            place = self._place(position, "pop index out of range")
            item = self._peeked(place)
            self._close_gap(place)
            for column in self.known.columns:
                column.pop()
        self._set(number_less(number))
        return item

    def insert(self, position: Any, item: Any) -> None:  # type: ignore[override]
        """``list.insert``."""
        self._require_rest()
        length, zero = self.number, values.constant(0, I64)
        front = from_front(integer(position), length)
        front = values.emit("minimum", values.emit("maximum", front, zero), length)
        self.append(item)
        self._open_gap(values.emit("subtract", self.number, front))
        self[tracers.wrap(values.emit("cast", front, dtype=I64, weak=True))] = item

    def extend(self, items: Any) -> None:  # type: ignore[override]
        """``list.extend``."""
        for_(items.settled() if items is self else items, lambda item: self.append(item), None, (), ())

    def __iadd__(self, items: Any) -> Growing:  # type: ignore[override, misc]
        self.extend(items)
        return self

    def clear(self) -> None:  # type: ignore[override]
        """``list.clear``."""
        self._require_rest()
        self.drain()
        self._set(values.constant(0, I64))

    def reverse(self) -> None:  # type: ignore[override]
        """``list.reverse``."""
        self._replace_all(lambda items: items.array[::-1].copy())

    def sort(self, **keywords: Any) -> None:  # type: ignore[override]
        """``list.sort``."""
        if keywords:
            raise _refusal(f"list.sort({', '.join(keywords)}=...) of a list that the running program changes",
                           "sort, and reverse")  # fmt: skip
        self._replace_all(lambda items: in_order(items).array)

    def drain(self) -> None:
        """Take off all items: a reverse sweep puts back what was taken, and takes what was put."""

        def take(position: Any) -> None:
            for column in self.known.columns:
                column.pop()

        repeat(_size(self.number), take)

    # -- single items -------------------------------------------------------------------------------

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self.settled()[position]
        if self._is_without_form():
            fail(IndexError, "list index out of range")
        return self._peeked(self._place(position, "list index out of range"))

    def __setitem__(self, position: Any, item: Any) -> None:  # type: ignore[override]
        if isinstance(position, slice):
            raise _refusal("a store to a slice of a list that the running program changes", "store item by item")
        self._require_rest()
        admitted = self._admitted(item)
        place = self._place(position, "list assignment index out of range")
        for column, part in admitted:
            column.poke(place, part)

    def __delitem__(self, position: Any) -> None:  # type: ignore[override]
        if isinstance(position, slice):
            raise _refusal("deleting a slice of a list that the running program changes", "pop item by item")
        self._place(position, "list assignment index out of range")
        self.pop(position)

    def item(self, position: Any, length: Value | None = None) -> Any:
        """The item at a position from the front that is known to be there, in a list of this length."""
        if self._is_without_form():  # there is none
            fail(IndexError, "list index out of range")
        length = self.number if length is None else length
        return self._peeked(values.emit("subtract", length, integer(position)))

    def holds_position(self, position: Any) -> Any:
        """Whether there is an item at a position from the front."""
        return position < self.length

    def _place(self, position: Any, message: str) -> Value:
        """How far from the end a position is, 1 for the last; checked."""
        length, number = self.number, integer(position)
        front = from_front(number, length)
        inside = values.emit("less", front, length), values.emit("greater_equal", front, values.constant(0, I64))
        values.check(values.emit("logical_and", *inside), IndexError, message)
        return values.emit("subtract", length, front)

    def _close_gap(self, place: Value) -> None:
        """Move all items behind a place one forward."""

        def move(turn: Any) -> None:
            behind = values.emit("subtract", place, integer(turn))
            self._move(number_less(behind), behind)

        repeat(_size(number_less(place)), move)

    def _open_gap(self, place: Value) -> None:
        """Move all items but the last from a place on one backward, over the last."""

        def move(turn: Any) -> None:
            here = values.emit("add", integer(turn), values.constant(1, I64))
            self._move(values.emit("add", here, values.constant(1, I64)), here)

        repeat(_size(number_less(place)), move)

    def _move(self, source: Value, target: Value) -> None:
        for column in self.known.columns:
            column.poke(target, column.peek(source))

    def _replace_all(self, changed: Callable[[Listed], Any]) -> None:
        """Hold the numbers of the array that a function makes of those that the list holds."""
        self._require_rest()
        if self._is_without_form():
            return
        form = self._form_or_float()
        if not form.is_number:
            raise _refusal("reverse() and sort() of a list of tuples or arrays that the running program changes",
                           "reverse or sort np.array of it")  # fmt: skip
        length, array = self.number, changed(self.settled())

        def put(position: Any) -> None:
            self.known.columns[0].poke(values.emit("subtract", length, integer(position)), array[position])

        repeat(_size(length), put)

    # -- its columns --------------------------------------------------------------------------------

    def _peeked(self, place: Value) -> Any:
        return self._given([column.peek(place) for column in self.known.columns])

    def _given(self, parts: list[Any]) -> Any:
        """An item that the program gets: to write to an array of it would be to write to the list's."""
        form = self._form_or_float()
        if isinstance(form.kinds[0], Tensor):
            self._keep(parts[0])
        return form.whole(parts)

    def _keep(self, array: Any) -> None:
        self._trace.storage.keep(array._value, partial(_refuse_to_write, self._name))

    def _set(self, number: Value) -> None:
        self._trace.add("store", self._count, number)

    def _become(self, form: Form) -> None:
        """Hold items of a form."""
        if self._is_asked:
            raise self._trace.begin_anew(Restart(self._site, form))
        columns = []
        for kind in form.kinds:
            tape = Value(Tape(kind.dtype), self._name)
            self.home.insert(self._count, "tape", results=(tape,), dtype=kind.dtype)
            columns.append(Column(kind, tape))
        self.known = _Known(form, tuple(columns))

    def _is_without_form(self) -> bool:
        """Whether nothing was put there so far; if something is later, the trace starts anew."""
        self._is_asked |= self.form is None
        return self.form is None

    def _form_or_float(self) -> Form:
        """The form of the items; if nothing has told it, there have been none so far."""
        return _FLOATS if self._is_without_form() or self.form is None else self.form

    def _admitted(self, item: Any) -> list[tuple[Column, Any]]:
        """What each column gets of an item."""
        form = form_of(item)
        if form is None:
            raise _refusal(
                f"a list that the running program changes, {self._name}, of other items than numbers, tuples of "
                "numbers, and arrays",
                "write to arrays that are made before, and count in a variable",
                found=f"an item of class {type(item).__name__}",
            )
        visible = self._trace.is_visible_in(self.home)
        if not all(visible(dim) for kind in form.kinds if isinstance(kind, Tensor) for dim in kind.dims):
            raise _refusal(
                f"a list that the running program changes, {self._name}, of arrays whose size it finds later",
                "make arrays of a size that is known before the list is made",
            )
        if self.form is None:
            self._become(form)
        elif not form.fits(self.form):
            raise _refusal(
                f"a list that the running program changes, {self._name}, of items of several types",
                "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0), arrays of one shape",
                found=f"{self.form} and {form}",
            )
        if isinstance(form.kinds[0], Tensor):
            self._keep(item)
            self._arrays.append(item._value)
        return [*zip(self.known.columns, form.parts(item), strict=True)]

    # -- what is no list's business -----------------------------------------------------------------

    def _require_here(self) -> None:
        """Raise where the list is not that of this run of the code around."""
        trace = active_trace()
        if trace is not self._trace:
            raise UserRuntimeError("a traced list outlived the function that it belongs to",
                                   mend="return the list; do not keep it in a global or an attribute")  # fmt: skip
        around = [*trace.scope.around()]
        if self.home in around and any(scope.is_differentiated for scope in around[: around.index(self.home)]):
            raise _refusal(
                f"a list that the running program changes, made outside of what is differentiated: {self._name}",
                "make the list in the function that is differentiated, and return np.array of it",
            )
        if self.home not in around:
            raise _refusal(
                f"a list that is made in a branch or loop, changed there, and used behind it: {self._name}",
                "make the list before the branch or loop",
            )

    def _require_rest(self) -> None:
        if self._loops:
            raise _refusal(f"a list that changes while a loop goes through it: {self._name}",
                           "loop while a position is below len() of it, and count the position")  # fmt: skip


def _size(number: Value) -> Any:
    return tracers.size_of(bind(number, "length"))


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


_FLOATS = Form((Scalar(F64, True),))
"""What NumPy takes the items of an empty list for."""


def _refuse_to_write(name: str) -> NoReturn:
    raise _refusal(
        f"a write to an array that is an item of a list which the running program changes: {name}",
        "append a copy of the array, x.copy(), and copy what the list gives before writing to it",
    )


def _refusal(what: str, mend: str, found: str = "") -> UserNotImplementedError:
    error = located(UserNotImplementedError(what, found=found, mend=mend))
    assert isinstance(error, UserNotImplementedError)
    return error


def _refused(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise _refusal(f"list.{name} of a list that the running program changes",
                       "use append, pop, len, a loop, or np.array of the list")  # fmt: skip

    return refuse


for _name in ("__contains__", "copy", "__iter__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
              "__ge__", "__add__", "__radd__", "__mul__", "__rmul__", "__imul__", "remove", "index",
              "__len__", "__bool__", "__reversed__", "__str__", "__repr__", "__format__", "__copy__", "__deepcopy__",
              "__reduce_ex__"):  # fmt: skip
    setattr(Growing, _name, _refused(_name))


def made_list(items: list[Any], name: str) -> Any:
    """``name = [...]``: the list itself, or one of the running program if that has to be."""
    trace = active_trace()
    if trace is None or type(items) is not list:
        return items
    here = trace.here()
    site = Site(Choice.GROWING, here.file, here.line, name)
    form = trace.choices.answer(site)
    if form is not None:
        return Growing(items, name, site, None if form is True else form)
    trace.state(ProgramLists).made[id(items)] = items, site
    return items
