"""The pass that makes the plan of buffers: it walks the fused function once, as lowering does behind it.

A region gives back what is at home in it (`lifetimes.py`) after its last use. Memory that goes on to live elsewhere is
*taken*: a variable that starts as an array that nothing else uses takes that array's memory over, a loop takes over the
memory of what it carries, and a region hands out what it yields. Where the memory cannot be taken, because something
else shows it or it does not lie in C order, it is copied. What a kernel writes to memory that exists stands in
`in_place.py` and `destinations.py`.

What lies in memory here, lowering finds there; scratch of kernels, and copies that live as long as one op, are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import symbol
from jitflow.ir.layout import Layout, contiguous, parameter_layout
from jitflow.ir.ops.held_arrays import WORD_BYTES
from jitflow.ir.routine_table import row_of
from jitflow.ir.types import Place as PlaceType
from jitflow.ir.types import Tensor, Variable, dims_of
from jitflow.machines.hardware import HOME
from jitflow.passes.plan.kernels import Kernels
from jitflow.passes.plan.record import Block, Carried, Place, Plan, Version
from jitflow.passes.plan.results import plan_results
from jitflow.passes.plan.short import short_sizes, with_sizes
from jitflow.passes.schedule.target import Processor

__all__ = ["plan_buffers"]


def plan_buffers(
    function: Function, device: str = HOME, *, distributed: bool = False, processor: Processor | None = None
) -> Plan:
    """What of a fused function lies where, on a device that is ``distributed`` and has such a ``processor``."""
    plan = _Planner(function, device, distributed, processor).run()
    if function.functions:
        called = {one.name: _Planner(one, device, distributed, processor).run() for one in function.functions}
        return replace(plan, called=called)
    short = {} if distributed else short_sizes(function)
    if not short:
        return plan
    version = with_sizes(function, short)
    return replace(plan, short=Version(short, version, _Planner(version, device, distributed, processor).run()))


class _Planner(Kernels):
    def __init__(self, function: Function, device: str, distributed: bool, processor: Processor | None) -> None:
        super().__init__(function, device, distributed, processor)
        self.copied: set[Op] = set()
        self.carried: dict[Op, tuple[Carried, ...]] = {}
        self.strides = 0

    def run(self) -> Plan:
        classes = self.function.attributes.get("layouts")
        for position, parameter in enumerate(self.function.parameters):
            type = parameter.type
            if isinstance(type, Tensor | Variable):
                kind = "C" if classes is None else str(classes[position])
                layout = parameter_layout(position, Tensor(type.dtype, type.dims), kind)
                self.give(parameter, Block(parameter.name, type.dtype, type.dims, self.device, position), layout)
        self.region(self.function.region)
        started = frozenset(op.operands[0] for op in walk(self.function.region) if op.name == "variable")
        results, bases = plan_results(self)
        return Plan(
            self.blocks, self.layouts, self.freed, self.taken_by, self.places, self.replaced,
            frozenset(self.written), frozenset(self.copied), frozenset(self.computed), self.numbers,
            frozenset(self.backwards), self.products, self.carried, frozenset(self.inside), started, results, bases,
            self.lifetimes, {op: nest for op, nest in self.nests.items() if op not in self.numbers},
        )  # fmt: skip

    # Regions

    def region(self, region: Region) -> None:
        """The ops of a region, which is then at its ``yield``, until `end`."""
        ending = self.lifetimes.ending(region)
        self.path.append((region, -1))
        self.free(region, ending.get(-1, ()))
        for number, op in enumerate(region.body):
            self.path[-1] = (region, number)
            self.op(op)
            self.free(op, ending.get(number, ()))
        self.path[-1] = (region, len(region.body))

    def end(self) -> None:
        """Give back what the innermost region has yielded copies of."""
        region, number = self.path[-1]
        self.free(region.ops[-1], self.lifetimes.ending(region).get(number, ()))
        self.path.pop()

    # Ops

    def op(self, op: Op) -> None:
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(self, op)
        elif "view" in op.definition.traits:
            self.view(op)
        elif op.name in _MAKING or "accumulation" in op.definition.traits:
            for result in op.results:
                if isinstance(result.type, Tensor):
                    self.make(result)
        else:
            self.read(op.operands)

    def concatenate(self, op: Op) -> None:
        """Memory, or the part of another concatenation that this one is."""
        if op.result in self.destinations:
            self.places[op.result] = Place(*self.destinations[op.result])
        else:
            self.make(op.result)

    def load(self, op: Op) -> None:
        self.show(op.result, op.operands[0])
        if not dims_of(op.result.type):
            self.read(op.results)

    def variable(self, op: Op) -> None:
        (value,) = op.operands
        kept = op.result in self.lifetimes.kept
        self.make(op.result, owned=not kept, kept=kept)
        if isinstance(value.type, Tensor) and not kept and self.take(op, value):
            self.blocks[op.result] = self.blocks[value]

    def show_items(self, op: Op) -> None:
        """Memory that belongs to the heap: what is in it needs to be held until its last use."""
        assert isinstance(op.result.type, PlaceType)
        dims, width = op.result.type.dims, max(op.result.type.dtype.itemsize, WORD_BYTES)
        self.make(op.result, contiguous(dims, width), owned=False, kept=op.result in self.lifetimes.kept)

    def store(self, op: Op) -> None:
        place, value = op.operands
        if op not in self.written and value in self.blocks and self.meeting.may_meet(value, place):
            self.copied.add(op)

    def scatter(self, op: Op) -> None:
        self.read(op.operands[1:-1])

    def pop(self, op: Op) -> None:
        if dims_of(op.result.type):
            self.make(op.result, owned=op.result not in self.lifetimes.lender)

    def draw(self, op: Op) -> None:
        """A number needs numbers; an array takes its parameters as they lie."""
        if isinstance(op.result.type, Tensor):
            self.read(tuple(operand for operand in op.operands if not dims_of(operand.type)))
            self.make(op.result)
        else:
            self.read(op.operands)

    def message(self, op: Op) -> None:
        """An array goes, and comes, as memory that the message owns."""
        for value in op.operands:
            if dims_of(value.type):
                self.take(op, value)
            else:
                self.read(op.operands)
        for result in op.results:
            if dims_of(result.type):
                self.make(result)

    def call(self, op: Op) -> None:
        for result in op.results:
            if isinstance(result.type, Tensor):
                self.make(result)

    def library_call(self, op: Op) -> None:
        self.call(op)
        if row_of(op.attributes["routine"]).overwrites and self.take(op, op.operands[0]):
            self.blocks[op.results[0]] = self.blocks[op.operands[0]]

    # Control flow

    def branch(self, op: Op) -> None:
        self.read(op.operands)
        carried = self.flow(op, [op.results])
        before = dict(self.taken)
        taken: list[dict[Value, None]] = []
        for region in op.regions:
            self.taken = dict(before)
            self.inner(region, carried)
            taken.append({root: None for root in self.taken if root not in before})
        self.taken = dict(before)
        for region, own in zip(op.regions, taken, strict=True):
            others = {root: None for other in taken for root in other if root not in own}
            self.free(region.ops[-1], (root for root in others if self.is_open(self.lifetimes.home[root])))
        for own in taken:
            self.taken.update(own)
        self.receive(op.results, carried)

    def is_open(self, region: Region) -> bool:
        """Whether the ops of a region are being looked at, or those of one inside it."""
        return any(region is other for other, _ in self.path)

    def for_loop(self, op: Op) -> None:
        (region,) = op.regions
        parameters = region.parameters[1:]
        carried = self.flow(op, [parameters, op.results])
        self.send(op, op.operands[3:], carried)
        self.inner(region, carried, parameters)
        self.receive(op.results, carried)

    def while_loop(self, op: Op) -> None:
        test, turn = op.regions
        carried = self.flow(op, [test.parameters, turn.parameters, op.results])
        self.send(op, op.operands, carried)
        self.receive(test.parameters, carried, owned=False)
        self.inner(test, ())
        self.inner(turn, carried, turn.parameters)
        self.receive(op.results, carried)

    def recursion(self, op: Op) -> None:
        """A function that calls itself owns the arrays that it is given, and who calls it those that it gives."""
        (region,) = op.regions
        carried = self.flow(op, [region.parameters])
        self.send(op, op.operands, carried)
        self.known.append(set())
        self.receive(region.parameters, carried)
        self.region(region)
        self.send(region.ops[-1], region.yielded, [Carried(None, False)] * len(region.yielded))
        self.end()
        self.known.pop()
        self.receive(op.results, [Carried(None, False)] * len(op.results))

    def recur(self, op: Op) -> None:
        self.send(op, op.operands, [Carried(None, False)] * len(op.operands))
        self.receive(op.results, [Carried(None, False)] * len(op.results))

    def inner(self, region: Region, carried: Sequence[Carried], parameters: Sequence[Value] = ()) -> None:
        """A region inside an op, which hands out what it yields."""
        self.known.append(set())
        self.receive(parameters, carried)
        self.region(region)
        self.send(region.ops[-1], region.yielded, carried)
        self.end()
        self.known.pop()

    def flow(self, op: Op, targets: Sequence[Sequence[Value]]) -> tuple[Carried, ...]:
        """What flows, for values that receive it: parameters of regions, results of the op."""
        columns = [[values[position] for values in targets] for position in range(len(targets[0]))]
        self.carried[op] = tuple(Carried(self.always_shown(values), self.strided(values)) for values in columns)
        return self.carried[op]

    def always_shown(self, values: Sequence[Value]) -> Value | None:
        """The variable that a place always shows, all of it."""
        if not isinstance(values[0].type, Variable | PlaceType):
            return None
        roots = frozenset().union(*map(self.lifetimes.roots, values))
        whole = len(roots) == 1 and all(map(self.lifetimes.is_whole, values))
        return next(iter(roots)) if whole else None

    def strided(self, values: Sequence[Value]) -> bool:
        """Whether the strides of a place flow with it."""
        return isinstance(values[0].type, Variable | PlaceType) and not all(map(self.lifetimes.is_plain, values))

    def send(self, op: Op, values: Sequence[Value], carried: Sequence[Carried]) -> None:
        for value, _ in zip(values, carried, strict=False):
            if isinstance(value.type, Tensor):
                self.take(op, value)

    def receive(self, values: Sequence[Value], carried: Sequence[Carried], *, owned: bool = True) -> None:
        for value, how in zip(values, carried, strict=False):
            kind = value.type
            if not isinstance(kind, Tensor | Variable | PlaceType):
                continue
            if how.variable is not None:
                self.show(value, how.variable)
                continue
            layout = self.new_strides(len(kind.dims)) if how.strided else None
            self.make(value, layout, owned=owned and isinstance(kind, Tensor))

    def new_strides(self, rank: int) -> Layout:
        """Strides that only the running program knows."""
        first, self.strides = self.strides + 1, self.strides + rank
        return Layout(0, tuple(symbol(f"stride${number}") for number in range(first, self.strides + 1)))

    # Kernels


_RULES: Mapping[str, Callable[[_Planner, Op], None]] = {
    "if": _Planner.branch,
    "for": _Planner.for_loop,
    "while": _Planner.while_loop,
    "recursion": _Planner.recursion,
    "recur": _Planner.recur,
    "fusion": _Planner.fusion,
    "matmul": _Planner.product,
    "concatenate": _Planner.concatenate,
    "load": _Planner.load,
    "store": _Planner.store,
    "variable": _Planner.variable,
    "show_items": _Planner.show_items,
    "pop": _Planner.pop,
    "draw": _Planner.draw,
    "call": _Planner.call,
    "host_call": _Planner.library_call,
    "scatter": _Planner.scatter,
    "send": _Planner.message,
    "recv": _Planner.message,
}
_MAKING = frozenset({"constant", "contract", "empty"})
"""Ops whose arrays get memory of their own."""
