"""A host program that follows the plan of buffers: it frees, hands over and shows what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value, walk_loops
from jitflow.ir.layout import contiguous
from jitflow.ir.types import dims_of
from jitflow.passes.lower.program import HostProgram, Storage
from jitflow.passes.lower.scopes import Scope
from jitflow.passes.plan.planner import plan_buffers
from jitflow.passes.plan.record import Plan
from jitflow.passes.schedule.target import Target
from jitflow.records import cached

__all__ = ["OwningProgram"]


class OwningProgram(HostProgram):
    """What the lowering of each kind of op is given. ``table`` says how each is lowered, by its name."""

    def __init__(
        self, function: Function, target: Target, table: Mapping[str, Callable[[OwningProgram, Op], None]],
        plan: Plan | None = None,
    ) -> None:  # fmt: skip
        super().__init__(function, target)
        self.table = table
        self.plan = plan or plan_buffers(function, distributed=target.distributed, processor=target.processor)
        self.layouts = dict(self.plan.layouts)
        self.concatenations: dict[Op, Storage] = {}
        """The memory of each concatenation, made when its first part is."""
        self.unwritten: set[Value] = set()
        """Arrays of which nobody has written an element: they need no copying."""
        self.held: dict[Value, Value] = {}
        """The references to the arrays of the heap whose memory is used."""
        self._shown: dict[Value, Value] = {}
        self.recursions: dict[str, tuple[Any, Any]] = {}
        """What flows into functions that call themselves, and out of them, by their names."""
        self.called: dict[str, Function] = {}
        """The functions that it calls, as far as they are lowered, by name."""
        self.bodies: list[Scope] = []
        """The scopes of the functions that call themselves which are open, innermost last."""

    def lower_called(self, function: Function) -> Function:
        """A function that this one calls."""
        raise NotImplementedError

    @cached
    def _in_loops(self) -> frozenset[Op]:
        return frozenset(walk_loops(self.function.region))

    def is_in_loop(self, op: Op) -> bool:
        """Whether an op of the tensor function stands in a loop."""
        return op in self._in_loops

    # Which variable a place shows

    def root_number(self, root: Value) -> int:
        """The number by which a program tells a root from others."""
        return self.plan.lifetimes.number(root)

    def root_of(self, place: Value) -> Value:
        """The number of the root that a place shows, as the running program knows it."""
        roots = self.plan.roots(place)
        if len(roots) == 1:
            return self.dim(self.root_number(*roots))
        while place not in self._shown:
            place = self.plan.lifetimes.shown[place]
        return self._shown[place]

    def set_root(self, place: Value, number: Value) -> None:
        """A place has come out of a region, with the number of its root."""
        self._shown[place] = number

    # Regions

    def lower_ops(self, region: Region) -> None:
        """Lower the ops of a region, which is then at its ``yield``, until `end_region`."""
        self._free(region)
        for op in region.body:
            self.builder.loc = op.loc
            self.lower_op(op)
            self._free(op)

    def lower_op(self, op: Op) -> None:
        """Lower an op, as its row says."""
        if op.name not in self.table:
            raise CompilerBug(f"{op.name} has no lowering", location=op.loc)
        self.table[op.name](self, op)

    def end_region(self, region: Region) -> None:
        """Give back what the region has yielded copies of."""
        self._free(region.ops[-1])

    def _free(self, at: Op | Region) -> None:
        for root in self.plan.freed.get(at, ()):
            self.give_back(root)

    def give_back(self, root: Value) -> None:
        """Free the memory of a root, if it is the program's."""
        if root in self.tapes:
            self.builder.add("clear", self.tapes[root])
        storage = self.storage.get(root)
        if root in self.held:
            self.builder.add("hold", self.held[root])
        if storage is not None and storage.bytes is not None:
            self.free(storage)

    # Memory

    def view(self, op: Op) -> None:
        """A view of memory is a layout; one of a number is that number."""
        (operand,) = op.operands
        if operand in self.storage:
            self.storage[op.result] = self.storage[operand]
        else:
            self.number_views[op.result] = operand

    def take(self, op: Op, value: Value) -> Storage:
        """Memory in C order with the elements of an operand, which belongs to the caller: its own, or a copy."""
        return self.whole(value) if value in self.plan.taken.get(op, ()) else self.contiguous_copy(value)

    def whole(self, value: Value) -> Storage:
        """The memory of a value that shows all of it in C order."""
        storage, dims = self.storage[value], dims_of(value.type)
        layout = contiguous(dims, storage.dtype.itemsize)
        return Storage(storage.buffer, storage.bytes, -1, storage.dtype, dims, layout)
