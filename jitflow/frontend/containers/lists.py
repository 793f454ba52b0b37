"""``x.tolist()`` of an array of which only the running program knows the numbers.

Where the sizes are known it is a list of Python's, whose items are numbers of the program. Elsewhere it is a `Listed`:
what was in the array, as Python's numbers, which loops go through and indices pick from; a list is made of it where it
is returned. It does not change; lists that do are `jitflow.frontend.containers.growing_lists`'s.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers import conversions
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.told_items import give_again
from jitflow.frontend.control.same import Numbers
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64, DType

__all__ = ["Listed", "ListedArrays", "ListedRows", "ListedScalars", "ListedTuples", "NumberedArrays", "best",
           "in_order", "of_numbers", "require_rows_apart", "size_of_list", "summed", "to_list",
           "tuples_of"]  # fmt: skip

_LONGEST = 16
"""A list of so many items, whose number is known, is a list of Python's."""
_WIDEST = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}
"""What holds Python's numbers."""


def to_list(array: Any) -> Any:
    """``array.tolist()``."""
    if not array.ndim:
        return conversions.item(array)
    dims = array.type.dims
    if all(isinstance(dim, int) for dim in dims) and array.size <= _LONGEST:
        return [to_list(array[place]) for place in range(dims[0])]
    return Listed(array.astype(_WIDEST[array.dtype.kind]))


def best(name: str, function: Callable[[Any], Any], items: Listed) -> Any:
    """``max`` or ``min`` of a list of numbers, from that of its array."""
    array = items.array
    _require_numbers(array, "folded", "fold along the first axis of the array")
    _require_order(items, ">" if name == "max" else "<")
    return items.item_of(function(array))


def summed(items: Listed, first: Any) -> Any:
    """``sum(items, first)``: Python's numbers are added as such, which may overflow."""
    settled = items.settled()
    _require_numbers(settled.array, "folded", "fold along the first axis of the array")
    return conversions.fold(settled, first, operator.add)


def of_numbers(items: Any) -> Listed:
    """Numbers of one type in a list or array as a list of the running program."""
    weak = isinstance(items, list) and any(tracers.is_weak(item) for item in items)
    array = surface.apply_function(np.array, (items,), {}) if isinstance(items, list) else items
    return (Listed if weak else ListedScalars)(array)


def in_order(items: Listed, keys: Sequence[Listed] | None = None, reverse: bool = False) -> Listed:
    """``sorted(items)``, by the first of some ``keys`` that differs. What is equal stays in order, also in ``reverse``.

    A key is a list of as many numbers.
    """
    array, decisive = items.array, [items] if keys is None else keys
    _require_numbers(array, "sorted", "use np.lexsort of the columns of the array")
    for key in decisive:
        _require_comparable(key)
    known = [key.array for key in decisive]
    if keys is None and array.dtype.kind in "iub":
        found = np.sort(array)[::-1].copy() if reverse else np.sort(array)
    elif reverse:
        found = array[::-1][_places([key[::-1] for key in known])][::-1].copy()
    else:
        found = array[_places(known)]
    return (Listed if items.weak else ListedScalars)(found)


def _places(keys: Sequence[Any]) -> Any:
    """The places of what has these keys, in their order."""
    return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(tuple(keys[::-1]))


def _require_comparable(key: Listed) -> None:
    _require_numbers(key.array, "compared", "use np.lexsort of the columns of the array")
    _require_order(key, "<")
    if key.array.dtype.kind in "fc":
        has_order = values.emit("logical_not", tracers.lift(np.isnan(key.array).any()))
        message = "a list with nan is sorted, where Python's order has no meaning: use np.sort, which puts nan last"
        values.check(has_order, UserNotImplementedError, message)


def _require_order(items: Listed, comparison: str) -> None:
    """Python's complex numbers have no order; NumPy's do."""
    if items.weak and items.array.dtype.kind == "c":
        are_few = values.emit("less", values.size(items.count), values.size(2))
        message = f"'{comparison}' not supported between instances of 'complex' and 'complex'"
        values.check(are_few, TypeError, message)


def _require_numbers(array: Any, done: str, mend: str) -> None:
    if array.ndim > 1:
        raise refusal(f"a list of lists or tuples that is {done}", mend)


class Listed(Recorded, Source, ArraySource):
    """A list of the items of ``array``, which nobody else shows, as Python's numbers."""

    once = False
    __jitflow_arrays__: tuple[str, ...] = ("array",)
    site: Site | None = None
    """Where it was made, if that may make a list of the running program, which can change."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @property
    def array(self) -> Any:
        """The items."""
        return self._array

    @staticmethod
    def made_of(array: Any) -> Any:
        """Python's list, of what the program has returned."""
        return array.tolist()

    @property
    def weak(self) -> bool:
        """Whether they are Python's numbers."""
        return True

    @property
    def is_uniform(self) -> bool:
        """Whether it holds numbers of one type, as an array does."""
        return True

    @property
    def count(self) -> Dim:  # type: ignore[override]
        return current_trace().resolve(self.array.type.dims[0])

    span = count

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        arrays = tuple(item.as_array() if isinstance(item, Listed) else item for item in inputs)
        return surface.apply_ufunc(ufunc, method, arrays, keywords)

    def truth(self) -> Value:
        return values.emit("greater_equal", values.size(self.count), values.size(1))

    def settled(self) -> Listed:
        return self

    def returned(self) -> Listed:
        return self

    @property
    def holds_bools(self) -> bool:
        return bool(self.array.dtype == np.bool_)

    def as_array(self, dtype: DType | None = None) -> Any:
        """``np.array(self)``."""
        return self.array

    def item(self, position: Any) -> Any:
        return self._as_list(self.array[position])

    def _as_list(self, part: Any) -> Any:
        return type(self)(part) if part.ndim else self.item_of(part)

    def item_of(self, number: Any) -> Any:
        """A number of the array's dtype as an item."""
        return conversions.item(number) if self.weak else number

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)(self.array[position])
        length, place = values.size_value(self.count), integer(position)
        front = from_front(place, length)
        inside = values.emit("less", front, length), values.emit("greater_equal", front, values.constant(0, I64))
        values.check(values.emit("logical_and", *inside), IndexError, "list index out of range")
        return self.item(position)

    def __contains__(self, item: Any) -> Any:
        raise refusal("`in` of a list that only the running program knows", "write (x == item).any() of the array")

    def copy(self) -> Listed:
        """``list.copy``."""
        return self

    def change(self, *_: Any, **__: Any) -> Any:
        """Start the trace anew with a list that can change, if it may be one."""
        if self.site is not None and not current_trace().choices.is_settled(self.site):
            raise current_trace().begin_anew(Restart(self.site))
        raise refusal("arithmetic with, or a change of, a list of which only the running program knows the length",
                       "keep the array, and use NumPy's functions on it")  # fmt: skip

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = change
    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = change
    __setitem__ = __delitem__ = change
    append = extend = insert = remove = pop = clear = index = sort = reverse = change
    __hash__ = None  # type: ignore[assignment]


class ListedScalars(Listed):
    """The same, as NumPy's scalars."""

    __jitflow_arrays__: tuple[str, ...] = ("array",)

    @property
    def weak(self) -> bool:
        return False

    @staticmethod
    def made_of(array: Any) -> list[Any]:
        return [*array]


class ListedArrays(Listed):
    """A list of arrays, of which ``array`` has one behind the other."""

    __jitflow_arrays__: tuple[str, ...] = ("array",)

    @property
    def weak(self) -> bool:
        return False

    def _as_list(self, part: Any) -> Any:
        found = part.copy()
        current_trace().storage.keep(found._value, _refuse_to_write)
        give_again(found, self.array)
        return found

    @staticmethod
    def made_of(array: Any) -> list[Any]:
        return [row.copy() for row in array]


class NumberedArrays(ListedArrays):
    """The same, with numbers that say which object each of them is."""

    __jitflow_arrays__ = ("array", "numbers")

    def __init__(self, array: Any, numbers: Any) -> None:
        super().__init__(array)
        self.numbers = numbers

    def item(self, position: Any) -> Any:
        found = super().item(position)
        trace = current_trace()
        trace.state(Numbers).known[id(found)] = found, conversions.item(self.numbers[position]), trace.scope
        return found

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return NumberedArrays(self.array[position], self.numbers[position])
        return super().__getitem__(position)


class RowFamilies(list[list[Any]]):
    """For each list of the rows of an array: what shows the same views."""


def require_rows_apart(returned: Sequence[Any]) -> None:
    """Raise where the caller would get a view of a row twice, which the list makes once."""
    for family in current_trace().state(RowFamilies):
        if sum(any(one is thing for thing in returned) for one in family) > 1:
            raise refusal("a list of the rows of an array, or a row of it, returned beside another of its rows",
                           "return the array, and rows of it: x, x[0]")  # fmt: skip


class ListedRows(Listed):
    """``list(x)`` of an array of several axes: the views of its rows, which the program may write to."""

    __jitflow_arrays__ = ("rows",)

    def __init__(self, rows: Any, site: Site | None = None, family: list[Any] | None = None) -> None:
        self.rows, self.site = rows, site
        self.family = [] if family is None else family
        """What has the same views: slices of it, and the views that it has given."""
        if family is None:
            current_trace().state(RowFamilies).append(self.family)
        self.family.append(self)

    @property
    def array(self) -> Any:
        return self.rows.copy()

    @property
    def weak(self) -> bool:
        return False

    @property
    def count(self) -> Dim:  # type: ignore[override]
        return current_trace().resolve(self.rows.type.dims[0])

    span = count

    def item(self, position: Any) -> Any:
        self.family.append(self.rows[position])
        return self.family[-1]

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return ListedRows(self.rows[position], family=self.family)
        return super().__getitem__(position)

    @staticmethod
    def made_of(array: Any) -> list[Any]:
        return [*array]


def tuples_of(weak: tuple[bool, ...]) -> type[Listed]:
    """The class of lists of tuples that have a number of each of several arrays."""
    return _tuples_of(weak)


@cache
def _tuples_of(weak: tuple[bool, ...]) -> type[Listed]:
    names = tuple(f"column{number}" for number in range(len(weak)))
    return type(f"ListedTuples{len(weak)}", (ListedTuples,), {"__jitflow_arrays__": names, "are_weak": weak})


class ListedTuples(Listed):
    """A list of tuples; each place of theirs has an array of its own."""

    are_weak: tuple[bool, ...] = ()

    def __init__(self, *columns: Any, **named: Any) -> None:
        self.columns = (*columns, *named.values())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("column") and name != "columns":
            return self.columns[int(name.removeprefix("column"))]
        raise AttributeError(name)

    @property
    def array(self) -> Any:
        return np.stack(self.columns, axis=1)

    @property
    def count(self) -> Dim:  # type: ignore[override]
        return current_trace().resolve(self.columns[0].type.dims[0])

    span = count

    def item(self, position: Any) -> Any:
        parts = zip(self.columns, self.are_weak, strict=True)
        return tuple(conversions.item(part[position]) if weak else part[position] for part, weak in parts)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)(*(column[position] for column in self.columns))
        return super().__getitem__(position)

    @classmethod
    def made_of(cls, *columns: Any) -> list[Any]:
        found = (column.tolist() if weak else column for column, weak in zip(columns, cls.are_weak, strict=True))
        return [*zip(*found, strict=True)]


def _refuse_to_write() -> NoReturn:
    raise refusal("a write to an array that is an item of a list", "copy what the list gives before writing to it")


def size_of_list(items: Listed) -> Any:
    """``len(items)``."""
    return tracers.size_of(items.count)
