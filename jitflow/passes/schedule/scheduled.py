"""A nest with its schedule, as people read it of a kernel before it is loops, and as they hand it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import nan
from types import MappingProxyType
from typing import Protocol

from jitflow.ir.core import Op
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.given import following
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.price import price
from jitflow.passes.schedule.proposals import proposals
from jitflow.passes.schedule.reader import parse_schedule
from jitflow.passes.schedule.target import Given, Processor, Target
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.tree import Schedule
from jitflow.passes.schedule.tuned import key_of
from jitflow.records import dataclass

__all__ = ["Proposal", "Readable", "Scheduled", "predictions", "schedule_given"]

RUNNERS_UP = 4
"""How many of the other schedules are shown, the cheapest first."""


def schedule_given(given: Given, op: Op, loops: JoinedLoops, target: Target) -> Schedule:
    """The schedule of a nest. Raises `UserValueError` if it is none, or is that of another nest."""
    values = Names()
    print_op(op, values)
    names = ScheduleNames(loops, values)
    with following(given, Scheduled.kind, names.loops_text):
        schedule = parse_schedule(given.text, names, loops.vector, given.line)
        check_schedule(schedule, loops, target, names)
    return schedule


@dataclass(frozen=True, slots=True)
class Proposal:
    """A schedule that is worth a comparison: what sets it apart, its text, and the nanoseconds that it may take."""

    what: str
    text: str
    predicted: float = nan
    """What it takes by the model, nan where that says nothing."""


def predictions(proposals: Iterable[Proposal], sizes: Mapping[str, int]) -> str:
    """What is chosen takes with these sizes by the model, and the runners-up: comments; nothing where sizes miss."""
    found = [one for one in proposals if one.predicted == one.predicted]
    if not found:
        return ""
    others = sorted(found[1:], key=lambda one: one.predicted)[:RUNNERS_UP]
    chosen, *lines = (f"{one.what} {one.predicted / 1000:.2f} us" for one in (found[0], *others))
    given = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return "".join(f"; {line}\n" for line in (f"predicted for {given or 'all sizes'}: {chosen}", *lines))


class Readable(Protocol):
    """Anything with a schedule: a nest, a product, a contraction."""

    kind: str
    """What opens its text (`Given.kind`)."""

    @property
    def loops_text(self) -> str:
        """Its loops, with their lengths."""

    @property
    def key(self) -> str:
        """What it is known by whenever it is compiled (`tuned.py`)."""

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """What it does and how, as the kernel of this name, for these sizes."""

    def proposals(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[Proposal]:
        """Schedules of the same bits, that which it has first, with what they take for these sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A ``fusion`` op, its loops, and how it runs on a kind of processor."""

    op: Op
    loops: JoinedLoops
    schedule: Schedule
    target: Target
    kind = "schedule"

    @property
    def loops_text(self) -> str:
        """Its loops, with their lengths."""
        return self._names().loops_text

    @property
    def key(self) -> str:
        """What it is known by whenever it is compiled."""
        return key_of(self.op, self.loops, self._names(), self.target)

    def _names(self) -> ScheduleNames:
        values = Names()
        print_op(self.op, values)
        return ScheduleNames(self.loops, values)

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The fusion and the schedule of the kernel of this name, with what it takes with these sizes."""
        names = self._names()
        body = "\n".join(f"  {line}" for line in print_schedule(self.schedule, names).splitlines())
        opening = f"{self.kind} @{name} ({names.loops_text}) {{"
        return f"{print_op(self.op, Names())}\n{opening}\n{body}\n}}\n{predictions(self.proposals(sizes), sizes)}"

    def proposals(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[Proposal]:
        """Schedules of the same bits, that which it has first, with what they take for these sizes."""
        names = self._names()
        for what, schedule in proposals(self.schedule, self.loops, self.target, names).items():
            yield Proposal(what, print_schedule(schedule, names), self._predicted(schedule, sizes))

    def _predicted(self, schedule: Schedule, sizes: Mapping[str, int]) -> float:
        """By the model, which is one of a core, and says nothing of GPUs."""
        if self.target.distributed:
            return nan
        try:
            return price(schedule, self.loops, self.target.processor or Processor(), sizes).total
        except KeyError:  # a size that only the run finds
            return nan
