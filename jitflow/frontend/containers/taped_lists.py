"""Lists whose items lie on tapes of the running program.

All items are of one form: numbers of one kind, Python's or NumPy's, so that each is given back as what it was, tuples
of such, or arrays of one shape. The first item tells which; where a number of another kind is put there, the trace
starts anew with a form for both. Of an array the list has a copy, which is as good as the array as long as nothing
writes to either of the two; what would is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserRuntimeError
from jitflow.frontend.arrays.runtime_sizes import bind, from_front, integer
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.giving_way import begin_anew_in_heap
from jitflow.frontend.containers.list_tapes import Column, Form, form_of, number_less, repeat
from jitflow.frontend.containers.lists import Listed, ListedArrays, ListedScalars, NumberedArrays, tuples_of
from jitflow.frontend.containers.told_items import give, may_hold, require_nothing_passed, with_givers
from jitflow.frontend.control.changing_lists import ProgramLists, begin_anew_with_slots
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.same import Numbers
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, F64, I64, DType
from jitflow.ir.types import Scalar, Tape, Tensor
from jitflow.records import dataclass

__all__ = ["TapedList", "size_of"]


def _dims(form: Form) -> Iterator[Dim]:
    """The sizes of the arrays among the items."""
    return (dim for kind in form.kinds if isinstance(kind, Tensor) for dim in kind.dims)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the items of a list: the form of all, and the columns that hold them."""

    form: Form | None = None
    columns: tuple[Column, ...] = ()


_FLOATS = Form((Scalar(F64, True),))
"""What NumPy takes the items of an empty list for."""


