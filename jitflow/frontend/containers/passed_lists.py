"""Lists of numbers that the caller passes: one array for the call, which loops go through and indices pick from.

    def bubble_sort(items):
        ...
        items[k], items[k + 1] = items[k + 1], items[k]

All items are numbers of one type. An item that the program stores is stored in the array, and where the call ends, as
where it fails, the caller's list gets those that are others than they were (`outside.stores`).
"""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers.lists import Listed, ListedScalars, in_order
from jitflow.frontend.containers.made_containers import list_of
from jitflow.frontend.outside.proxies import append_only
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.types import Scalar

__all__ = ["PassedList"]


class PassedList(Listed):
    """The caller's list in a ``register``; ``array`` has its items, and lies in a register of its own."""

    def __init__(self, array: Any, register: int, array_register: int, path: str, weak: bool) -> None:
        super().__init__(array)
        self.register, self._array_register, self.path, self._weak = register, array_register, path, weak

    @property
    def weak(self) -> bool:
        return self._weak

    def settled(self) -> Listed:
        """The items that there are now, as a list that does not change."""
        return (Listed if self._weak else ListedScalars)(self._array.copy())

    returned = settled

    def as_array(self, dtype: DType | None = None) -> Any:
        return self._array.copy()

    def _place(self, position: Any, message: str) -> Any:
        """The position from the front, which is checked: one that is never below 0 as it is."""
        length, trace = values.size_value(self.count), current_trace()
        if isinstance(position, tracers.SizeTracer) and trace.knowledge.never_below(position.dim, 0):
            values.check(values.emit("less", integer(position), length), IndexError, message)
            return position
        front = from_front(integer(position), length)
        inside = values.emit("less", front, length), values.emit("greater_equal", front, values.constant(0, I64))
        values.check(values.emit("logical_and", *inside), IndexError, message)
        return tracers.wrap(front)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            is_whole = position == slice(None)
            return self.copy() if is_whole else type(self.settled())(self._array[position].copy())
        return self.item(self._place(position, "list index out of range"))

    def __setitem__(self, position: Any, item: Any) -> None:
        if isinstance(position, slice):
            raise self._refused("a store to a slice of", "store item by item")
        if type(item) is tracers.Alternatives:
            item.each(lambda one: self.__setitem__(position, one))
            return
        kind = Scalar(self._array.type.dtype, self._weak)
        is_number = isinstance(item, tracers.Tracer | int | float | complex) or hasattr(item, "dtype")
        if not is_number or tracers.type_of(item) != kind:
            shown = str(kind).removeprefix("py")
            raise self._refused(f"a store of something else than {shown} to", f"convert it, or pass a list of {shown}")
        place = self._place(position, "list assignment index out of range")
        self._open()
        self._array[place] = item

    def _open(self) -> None:
        """What is stored here is to get to the caller's list."""
        assert self.register is not None
        current_trace().state(Stores).open_list(self.register, self._array_register, self._weak)

    def copy(self) -> Any:
        """``list.copy``: a list of the program."""
        return list_of(f"{self.path}.copy()", self.settled())

    def __add__(self, other: Any) -> Any:
        return self.copy() + other

    def reverse(self) -> None:
        """``list.reverse``."""
        self._replace(self._array[::-1].copy())

    def sort(self, *, reverse: Any = False) -> None:
        """``list.sort``."""
        self._replace(in_order(self.settled(), reverse=reverse).array)

    def _replace(self, items: Any) -> None:
        self._open()
        self._array[:] = items

    def _refused(self, what: str, mend: str) -> UserError:
        return located(UserNotImplementedError(f"{what} {self.path}, a list that the caller passes", mend=mend))

    def become_container(self) -> None:
        """Start the trace anew with a list of the running program, if that has not been refused."""
        site, choices = Site(Choice.PASSED, self.path), current_trace().choices
        if not choices.is_settled(site):
            raise current_trace().begin_anew(Restart(site, is_wish=True))

    def _changes_length(self, *_: Any, **__: Any) -> Any:
        self.become_container()
        raise self._refused(
            "a change of the length of", f"change a copy, {self.path}.copy(), and return it; or make it an array"
        )

    def append(self, item: Any) -> None:
        """``list.append``."""
        append_only(self.path)
        self._changes_length()

    def extend(self, items: Any) -> None:
        """``list.extend``."""
        append_only(self.path)
        self._changes_length()

    __iadd__ = extend
    insert = remove = pop = clear = __delitem__ = __imul__ = _changes_length
    __hash__ = None


PassedList.__name__ = "list"  # Python's messages name the class
