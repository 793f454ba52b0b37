"""What a rolled loop carries from turn to turn: its locals, taken apart, and where each part goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeGuard

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.merge import MaybeUnbound, Slot
from jitflow.frontend.control.mutables import Held
from jitflow.frontend.control.paths import Path
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Container, Scalar, Tensor
from jitflow.records import dataclass

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
    made: list[Any] = field(default_factory=list)
    """What it is in a turn, and in its condition, made anew of what is carried."""
    found: list[Held] = field(default_factory=list)
    """What the objects in it hold when a turn begins."""
    left: Any = None
    """What the last turn that was traced has left."""
    sample: Any = None
    """What a turn has left of a local that is not bound before, for its kinds."""
    inside: dict[int, Any] = field(default_factory=dict)
    """What the parts are in a turn that are carried."""
    twin: Local | None = None
    """The local that is the same object, before the loop and behind each turn."""
    binds: bool = False
    """Whether turns bind it to what it was before, where it was unbound perhaps."""
    has_learnt: bool = False
    """Whether this began with what earlier turns had taught."""

    @property
    def is_made(self) -> bool:
        """Whether it is made anew in each turn: of what is carried, or of what only turns bind."""
        bound = self.entry is UNBOUND and any(item is not UNBOUND for item in self.leaves.items)
        return bound or self.binds or any(slot is not None for slot in self.slots)

    @property
    def may_be_unbound(self) -> bool:
        """Whether it is carried, and turns may begin without it."""
        unbound = self.before is UNBOUND or isinstance(self.before, MaybeUnbound)
        return unbound and self.is_made

    def begin_with(self, known: Local, slot: Callable[[int, Any], Slot]) -> None:
        """Carry at once what an earlier trace of the loop has found to be carried."""
        visible = current_trace().is_visible_in(current_trace().scope)
        self.binds = known.binds and isinstance(self.before, MaybeUnbound)
        if self.entry is UNBOUND:
            self.sample, self.leaves = known.sample, known.leaves
            self.slots, self.open_axes = [None] * len(self.leaves.items), [set() for _ in self.leaves.items]
        if repr(known.leaves.shape) != repr(self.leaves.shape):
            return
        self.has_learnt = True
        for number, (item, found) in enumerate(zip(self.leaves.items, known.slots, strict=True)):
            if found is None:
                continue
            axes = known.open_axes[number]
            kind = found.kind if item is UNBOUND else kind_of(item)
            if isinstance(kind, Tensor):
                if any(axis not in axes and not visible(dim) for axis, dim in enumerate(kind.dims)):
                    continue  # that size was of an earlier turn of the loop around
                self.open_axes[number] = {axis for axis in axes if axis < len(kind.dims)}
                self.single_axes |= {(number, axis) for axis in axes if (number, axis) in known.single_axes}
            elif _is_number(kind) and _is_number(found.kind) and kind.dtype == found.kind.dtype:
                kind = Scalar(kind.dtype, weak=kind.weak and found.kind.weak)
            if kind is not None:
                self.slots[number] = slot(number, kind)

    def learnt_too_much(self, left: Any) -> bool:
        """Whether what an earlier trace had found does not hold in this one, whose turns leave ``left``."""
        if not self.has_learnt or left is UNBOUND:
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

    def make(self, items: Sequence[Any]) -> Any:
        """What it is, made anew of what is carried."""
        twin = self.twin
        is_made = twin is not None and bool(twin.made) and repr(twin.leaves.shape) == repr(self.leaves.shape)
        self.made.append(twin.made[-1] if twin is not None and is_made else self.leaves.rebuild(items))
        return self.made[-1]

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


def _is_number(kind: Any) -> TypeGuard[Scalar]:
    return isinstance(kind, Scalar) and not isinstance(kind, Container)
