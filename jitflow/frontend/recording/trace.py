"""One trace: the function that is being recorded while the user's program runs on tracers.

A `Trace` owns the builder, knows the sizes that were seen at the call that caused it (*hints*), and collects the
*decisions* on sizes that Python asked for. A decision becomes a `Fact`: part of the key of the specialisation, so that
another size for which it would have gone the other way compiles anew, and every other size does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.frontend.recording.choices import Choices
from jitflow.frontend.recording.memory import Storage
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.sizes import MOST_TURNS, Decision, Sizes
from jitflow.ir.core import Value
from jitflow.ir.types import Type

if TYPE_CHECKING:
    from jitflow.runtime.entry.plan import Guard
    from jitflow.runtime.variable import Variable

__all__ = ["MOST_TURNS", "Decision", "Trace", "Undoable", "active_trace", "current_trace", "recording"]


State = TypeVar("State")


class Numbers(Protocol):
    """What knows numbers that are computed of arguments alone, and guards those that are asked for (`entry.pins`)."""

    settled: dict[Value, Any]

    def known(self, value: Value) -> Any:
        """What a number is at this call."""

    def asked(self, value: Value) -> Any:
        """The same, guarded."""


class Undoable:
    """What a feature knows of a trace, and can forget again."""

    def mark(self) -> Callable[[], None]:
        """What takes back everything that is learnt from now on."""
        raise NotImplementedError


class Trace(Sizes):
    """The state of one tracing.

    ``hints`` maps the names of sizes to the numbers that they have at this call. ``bottom`` is the frame that traces:
    the user's lines are above it.
    """

    def __init__(
        self, name: str = "function", bottom: FrameType | None = None,
        choices: Choices | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, bottom, Choices() if choices is None else choices)
        self.storage = Storage(self)
        self.noted = self.storage.note
        self.stepped_in: Scope | None = None
        """Where Python itself asks an iterator of the program's for an item, if it does."""
        self.capture: Callable[[np.ndarray[Any, Any]], Value] | None = None
        """Makes an input of an array that was computed while tracing."""
        self.variables: dict[int, Any] = {}
        """The tracer of each variable that is an input, by the identity of the object outside."""
        self.adopt: Callable[[Variable], Any] | None = None
        """Makes an input of a variable."""
        self.adopt_class: Callable[[type], Any] | None = None
        """What stands for a class of the user's that was found in an earlier trace."""
        self.guard: Callable[[Guard], None] | None = None
        """Makes every call check something."""
        self.pin: Callable[[Any], Any] | None = None
        """Finds the object outside that something of the program stands for, and guards that it is this very one."""
        self.pins: Numbers | None = None
        """Knows numbers that are computed of arguments alone."""
        self._features: dict[type, Any] = {}
        self.origins: Mapping[int, int] = {}
        """The registers of the objects from outside, by the identity of what stands for them in the program."""

    def state(self, kind: type[State]) -> State:
        """What a feature keeps for this trace: the one object of its class, made when it is first asked for."""
        if kind not in self._features:
            self._features[kind] = kind()
        found: State = self._features[kind]
        return found

    def trial(self) -> Callable[[], None]:
        """What takes back everything that the trace learns from now on, but for ops, which go with their region."""
        refusals = len(self.refusals)
        marks = {kind: state.mark() for kind, state in self._features.items() if isinstance(state, Undoable)}

        def undo() -> None:
            del self.refusals[refusals:]
            made_since = {kind for kind, state in self._features.items() if isinstance(state, Undoable)} - marks.keys()
            for kind in made_since:
                del self._features[kind]
            for take_back in marks.values():
                take_back()

        return undo

    def parameter(self, kind: Type, name: str) -> Value:
        """A new parameter of the function."""
        value = Value(kind, name)
        self.parameters.append(value)
        self.storage.note_parameter(value)
        return value

    def variable(self, variable: Variable) -> Any:
        """The one tracer that stands for a variable, found by identity; the variable becomes an input if it is none."""
        if id(variable) not in self.variables:
            if self.adopt is None:
                raise CompilerBug("a variable was read by a trace that has no inputs", pass_name="trace")
            self.adopt(variable)
        return self.variables[id(variable)]

    def is_passed(self, thing: Any) -> bool:
        """Whether it stands for an object from outside, and is no copy of it or view on it."""
        return id(thing) in self.origins

    def positions(self, values: Collection[Value]) -> frozenset[int]:
        """Which parameters are among some arrays."""
        known = {self.storage.variables.get(value, value) for value in values}
        return frozenset(index for index, parameter in enumerate(self.parameters) if parameter in known)

    def require(self, guard: Guard) -> None:
        """Let every call check this."""
        if self.guard is None:
            raise CompilerBug("a guard was made by a trace that has no inputs", pass_name="trace")
        self.guard(guard)


# -- the trace that this thread is recording -----------------------------------------------------------


class _ThreadState(threading.local):
    trace: Trace | None = None


_STATE = _ThreadState()


def active_trace() -> Trace | None:
    """The trace that this thread is recording, or None."""
    return _STATE.trace


def current_trace() -> Trace:
    """The trace that this thread is recording. Raises `CompilerBug` if there is none."""
    trace = _STATE.trace
    if trace is None:
        raise CompilerBug("an op was recorded while nothing is being traced", pass_name="trace")
    return trace


@contextmanager
def recording(trace: Trace | None) -> Iterator[Trace | None]:
    """Make ``trace`` the current one of this thread, or none: what runs then is plain Python, once, while tracing."""
    outer, _STATE.trace = _STATE.trace, trace
    try:
        yield trace
    finally:
        _STATE.trace = outer
