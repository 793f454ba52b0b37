"""A nest with its schedule: one record, which prints as what people read of a kernel before it is loops."""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.ir.core import Op
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.tree import Schedule

__all__ = ["Scheduled"]


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A ``fusion`` op, its loops, and how it runs."""

    op: Op
    loops: JoinedLoops
    schedule: Schedule

    def text(self, name: str) -> str:
        """The fusion and the schedule of the kernel of this name."""
        values = Names()
        fusion = print_op(self.op, values)
        names = ScheduleNames(self.loops, values)
        body = "\n".join(f"  {line}" for line in print_schedule(self.schedule, names).splitlines())
        return f"{fusion}\nschedule @{name} ({names.loops_text}) {{\n{body}\n}}\n"
