"""Iterators of the program's own classes: each step is a call of ``__next__``, and the run decides which is the last.

A loop over one is a ``while`` that attempts a step in each turn (`attempts`): what the iterator holds is carried and
merged as what other objects hold. `steps.Stepwise` is what jitflow makes of such iterators, as for ``zip``.
"""

from __future__ import annotations

from typing import Any

from jitflow.frontend.control.attempts import attempt
from jitflow.frontend.control.decided_late import require_whereabouts
from jitflow.frontend.control.steps import Stepwise
from jitflow.frontend.outside.special_methods import written_method
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers import Tracer

__all__ = ["attempted_step", "is_stepwise", "iterator_of", "step"]


def iterator_of(thing: Any) -> Any:
    """What ``__iter__`` of an object of the program's classes gives; all else is itself."""
    require_whereabouts(thing)
    method = None if isinstance(thing, Tracer) or active_trace() is None else written_method(thing, "__iter__")
    return thing if method is None else method()


def is_stepwise(thing: Any) -> bool:
    """Whether each step is code of the program's."""
    return isinstance(thing, Stepwise) or (
        not isinstance(thing, Tracer) and written_method(thing, "__next__") is not None
    )


def step(iterator: Any) -> Any:
    """``next(iterator)`` of such an iterator."""
    if isinstance(iterator, Stepwise):
        return iterator.step()
    method = written_method(iterator, "__next__")
    assert method is not None
    return method()


def attempted_step(iterator: Any) -> tuple[Any, Any]:
    """The next item, and 0; or 1 where there is none."""

    def one() -> Any:
        return step(iterator)

    item, ended = attempt(one, lambda: (StopIteration,), (1,))
    return item, ended
