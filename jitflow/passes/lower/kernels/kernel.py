"""One fusion becomes one kernel: explicit loops, vectors and tails, as a schedule says.

What it does at one position of its loops is in `elements.py`, the loops are in `loops.py`; here is what is around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import Dim, substitute
from jitflow.ir.dtypes import BOOL, DType
from jitflow.ir.layout import Layout
from jitflow.ir.types import Buffer, Index, Tensor
from jitflow.passes.lower.kernels.loops import Loops
from jitflow.passes.schedule.choose import choose
from jitflow.passes.schedule.cost import NARROW
from jitflow.passes.schedule.given import given_for
from jitflow.passes.schedule.scheduled import Readable, Scheduled, schedule_given
from jitflow.passes.schedule.tree import For, Keep, Node, Schedule, walk_nodes
from jitflow.passes.schedule.tuned import tuned_schedule
from jitflow.records import dataclass

__all__ = ["Kernel", "KernelArgument", "KernelLowering", "buffer_dtype"]


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """What the host passes.

    ``kind`` is ``operand``, ``output`` or ``scalar`` (by ``position``), ``scratch`` (``dim`` bytes of ``dtype``) or
    ``size`` (``dim``).
    """

    kind: str
    position: int = 0
    dim: Dim = 0
    dtype: DType = BOOL


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loop function, what to call it with, and where its results lie."""

    function: Function
    arguments: tuple[KernelArgument, ...]
    layouts: tuple[Layout, ...]
    scheduled: Readable | None = None
    """What it was made of, None if nothing was to be chosen."""
    known_as: str = ""
    """The name of its schedule, if that is not its own."""
    following: tuple[Kernel, ...] = ()
    """What is launched behind it with the same arguments, in which scratch memory is what it was before."""
    choice: Dim = 1
    """1 where it is to be launched, and 0 where the one ``instead`` of it is."""
    instead: Kernel | None = None

    def for_sizes(self, names: Mapping[str, Dim]) -> Kernel:
        """The same for other sizes, which have the place of those that it names."""

        @cache  # strides and arguments are a few dims, again and again
        def dim(known: Dim) -> Dim:
            return substitute(known, names)

        return replace(
            self,
            arguments=tuple(replace(one, dim=dim(one.dim)) for one in self.arguments),
            layouts=tuple(Layout(dim(one.offset), tuple(map(dim, one.strides))) for one in self.layouts),
            following=tuple(one.for_sizes(names) for one in self.following),
            choice=substitute(self.choice, names),
            instead=self.instead and self.instead.for_sizes(names),
        )


class KernelLowering(Loops):
    """What the host passes, and what is in it."""

    scheduled: Readable | None = None

    def run(self, name: str) -> Kernel:
        for parameter in self.region.parameters:
            if isinstance(parameter.type, Tensor):
                self.buffer_for(parameter, parameter.type.dtype)
            else:
                self.scalars[parameter] = Value(parameter.type, parameter.name or "scalar")
                self.emitter.depth_of[self.scalars[parameter]] = 0
        for value in self.region.yielded:
            self.declare_output(value)
        self.emit_loops(name)
        return self._finish(name)

    def emit_loops(self, name: str) -> None:
        """All that the kernel of this name does, as its schedule says."""
        schedule = self.choose_schedule(name)
        self.emit_schedule(schedule, schedule.body, schedule.body)

    def choose_schedule(self, name: str) -> Schedule:
        """The schedule that the user has given for the kernel of this name, or measuring, or the figures."""
        given = given_for(self.target, name)
        if given is not None:
            return schedule_given(given, self.op, self.joined, self.target)
        return tuned_schedule(self.op, self.joined, self.target) or choose(self.joined, self.target, self.used)

    def emit_schedule(self, schedule: Schedule, body: tuple[Node, ...], part: tuple[Node, ...]) -> None:
        """All that a part of the body of a schedule says, or of one of its ways."""
        self.scheduled = Scheduled(self.op, self.joined, schedule, self.target)
        self.begin(body)
        self.nodes(part)

    def begin(self, body: tuple[Node, ...]) -> None:
        """Find out how many lanes turns have, and where a later sweep finds what it needs again."""
        loops = [node for node in walk_nodes(body) if isinstance(node, For)]
        self.lanes = next((loop.step for loop in loops if loop.how == "lanes"), 0)
        self.make_room(node for node in walk_nodes(body) if isinstance(node, Keep))

    # The finished kernel

    def _finish(self, name: str) -> Kernel:
        arguments: list[KernelArgument] = []
        parameters: list[Value] = []
        for position, parameter in enumerate(self.region.parameters):
            if parameter in self.buffers:
                arguments.append(KernelArgument("operand", position))
                parameters.append(self.buffers[parameter])
            else:
                arguments.append(KernelArgument("scalar", position))
                parameters.append(self.scalars[parameter])
        for position, value in enumerate(self.region.yielded):
            arguments.append(KernelArgument("output", position))
            parameters.append(self.outputs[value][0])
        for buffer, size in self.scratch:
            arguments.append(KernelArgument("scratch", 0, size * self.parts, buffer_dtype(buffer)))
            parameters.append(buffer)
        for dim, value in self.emitter.sizes.items():
            if not isinstance(dim, int):
                arguments.append(KernelArgument("size", 0, dim))
                parameters.append(value)
        facts: dict[str, object] = {}
        if self.target.distributed and self.reduced:
            reach = self.joined.reach()
            facts["narrow"] = 0 if isinstance(reach, int) and reach < NARROW else NARROW
            if facts["narrow"]:
                arguments.append(KernelArgument("size", 0, reach))
                parameters.append(Value(Index(), "reach"))
        region = self.emitter.close(parameters, [])
        function = Function(name, region, (), "loop", MappingProxyType(facts))
        layouts = tuple(layout for _, layout, _ in self.outputs.values())
        return Kernel(function, tuple(arguments), layouts, self.scheduled)


def buffer_dtype(buffer: Value) -> DType:
    """The dtype of what lies in a buffer."""
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype
