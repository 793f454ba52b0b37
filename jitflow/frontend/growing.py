"""Lists that grow and shrink where the running program decides: ``if x > 0: out.append(x)``.

A list lives in Python while the program is traced, which is enough as long as the trace knows what it holds. Where a
branch or loop changes it otherwise, the trace starts anew (`Restart`), and the statement that makes the list makes a
`Growing` in its place: a tape of the running program with its items, and a variable with their number. It is one object
by however many names the program knows it, so aliases are right, and what changes it are ops, which regions record.

All items are numbers of one kind, Python's or NumPy's, so that each is given back as what it was. The first item tells
which.

What looks at all items takes them off the tape into an array, and puts them there again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserRuntimeError
from jitflow.frontend.control.kinds import converted, kind_of
from jitflow.frontend.control.sources import Source, traced_range
from jitflow.frontend.lists import Listed, ListedScalars
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.runtime_sizes import bind, from_front, integer
from jitflow.frontend.storage import Restart, Site
from jitflow.frontend.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located, numpy_functions
from jitflow.ir.core import Value
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.types import Scalar, Tape

__all__ = ["Growing"]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the items of a list: the type of all, and the tape that holds them."""

    kind: Scalar | None = None
    tape: Value | None = None


class Growing(Listed):
    """A list of numbers of which only the running program knows how many there are.

    ``kind`` is the type of its items if that is known already.
    """

    may_change = True

    def __init__(self, items: Sequence[Any], name: str, site: Site, kind: Scalar | None) -> None:
        trace = current_trace()
        if not trace.scope.is_differentiated and any(scope.is_differentiated for scope in trace.scope.around()):
            raise _refusal(
                f"a list that the running program changes, made in a loop or branch of what is differentiated: {name}",
                "make the list before the loop, or write to an array",
            )
        trace.growing.append(self)
        self._trace, self.home = trace, trace.scope
        self._name, self._site = name, site
        self._count = trace.make("variable", values.constant(0, I64))
        self.known = _Known()
        self._is_asked = False
        """Whether the program has looked at the items before one of them told the kind."""
        self._loops = 0
        """How many loops go through it."""
        if kind is not None:
            self._become(kind)
        for item in items:
            self.append(item)

    # -- what it holds ------------------------------------------------------------------------------

    @property
    def kind(self) -> Scalar | None:
        """The type of its items, if that is known."""
        return self.known.kind

    @property
    def weak(self) -> bool:
        return self._kind_or_float().weak

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
        size = _size(self.number)
        kind = self._kind_or_float()
        found = numpy_functions().apply_function(np.empty, (size,), {"dtype": kind.dtype.numpy})
        if not self._is_without_kind():
            length = integer(size)

            def take(position: Any) -> None:
                found[position] = self.item(position, length)

            self._repeat(size, take)
        return found

    def as_array(self) -> Any:
        """``np.array(self)``: an empty list makes an array of floats."""
        kind = self._kind_or_float()
        if kind.dtype != F64:
            message = f"an array of the list {self._name}, which is empty: NumPy's would be one of floats"
            values.check(self.truth(), NotImplementedError, message)
        return self.array

    def settled(self) -> Listed:
        """The items that there are now, as a list that does not change."""
        array = self.array
        return Listed(array) if self.weak else ListedScalars(array)

    def gone_through(self) -> Source:
        return _Turns(self)

    # -- what changes it ----------------------------------------------------------------------------

    def append(self, item: Any) -> None:  # type: ignore[override]
        """``list.append``."""
        self._require_rest()
        number = self.number
        self._push(self._admitted(item))
        self._set(values.emit("add", number, values.constant(1, I64)))

    def pop(self, position: Any = -1) -> Any:
        """``list.pop``."""
        self._require_rest()
        number = self.number
        values.check(self.truth(), IndexError, "pop from empty list")
        if self._is_without_kind():
            return tracers.wrap(converted(0.0, self._kind_or_float()))
        if type(position) is int and position == -1:
            item = self._popped()
        else:
            place = self._place(position, "pop index out of range")
            item = self._peeked(place)
            self._close_gap(place)
            self._popped()
        self._set(values.emit("subtract", number, values.constant(1, I64)))
        return tracers.wrap(item)

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
        from jitflow.frontend.control.loop import for_  # which stands on the package that this is used by

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
        self._replace_all(self.array[::-1].copy())

    def sort(self, **keywords: Any) -> None:  # type: ignore[override]
        """``list.sort``."""
        if keywords:
            raise _refusal(f"list.sort({', '.join(keywords)}=...) of a list that the running program changes",
                           "sort, and reverse")  # fmt: skip
        self._replace_all(numpy_functions().apply_function(np.sort, (self.array,), {}))

    def drain(self) -> None:
        """Take off all items: a reverse sweep puts back what was taken, and takes what was put."""

        def take(position: Any) -> None:
            self._popped()

        if not self._is_without_kind():
            self._for_all(take)

    # -- single items -------------------------------------------------------------------------------

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self.settled()[position]
        place = self._place(position, "list index out of range")
        if self._is_without_kind():  # nothing was ever put there: the check has failed
            return tracers.wrap(converted(0.0, self._kind_or_float()))
        return tracers.wrap(self._peeked(place))

    def __setitem__(self, position: Any, item: Any) -> None:  # type: ignore[override]
        if isinstance(position, slice):
            raise _refusal("a store to a slice of a list that the running program changes", "store item by item")
        admitted = self._admitted(item)
        self._poke(self._place(position, "list assignment index out of range"), admitted)

    def __delitem__(self, position: Any) -> None:  # type: ignore[override]
        if isinstance(position, slice):
            raise _refusal("deleting a slice of a list that the running program changes", "pop item by item")
        self._place(position, "list assignment index out of range")
        self.pop(position)

    def item(self, position: Any, length: Value | None = None) -> Any:
        """The item at a position from the front that is known to be there, in a list of this length."""
        length = self.number if length is None else length
        if self._is_without_kind():
            return tracers.wrap(converted(0.0, self._kind_or_float()))
        return tracers.wrap(self._peeked(values.emit("subtract", length, integer(position))))

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
            self._poke(behind, self._peeked(values.emit("subtract", behind, values.constant(1, I64))))

        self._repeat(_size(values.emit("subtract", place, values.constant(1, I64))), move)

    def _open_gap(self, place: Value) -> None:
        """Move all items but the last from a place on one backward, over the last."""

        def move(turn: Any) -> None:
            here = values.emit("add", integer(turn), values.constant(1, I64))
            self._poke(here, self._peeked(values.emit("add", here, values.constant(1, I64))))

        self._repeat(_size(values.emit("subtract", place, values.constant(1, I64))), move)

    def _replace_all(self, array: Any) -> None:
        """Hold the items of an array of the same length."""
        self._require_rest()
        if self._is_without_kind():
            return
        length = self.number

        def put(position: Any) -> None:
            item = converted(array[position], self._kind_or_float())
            self._poke(values.emit("subtract", length, integer(position)), item)

        self._for_all(put)

    def _for_all(self, turn: Callable[[Any], None]) -> None:
        self._repeat(_size(self.number), turn)

    def _repeat(self, size: Any, turn: Callable[[Any], None]) -> None:
        from jitflow.frontend.control.loop import for_  # which stands on the package that this is used by

        for_(traced_range(0, size), turn, None, (), ())

    # -- the tape -----------------------------------------------------------------------------------

    def _push(self, item: Value) -> None:
        assert self.known.tape is not None
        self._trace.add("push", self.known.tape, item)

    def _popped(self) -> Value:
        assert self.known.tape is not None
        return self._trace.make("pop", self.known.tape, types=(self.known.kind,))

    def _peeked(self, place: Value) -> Value:
        assert self.known.tape is not None
        return self._trace.make("peek", self.known.tape, place, types=(self.known.kind,))

    def _poke(self, place: Value, item: Value) -> None:
        assert self.known.tape is not None
        self._trace.add("poke", self.known.tape, place, item)

    def _set(self, number: Value) -> None:
        self._trace.add("store", self._count, number)

    def _become(self, kind: Scalar) -> None:
        """Hold numbers of a kind."""
        if self._is_asked:
            raise self._trace.begin_anew(Restart(self._site, kind))
        tape = Value(Tape(kind.dtype), self._name)
        self.home.insert(self._count, "tape", results=(tape,), dtype=kind.dtype)
        self.known = _Known(kind, tape)

    def _is_without_kind(self) -> bool:
        """Whether nothing was put there so far; if something is later, the trace starts anew."""
        self._is_asked |= self.kind is None
        return self.kind is None

    def _kind_or_float(self) -> Scalar:
        """The kind of the items; if nothing has told it, there have been none so far."""
        if self.kind is None:
            self._is_asked = True
        return self.kind or Scalar(F64, True)

    def _admitted(self, item: Any) -> Value:
        """What is put on the tape for an item."""
        kind = kind_of(item)
        if not isinstance(kind, Scalar):
            raise _refusal(
                f"a list that the running program changes, {self._name}, of other items than numbers",
                "write to an array that is made before, and count in a variable",
                found="an array" if kind is not None else f"an item of class {type(item).__name__}",
            )
        if self.kind is None:
            self._become(kind)
        elif kind != self.kind:
            raise _refusal(
                f"a list that the running program changes, {self._name}, of numbers of several types",
                "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0)",
                found=f"{self.kind} and {kind}",
            )
        return converted(item, kind)

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
