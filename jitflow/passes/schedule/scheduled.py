"""A nest with its schedule, as people read it of a kernel before it is loops, and as they hand it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from jitflow.errors import UserValueError
from jitflow.ir.core import Op
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.price import price
from jitflow.passes.schedule.proposals import proposals
from jitflow.passes.schedule.reader import parse_schedule
from jitflow.passes.schedule.target import Given, Processor, Target
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.tree import Schedule

__all__ = ["Readable", "Scheduled", "read_given", "schedule_given"]

_OPENING = re.compile(r"schedule @(?P<kernel>\S+) \((?P<loops>[^)]*)\) \{")


def schedule_given(given: Given, op: Op, loops: JoinedLoops, target: Target) -> Schedule:
    """The schedule of a nest. Raises `UserValueError` if it is none, or is that of another nest."""
    values = Names()
    print_op(op, values)
    names = ScheduleNames(loops, values)
    try:
        if given.loops != names.loops_text:
            raise UserValueError(f"kernel {given.kernel} has other loops", expected=names.loops_text, found=given.loops)
        schedule = parse_schedule(given.text, names, loops.vector, given.line)
        check_schedule(schedule, loops, target, names)
    except UserValueError as error:
        error.add_note(f"in the schedule of {given.kernel}, {given.file}:{given.line}")
        raise
    return schedule


def read_given(path: str | Path) -> tuple[Given, ...]:
    """The schedules that stand in a file, among whatever else. Raises `UserValueError` if there is none.

    They stand there as ``jitflow explain --schedule`` prints them. Raises OSError for a file that cannot be read.
    """
    found: list[Given] = []
    lines = Path(path).read_text().splitlines()
    for number, line in enumerate(lines):
        if opening := _OPENING.fullmatch(line.strip()):
            end = next((last for last in range(number + 1, len(lines)) if lines[last].startswith("}")), len(lines))
            text = "\n".join(lines[number + 1 : end])
            found.append(Given(opening["kernel"], opening["loops"], text, str(path), number + 2))
    if not found:
        raise UserValueError(
            f"there is no schedule in {path}", expected="what jitflow explain --schedule prints",
            mend="start from that, and edit it",
        )  # fmt: skip
    return tuple(found)


class Readable(Protocol):
    """Anything with a schedule: a nest, a product, a contraction."""

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """What it does and how, as the kernel of this name, for these sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A ``fusion`` op, its loops, and how it runs on a kind of processor."""

    op: Op
    loops: JoinedLoops
    schedule: Schedule
    target: Target

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The fusion and the schedule of the kernel of this name, with what it takes with these sizes."""
        values = Names()
        fusion = print_op(self.op, values)
        names = ScheduleNames(self.loops, values)
        body = "\n".join(f"  {line}" for line in print_schedule(self.schedule, names).splitlines())
        return f"{fusion}\nschedule @{name} ({names.loops_text}) {{\n{body}\n}}\n{self._predictions(names, sizes)}"

    def _predictions(self, names: ScheduleNames, sizes: Mapping[str, int]) -> str:
        """What it takes with these sizes by the model, and what else may: comments; nothing where sizes are missing.

        The model is one of a core, and says nothing of GPUs.
        """
        if self.target.distributed:
            return ""
        processor = self.target.processor or Processor()
        try:
            found = {
                what: price(schedule, self.loops, processor, sizes).total
                for what, schedule in proposals(self.schedule, self.loops, self.target, names).items()
            }
        except KeyError:
            return ""
        chosen, *others = (f"{what} {nanoseconds / 1000:.2f} us" for what, nanoseconds in found.items())
        given = ", ".join(f"{name}={size}" for name, size in sizes.items())
        return "".join(f"; {line}\n" for line in (f"predicted for {given or 'all sizes'}: {chosen}", *others))
