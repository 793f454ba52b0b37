"""Where a list of the running program has its items: a tape for each number, or for the elements of each array.

An item is a number, an array, or a tuple of numbers. All of them have one form, so that an item which is so many from
the end lies where its form says. Arrays are copied onto the tape, element by element. Where numbers are of a few kinds,
there is a tape for each, and one with the number of the tape that an item is on; the others have something there, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.containers.held_items import standing_for, words
from jitflow.frontend.containers.item_types import item_type, joined
from jitflow.frontend.control.local_types import Kind, converted, kind_of
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Item, Scalar, Several, Tensor, words_of
from jitflow.records import dataclass

__all__ = ["Column", "Form", "form_of", "number_less", "repeat"]


@dataclass(frozen=True)
class Form:
    """What all items of a list are: numbers or arrays of one kind, tuples of such, or one of ``several`` kinds.

    The columns hold the words of what is of several kinds.
    """

    kinds: tuple[Kind, ...]
    is_tuple: bool = False
    several: Several | None = None

    @property
    def has_arrays(self) -> bool:
        """Whether the items are arrays, or some of their parts are."""
        return any(isinstance(kind, Tensor) for kind in self.kinds)

    @property
    def is_number(self) -> bool:
        """Whether the items are numbers."""
        return not self.is_tuple and self.several is None and isinstance(self.kinds[0], Scalar)

    def parts(self, item: Any) -> tuple[Any, ...]:
        """What each column holds of an item."""
        if self.several is not None:
            return tuple(map(tracers.wrap, words(item, self.several)))
        return item if self.is_tuple else (item,)

    def whole(self, parts: list[Any]) -> Any:
        """The item of what the columns hold."""
        if self.several is not None:
            return standing_for(self.several, map(tracers.lift, parts))
        return tuple(parts) if self.is_tuple else parts[0]

    @property
    def item(self) -> Item | None:
        """The type of items that are numbers, or of several kinds."""
        return self.several or (self.kinds[0] if self.is_number else None)  # type: ignore[return-value]

    def with_those_of(self, other: Form) -> Form | None:
        """The form of items of both forms; None if there is none."""
        both = None if self.item is None or other.item is None else joined(self.item, other.item)
        return Form(words_of(both), several=both) if isinstance(both, Several) else None

    def fits(self, other: Form) -> bool:
        """Whether items of both forms can be in one list: sizes are equal, or are in this call, which a guard tests."""
        if other.several is not None:
            return self.item is not None and joined(other.several, self.item) == other.several
        are_alike = self.is_tuple == other.is_tuple and len(self.kinds) == len(other.kinds)
        return are_alike and self.several is None and all(map(_fit, self.kinds, other.kinds))

    def __str__(self) -> str:
        if self.several is not None:
            return str(self.several)
        words = ", ".join(map(str, self.kinds))
        return f"({words})" if self.is_tuple else words


def _fit(kind: Kind, wanted: Kind) -> bool:
    if kind == wanted:
        return True
    if not (isinstance(kind, Tensor) and isinstance(wanted, Tensor)) or kind.dtype != wanted.dtype:
        return False
    same_size = partial(current_trace().are_one_size, reason="arrays in one list")
    return kind.rank == wanted.rank and all(map(same_size, kind.dims, wanted.dims))


def form_of(item: Any) -> Form | None:
    """The form of an item; None for what no column holds."""
    several = item_type(item)
    if isinstance(several, Several):
        return Form(words_of(several), several=several)
    parts = item if type(item) is tuple else (item,)
    kinds = tuple(kind for part in parts if (kind := _kind_of_part(part)) is not None)
    return Form(kinds, type(item) is tuple) if parts and len(kinds) == len(parts) else None


def _kind_of_part(part: Any) -> Kind | None:
    kind = kind_of(part)
    if isinstance(kind, Tensor):
        return kind if type(part) is tracers.ArrayTracer and kind.dims else None
    return kind


class Column:
    """One tape: the numbers or arrays of one kind that a list holds in one place of its items."""

    def __init__(self, kind: Kind, tape: Value) -> None:
        self.kind, self.tape = kind, tape
        self.number = Scalar(kind.dtype) if isinstance(kind, Tensor) else kind
        self.dims: tuple[Dim, ...] = kind.dims if isinstance(kind, Tensor) else ()
        self.width = tracers.size_of(product(self.dims))
        """How many numbers an item has."""

    def push(self, item: Any) -> None:
        """Put an item at the end."""
        trace = current_trace()
        if not self.dims:
            trace.add("push", self.tape, converted(item, self.number))
            return
        flat = item.reshape(-1)

        def put(place: Any) -> None:
            trace.add("push", self.tape, converted(flat[place], self.number))

        repeat(self.width, put)

    def pop(self) -> Any:
        """Take the last item off."""
        if not self.dims:
            return tracers.wrap(current_trace().make("pop", self.tape, types=(self.number,)))
        item = self.peek(values.constant(1, I64))

        def take(place: Any) -> None:
            current_trace().add("pop", self.tape, types=(self.number,))

        repeat(self.width, take)
        return item

    def peek(self, place: Value) -> Any:
        """The item that is so many from the end."""
        if not self.dims:
            return self._number(place)
        first = self._first(place)
        return self._filled((self.width,), self.width, first).reshape(self._shape())

    def poke(self, place: Value, item: Any) -> None:
        """Put an item where another one is."""
        trace = current_trace()
        if not self.dims:
            trace.add("poke", self.tape, place, converted(item, self.number))
            return
        flat, first = item.reshape(-1), self._first(place)

        def put(offset: Any) -> None:
            here = values.emit("subtract", first, integer(offset))
            trace.add("poke", self.tape, here, converted(flat[offset], self.number))

        repeat(self.width, put)

    def array(self, size: Any) -> Any:
        """So many items, which are all, along the first axis of an array that nobody else shows."""
        count = size * self.width
        found = self._filled((count,), count, integer(count))
        return found.reshape((size, *self._shape())) if self.dims else found

    def _shape(self) -> tuple[Any, ...]:
        return tuple(map(tracers.size_of, self.dims))

    def _first(self, place: Value) -> Value:
        """How far from the end the first number of an item is."""
        return values.emit("multiply", place, integer(self.width))

    def _number(self, place: Value) -> Any:
        return tracers.wrap(current_trace().make("peek", self.tape, place, types=(self.number,)))

    def _filled(self, shape: tuple[Any, ...], count: Any, first: Value) -> Any:
        """An array of numbers from one on that is so far from the end."""
        found = surface.apply_function(np.empty, (shape,), {"dtype": self.number.dtype.numpy})

        def take(offset: Any) -> None:
            found[offset] = self._number(values.emit("subtract", first, integer(offset)))

        repeat(count, take)
        return found


def number_less(number: Value) -> Value:
    """A count, less one."""
    return values.emit("subtract", number, values.constant(1, I64))


def repeat(size: Any, turn: Callable[[Any], None]) -> None:
    """``for place in range(size): turn(place)``; once where there is one turn."""
    if type(size) is int and size == 1:
        turn(0)
    else:
        own_loop(traced_range(0, size), turn)
