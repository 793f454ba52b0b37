"""Offload: the host program of a GPU. Its arrays lie on the device, its numbers on the host, and what moves is an op.

Lowering makes one host program for every kind of processor, as if memory were everywhere. Here each buffer gets its
device, each launch the shape of its grid, and each access to an element becomes a ``transfer`` to or from memory of the
host. The device works through what it is given in order, and the host runs ahead; it waits where it needs a number.

    %0: f32 = read %x, %o            ->     %1: buffer f32 on cuda:0 = offset %x, %o
                                            transfer %host, %1, %4
                                            wait
                                            %0: f32 = read %host, %z {lanes=0}

*Messages.* What goes to another device is brought to the host's memory first, and what comes from one put from there.

*Checks.* A kernel whose check fails fills the program's error record, and kernels behind it do nothing. So nobody waits
for a check: the host inspects the record together with the first number that it needs from the device, before it
changes what the caller sees, before it reports that a check of its own has failed, before it tells another device
anything, and at the end.

Routines that take arrays are cupy's, and work on the device in the stream's order; those of numbers alone are Python's,
called from here. It relies on what `jitflow.passes.analyses.homebound` names being elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.backends.cuda.grid import Launch, grid_of
from jitflow.backends.cuda.movement import WRITES, Movement, element_of
from jitflow.backends.cuda.names import identifier
from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.types import Buffer, Index, Scalar, Type

__all__ = ["offload"]

_MESSAGES = ("send", "recv", "meet", "progress")
_UNKNOWN = ("tape", "push", "pop", "peek", "poke", "extend", "retract", "clear")


def offload(program: Function, device: str) -> Function:
    """The host program for a GPU of one that was lowered for GPUs, in primitives. Its kernels carry the device."""
    return _Offloading(program, device).run()


class _Offloading(Movement):
    def __init__(self, program: Function, device: str) -> None:
        super().__init__(program, device)
        self.launches = {kernel.name: launch_of(kernel) for kernel in program.kernels}
        self.may_fail = {k.name for k in program.kernels if any(op.name == "check" for op in walk(k.region))}
        self.kernels = {kernel.name: self._kernel(kernel) for kernel in program.kernels}

    def run(self) -> Function:
        """The whole program."""
        if self.record is not None:
            room = self.room(I64)
            self.builder.add("write", room, self.number(0), self.builder.make("constant", value=0, type=Scalar(I64)))
            self.builder.add("transfer", self.record[0], room, self.number(8))
        self.builder = Builder()
        self._ops(self.program.region)
        if self.pending:
            self.inspect()
        for buffer, size in self.temporary:
            self.builder.add("free", buffer, size)
        self.builder.add("yield")
        region = Region((), (*self.start.ops, *self.builder.ops))
        functions = tuple(self.kernels.get(function.name, function) for function in self.program.functions)
        return replace(self.program, region=region, functions=functions)

    def _kernel(self, kernel: Function) -> Function:
        """A kernel for the device, called as in C++."""
        attributes = MappingProxyType({**kernel.attributes, "device": self.device})
        return replace(_without_results(kernel), name=identifier(kernel.name), attributes=attributes)

    def _ops(self, region: Region) -> None:
        ops = list(region.body)
        while ops:
            if count := self.side_by_side(ops):
                self.upload_block(ops[:count])
            elif count := self.at_once(ops):
                self.download(ops[:count])
            else:
                count = 1
                self._op(ops[0])
            del ops[:count]

    def _op(self, op: Op) -> None:
        self.builder.loc = op.loc
        if self.at_home.intersection((*op.operands[:1], *op.results)) and op.name != "invoke":
            self.copy(op)
        elif op.name in WRITES:
            self.upload(op)
        elif op.name == "launch":
            self._launch(op)
        elif op.name == "check":
            self._check(op)
        elif op.name in _MESSAGES:
            self._message(op)
        elif op.name in ("if", "for", "while"):
            self._control(op)
        elif op.name == "note":  # the device runs behind the host, and what the note is about is to have ended
            self.builder.add("wait", device=self.device)
            self.copy(replace(op, attributes=MappingProxyType({**op.attributes, "device": self.device})))
        elif op.name in _UNKNOWN:
            raise CompilerBug(f"expected {op.name} on the host's own device", location=op.loc)
        else:
            if op.name in ("result", "invoke") and self.pending:
                self.inspect()
            self.copy(op)

    def _control(self, op: Op) -> None:
        """Regions are entered with all that may have failed before, in loops in any turn before."""
        before = self.pending
        if op.name != "if":
            launches = (inner for region in op.regions for inner in walk(region) if inner.name == "launch")
            before |= any(launch.attributes["kernel"] in self.may_fail for launch in launches)
        after, regions = before and op.name != "if", []
        for region in op.regions:
            self.pending = before
            regions.append(self._region(region))
            after |= self.pending
        self.pending = after
        self.copy(op, regions)

    def _region(self, region: Region) -> Region:
        outer, self.builder = self.builder, Builder()
        parameters = [self.fresh(parameter) for parameter in region.parameters]
        self._ops(region)
        inside, self.builder = self.builder, outer
        return inside.region(parameters, [self.values[value] for value in region.yielded])

    def _check(self, op: Op) -> None:
        """The user hears of the first check that fails in his program, so one in a kernel goes before."""
        if self.pending:
            nothing = Builder().region((), ())
            outer, self.builder = self.builder, Builder(loc=op.loc)
            self.inspect()
            inside, self.builder, self.pending = self.builder, outer, True
            condition = self.values[op.operands[0]]
            self.builder.add("if", condition, types=(), regions=(nothing, inside.region((), ())), rare=1)
        self.copy(op)

    def _message(self, op: Op) -> None:
        moved = op.name == "send" and op.operands and isinstance(op.operands[0].type, Buffer)
        if self.pending and op.name != "recv" and not moved:
            self.inspect()
        if moved:
            self._send(op)
        elif op.results and isinstance(op.results[0].type, Buffer):
            self._receive(op)
        else:
            self.copy(op)

    def _send(self, op: Op) -> None:
        there, size, *dims = (self.values[operand] for operand in op.operands)
        here = self.builder.make("alloc", size, dtype=element_of(there))
        self.builder.add("transfer", here, there, size)
        self.wait()
        self.builder.add("send", here, size, *dims, **op.attributes)
        self.builder.add("free", there, size)

    def _receive(self, op: Op) -> None:
        buffer, size, *dims = op.results
        types, names = [result.type for result in op.results], [result.name for result in op.results]
        here, *sizes = self.builder.add("recv", types=types, names=names, **op.attributes)
        self.values.update(zip((size, *dims), sizes, strict=True))
        room = self.values[op.operands[0]] if op.operands else sizes[0]
        there = self.values[buffer] = self.builder.make("alloc", room, dtype=element_of(buffer), device=self.device)
        self.own.add(there)
        self.builder.add("transfer", there, here, sizes[0])
        self.builder.add("free", here, sizes[0])

    def _launch(self, op: Op) -> None:
        name = op.attributes["kernel"]
        launch = self.launches[name]
        arguments = [self.values[operand] for operand in op.operands]
        blocks = launch.shape(self.builder, self.number, arguments)
        cells = [self._cell(result) for result in op.results]
        record = () if self.record is None else self.record[:1]
        given: dict[str, Any] = {"recorded": True} if record else {}
        room = launch.room(self.builder, self.number, arguments)
        operands = (*arguments, *(cell for cell, _, _ in cells), *record, *blocks, room)
        given |= {"kernel": launch.kernel, "block": launch.block, "device": self.device}
        if launch.narrow_below:
            self._launch_as_sizes_say(launch.narrow_below, arguments, operands, given)
        else:
            self.builder.add("launch", *operands, types=(), **given)
        self.pending |= name in self.may_fail
        if cells:
            self._fetch(op.results, cells)

    def _launch_as_sizes_say(
        self, limit: int, arguments: Sequence[Value], operands: Sequence[Value], given: Mapping[str, Any]
    ) -> None:
        """Launch the kernel for indices of 32 bits where all sizes, and all that they reach, fit into these."""
        largest = self.number(0)
        for argument in arguments:
            if isinstance(argument.type, Index):
                largest = self.builder.make("maximum", largest, argument)
        fits = self.builder.make("less", largest, self.number(limit))
        regions = []
        for kind in ({**given, "narrow": True}, given):
            branch = Builder(loc=self.builder.loc)
            branch.add("launch", *operands, types=(), **kind)
            regions.append(branch.region((), ()))
        self.builder.add("if", fits, types=(), regions=tuple(regions))

    def _cell(self, result: Value) -> tuple[Value, Value, Value]:
        """Memory for a number that a kernel gives, on the device and on the host, and how many bytes it has."""
        dtype = _number_dtype(result.type)
        size = self.number(dtype.itemsize)
        there = self.builder.make("alloc", size, dtype=dtype, device=self.device)
        return there, self.builder.make("alloc", size, dtype=dtype), size

    def _fetch(self, results: Sequence[Value], cells: Sequence[tuple[Value, Value, Value]]) -> None:
        for there, here, size in cells:
            self.builder.add("transfer", here, there, size)
        self.wait()
        for result, (_, here, _) in zip(results, cells, strict=True):
            number = self.builder.make("read", here, self.number(0), lanes=0)
            if isinstance(result.type, Index):
                number = self.builder.make("to_index", number)
            self.values[result] = number
        for there, here, size in cells:
            self.builder.add("free", here, size)
            self.builder.add("free", there, size)


def launch_of(kernel: Function) -> Launch:
    """How a kernel is launched."""
    narrow_below = kernel.attributes.get("narrow", 0)
    return Launch(identifier(kernel.name), kernel.parameters, grid_of(kernel), narrow_below)


def _number_dtype(type: Type) -> DType:
    if isinstance(type, Index):
        return I64
    if not isinstance(type, Scalar):
        raise CompilerBug(f"expected a kernel for GPUs to give numbers, got {type}")
    return type.dtype


def _without_results(kernel: Function) -> Function:
    """A kernel that writes what it gives into memory, whose address is one more parameter for each number."""
    if not kernel.results:
        return kernel
    *body, _ = kernel.region.ops
    builder = Builder()
    cells = [Value(Buffer(_number_dtype(result.type)), "result") for result in kernel.results]
    for cell, result in zip(cells, kernel.results, strict=True):
        builder.add("write", cell, builder.make("size", dim=0), result)
    builder.add("yield")
    return replace(kernel, region=Region((*kernel.parameters, *cells), (*body, *builder.ops)))
