"""``try`` with handlers: what is traced runs in Python and is caught; what the running program raises is not.

So where a ``try`` has a body that records an op which may raise what one of the handlers is for, the trace starts anew
with the other form of the statement (`attempts.py`), or the statement is refused if it has none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType, TracebackType
from typing import Any

from numpy.linalg import LinAlgError

from jitflow.errors import UserError, UserNotImplementedError, exception_class
from jitflow.frontend.outside.proxies import ClassProxy
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Signal, Site
from jitflow.frontend.recording.locate import is_of_the_program
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.ir.core import Op, Value, walk
from jitflow.ir.dtypes import I64
from jitflow.ir.python_numbers import INT_OVERFLOW
from jitflow.ir.routines import Routine
from jitflow.ir.types import Scalar, Tape
from jitflow.runtime.objects.texts import NUMBER, PRINT, RAISE

__all__ = [
    "VISIBLE",
    "Handlers",
    "Statements",
    "caught",
    "constant_behind",
    "finishing",
    "has_written",
    "is_for_the_compiler",
    "is_missed",
    "raised_by",
    "refusal",
    "site_of",
    "trying",
    "watched",
]  # fmt: skip

VISIBLE = ("check", "external", "writes")
"""The effects that somebody outside of the compiled function can see."""

_LIKELY = (IndexError, ValueError, LinAlgError, TypeError, ArithmeticError, MemoryError)
"""What a library function may raise."""
_RAISED_BY_NUMBERS: Mapping[str, tuple[type[BaseException], ...]] = MappingProxyType(
    {
        **dict.fromkeys(("divide", "floor_divide", "remainder"), (ZeroDivisionError,)),
        **dict.fromkeys(("left_shift", "right_shift"), (ValueError,)),
        "power": (ZeroDivisionError, OverflowError),
    }
)
"""What Python's numbers raise. Its integers do not overflow."""


_RAISED_BY_POSITIONS: Mapping[str, tuple[type[BaseException], ...]] = MappingProxyType(
    {**dict.fromkeys(("gather", "scatter"), (IndexError,)), "broadcast_dims": (ValueError,)}
)


class Statements:
    """The ``try`` statements whose bodies are being traced.

    Of each, whether it handles exceptions of a class; what may be raised before each ``finally`` block to come.
    """

    def __init__(self) -> None:
        self.handled: list[Callable[[type[BaseException]], bool]] = []
        self.attempting = 0
        """How many attempts are being traced, one in the other."""
        self.unfinished: list[Op | None] = []
        self.foreseen: set[Op] = set()
        """Ops that run only where they raise nothing, and those that never do."""
        self.raised_by_calls: dict[str, tuple[type[BaseException], ...]] = {}
        """What functions that call themselves raise, as far as is known; `asked_of`: those of which somebody asked."""
        self.asked_of: set[str] = set()


class Handlers:
    """The handlers of ``try`` statements; ``handled`` gives what they name, None for all exceptions.

    Before a ``finally``, it is ``...``, for what is raised again behind it; the number of that is -1.
    ``numbers`` are theirs, if they are not counted from 1.
    """

    def __init__(self, handled: Callable[[], tuple[Any, ...]], numbers: Sequence[int] = ()) -> None:
        self._handled, self._numbers = handled, numbers

    def number_for(self, kind: type[BaseException]) -> int:
        """The number of the handler that is for a class; 0 if there is none."""
        named_classes = self._handled()
        for number, named in zip(self._numbers or count(1), named_classes, strict=False):
            if any(issubclass(kind, handler) for handler in _classes(named)):
                return -1 if named is ... else number
        return 0

    def handles(self, kind: type[BaseException]) -> bool:
        """Whether there is a handler for a class."""
        return self.number_for(kind) != 0

    def first_raised(self, op: Op) -> type[BaseException] | None:
        """What the op may raise that a handler is for: anything, if it calls a function of the user's."""
        if isinstance(_routine(op), Routine) and raised_by(op):
            return next((kind for named in self._handled() for kind in _classes(named)), None)
        return next((kind for kind in raised_by(op) if self.handles(kind)), None)


def _classes(named: Any) -> Iterator[type[BaseException]]:
    for kind in named if isinstance(named, tuple) else (named,):
        found = kind._jitflow_object if isinstance(kind, ClassProxy) else kind
        if found is None or isinstance(found, type):
            yield BaseException if found is None else found
        elif found is ...:
            yield BaseException


class trying:  # noqa: N801 - a hook, as the others are
    """The body of a ``try`` statement in Python's form; ``line`` names it if there is another form."""

    def __init__(self, handled: Callable[[], tuple[Any, ...]], line: int | None = None) -> None:
        self._handlers = Handlers(handled)
        self._line = line

    def __enter__(self) -> None:
        self._trace = active_trace()
        if self._trace is not None:
            self._scope = self._trace.scope
            self._first = len(self._scope.builder.ops)
            self._trace.state(Statements).handled.append(self._handlers.handles)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._trace is None:
            return
        self._trace.state(Statements).handled.pop()
        for op in _since(self._scope, self._first):
            raised = self._handlers.first_raised(op)
            if raised is not None:
                if self._line is None:
                    raise self._trace.locate(refusal(raised, op))
                self._trace.begin_anew(Restart(site_of(self._line)))  # when other statements have been looked at, too
                return


class watched:  # noqa: N801 - a hook, as the others are
    """What a ``finally`` block follows."""

    def __enter__(self) -> None:
        self._trace = active_trace()
        if self._trace is not None:
            self._scope, self._first = self._trace.scope, len(self._trace.scope.builder.ops)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._trace is not None:
            self._trace.state(Statements).unfinished.append(self.first_raised())

    def first_raised(self) -> Op | None:
        """The first op inside that may raise something when the program runs."""
        return next((op for op in _since(self._scope, self._first) if raised_by(op)), None)


