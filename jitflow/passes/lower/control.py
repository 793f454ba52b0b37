"""Loops and branches of the host program.

What flows into a region or out of it flows as values of the host program: a number as itself, an array as the address
of memory that is the loop's own, together with the sizes that its type binds there. So arrays swap by swapping
addresses, and may change their size from turn to turn. Threads share a loop whose turns are known to be independent.

A place that may show one of several variables flows as an address as well, with strides where not everything that
arrives is a whole variable in C order; a place that always shows the same variable needs not flow at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, product
from jitflow.ir.effects import calls_again
from jitflow.ir.types import Buffer, Index, Place, Scalar, Tape, Tensor, Type, Variable, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.plan.record import Carried
from jitflow.passes.schedule.cost import TURNS, WORTH
from jitflow.passes.schedule.turns import work_of_turn

__all__ = ["ALONE", "Flow", "lower_for", "lower_if", "lower_recur", "lower_recursion", "lower_while"]


def lower_if(host: OwningProgram, op: Op) -> None:
    """A branch, whose ways give back the same memory."""
    condition = host.number(op.operands[0])
    flow = Flow(host, op, [op.results])
    regions = []
    for region in op.regions:
        host.scopes.enter(op.loc)
        host.lower_ops(region)
        yielded = flow.send(region.ops[-1], region.yielded)
        host.end_region(region)
        regions.append(host.scopes.leave().builder.region((), yielded))
    results = host.builder.add("if", condition, types=flow.types(), regions=tuple(regions), **op.attributes)
    flow.receive(op.results, results)


def lower_for(host: OwningProgram, op: Op) -> None:
    """A loop with a position."""
    start, stop, step = (host.number(operand) for operand in op.operands[:3])
    (region,) = op.regions
    position, *parameters = region.parameters
    flow = Flow(host, op, [parameters, op.results], bound=(position,))
    initial = flow.send(op, op.operands[3:])
    if op.attributes.get("parallel") and host.target.threads > 1:
        _share(host, op, flow)
        return
    body = flow.body(region, parameters, position)
    results = host.builder.add("for", start, stop, step, *initial, types=flow.types(), regions=(body,))
    flow.receive(op.results, results)


def _share(host: OwningProgram, op: Op, flow: Flow) -> None:
    """A loop whose turns threads share, where there are several for each: else they share the kernels in it."""
    build, threads = host.builder.make, host.target.threads
    start, stop, step = (host.number(operand) for operand in op.operands[:3])
    count = build("subtract", stop, start)
    several = build("greater_equal", count, host.dim(threads * TURNS))
    work = build("select", several, host.dim(work_of_turn(op, host.scopes.knows)), host.dim(0))
    first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
    body = flow.body(op.regions[0], (), op.regions[0].parameters[0])
    inside = Builder(loc=op.loc)
    ends = [inside.make("add", start, end) for end in (first, last)]
    inside.add("for", *ends, step, types=(), regions=(body,))
    region = inside.region((first, last, worker), ())
    host.builder.add("share", count, work, types=(), regions=(region,), step=1, threads=threads, worth=WORTH)


def lower_while(host: OwningProgram, op: Op) -> None:
    """A loop with a condition."""
    test, turn = op.regions
    flow = Flow(host, op, [test.parameters, turn.parameters, op.results])
    initial = flow.send(op, op.operands)
    condition = flow.condition(test)
    body = flow.body(turn, turn.parameters)
    results = host.builder.add("while", *initial, types=flow.types(), regions=(condition, body))
    flow.receive(op.results, results)


def lower_recursion(host: OwningProgram, op: Op) -> None:
    """A function that calls itself, as a region still (`jitflow.passes.lower.procedures` makes functions of these)."""
    (region,) = op.regions
    again = list(calls_again(op))
    given = Flow(host, op, [region.parameters])
    found = Flow(host, op, [op.results, *(call.results for call in again)], carried=[ALONE] * len(op.results))
    host.recursions[op.attributes["function"]] = given, found
    operands = given.send(op, op.operands)
    host.bodies.append(host.scopes.enter())
    arriving = given.parameters()
    given.receive(region.parameters, arriving)
    host.lower_ops(region)
    yielded = found.send(region.ops[-1], region.yielded)
    host.end_region(region)
    host.bodies.pop()
    body = host.scopes.leave().builder.region(arriving, yielded)
    owned = given.owned(region.parameters)
    name, frames = op.attributes["function"] + host.suffix, op.attributes["frames"]
    results = host.builder.add("recursion", *operands, types=found.types(), regions=(body,), function=name,
                               frames=frames, owned=owned)  # fmt: skip
    found.receive(op.results, results)


def lower_recur(host: OwningProgram, op: Op) -> None:
    """A call of the function that it stands in."""
    given, found = host.recursions[op.attributes["function"]]
    operands = given.send(op, op.operands)
    name, frames = op.attributes["function"] + host.suffix, op.attributes["frames"]
    results = host.builder.add("recur", *operands, types=found.types(), function=name, frames=frames)
    found.receive(op.results, results)


ALONE = Carried(None, False)
"""How a number flows, and an array with memory of its own."""


class Flow:
    """What flows along the edges of one op: for each carried value the host's values that stand for it."""

    def __init__(
        self, host: OwningProgram, op: Op, targets: Sequence[Sequence[Value]], bound: Sequence[Value] = (),
        carried: Sequence[Carried] | None = None,
    ) -> None:  # fmt: skip
        """``targets`` are the lists of values that receive it: parameters of regions, results of the op."""
        self.host = host
        self.targets = targets
        self.carried = host.plan.carried[op] if carried is None else carried
        names = {str(value.type.dim) for value in bound if isinstance(value.type, Index)}
        self.fresh: set[tuple[int, int]] = set()
        """Which axes have a size that flows, since a receiver binds it: (position of the value, axis)."""
        for values in targets:
            for position, value in enumerate(values):
                for axis, dim in enumerate(dims_of(value.type)):
                    if _is_new(dim, names, host):
                        self.fresh.add((position, axis))

    # The values of the host program

    def types(self) -> list[Type]:
        """The types of what flows."""
        return [type for position, value in enumerate(self.targets[0]) for type in self._types(position, value)]

    def _types(self, position: int, value: Value) -> Iterator[Type]:
        kind = value.type
        if isinstance(kind, Scalar | Index):
            yield kind if isinstance(kind, Scalar) else Index()
            return
        if isinstance(kind, Tape):
            yield kind
            return
        if not isinstance(kind, Tensor | Variable | Place):
            raise CompilerBug(f"expected numbers and arrays to flow through regions, got {kind}")
        if self.carried[position].variable is not None:
            return
        yield Buffer(kind.dtype)
        for axis in range(len(kind.dims)):
            if (position, axis) in self.fresh:
                yield Index()
        if self.carried[position].strided:
            yield from [Index()] * len(kind.dims)
        if self._chosen(position):
            yield Index()

    def _chosen(self, position: int) -> bool:
        """Whether the number of the variable that a place shows flows with it."""
        return self.host.plan.numbers_roots and not isinstance(self.targets[0][position].type, Tensor)

    # Sending and receiving

    def send(self, op: Op, values: Sequence[Value]) -> list[Value]:
        """The host's values for what an op sends along an edge. Arrays are handed over."""
        return [part for position, value in enumerate(values) for part in self._send(op, position, value)]

    def _send(self, op: Op, position: int, value: Value) -> Iterator[Value]:
        host = self.host
        if isinstance(value.type, Scalar | Index):
            yield host.number(value)
            return
        if isinstance(value.type, Tape):
            yield host.tapes[value]
            return
        if self.carried[position].variable is not None:
            return
        dims = dims_of(value.type)
        if isinstance(value.type, Tensor):
            yield host.take(op, value).buffer
        else:
            offset = host.layouts[value].offset
            buffer = host.storage[value].buffer
            yield buffer if offset == 0 else host.builder.make("offset", buffer, host.dim(offset))
        for axis, dim in enumerate(dims):
            if (position, axis) in self.fresh:
                yield host.dim(dim)
        if self.carried[position].strided:
            yield from (host.dim(stride) for stride in host.layouts[value].strides)
        if self._chosen(position):
            yield host.root_of(value)

    def owned(self, values: Sequence[Value]) -> tuple[int, ...]:
        """Which of the host's values are memory that goes along with a value."""
        types = [(type, isinstance(value.type, Tensor)) for position, value in enumerate(values)
                 for type in self._types(position, value)]  # fmt: skip
        return tuple(number for number, (type, owned) in enumerate(types) if owned and isinstance(type, Buffer))

    def parameters(self) -> list[Value]:
        """New values for a region's parameters."""
        return [Value(type) for type in self.types()]

    def receive(self, values: Sequence[Value], parts: Sequence[Value], *, owned: bool = True) -> None:
        """Give values of the tensor function what has arrived, in the innermost scope. ``owned``: with its memory."""
        arriving = iter(parts)
        for position, value in enumerate(values):
            self._receive(position, value, arriving, owned)

    def _receive(self, position: int, value: Value, parts: Iterator[Value], owned: bool) -> None:
        host, kind = self.host, value.type
        if isinstance(kind, Scalar | Index):
            number = next(parts)
            host.set_number(value, number)
            if isinstance(kind, Index):
                self._bind(kind.dim, number)
            return
        if isinstance(kind, Tape):
            host.tapes[value] = next(parts)
            return
        assert isinstance(kind, Tensor | Variable | Place)
        variable = self.carried[position].variable
        if variable is not None:
            host.storage[value] = host.storage[variable]
            return
        buffer = next(parts)
        for axis, dim in enumerate(kind.dims):
            if (position, axis) in self.fresh:
                self._bind(dim, next(parts))
        layout = host.layouts[value]
        if self.carried[position].strided:
            for stride in layout.strides:
                host.scopes.bind(str(stride), next(parts))
        if self._chosen(position):
            host.set_root(value, next(parts))
        nbytes = None
        if owned and isinstance(kind, Tensor):
            nbytes = host.dim(product(kind.dims) * kind.dtype.itemsize)
        host.give(value, Storage(buffer, nbytes, -1, kind.dtype, kind.dims, layout))

    def _bind(self, dim: Dim | None, value: Value) -> None:
        if isinstance(dim, Expression) and dim.is_symbol and not self.host.scopes.knows(str(dim)):
            self.host.scopes.bind(str(dim), value)

    # Regions of loops

    def body(self, region: Region, parameters: Sequence[Value], position: Value | None = None) -> Region:
        """The region of one turn."""
        host = self.host
        host.scopes.enter()
        own: list[Value] = []
        if position is not None:
            own.append(Value(Index(), position.name))
            host.set_number(position, own[0])
            if isinstance(position.type, Index):
                self._bind(position.type.dim, own[0])
        arriving = self.parameters()
        self.receive(parameters, arriving)
        host.lower_ops(region)
        yielded = self.send(region.ops[-1], region.yielded)
        host.end_region(region)
        return host.scopes.leave().builder.region([*own, *arriving], yielded)

    def condition(self, region: Region) -> Region:
        """The region that decides whether there is another turn; it owns nothing of what is carried."""
        host = self.host
        host.scopes.enter()
        arriving = self.parameters()
        self.receive(region.parameters, arriving, owned=False)
        host.lower_ops(region)
        proceed = host.number(region.yielded[0])
        host.end_region(region)
        return host.scopes.leave().builder.region(arriving, [proceed])


def _is_new(dim: Dim, names: set[str], host: OwningProgram) -> bool:
    is_symbol = isinstance(dim, Expression) and dim.is_symbol
    return is_symbol and str(dim) not in names and not host.scopes.knows(str(dim))
