"""What a rolled loop carries from turn to turn: its locals, taken apart, and where each part goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.branch import Path
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.merge import MaybeUnbound, Slot
from jitflow.frontend.scopes import Scope
from jitflow.frontend.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Tensor

__all__ = ["Flow", "Local", "Turn"]


@dataclass(frozen=True)
class Lesson:
    """What tracing a loop has taught about a local, to be known when the loop around it is traced once more."""

    shape: str
    open_axes: tuple[frozenset[int] | None, ...]
    """For each part the axes whose size may change, None if it is not carried."""


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
    made: list[Any] = field(default_factory=list)
    """What it is in a turn, and in its condition, made anew of what is carried."""
    left: Any = None
    """What the last turn that was traced has left."""
    sample: Any = None
    """What a turn has left of a local that is not bound before, for its kinds."""
    inside: dict[int, Any] = field(default_factory=dict)
    """What the parts are in a turn that are carried."""
    learnt: Lesson | None = None
    """What an earlier trace of the loop had found out, if that is where this one begins."""

    @property
    def may_be_unbound(self) -> bool:
        """Whether it is carried, and turns may begin without it."""
        unbound = self.before is UNBOUND or isinstance(self.before, MaybeUnbound)
        return unbound and any(slot is not None for slot in self.slots)

    def begin_with(self, lesson: Lesson | None, slot: Callable[[int, Tensor], Slot]) -> None:
        """Carry at once the arrays that an earlier trace of the loop has found to be carried."""
        if lesson is None or lesson.shape != repr(self.leaves.shape):
            return
        self.learnt = lesson
        for number, item in enumerate(self.leaves.items):
            axes = lesson.open_axes[number]
            if axes is not None and self.slots[number] is None and isinstance(item, tracers.ArrayTracer):
                self.open_axes[number] = {axis for axis in axes if axis < len(item.type.dims)}
                self.slots[number] = slot(number, item.type)

    @property
    def lesson(self) -> Lesson:
        """What has been found out about the loop."""
        axes = [
            None if slot is None else frozenset(axes) for slot, axes in zip(self.slots, self.open_axes, strict=True)
        ]
        return Lesson(repr(self.leaves.shape), tuple(axes))

    def learnt_too_much(self, left: Any) -> bool:
        """Whether what an earlier trace had found does not hold in this one, whose turns leave ``left``."""
        if self.learnt is None or left is UNBOUND:
            return False
        for number, (entry, item) in enumerate(zip(self.leaves.items, flatten(left).items, strict=False)):
            inside = self.inside.get(number)
            if not isinstance(inside, tracers.ArrayTracer) or not isinstance(entry, tracers.ArrayTracer):
                continue
            if item is inside:
                return True
            if not isinstance(item, tracers.ArrayTracer) or item.ndim != inside.ndim or entry.ndim != inside.ndim:
                continue
            sizes = list(zip(entry.type.dims, inside.type.dims, item.type.dims, strict=True))
            if any(sizes[axis][2] in sizes[axis][:2] for axis in self.open_axes[number]):
                return True
        return False

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