class finishing(watched):  # noqa: N801
    """A ``finally`` block. It runs in Python, and so behind what the running program raises it does not.

    One that ``jumps`` out takes back what was raised. ``line`` names the statement if there is another form of it.
    """

    def __init__(self, jumps: bool, line: int | None = None) -> None:
        self._jumps, self._line = jumps, line

    def __enter__(self) -> None:
        super().__enter__()
        if self._trace is not None:
            self._contents = self._trace.state(Stores).contents()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._trace is None:
            return
        leaving = self._trace.state(Statements).unfinished.pop()
        raises = error is not None and not is_for_the_compiler(error)
        missed = leaving is not None and is_missed(self._contents, self._scope, self._first)
        if leaving is not None and (self._jumps or raises or missed):
            if self._line is not None:
                self._trace.begin_anew(Restart(site_of(self._line, "finally")))
                return
            name = raised_by(leaving)[0].__name__
            raise self._trace.locate(UserNotImplementedError(
                f"finally behind something that may raise {name} when the compiled code runs",
                mend="test for it with if before it happens, or write the try statement outside the compiled function",
            ))  # fmt: skip


def is_missed(contents: Any, scope: Scope, first: int) -> bool:
    """Whether somebody would miss what was done since outside objects had those contents, and a scope so many ops."""
    has_stored = current_trace().state(Stores).has_changed(contents)
    return has_stored or any(map(_is_seen, _since(scope, first)))


def has_written(scope: Scope, first: int) -> bool:
    """Whether something was changed, or called out to, since a scope had so many ops, that was not made since then.

    What grows on tapes are lists, which are objects of the program's: whether these have changed is asked of them.
    """
    ops = [*_since(scope, first)]
    made = {result for op in ops for result in op.results}

    def is_elsewhere(storage: Value) -> bool:
        return storage not in made and not isinstance(storage.type, Tape)

    return any(
        effect.kind == "external" or (effect.kind == "writes" and is_elsewhere(op.operands[effect.operand]))
        for op in ops
        for effect in op.own_effects
    )


def _is_seen(op: Op) -> bool:
    """Whether somebody would miss the op."""
    writes = any(effect.kind != "check" and effect.kind in VISIBLE for effect in op.own_effects)
    return writes or bool(raised_by(op))


def _since(scope: Scope, first: int) -> Iterator[Op]:
    """The ops that a scope has got behind so many, and those in their regions."""
    for op in scope.builder.ops[first:]:
        yield op
        for region in op.regions:
            yield from walk(region)


def caught(handled: Callable[[], Any] = lambda: BaseException) -> Any:
    """The classes that a handler is for; none where what was raised is the compiler's own affair."""
    error = sys.exc_info()[1]
    if active_trace() is not None and error is not None and is_for_the_compiler(error):
        return ()
    return handled()


def is_for_the_compiler(error: BaseException) -> bool:
    """Whether no handler of the program's may see it."""
    return isinstance(error, Signal) or not is_of_the_program(error)


def site_of(line: int, about: str = "") -> Site:
    """What names a ``try`` statement of the user's, or what it is ``about``."""
    return Site(Choice.CAUGHT_WHEN_RUN, current_trace().here().file, line, about)


def refusal(kind: type[BaseException], op: Op) -> UserNotImplementedError:
    """The error for a ``try`` that would have to catch what an op raises."""
    return UserNotImplementedError(
        f"try around something that may raise {kind.__name__} when the compiled code runs, where nothing catches it",
        mend="test for it with if before it happens, or catch it outside the compiled function",
        location=op.loc,
    )


def raised_by(op: Op) -> tuple[type[BaseException], ...]:
    """The classes of what an op may raise and Python would have raised there."""
    if op in current_trace().state(Statements).foreseen:
        return ()
    if op.definition.layer == "any" and op.attributes.get("checked"):
        number = constant_behind(op.operands[-1])
        is_power_of_float = op.name == "power" and op.operands[0].type != Scalar(I64, True)
        harmless = number is not None and number > 0 and not is_power_of_float
        return () if harmless else _RAISED_BY_NUMBERS.get(op.name, ())
    if all(effect.kind not in ("check", "external") for effect in op.own_effects) or _routine(op) == PRINT:
        return ()
    if op.name == "draw":  # behind the checks of its parameters
        return ()
    if op.name in ("recursion", "recur"):
        statements, name = current_trace().state(Statements), op.attributes["function"]
        statements.asked_of.add(name)
        return (RecursionError, *statements.raised_by_calls.get(name, ()))
    if op.name in _RAISED_BY_POSITIONS:
        return _RAISED_BY_POSITIONS[op.name]
    if op.name == "check":
        kind = exception_class(op.attributes["error"])
        # Python's ints have no end, and what jitflow refuses is no affair of the program's.
        return () if issubclass(kind, UserError) or op.attributes["message"] == INT_OVERFLOW else (kind,)
    if _routine(op) == RAISE:
        return (exception_class(dict(op.attributes["options"])["error"]),)
    return (ValueError,) if _routine(op) == NUMBER else _LIKELY


def constant_behind(value: Value) -> Any:
    """The number that a value is; None if it is no constant."""
    op = values.maker(value)
    while op is not None and op.name == "cast":
        op = values.maker(op.operands[0])
    return op.attributes["value"] if op is not None and op.name == "constant" else None


def _routine(op: Op) -> Any:
    return op.attributes.get("routine")
