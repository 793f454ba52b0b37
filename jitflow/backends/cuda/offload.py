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

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.backends.cuda.emit_control import ERROR_WORDS
from jitflow.backends.cuda.grid import Launch, grid_of, takes_record
from jitflow.backends.cuda.names import identifier
from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.routines import numbers_of
from jitflow.ir.types import Buffer, Index, Scalar, Type

__all__ = ["offload"]

_READS, _WRITES = ("read", "read_pair"), ("write", "write_pair")
_MESSAGES = ("send", "recv", "meet", "progress")
_UNKNOWN = ("tape", "push", "pop", "peek", "poke", "extend", "retract", "clear")


def offload(program: Function, device: str) -> Function:
    """The host program for a GPU of one that was lowered for GPUs, in primitives. Its kernels carry the device."""
    return _Offloading(program, device).run()


class _Offloading:
    def __init__(self, program: Function, device: str) -> None:
        self.program = program
        self.device = device
        self.launches = {k.name: Launch(identifier(k.name), k.parameters, grid_of(k)) for k in program.kernels}
        self.may_fail = {k.name for k in program.kernels if any(op.name == "check" for op in walk(k.region))}
        self.kernels = {kernel.name: self._kernel(kernel) for kernel in program.kernels}
        self.values: dict[Value, Value] = {}
        calls = (op for op in walk(program.region) if op.name == "invoke")
        self.at_home = {number for op in calls for number in numbers_of(op.attributes["takes"], op.operands)}
        """Memory of the host, by which routines get numbers and give them."""
        self.sizes: dict[Value, int] = {}
        """The indices that are known, of the program as it was."""
        self.own: set[Value] = set()
        """Memory that the program has allocated, which nobody else sees yet."""
        self.start = self.builder = Builder()
        if "device" in program.attributes:  # one of several, which a thread of its own runs
            self.start.add("attach", device=device)
        self.numbers: dict[int, Value] = {}
        self.rooms: dict[tuple[DType, int], Value] = {}
        """Memory of the host through which elements go, several at a time."""
        self.temporary: list[tuple[Value, Value]] = []
        self.record: tuple[Value, Value] | None = None
        """The error record, and memory of the host for a copy of it."""
        if takes_record(program):
            size = 8 * ERROR_WORDS
            self.record = self._allocate(I64, size, self.device), self._allocate(I64, size)
        self.pending = False
        """Whether a check may have failed that nobody has heard of."""

    def run(self) -> Function:
        """The whole program."""
        if self.record is not None:
            room = self._room(I64)
            self.builder.add("write", room, self._number(0), self.builder.make("constant", value=0, type=Scalar(I64)))
            self.builder.add("transfer", self.record[0], room, self._number(8))
        self.builder = Builder()
        self._ops(self.program.region)
        if self.pending:
            self._inspect()
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

    # Values

    def _number(self, number: int) -> Value:
        """An index, computed once at the start of the program."""
        if number not in self.numbers:
            self.numbers[number] = self.start.make("size", dim=number)
        return self.numbers[number]

    def _fresh(self, value: Value) -> Value:
        type = value.type
        if isinstance(type, Buffer) and value not in self.at_home:
            type = Buffer(type.dtype, self.device)
        self.values[value] = Value(type, value.name)
        return self.values[value]

    def _allocate(self, dtype: DType, size: int, device: str = "cpu") -> Value:
        """Memory for the whole run."""
        nbytes = self._number(size)
        place = {} if device == "cpu" else {"device": device}
        buffer = self.start.make("alloc", nbytes, dtype=dtype, **place)
        self.temporary.append((buffer, nbytes))
        return buffer

    def _room(self, dtype: DType, which: int = 0) -> Value:
        """Room for an element, or for the two numbers of a complex one."""
        if (dtype, which) not in self.rooms:
            self.rooms[dtype, which] = self._allocate(dtype, 2 * dtype.itemsize)
        return self.rooms[dtype, which]

    def _at(self, buffer: Value, offset: Value) -> Value:
        return self.builder.make("offset", buffer, offset)

    # Ops

    def _ops(self, region: Region) -> None:
        ops = list(region.body)
        while ops:
            if count := self._side_by_side(ops):
                self._upload_block(ops[:count])
            elif count := self._at_once(ops):
                self._download(ops[:count])
            else:
                count = 1
                self._op(ops[0])
            del ops[:count]

    def _op(self, op: Op) -> None:
        self.builder.loc = op.loc
        if self.at_home.intersection((*op.operands[:1], *op.results)) and op.name != "invoke":
            self._copy(op)
        elif op.name in _WRITES:
            self._upload(op)
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
            self._copy(replace(op, attributes=MappingProxyType({**op.attributes, "device": self.device})))
        elif op.name in _UNKNOWN:
            raise CompilerBug(f"expected {op.name} on the host's own device", location=op.loc)
        else:
            if op.name in ("result", "invoke") and self.pending:
                self._inspect()
            self._copy(op)

    def _copy(self, op: Op, regions: Sequence[Region] = ()) -> None:
        """The same op, on the values of the new program."""
        operands = tuple(self.values[operand] for operand in op.operands)
        attributes = dict(op.attributes)
        if op.name == "size":
            dim = op.attributes["dim"]
            self.sizes |= {op.result: dim} if isinstance(dim, int) else {}
        if (op.name == "alloc" and op.result not in self.at_home) or (op.name == "invoke" and _takes_arrays(op)):
            attributes["device"] = self.device
        results = tuple(self._fresh(result) for result in op.results)
        if op.name == "alloc":
            self.own.update(results)
        frozen = MappingProxyType(attributes)
        copied = replace(op, operands=operands, results=results, attributes=frozen, regions=tuple(regions))
        self.builder.ops.append(copied)

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
        self._copy(op, regions)

    def _region(self, region: Region) -> Region:
        outer, self.builder = self.builder, Builder()
        parameters = [self._fresh(parameter) for parameter in region.parameters]
        self._ops(region)
        inside, self.builder = self.builder, outer
        return inside.region(parameters, [self.values[value] for value in region.yielded])

    def _check(self, op: Op) -> None:
        """The user hears of the first check that fails in his program, so one in a kernel goes before."""
        if self.pending:
            nothing = Builder().region((), ())
            outer, self.builder = self.builder, Builder(loc=op.loc)
            self._inspect()
            inside, self.builder, self.pending = self.builder, outer, True
            condition = self.values[op.operands[0]]
            self.builder.add("if", condition, types=(), regions=(nothing, inside.region((), ())), rare=1)
        self._copy(op)

    # Movement

    def _inspect(self) -> None:
        self._ask_for_record()
        self.builder.add("wait", device=self.device)
        self._hear_of_failures()

    def _ask_for_record(self) -> None:
        there, here = self._record()
        self.builder.add("transfer", here, there, self._number(8 * ERROR_WORDS))

    def _hear_of_failures(self) -> None:
        self.builder.add("inspect", self._record()[1])
        self.pending = False

    def _record(self) -> tuple[Value, Value]:
        assert self.record is not None
        return self.record

    def _wait(self) -> None:
        """Wait for what was asked for; what a kernel that failed has left is nothing to go on with."""
        if self.pending:
            self._ask_for_record()
        self.builder.add("wait", device=self.device)
        if self.pending:
            self._hear_of_failures()

    def _at_once(self, ops: Sequence[Op]) -> int:
        """How many of the ops, from the first on, are reads and what need not stand between them; 0 for no read."""

        def belongs(op: Op) -> bool:
            at_home = self.at_home.intersection(op.operands[:1])
            return op.name in (*_READS, "free", "size", "constant") and not at_home

        if ops[0].name not in _READS:
            return 0
        return next((number for number, op in enumerate(ops) if not belongs(op)), len(ops))

    def _download(self, ops: Sequence[Op]) -> None:
        """Ask for all numbers that are read, and wait once."""
        reads = [op for op in ops if op.name in _READS]
        for op in ops:
            if op.name in ("size", "constant"):
                self._copy(op)
        taken: Counter[DType] = Counter()
        rooms: list[Value] = []
        for op in reads:
            self.builder.loc = op.loc
            buffer, offset = (self.values[operand] for operand in op.operands)
            rooms.append(self._room(_dtype(buffer), taken[_dtype(buffer)]))
            taken[_dtype(buffer)] += 1
            self.builder.add("transfer", rooms[-1], self._at(buffer, offset), self._number(_bytes(op)))
        self._wait()
        for op, room in zip(reads, rooms, strict=True):
            numbers = self.builder.add(op.name, room, self._number(0), lanes=0)
            self.values.update(zip(op.results, numbers, strict=True))
        for op in ops:
            if op.name == "free":
                self._copy(op)

    def _upload(self, op: Op) -> None:
        buffer, offset, *numbers = (self.values[operand] for operand in op.operands)
        if self.pending and buffer not in self.own:
            self._inspect()
        room = self._room(_dtype(buffer))
        self.builder.add(op.name, room, self._number(0), *numbers)
        self.builder.add("transfer", self._at(buffer, offset), room, self._number(_bytes(op)))

    def _side_by_side(self, ops: Sequence[Op]) -> int:
        """How many of the ops, from the first on, write numbers side by side to one block; 0 for fewer than two."""
        if ops[0].name not in _WRITES or ops[0].operands[0] in self.at_home:
            return 0
        known, expected, found, writes = dict(self.sizes), None, 0, 0
        for number, op in enumerate(ops, 1):
            if op.name == "size" and isinstance(op.attributes["dim"], int):
                known[op.result] = op.attributes["dim"]
            elif op.name in _WRITES and op.operands[0] is ops[0].operands[0]:
                start = known.get(op.operands[1])
                if start is None or expected not in (None, start):
                    break
                expected, found, writes = start + _bytes(op), number, writes + 1
            elif op.name != "constant":
                break
        return found if writes > 1 else 0

    def _upload_block(self, ops: Sequence[Op]) -> None:
        self.builder.loc = ops[0].loc
        writes = [op for op in ops if op.name in _WRITES]
        for op in ops:
            if op.name not in _WRITES:
                self._copy(op)
        target = self.values[writes[0].operands[0]]
        if self.pending and target not in self.own:
            self._inspect()
        total = self._number(sum(map(_bytes, writes)))
        source = self.builder.make("alloc", total, dtype=_dtype(target))
        start = 0
        for op in writes:
            numbers = (self.values[operand] for operand in op.operands[2:])
            self.builder.add(op.name, source, self._number(start), *numbers)
            start += _bytes(op)
        self.builder.add("transfer", self._at(target, self.values[writes[0].operands[1]]), source, total)
        self.builder.add("free", source, total)

    def _message(self, op: Op) -> None:
        moved = op.name == "send" and op.operands and isinstance(op.operands[0].type, Buffer)
        if self.pending and op.name != "recv" and not moved:
            self._inspect()
        if moved:
            self._send(op)
        elif op.results and isinstance(op.results[0].type, Buffer):
            self._receive(op)
        else:
            self._copy(op)

    def _send(self, op: Op) -> None:
        there, size, *dims = (self.values[operand] for operand in op.operands)
        here = self.builder.make("alloc", size, dtype=_dtype(there))
        self.builder.add("transfer", here, there, size)
        self._wait()
        self.builder.add("send", here, size, *dims, **op.attributes)
        self.builder.add("free", there, size)

    def _receive(self, op: Op) -> None:
        buffer, size, *dims = op.results
        types, names = [result.type for result in op.results], [result.name for result in op.results]
        here, *sizes = self.builder.add("recv", types=types, names=names, **op.attributes)
        self.values.update(zip((size, *dims), sizes, strict=True))
        room = self.values[op.operands[0]] if op.operands else sizes[0]
        there = self.values[buffer] = self.builder.make("alloc", room, dtype=_dtype(buffer), device=self.device)
        self.own.add(there)
        self.builder.add("transfer", there, here, sizes[0])
        self.builder.add("free", here, sizes[0])

    # Launches

    def _launch(self, op: Op) -> None:
        name = op.attributes["kernel"]
        launch = self.launches[name]
        arguments = [self.values[operand] for operand in op.operands]
        blocks = launch.shape(self.builder, self._number, arguments)
        cells = [self._cell(result) for result in op.results]
        record = () if self.record is None else self.record[:1]
        given: dict[str, Any] = {"recorded": True} if record else {}
        room = launch.room(self.builder, self._number, arguments)
        operands = (*arguments, *(cell for cell, _, _ in cells), *record, *blocks, room)
        given |= {"kernel": launch.kernel, "block": launch.block, "device": self.device}
        self.builder.add("launch", *operands, types=(), **given)
        self.pending |= name in self.may_fail
        if cells:
            self._fetch(op.results, cells)

    def _cell(self, result: Value) -> tuple[Value, Value, Value]:
        """Memory for a number that a kernel gives, on the device and on the host, and how many bytes it has."""
        dtype = _number_dtype(result.type)
        size = self._number(dtype.itemsize)
        there = self.builder.make("alloc", size, dtype=dtype, device=self.device)
        return there, self.builder.make("alloc", size, dtype=dtype), size

    def _fetch(self, results: Sequence[Value], cells: Sequence[tuple[Value, Value, Value]]) -> None:
        for there, here, size in cells:
            self.builder.add("transfer", here, there, size)
        self._wait()
        for result, (_, here, _) in zip(results, cells, strict=True):
            number = self.builder.make("read", here, self._number(0), lanes=0)
            if isinstance(result.type, Index):
                number = self.builder.make("to_index", number)
            self.values[result] = number
        for there, here, size in cells:
            self.builder.add("free", here, size)
            self.builder.add("free", there, size)


def _dtype(buffer: Value) -> DType:
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype


def _number_dtype(type: Type) -> DType:
    if isinstance(type, Index):
        return I64
    if not isinstance(type, Scalar):
        raise CompilerBug(f"expected a kernel for GPUs to give numbers, got {type}")
    return type.dtype


def _takes_arrays(invoke: Op) -> bool:
    return any(isinstance(kind, int) for _, kind in invoke.attributes["takes"])


def _bytes(op: Op) -> int:
    """The bytes of an element that a host program reads or writes."""
    return _dtype(op.operands[0]).itemsize * (2 if op.name.endswith("pair") else 1)


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
