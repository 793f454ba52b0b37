"""Helpers, and comprehensions, are traced once more where they stand, until it is known what they need.

A trace that comes to know too late what it should have done starts anew (`recording.choices`). If a program of many
helpers were traced anew for each, it would be traced as often as all of them together guess wrong. So a call in which
that happens is taken back and made again with what has been learnt: the innermost one that had begun when the trace
asked for it first, unless it is most of what was traced. The trace goes on behind it to see what other helpers need,
and starts anew at its end: the one that counts is one in which nothing was taken back. Therefore what cannot be taken
back, such as arrays that have become memory, need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from jitflow.errors import UserError
from jitflow.frontend.control.lessons import Nest
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.recursive import recursive
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Trace, active_trace

__all__ = ["retraced", "traced_again"]


def retraced(function: Callable[..., Any]) -> Any:
    """A helper as the program is to call it."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        trace = active_trace()
        if trace is None:
            return function(*args, **kwargs)
        if function in (running := trace.state(_Running)):  # the outermost call is the one to be made again
            return recursive(function)(*args, **kwargs)
        running.add(function)
        try:
            reached = (function, *args, *kwargs.values())
            return traced_again(trace, lambda: recursive(function)(*args, **kwargs), reached)
        finally:
            running.discard(function)

    return call


def traced_again(trace: Trace, call: Callable[[], Any], reached: Sequence[Any]) -> Any:
    """What a call gives, made until it is known what it needs. What it may change is within reach of what is given."""
    before = _Before(trace, reached)
    while True:
        try:
            result = call()
            if not before.learns_of(None):
                return result
        except Restart as restart:
            if not before.learns_of(restart):
                raise
        except UserError as error:
            if not before.gives_up(error):
                raise
        before.go_back()


class _Running(set[Callable[..., Any]]):
    """The helpers that are being called."""


class _Before:
    """What was known in front of a call."""

    def __init__(self, trace: Trace, reached: Sequence[Any]) -> None:
        self._trace = trace
        trace.choices.moment += 1
        self._moment = trace.choices.moment
        self._mutables = Mutables(reached, with_stores=True, own=())
        self._take_back = trace.trial()
        self._scope, self._knowledge, self._recalled = trace.scope, trace.knowledge.copy(), trace.scope.recalled
        self._ops, self._loc, self._recorded = len(trace.builder.ops), trace.builder.loc, trace.recorded
        self._decisions, self._given_up = len(trace.decisions), set(trace.budget.given_up)
        self._settled = {} if trace.pins is None else dict(trace.pins.settled)
        self._restarts, self._left_out = len(trace.restarts), trace.left_out
        rounds = trace.state(Nest).rounds
        self._forget_loops = rounds[-1].mark() if rounds else lambda: None
        self._before_guesses: dict[str, Any] | None = None

    def learns_of(self, restart: Restart | None) -> bool:
        """Whether the call can do otherwise the next time, and is to: ``restart`` is why, or it has left out something.

        What it found out besides, and goes on with, is left to the end of the trace; and what it has left out in a
        branch or loop to the call around that, so that calls in each other are not traced once more level by level.
        """
        trace, choices = self._trace, self._trace.choices
        if restart is None and trace.scope is not trace.root:
            return False
        found, left_out = trace.restarts[self._restarts :], trace.left_out > self._left_out
        reason = found[0] if left_out else restart
        if reason is None or not choices.is_new(reason) or not self._pays():
            return False
        if not choices.is_asked_since(self._moment, *reason.sites):
            return False
        if left_out and self._before_guesses is None:
            self._before_guesses = choices.copy()
        choices.learn(reason, found, is_doubtful=left_out)
        return True

    def gives_up(self, error: UserError) -> bool:
        """Whether the call goes without what it was guessed to need, or without wishes, because it is refused."""
        trace, choices = self._trace, self._trace.choices
        asks = isinstance(error, AttributeError)  # whoever looks for an attribute that need not be there
        if error.is_mistake or asks or trace.scope is not trace.root or not self._pays():
            return False
        if found := trace.restarts[self._restarts :]:
            return self.learns_of(found[0])
        if self._before_guesses is not None and choices.is_guessing:
            choices.take_back(self._before_guesses)
            return True
        if isinstance(error.pin, Site) and not choices.answer(error.pin):
            choices.learn(Restart(error.pin), ())
            return True
        return choices.give_up_wishes(error, self._moment)

    def _pays(self) -> bool:
        """Whether the call can be taken back, and is not most of what was traced: that may as well start anew."""
        return not self._mutables.has_moved() and 2 * self._recorded > self._trace.recorded

    def go_back(self) -> None:
        """Take the call back."""
        trace = self._trace
        trace.is_provisional = True
        trace.choices.forget_asked(self._moment)
        self._mutables.restore()
        self._take_back()
        self._forget_loops()
        assert trace.scope is self._scope
        trace.scope.knowledge, trace.scope.recalled = self._knowledge.copy(), self._recalled
        del trace.builder.ops[self._ops :], trace.decisions[self._decisions :], trace.restarts[self._restarts :]
        trace.builder.loc, trace.left_out = self._loc, self._left_out
        trace.budget.given_up = set(self._given_up)
        if trace.pins is not None:
            trace.pins.settled.clear()
            trace.pins.settled.update(self._settled)
