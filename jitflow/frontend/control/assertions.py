"""``assert`` on a condition that only the running program knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitflow.errors import UserError
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.implications import assume, holds_if
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.raising import EndOfPath, check_that, message_of, raise_
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Tracer, wrap

__all__ = ["assert_"]


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message()``."""
    answer = truth(test)
    if isinstance(answer, bool):
        if not answer:
            raise_(AssertionError(*([] if message is None else [message()])))
        return
    shown = ("", ()) if message is None else _ready(message)
    if shown is not None:
        check_that(answer, AssertionError, *shown)
        assume(holds_if(answer, True))
        return

    def failing() -> None:
        assert message is not None
        raise_(AssertionError(message()))

    choose(wrap(answer), lambda: None, failing)


def _ready(message: Callable[[], Any]) -> tuple[str, Sequence[Tracer]] | None:
    """A message that a check can show and that takes no op to make, for those run whether it is needed or not."""
    trace = current_trace()
    undo = trace.trial()
    try:
        with trace.region() as scope:
            found = message_of((message(),))
    except (UserError, EndOfPath):
        undo()
        return None
    return None if scope.builder.ops else found
