"""Loops that are written out: each turn is traced by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.branch import decide
from jitflow.frontend.control.decided_late import DecidedLate
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.rolling import Body, Rolling, Test
from jitflow.frontend.recording.budget import MOST_KNOWN_TURNS
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import ScalarTracer, SizeTracer
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value

__all__ = ["turns_site", "unrolled"]


def turns_site(key: tuple[str, int]) -> Site:
    """What stands for the decision whether a loop is written out."""
    return Site(Choice.ROLLED, *key)


def unrolled(loop: Rolling, items: Any, body: Body, test: Test | None, *, is_counted: bool = False) -> int:
    """Trace the turns one by one; returns how many. Those over numbers are counted, for a nest of such loops."""
    turns = 0
    decided = False
    trace = current_trace()
    left_out = trace.left_out
    while turns == 0 or loop.key not in trace.budget.given_up:
        answer = True if test is None else truth(test())
        if answer is False:
            break
        late = None if answer is True else DecidedLate(items)
        if late is not None:
            late.undecided()
        try:
            item = next(items)  # not before: what a `break` leaves in an iterator may be asked for later
        except StopIteration:
            break
        if late is not None:
            late.end()
        turns += 1
        if trace.left_out > left_out:
            raise trace.restarts[-1]
        if turns > MOST_KNOWN_TURNS:
            raise located(_endless())
        if is_counted and turns > 1 and _is_of_numbers(item):
            _count_turn(turns)
        if answer is True:
            body(item)
        else:
            assert isinstance(answer, Value)
            if not decided:
                _require_unheld(items)
                decided = True
            turn = partial(body, item)
            decide(answer, turn, lambda: None, loop.cells, loop.state, loop.temporaries, loop.key)
    return turns


def _is_of_numbers(item: Any) -> bool:
    """Whether it is a number, or a tuple of such: what the running program could choose as well."""
    if type(item) is tuple:
        return all(map(_is_of_numbers, item))
    return type(item) in (bool, int, float) or isinstance(item, ScalarTracer | SizeTracer)


def _count_turn(turn: int) -> None:
    """Let the outermost of loops over lists be a native one in the next trace, where they are many copies."""
    trace = current_trace()
    outermost = trace.budget.note_item(turn)
    if outermost is not None:
        trace.begin_anew(Restart(turns_site(outermost)))


def _endless() -> UserError:
    return UserNotImplementedError(
        f"a loop that Python goes through while tracing takes more than {MOST_KNOWN_TURNS} turns",
        mend="loop over range(...), or write `while` with a condition of numbers and arrays",
    )


def _require_unheld(iterator: Any) -> None:
    """Raise if the program has a name for what its loop leaves at a turn that nobody knows while tracing."""
    frame = current_trace().user_frame()
    if frame is not None:
        Mutables(frame.f_locals.values()).require_unheld(iterator)
