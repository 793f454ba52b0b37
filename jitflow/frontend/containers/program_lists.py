"""Lists of the running program: Python's methods as ops on a container (`containers`)."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.compared_by import ComparedBy
from jitflow.frontend.containers.containers import NOTHING, ProgramContainer, made, python_class, refusal
from jitflow.frontend.containers.held_arrays import stacked
from jitflow.frontend.containers.held_items import KINDS, columns_of, place_of, size_of
from jitflow.frontend.containers.item_types import common_dtype, has_order, widest
from jitflow.frontend.containers.list_operations import delete_slice, is_before, repeat_items, store_slice, take_slice
from jitflow.frontend.containers.lists import Listed
from jitflow.frontend.containers.merging import sort_items
from jitflow.frontend.containers.nested_lists import array_of_lists, require_kinds
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.control.changing_lists import site_of_making
from jitflow.frontend.control.comparisons import compared
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.ranges import slice_within, traced_range
from jitflow.frontend.control.steps import Source, bound_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.array_items import is_array_item
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, F64, I64, DType
from jitflow.ir.named_types import Named
from jitflow.ir.types import Container, Reference, Scalar, Several, words_of

__all__ = ["ProgramList", "Turns", "new_list"]


class ProgramList(ProgramContainer, Listed):
    """A list of the running program."""

    held = Container()

    # -- what others make of it ---------------------------------------------------------------------

    @property
    def weak(self) -> bool:
        return not self.is_known or (isinstance(self.held.item, Scalar) and self.held.item.weak)

    @property
    def count(self) -> Dim:  # type: ignore[override]
        return tracers.dim_of(size_of(self.number()))

    span = count

    @property
    def is_uniform(self) -> bool:
        """Whether it holds numbers of one type, as an array does."""
        kind = self.held.item
        return kind is None or (isinstance(kind, Scalar) and not isinstance(kind, Container | Reference))

    @property
    def array(self) -> Any:
        """The numbers in an array that nobody else shows."""
        return self._array_of(None)

    def _array_of(self, said: DType | None) -> Any:
        """The same, of a dtype that is said if the items are of several."""
        kind = self.held.item
        if kind is None:
            return surface.apply_function(np.empty, ((0,),), {})
        if isinstance(kind, Named) and is_array_item(kind):
            return stacked(self, kind) if said is None else stacked(self, kind).astype(said.numpy)
        if isinstance(kind, tuple) and None not in map(common_dtype, kind) and words_of(kind) == kind:
            return np.stack(columns_of(self), axis=1)
        dtype = common_dtype(kind)
        if dtype is None:
            return array_of_lists(self, said)
        if words_of(kind) == (kind,):
            return columns_of(self)[0]
        if isinstance(kind, Several) and said is None:
            tags = columns_of(self)[0]
            require_kinds(kind, dtype, lambda number: (tags == number).any())
        size = size_of(self.number())
        found = surface.apply_function(np.empty, ((size,),), {"dtype": (said or dtype).numpy})

        def put(position: Any) -> None:
            found[position] = self.item(position)

        own_loop(traced_range(0, size), put)
        return found

    def as_array(self, dtype: DType | None = None) -> Any:
        """``np.array(self)``: an empty list makes an array of floats."""
        if dtype is None and (not self.is_known or common_dtype(self.held.item) != F64):
            message = "an array of a list which is empty: NumPy's would be one of floats"
            values.check(self.truth(), NotImplementedError, message)
        return self._array_of(dtype)

    @property
    def holds_bools(self) -> bool:
        return self.is_known and common_dtype(self.held.item) == BOOL

    def as_index(self) -> Any:
        """An array of positions, also if the list is empty."""
        dtype = common_dtype(self.held.item) if self.is_known else I64
        return self._array_of(I64).astype(I64.numpy) if dtype == I64 else self.as_array()

    def gone_through(self) -> Source:
        return Turns(self)

    def item(self, position: Any) -> Any:
        return self.entry(integer(position))[1]

    # -- what changes it ----------------------------------------------------------------------------

    def append(self, item: Any) -> None:
        """``list.append``."""
        if (found := self.admitted(NOTHING, item)) is not None:
            self.op("append_item", *found)

    def pop(self, position: Any = -1) -> Any:
        """``list.pop``."""
        message = "pop from an empty deque" if self.held.kind == "deque" else "pop from empty list"
        if not self.is_known and self.sample is None:
            fail(IndexError, message)
        if not self.is_known:
            return self.sample[1]
        values.check(self.truth(), IndexError, message)
        number = self.number()
        if type(position) is int and position in (0, -1):
            last = values.emit("subtract", number, values.constant(1, I64))
            place = last if position else values.constant(0, I64)
            item = self.entry(place)[1]
            self.op("drop_item", **({"front": True} if position == 0 else {}))
            return item
        place = place_of(position, number, IndexError, "pop index out of range")
        item = self.entry(place)[1]
        self.op("remove_item", place)
        return item

    def insert(self, position: Any, item: Any) -> None:
        """``list.insert``."""
        if (found := self.admitted(NOTHING, item)) is None:
            return
        length, zero = self.number(), values.constant(0, I64)
        front = from_front(integer(position), length)
        self.op("insert_item", values.emit("minimum", values.emit("maximum", front, zero), length), *found)

    def extend(self, items: Any) -> None:
        """``list.extend``."""
        if isinstance(items, ProgramContainer) and not items.is_known and items.sample is None:
            return
        own_loop(Turns(items, stays=False) if isinstance(items, ProgramList) else items, self.append)

    def __iadd__(self, items: Any) -> Any:
        self.extend(items)
        return self

    def _with(self, *parts: Any) -> Any:
        """A new list of the items of several."""
        held = next((part.held for part in (self, *parts) if isinstance(part, ProgramList) and part.is_known), None)
        found = new_list(f"{self.held.kind} + {self.held.kind}", held, kind=self.held.kind)
        for part in parts:
            found.extend(part)
        return found

    def __add__(self, other: Any) -> Any:
        if self._is_alike(other):
            return self._with(self, other)
        if not isinstance(other, _OTHERS):
            return NotImplemented
        kind, name = self.held.kind, (python_class(other) or type(other)).__name__
        raise tracers.located(UserTypeError(f'can only concatenate {kind} (not "{name}") to {kind}'))

    @reflected
    def __radd__(self, other: Any) -> Any:
        return self._with(other, self) if self._is_alike(other) else NotImplemented

    def __mul__(self, number: Any) -> Any:
        found = self._with()
        own_loop(traced_range(number), lambda _: found.extend(self))
        return found

    __rmul__ = __mul__

    def __imul__(self, number: Any) -> Any:
        return repeat_items(self, bound_of(number))

    def copy(self) -> Any:
        """``list.copy``."""
        return self._with(self)

    def clear(self) -> None:
        """``list.clear``."""
        if self.is_known:
            self.op("clear_container")

    def reverse(self) -> None:
        """``list.reverse``."""
        programs.reverse(self)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """``list.sort``."""
        if not self.is_known:
            return
        if not isinstance(reverse, bool):
            self._refuse("sort(reverse=...) by a bool that only the running program knows")
        if key is None:
            sort_items(self, reverse)
            return
        if isinstance(key, ComparedBy):
            compare = key.compare
            programs.sort_by(self, (lambda one, other: compare(other, one)) if reverse else compare)
            return
        pairs = new_list("sort(key=...)", None)
        own_loop(Turns(self), lambda item: pairs.append((key(item), pairs.length)))
        if not pairs.is_known:
            return
        sort_items(pairs, reverse, by_first=True)
        before = self.copy()

        def put(place: Any) -> None:
            self[place] = before.item(pairs.item(place)[1])

        own_loop(traced_range(0, size_of(self.number())), put)

    def require_order(self, name: str) -> None:
        """Refuse what compares items that the running program cannot sort."""
        kind = self.held.item
        if isinstance(kind, Scalar) and kind.dtype.is_complex and kind.weak:  # Python's have none, NumPy's have
            are_few = values.emit("less", self.number(), values.constant(2, I64))
            values.check(are_few, TypeError, "'<' not supported between instances of 'complex' and 'complex'")
        elif not has_order(kind):
            self._refuse(name)

    def is_less(self, one: Any, other: Any) -> Any:
        """Whether an item comes before another one."""
        return compared("<", one, other)

    def remove(self, item: Any) -> None:
        """``list.remove``."""
        programs.remove(self, item)

    def index(self, item: Any, start: Any = 0, stop: Any = None) -> Any:
        """``list.index``."""
        return programs.index(self, item, *slice_within(self.length, slice(start, stop))[:2])

    def counted(self, item: Any) -> Any:
        """``list.count``."""
        return programs.count(self, item)

    def contains(self, item: Any) -> Any:
        """``item in self``."""
        return programs.contains(self, item)

    def equals(self, position: Any, item: Any) -> Any:
        """Whether the item at a position is equal to another one."""
        return compared("==", self.item(position), item)

    # -- single items -------------------------------------------------------------------------------

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self._slice(position)
        if not self.is_known:
            return self.entry(values.constant(1, I64))[1]
        return self.entry(place_of(position, self.number(), IndexError, self._out_of_range("")))[1]

    def __setitem__(self, position: Any, item: Any) -> None:
        if isinstance(position, slice):
            store_slice(self, position, item)
        elif (found := self.admitted(NOTHING, item)) is not None:
            place = place_of(position, self.number(), IndexError, self._out_of_range("assignment "))
            self.op("set_item", place, *found)

    def __delitem__(self, position: Any) -> None:
        if isinstance(position, slice):
            delete_slice(self, position)
        elif self.is_known:
            self.op("remove_item", place_of(position, self.number(), IndexError, self._out_of_range("assignment ")))

    def _out_of_range(self, what: str) -> str:
        return f"{self.held.kind} {what if self.held.kind == 'list' else ''}index out of range"

    def _slice(self, position: slice) -> Any:
        found = new_list("[...]", self.held if self.is_known else None)
        if self.is_known:
            take_slice(self, position, found)
        return found

    def __eq__(self, other: Any) -> Any:
        return programs.equal_lists(self, other) if self._is_alike(other) else False

    def __ne__(self, other: Any) -> Any:
        return not_(self == other)

    def __lt__(self, other: Any) -> Any:
        return is_before(self, other, False) if self._is_alike(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return is_before(self, other, True) if self._is_alike(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return is_before(self._beside(other), self, False) if self._is_alike(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return is_before(self._beside(other), self, True) if self._is_alike(other) else NotImplemented

    def _beside(self, other: Any) -> Any:
        """A list of Python's as one of the running program."""
        return other if isinstance(other, ProgramList) else self._with(other)

    def _is_alike(self, other: Any) -> bool:
        """Whether it is a list as this one is, or a tuple or deque."""
        if isinstance(other, ProgramList):
            return other.held.kind == self.held.kind
        return isinstance(other, {"deque": deque, "tuple": tuple}.get(self.held.kind, list | Listed))

    __hash__ = None

    def __len__(self) -> int:
        raise refusal("len() of a list that the running program changes, as a number of Python's",
                      "use len(...) in the compiled function")  # fmt: skip


