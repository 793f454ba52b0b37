"""One trace: the function that is being recorded while the user's program runs on tracers.

A `Trace` owns the builder, knows the sizes that were seen at the call that caused it (*hints*), and collects the
*decisions* on sizes that Python asked for. A decision becomes a `Fact`: part of the key of the specialisation, so that
another size for which it would have gone the other way compiles anew, and every other size does not.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.frontend.recording.choices import Choices, Site
from jitflow.frontend.recording.memory import Storage
from jitflow.frontend.recording.scopes import Scope
from jitflow.frontend.recording.sizes import MOST_TURNS, Decision, Sizes
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.location import Loc
from jitflow.ir.types import Type

if TYPE_CHECKING:
    from jitflow.runtime.plan import Guard
    from jitflow.runtime.variable import Variable

__all__ = ["MOST_TURNS", "Decision", "LoopDecision", "Trace", "active_trace", "current_trace", "recording"]


@dataclass(frozen=True, slots=True)
class LoopDecision:
    """What became of a loop of the program, where, in words."""

    location: Loc
    text: str


class Trace(Sizes):
    """The state of one tracing.

    ``hints`` maps the names of sizes to the numbers that they have at this call. ``bottom`` is the frame that traces:
    the user's lines are above it.
    """

    def __init__(
        self, name: str = "function", bottom: FrameType | None = None,
        choices: Choices | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, bottom)
        self.loops: list[LoopDecision] = []
        """What became of each loop, inner ones first."""
        self.storage = Storage(self)
        self.noted = self.storage.note
        self.lessons: dict[tuple[tuple[str, int], str], Any] = {}
        """What loops have taught about their locals, while the loop around them is being traced."""
        self._learns = False
        self.deep_branches: Counter[tuple[str, int]] = Counter()
        """How often branches were traced deep in helpers; see `control.sharing`."""
        self.shared_calls: dict[Scope, Any] = {}
        """What the calls give that paths of branches make."""
        self.handled: list[Callable[[type[BaseException]], bool]] = []
        """For each ``try`` statement whose body is being traced: whether it handles exceptions of a class."""
        self.unfinished: list[Any] = []
        """What the program may raise before each ``finally`` block that follows."""
        self.clamped: dict[tuple[tuple[Value, int], Dim, bool], tuple[Scope, Dim]] = {}
        """The bounds of slices that sums of integers have become, by size and whether the slice steps backwards, each
        with the region that knows it."""
        self.found_positions: dict[Value, tuple[Scope, Value]] = {}
        """Where masks hold, for those that were asked before, and the region that knows it."""
        self.capture: Callable[[np.ndarray[Any, Any]], Value] | None = None
        """Makes an input of an array that was computed while tracing."""
        self.variables: dict[int, Any] = {}
        """The tracer of each variable that is an input, by the identity of the object outside."""
        self.adopt: Callable[[Variable], Any] | None = None
        """Makes an input of a variable."""
        self.guard: Callable[[Guard], None] | None = None
        """Makes every call check something."""
        self.pin: Callable[[Any], Any] | None = None
        """Finds the object outside that something of the program stands for, and guards that it is this very one."""
        self.lists: dict[int, tuple[list[Any], Site]] = {}
        """The lists that statements have made, by identity, and where."""
        self.choices = Choices() if choices is None else choices
        """What earlier traces have found out."""
        self.merged_objects: list[Any] = []
        """The objects that were made of those of several paths; see `control.identity`."""
        self.splits_loops = True
        """Whether loops are split where the kinds of their values change; see `control.splitting`."""
        self.growing: list[Any] = []
        """The lists that are part of the running program; see `growing`."""
        self.strong: Callable[[Any], Any] = _no_switch
        """NumPy's number in the place of one that may be Python's, of the same dtype; None for all else."""
        self.origins: Mapping[int, int] = {}
        """The registers of the objects from outside, by the identity of what stands for them in the program."""
        self.options: list[Any] = []
        """The kinds that values of several kinds are of, by number; see `control.alternatives`."""
        self.option_numbers: dict[Hashable, int] = {}
        """The number of each of these kinds."""
        self.implied: dict[Value, tuple[Value, frozenset[int], frozenset[int]]] = {}
        """What conditions say of the number of a kind: that number, what it may be if they hold, and if not."""
        self.switch: Callable[[Any, Callable[[Any], Any], Sequence[Any]], Any] = _no_switch
        """Does something once for each kind that a value may be of; see `control.switching`."""
        self.part: Any = None
        """The part of the program that is wanted, if it is not all of it."""

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

    @contextmanager
    def whole_loops(self) -> Iterator[None]:
        """Loops that are recorded meanwhile are not split where the kinds of their values change."""
        before, self.splits_loops = self.splits_loops, False
        try:
            yield
        finally:
            self.splits_loops = before

    def is_passed(self, thing: Any) -> bool:
        """Whether it stands for an object from outside, and is no copy of it or view on it."""
        return id(thing) in self.origins

    def require(self, guard: Guard) -> None:
        """Let every call check this."""
        if self.guard is None:
            raise CompilerBug("a guard was made by a trace that has no inputs", pass_name="trace")
        self.guard(guard)

    @contextmanager
    def learning(self) -> Iterator[None]:
        """While a loop is traced, what the loops inside it teach is kept for when they are traced again."""
        outermost, self._learns = not self._learns, True
        try:
            yield
        finally:
            if outermost:
                self.lessons.clear()
                self._learns = False


def _no_switch(*_: Any) -> Any:
    raise CompilerBug("a value of several kinds in a trace without a program", pass_name="trace")


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
