"""Looking for faster schedules: the proposals for each kernel of a function, measured one after the other."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jitflow.compiler import lower
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.price import price
from jitflow.passes.schedule.proposals import proposals
from jitflow.passes.schedule.scheduled import Scheduled
from jitflow.passes.schedule.target import Given, Processor
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.tuned import key_of

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
    """Seconds of the kernel."""
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
        if not isinstance(scheduled, Scheduled):
            continue
        values = Names()
        print_op(scheduled.op, values)
        names = ScheduleNames(scheduled.loops, values)
        target = scheduled.target
        for what, schedule in proposals(scheduled.schedule, scheduled.loops, target, names).items():
            text = print_schedule(schedule, names)
            given = Given(kernel, names.loops_text, text, "proposal", 1)
            tried = type(function)(function.__wrapped__, options._replace(schedules=(given,)))
            key = key_of(scheduled.op, scheduled.loops, names, target)
            yield Trial(kernel, what, key, text, _predicted(scheduled, schedule, sizes), _seconds(tried, arguments))


def best_of(found: Sequence[Trial]) -> dict[str, str]:
    """The texts of those that are faster than what is chosen, by the keys of kernels."""
    best: dict[str, str] = {}
    for kernel in dict.fromkeys(trial.kernel for trial in found):
        chosen, *others = [trial for trial in found if trial.kernel == kernel]
        fastest = min([chosen, *others], key=lambda trial: trial.seconds)
        if fastest.seconds < WORTH * chosen.seconds:
            best[fastest.key] = fastest.text
    return best


def _predicted(scheduled: Scheduled, schedule: Any, sizes: Mapping[str, int]) -> float:
    processor = scheduled.target.processor or Processor()
    try:
        return price(schedule, scheduled.loops, processor, sizes).total * 1e-9
    except KeyError:  # a size that only the run finds
        return float("nan")


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