class Turns(Source):
    """A loop through as many items as a list has when the loop begins; it may not change meanwhile if ``stays``."""

    once = False

    def __init__(self, items: Any, *, stays: bool = True) -> None:
        self._items, self._stays = items, stays
        self._length = items.number()
        self.count = self.span = tracers.dim_of(size_of(self._length))

    def item(self, position: Any) -> Any:
        if self._stays and self._items.is_known:
            is_same = values.emit("equal", self._items.number(), self._length)
            values.check(is_same, NotImplementedError, _CHANGES)
        return self._items.item(position)

    def end(self) -> None:
        if self._stays and self._items.is_known:
            values.check(values.emit("equal", self._items.number(), self._length), NotImplementedError, _CHANGES)


_OTHERS = (ProgramContainer, list, tuple, dict, set, str, int, float, complex, type(None))
"""What has no addition with lists of its own."""
_CHANGES = "a list that changes while a loop goes through enumerate() or zip() of it"


def new_list(name: str, held: Container | None, kind: str = "list") -> Any:
    """A new list, which ``name`` tells from others of the same call."""
    trace = current_trace()
    frame = trace.user_frame()
    site = site_of_making(name if frame is None else f"{name}@{frame.f_lasti}")
    return made(kind, site, widest(trace.choices.answer(site), held))


KINDS.update(list=ProgramList)
