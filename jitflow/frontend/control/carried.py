"""What a rolled loop carries from turn to turn: its locals, taken apart, and where each part goes in and comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.branch import Path
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import Leaves
from jitflow.frontend.control.merge import MaybeUnbound, Slot
from jitflow.frontend.scopes import Scope
from jitflow.frontend.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["Flow", "Local", "Turn"]


@dataclass(eq=False)
class Local:
    """A local of a loop's body: what it was on entry, taken apart, and which of its parts are carried."""

    name: str
    entry: Any
    leaves: Leaves
    slots: list[Slot | None]
    open_axes: list[set[int]]
    """For each part the axes whose size may change from turn to turn."""
    single_axes: set[tuple[int, int]] = field(default_factory=set)
    """The parts and axes among those whose size is 1 before the loop or behind a turn, so that it may repeat."""
    before: Any = None
    """What the local was before the loop, which may be unbound."""
    bits: list[Value] = field(default_factory=list)
    """The parameters of the turn, and of its condition, that say whether it is bound; see `Rolling._bits`."""
    left: Any = None
    """What the last turn that was traced has left."""
    sample: Any = None
    """What a turn has left of a local that is not bound before, for its kinds."""

    @property
    def may_be_unbound(self) -> bool:
        """Whether it is carried, and turns may begin without it."""
        unbound = self.before is UNBOUND or isinstance(self.before, MaybeUnbound)
        return unbound and any(slot is not None for slot in self.slots)

    def new_size(self, number: int, axis: int) -> Dim:
        """A name for a size that may change."""
        trace = current_trace()
        size = trace.size("size")
        if (number, axis) in self.single_axes:
            trace.found_sizes.add(str(size))
        return size


@dataclass(eq=False)
class Turn:
    """One traced turn: its path, its parameters, and the condition's region if there is one."""

    path: Path
    parameters: list[Value]
    condition: Scope | None = None
    condition_parameters: list[Value] = field(default_factory=list)
    proceed: Value | None = None


@dataclass(frozen=True, eq=False)
class Flow:
    """What is carried in one slot: what goes in, what a turn leaves, and the parameters that it arrives at."""

    slot: Slot
    entry: Any
    left: Any
    parameters: Sequence[Value]

    @property
    def arrays(self) -> list[Value]:
        """The arrays that the parameters and the result may be."""
        return [thing._value for thing in (self.entry, self.left) if isinstance(thing, tracers.ArrayTracer)]