class TapedList(Listed):
    """A list of which only the running program knows how many items it has. ``form`` is theirs if that is known."""

    may_change = True

    def __init__(self, name: str, site: Site, form: Form | None) -> None:
        trace = current_trace()
        trace.state(ProgramLists).growing.append(self)
        self._trace, self.home = trace, trace.scope
        self.name, self.made_at = name, site
        self._count = trace.make("variable", values.constant(0, I64))
        self.known = _Known()
        self._is_asked = False
        """Whether the program has looked at the items before one of them told the kind."""
        self.put: list[tuple[Value, Scope]] = []
        """What it has copies of."""
        self.numbered = replace(site, choice=Choice.NUMBERED)
        self._loops = 0
        """How many loops go through it."""
        if form is not None:
            if not all(map(trace.is_named, _dims(form))):
                begin_anew_in_heap(site, form)
                raise self._of_later_sizes()
            self._become(form)

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
    def is_uniform(self) -> bool:
        return self.form is None or self.form.several is None

    @property
    def is_numbered(self) -> bool:
        """Whether its arrays have numbers, which say which object each of them is."""
        return bool(self._trace.choices.answer(self.numbered))

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

    def as_array(self, dtype: DType | None = None) -> Any:
        """``np.array(self)``: an empty list makes an array of floats."""
        form = self._form_or_float()
        if dtype is None and (not form.is_number or form.kinds[0].dtype != F64):
            message = f"an array of the list {self.name}, which is empty: NumPy's would be one of floats"
            values.check(self.truth(), NotImplementedError, message)
        return self.array

    @property
    def holds_bools(self) -> bool:
        form = self._form_or_float()
        return form.is_number and form.kinds[0].dtype == BOOL

    def as_index(self) -> Any:
        """An array of positions, also if the list is empty."""
        form = self._form_or_float()
        return self.as_array(I64 if form.is_number and form.kinds[0].dtype == I64 else None)

    def settled(self) -> Listed:
        """The items that there are now, as a list that does not change."""
        form, size = self._form_or_float(), size_of(self.number)
        if self._is_without_form():
            return Listed(surface.apply_function(np.empty, ((size,),), {}))
        if form.several is not None:
            raise refusal(
                f"a result, a slice or an array of a list with items of several types, {self.name}, in what is "
                "differentiated",
                "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0)",
            )
        if form.is_tuple and form.has_arrays:
            begin_anew_with_slots(self.made_at)
            begin_anew_in_heap(self.made_at, form)
            raise refusal(
                f"a result, a slice or an array of a list of tuples with arrays that the running program changes, "
                f"{self.name}",
                "have a list for each part of the tuples, or go through it in a loop",
            )
        held = self.known.columns[: len(form.kinds)]
        columns = [column.array(size) for column in held]
        if form.is_tuple:
            return tuples_of(tuple(column.number.weak for column in held))(*columns)
        if form.has_arrays:
            give(columns[0], self, stays=True)
            told = [column.array(size) for column in self.known.columns[1:]]
            return NumberedArrays(columns[0], *told) if told else ListedArrays(columns[0])
        return (Listed if self.weak else ListedScalars)(*columns)

    def returned(self) -> Listed:
        """What the program returns of it: a list of its own."""
        require_nothing_passed(with_givers(self))
        return self.settled()

    def may_hold(self) -> set[Value]:
        """What lies behind the arrays that may be among the items."""
        return may_hold(with_givers(self))

    # -- single items -------------------------------------------------------------------------------

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

        repeat(size_of(number_less(place)), move)

    def _open_gap(self, place: Value) -> None:
        """Move all items but the last from a place on one backward, over the last."""

        def move(turn: Any) -> None:
            here = values.emit("add", integer(turn), values.constant(1, I64))
            self._move(values.emit("add", here, values.constant(1, I64)), here)

        repeat(size_of(number_less(place)), move)

    def _move(self, source: Value, target: Value) -> None:
        for column in self.known.columns:
            column.poke(target, column.peek(source))

    # -- its columns --------------------------------------------------------------------------------

    def _peeked(self, place: Value, stays: bool = True) -> Any:
        return self._given([column.peek(place) for column in self.known.columns], stays)

    def _given(self, parts: list[Any], stays: bool = True) -> Any:
        """An item that the program gets: to write to an array of it would be to write to the list's."""
        form, numbers = self._form_or_float(), self._trace.state(Numbers)
        told = iter(parts[len(form.kinds) :])
        parts = parts[: len(form.kinds)]
        for place, (column, part) in enumerate(zip(self.known.columns, parts, strict=False)):
            if column.dims:
                if (number := next(told, None)) is not None:
                    parts[place] = part = part.copy()
                    numbers.known[id(part)] = part, number, self._trace.scope
                    numbers.may_be[part._value] = self.may_hold
                give(part, self, stays=stays)
                self._keep(part)
        return form.whole(parts)

    def _keep(self, array: Any) -> None:
        site = self.made_at if self._form_or_float().is_tuple else None
        self._trace.storage.keep(array._value, partial(self._refuse_to_write, site))

    def _refuse_to_write(self, site: Site | None) -> NoReturn:
        begin_anew_with_slots(site)
        begin_anew_in_heap(self.made_at, self.form)
        raise refusal(
            f"a write to an array that is an item of a list which the running program changes: {self.name}",
            "append a copy of the array, x.copy(), and copy what the list gives before writing to it",
        )

    def _set(self, number: Value) -> None:
        self._trace.add("store", self._count, number)

    def _become(self, form: Form) -> None:
        """Hold items of a form."""
        if self._is_asked:
            raise self._trace.begin_anew(Restart(self.made_at, form))
        columns = []
        arrays = sum(isinstance(kind, Tensor) for kind in form.kinds)
        for kind in (*form.kinds, *[Scalar(I64, True)] * (arrays * self.is_numbered)):
            tape = Value(Tape(kind.dtype), self.name)
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
            begin_anew_in_heap(self.made_at, self.form, item)
            raise refusal(
                f"a list that the running program changes, {self.name}, of other items than numbers, tuples of "
                "numbers, and arrays",
                "write to arrays that are made before, and count in a variable",
                found=f"an item of class {type(item).__name__}",
            )
        visible = self._trace.is_visible_in(self.home)
        if not all(map(visible, _dims(form))):
            begin_anew_in_heap(self.made_at, self.form, item)
            raise self._of_later_sizes()
        if self.form is None:
            self._become(form)
        elif not form.fits(self.form):
            if both := self.form.with_those_of(form):
                raise self._trace.begin_anew(Restart(self.made_at, both))
            begin_anew_with_slots(self.made_at)
            begin_anew_in_heap(self.made_at, self.form, item)
            raise refusal(
                f"a list that the running program changes, {self.name}, of items of several types",
                "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0), arrays of one shape",
                found=f"{self.form} and {form}",
            )
        parts = self._form_or_float().parts(item)
        arrays = [part for column, part in zip(self.known.columns, parts, strict=False) if column.dims]
        for array in arrays:
            self._keep(array)
            self.put.append((array._value, self._trace.scope))
        if len(self.known.columns) > len(parts):
            parts = (*parts, *(self._trace.state(Numbers).of(array, each=True) for array in arrays))
        return [*zip(self.known.columns, parts, strict=True)]

    def _of_later_sizes(self) -> UserError:
        return refusal(
            f"a list that the running program changes, {self.name}, of arrays whose size it finds later",
            "make arrays of a size that is known before the list is made",
        )

    # -- what is no list's business -----------------------------------------------------------------

    def _require_here(self) -> None:
        """Raise where the list is not that of this run of the code around."""
        trace = active_trace()
        if trace is not self._trace:
            raise UserRuntimeError("a traced list outlived the function that it belongs to",
                                   mend="return the list; do not keep it in a global or an attribute")  # fmt: skip
        around = [*trace.scope.around()]
        if self.home in around and any(scope.is_differentiated for scope in around[: around.index(self.home)]):
            raise refusal(
                f"a list that the running program changes, made outside of what is differentiated: {self.name}",
                "make the list in the function that is differentiated, and return np.array of it",
            )
        if self.home not in around:
            raise refusal(
                f"a list that is made in a branch or loop, changed there, and used behind it: {self.name}",
                "make the list before the branch or loop",
            )

    def _require_rest(self) -> None:
        if self._loops:
            raise refusal(f"a list that changes while a loop goes through it: {self.name}",
                           "loop while a position is below len() of it, and count the position")  # fmt: skip


def size_of(number: Value) -> Any:
    """A number of items as a size."""
    return tracers.size_of(bind(number, "length"))
