"""Looking for faster schedules: the proposals for each kernel of a function, measured one after the other."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from typing import Any

from jitflow.compilation.compiler import lower
from jitflow.passes.schedule.target import Given
from jitflow.records import dataclass

__all__ = ["Trial", "best_of", "trials"]

SECONDS = 0.3
"""How long each proposal is measured."""
WORTH = 0.97
"""Of the time of what is chosen, what another schedule may take at most to be kept."""


@dataclass(frozen=True)
class Trial:
    """A proposal for a kernel, measured: seconds of a call of the whole function, the fastest of many."""

    kernel: str
    what: str
    """What sets it apart from what is chosen."""
    key: str
    text: str
    predicted: float
    """Seconds of the kernel by the model, nan where that says nothing."""
    seconds: float


def trials(function: Any, arguments: Sequence[Any]) -> Iterator[Trial]:
    """Measure the proposals for each kernel of a compiled function, that which is chosen first.

    ``arguments`` are those of the calls, each of which gets copies of its own.
    """
    options = function._options
    fresh = type(function)(function.__wrapped__, options)
    fresh(*copy.deepcopy(list(arguments)))
    compilation = fresh._compilation()
    compilation.traced = fresh._last[1]
    lower(compilation)
    sizes = dict(compilation.traced.hints)
    for kernel, scheduled in compilation.lowered.scheduled.items():
        for one in scheduled.proposals(sizes):
            given = Given(scheduled.kind, kernel, scheduled.loops_text, one.text, "proposal", 1)
            tried = type(function)(function.__wrapped__, options._replace(schedules=(given,)))
            seconds = _seconds(tried, arguments)
            yield Trial(kernel, one.what, scheduled.key, one.text, one.predicted * 1e-9, seconds)


def best_of(found: Sequence[Trial]) -> dict[str, str]:
    """The texts of those that are faster than what is chosen, by the keys of kernels."""
    best: dict[str, str] = {}
    for kernel in dict.fromkeys(trial.kernel for trial in found):
        chosen, *others = [trial for trial in found if trial.kernel == kernel]
        fastest = min([chosen, *others], key=lambda trial: trial.seconds)
        if fastest.seconds < WORTH * chosen.seconds:
            best[fastest.key] = fastest.text
    return best


def _seconds(function: Any, arguments: Sequence[Any]) -> float:
    """The fastest call, in processor time."""
    given = copy.deepcopy(list(arguments))
    function(*given)
    fastest, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        function(*given)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest
