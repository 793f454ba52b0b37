"""Iterators of Python's that the program goes through up to an item that only the running program knows.

`any`, `all` and a loop with a ``break`` do. While tracing, Python goes on to the end: the other items are computed for
nothing. Where somebody would notice (a step may raise something, store, or change an object) it is traced as a loop,
or refused. How far such an iterator is nobody knows from then on, so that the program may not go on with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.identity import within_reach
from jitflow.frontend.control.iterators import runs_code, with_inner
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.trying import is_missed
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located

__all__ = ["DecidedLate", "require_whereabouts"]


class _Lost(dict[int, Any]):
    """The iterators of which nobody knows how far they are, by identity."""


def require_whereabouts(thing: Any) -> None:
    """Raise for an iterator of which only the running program knows how far it is."""
    trace = active_trace()
    if trace is not None and id(thing) in trace.state(_Lost):
        raise located(UserNotImplementedError(
            "an iterator that the program has gone through up to an item that only the running program knows",
            mend="make the iterator anew, or a list of it before: list(...)",
        ))  # fmt: skip


class DecidedLate:
    """Takes the items of an iterator."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._before: tuple[Mutables, Any, Scope, int] | None = None
        self._inner = [part for one in with_inner(iterator) for part in (one, *_locals_of(one))]
        self._runs_code = active_trace() is not None and any(map(runs_code, self._inner))

    def undecided(self) -> None:
        """Only the running program knows whether it asks for the next item."""
        trace = current_trace()
        if self._before is None:
            trace.state(_Lost).update((id(one), one) for one in self._inner if isinstance(one, Iterator))
            if self._runs_code:
                scope, contents = trace.scope, trace.state(Stores).contents()
                self._before = within_reach(but=self._inner), contents, scope, len(scope.builder.ops)

    def end(self) -> None:
        """The items have been taken. Raises if somebody would notice of those for which the program does not ask."""
        if self._before is not None:
            reach, *rest = self._before
            if reach.changed() or is_missed(*rest):
                error = UserNotImplementedError(
                    "items of an iterator that raise something or change something, where only the running program "
                    "knows for how many of them Python asks",
                    mend="write a loop over what the items are made of, or make a list of them first: list(...)",
                )
                error.needs_number = True
                raise located(error)


def _locals_of(iterator: Any) -> list[Any]:
    """The iterators that a generator goes through."""
    frame = iterator.gi_frame if isinstance(iterator, GeneratorType) else None
    found = [] if frame is None else [*frame.f_locals.values()]
    return [part for one in found if isinstance(one, Iterator) for part in (*with_inner(one), *_locals_of(one))]
