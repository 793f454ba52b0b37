"""What a handler is told of the exception that it has caught when the program runs, and what is raised again.

Which exception it was is a number (`telling`). The handler's name stands for one that is made of that, or for several
of which the number chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jitflow.errors import ExceptionName, UserError
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.raising import EndOfPath, raise_
from jitflow.frontend.control.telling import Raised, raised_at, relocate
from jitflow.frontend.control.trying import Handlers
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers import lift, wrap
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64

__all__ = ["again", "caught_error", "known_error", "raised_again"]

Told = tuple[Any, ...]


_MOST_OF_CONTEXT = 3
"""A handler that does not ask for its exception is told which of so many it is, for the context of what it raises."""


def known_error(error: BaseException) -> BaseException:
    """What ``except ... as error`` binds of an exception that was raised while tracing."""
    return error.as_raised() if isinstance(error, UserError) else error


def caught_error(told: Told, handled: Callable[[], Any], first: int, last: int, is_needed: bool = True) -> Any:
    """What ``except ... as error`` binds of one that the running program would raise in some lines.

    Where it is not needed, but for the context of another one, it is None if nothing is told of it.
    """
    which, *numbers = told
    alike: dict[Any, tuple[Raised, list[int]]] = {}
    for number, raised in _candidates(which, handled, first, last):
        alike.setdefault(raised.looks, (raised, []))[1].append(number)

    def chosen(rest: Sequence[tuple[Raised, list[int]]]) -> Any:
        if not rest:
            return None
        (raised, several), *others = rest
        if not others and (is_needed or type(which) is int):
            return raised.exception(numbers)
        return choose(wrap(_is_one_of(which, several)), lambda: raised.exception(numbers), lambda: chosen(others))

    return None if len(alike) > _MOST_OF_CONTEXT and not is_needed else chosen([*alike.values()])


@raising_for_the_program
def raised_again(told: Told, handled: Callable[[], Any], first: int, last: int, error: Any = None) -> NoReturn:
    """``raise`` in a handler: what it has caught, from where that was raised. ``error`` is what it calls that."""
    which, *numbers = told
    candidates = _candidates(which, handled, first, last)
    is_changed = isinstance(error, BaseException) and bool(vars(error))
    if is_changed or any(raised.make is not None for _, raised in candidates):
        try:
            raise_(error if is_changed else caught_error(told, handled, first, last))
        finally:
            if len(candidates) == 1:
                relocate(candidates[0][1].places[0])
    for number, raised in candidates[:-1]:
        _check(_differs(which, number), raised, numbers)
    _check(values.constant(False, BOOL), candidates[-1][1], numbers)
    raise EndOfPath


def again(waiting: tuple[Any, Told], first: int, last: int) -> None:
    """Raise what has waited for a ``finally`` behind some lines: the number of its handler, and what is told."""
    fails, (which, *numbers) = waiting
    if type(fails) is int and fails == 0:
        return
    for number, raised in raised_at(first, last):
        differs = _differs(which, number)
        if raised.make is None:
            _check(differs, raised, numbers)
        else:
            choose(wrap(differs), lambda: None, lambda raised=raised: _raise_at(raised, numbers))  # type: ignore[misc]


def _raise_at(raised: Raised, numbers: Sequence[Any]) -> NoReturn:
    try:
        raise_(raised.exception(numbers))
    finally:
        relocate(raised.places[0])


def _candidates(which: Any, handled: Callable[[], Any], first: int, last: int) -> list[tuple[int, Raised]]:
    """What a handler may have caught."""
    found = raised_at(first, last)
    handlers = Handlers(lambda: (handled(),))
    if type(which) is int:
        return [(number, raised) for number, raised in found if number == which]
    return [(number, raised) for number, raised in found if handlers.handles(raised.kind)]


def _differs(which: Any, number: int) -> Value:
    return emit("not_equal", integer(which), values.constant(number, I64))


def _is_one_of(which: Any, numbers: Sequence[int]) -> Value:
    differs = _differs(which, numbers[0])
    for number in numbers[1:]:
        differs = emit("logical_and", differs, _differs(which, number))
    return emit("logical_not", differs)


def _check(condition: Value, raised: Raised, told: Sequence[Any]) -> None:
    """Record that an exception is raised unless a condition holds, from where it was raised at first."""
    operands = map(lift, raised.numbers(told))
    trace = current_trace()
    kind, shown = ExceptionName.of(raised.kind), dict(raised.shown)
    trace.add("check", condition, *operands, error=kind, message=raised.message, **shown)
    relocate(raised.places[0])
