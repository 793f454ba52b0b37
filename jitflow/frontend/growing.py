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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserRuntimeError
from jitflow.frontend.control.kinds import converted, kind_of
from jitflow.frontend.control.sources import Source, traced_range
from jitflow.frontend.lists import Listed, ListedScalars
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.runtime_sizes import bind
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
        from jitflow.frontend.control.loop import for_  # which stands on the package that this is used by

        size = bind(self.number, "length")
        kind = self._kind_or_float()
        functions = numpy_functions()
        found = functions.apply_function(np.empty, (tracers.size_of(size),), {"dtype": kind.dtype.numpy})
        if self.kind is None:
            return found

        def take(position: Any) -> None:
            found[tracers.size_of(size - 1) - position] = tracers.wrap(self._popped())

        def put_back(position: Any) -> None:
            self._push(converted(found[position], kind))

        for_(traced_range(0, tracers.size_of(size)), take, None, (), ())
        for_(traced_range(0, tracers.size_of(size)), put_back, None, (), ())
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
        """``list.pop`` of the last item."""
        self._require_rest()
        if type(position) is not int or position != -1:
            raise _refusal("pop() of another item than the last", "keep a position that moves on instead")
        number = self.number
        values.check(self.truth(), IndexError, "pop from empty list")
        kind = self._kind_or_float()
        if self.kind is None:  # nothing was ever put there: the check has failed
            return tracers.wrap(converted(0.0, kind))
        item = self._popped()
        self._set(values.emit("subtract", number, values.constant(1, I64)))
        return tracers.wrap(item)

    def __getitem__(self, position: Any) -> Any:
        if type(position) is not int or position != -1:
            raise _refusal("an item of a list that the running program changes, by its position",
                           "take the last item, loop over the list, or index np.array of it")  # fmt: skip
        values.check(self.truth(), IndexError, "list index out of range")
        kind = self._kind_or_float()
        if self.kind is None:
            return tracers.wrap(converted(0.0, kind))
        item = self._popped()
        self._push(item)
        return tracers.wrap(item)

    def drain(self) -> None:
        """Take off all items: a reverse sweep puts back what was taken, and takes what was put."""
        from jitflow.frontend.control.loop import for_  # which stands on the package that this is used by

        def take(position: Any) -> None:
            self._popped()

        if self.kind is not None:
            for_(traced_range(0, tracers.size_of(bind(self.number, "length"))), take, None, (), ())

    # -- the tape -----------------------------------------------------------------------------------

    def _push(self, item: Value) -> None:
        assert self.known.tape is not None
        self._trace.add("push", self.known.tape, item)

    def _popped(self) -> Value:
        assert self.known.tape is not None
        return self._trace.make("pop", self.known.tape, types=(self.known.kind,))

    def _set(self, number: Value) -> None:
        self._trace.add("store", self._count, number)

    def _become(self, kind: Scalar) -> None:
        """Hold numbers of a kind."""
        if self._is_asked:
            raise self._trace.begin_anew(Restart(self._site, kind))
        tape = Value(Tape(kind.dtype), self._name)
        self.home.insert(self._count, "tape", results=(tape,), dtype=kind.dtype)
        self.known = _Known(kind, tape)

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


class _Turns(Source):
    """A loop through the items that a list has when the loop begins; it may not change until the loop ends."""

    once = False

    def __init__(self, growing: Growing) -> None:
        self._growing, self._items = growing, growing.settled()
        self.count, self.span = self._items.count, self._items.span

    def begin(self) -> None:
        self._growing._loops += 1

    def end(self) -> None:
        self._growing._loops -= 1

    def item(self, position: Any) -> Any:
        return self._items.item(position)


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
              "__ge__", "__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__imul__", "__setitem__",
              "__delitem__", "extend", "insert", "remove", "clear", "index", "sort", "reverse",
              "__len__", "__bool__", "__reversed__", "__str__", "__repr__", "__format__", "__copy__", "__deepcopy__",
              "__reduce_ex__"):  # fmt: skip
    setattr(Growing, _name, _refused(_name))
