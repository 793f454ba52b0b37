"""What moves between a GPU and the host: numbers, one by one or side by side, and the record of what has failed.

Each access to an element becomes a ``transfer`` to or from memory of the host, and the host waits where it needs a
number. It inspects the error record together with the first number that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.backends.cuda.emit_control import ERROR_WORDS
from jitflow.backends.cuda.grid import takes_record
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.routines import numbers_of
from jitflow.ir.types import Buffer

__all__ = ["READS", "WRITES", "Movement", "element_of"]

READS, WRITES = ("read", "read_pair"), ("write", "write_pair")


class Movement:
    """A host program for a GPU under construction, and what it moves."""

    def __init__(self, program: Function, device: str) -> None:
        self.program = program
        self.device = device
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
            self.record = self.allocate(I64, size, self.device), self.allocate(I64, size)
        self.pending = False
        """Whether a check may have failed that nobody has heard of."""

    def number(self, number: int) -> Value:
        """An index, computed once at the start of the program."""
        if number not in self.numbers:
            self.numbers[number] = self.start.make("size", dim=number)
        return self.numbers[number]

    def fresh(self, value: Value) -> Value:
        type = value.type
        if isinstance(type, Buffer) and value not in self.at_home:
            type = Buffer(type.dtype, self.device)
        self.values[value] = Value(type, value.name)
        return self.values[value]

    def allocate(self, dtype: DType, size: int, device: str = "cpu") -> Value:
        """Memory for the whole run."""
        nbytes = self.number(size)
        place = {} if device == "cpu" else {"device": device}
        buffer = self.start.make("alloc", nbytes, dtype=dtype, **place)
        self.temporary.append((buffer, nbytes))
        return buffer

    def room(self, dtype: DType, which: int = 0) -> Value:
        """Room for an element, or for the two numbers of a complex one."""
        if (dtype, which) not in self.rooms:
            self.rooms[dtype, which] = self.allocate(dtype, 2 * dtype.itemsize)
        return self.rooms[dtype, which]

    def at(self, buffer: Value, offset: Value) -> Value:
        return self.builder.make("offset", buffer, offset)

    def copy(self, op: Op, regions: Sequence[Region] = ()) -> None:
        """The same op, on the values of the new program."""
        operands = tuple(self.values[operand] for operand in op.operands)
        attributes = dict(op.attributes)
        if op.name == "size":
            dim = op.attributes["dim"]
            self.sizes |= {op.result: dim} if isinstance(dim, int) else {}
        if (op.name == "alloc" and op.result not in self.at_home) or (op.name == "invoke" and _takes_arrays(op)):
            attributes["device"] = self.device
        results = tuple(self.fresh(result) for result in op.results)
        if op.name == "alloc":
            self.own.update(results)
        frozen = MappingProxyType(attributes)
        copied = replace(op, operands=operands, results=results, attributes=frozen, regions=tuple(regions))
        self.builder.ops.append(copied)

    def inspect(self) -> None:
        self.ask_for_record()
        self.builder.add("wait", device=self.device)
        self.hear_of_failures()

    def ask_for_record(self) -> None:
        there, here = self.known_record()
        self.builder.add("transfer", here, there, self.number(8 * ERROR_WORDS))

    def hear_of_failures(self) -> None:
        self.builder.add("inspect", self.known_record()[1])
        self.pending = False

    def known_record(self) -> tuple[Value, Value]:
        assert self.record is not None
        return self.record

    def wait(self) -> None:
        """Wait for what was asked for; what a kernel that failed has left is nothing to go on with."""
        if self.pending:
            self.ask_for_record()
        self.builder.add("wait", device=self.device)
        if self.pending:
            self.hear_of_failures()

    def at_once(self, ops: Sequence[Op]) -> int:
        """How many of the ops, from the first on, are reads and what need not stand between them; 0 for no read."""

        def belongs(op: Op) -> bool:
            at_home = self.at_home.intersection(op.operands[:1])
            return op.name in (*READS, "free", "size", "constant") and not at_home

        if ops[0].name not in READS:
            return 0
        return next((number for number, op in enumerate(ops) if not belongs(op)), len(ops))

    def download(self, ops: Sequence[Op]) -> None:
        """Ask for all numbers that are read, and wait once."""
        reads = [op for op in ops if op.name in READS]
        for op in ops:
            if op.name in ("size", "constant"):
                self.copy(op)
        taken: Counter[DType] = Counter()
        rooms: list[Value] = []
        for op in reads:
            self.builder.loc = op.loc
            buffer, offset = (self.values[operand] for operand in op.operands)
            rooms.append(self.room(element_of(buffer), taken[element_of(buffer)]))
            taken[element_of(buffer)] += 1
            self.builder.add("transfer", rooms[-1], self.at(buffer, offset), self.number(_bytes(op)))
        self.wait()
        for op, room in zip(reads, rooms, strict=True):
            numbers = self.builder.add(op.name, room, self.number(0), lanes=0)
            self.values.update(zip(op.results, numbers, strict=True))
        for op in ops:
            if op.name == "free":
                self.copy(op)

    def upload(self, op: Op) -> None:
        buffer, offset, *numbers = (self.values[operand] for operand in op.operands)
        if self.pending and buffer not in self.own:
            self.inspect()
        room = self.room(element_of(buffer))
        self.builder.add(op.name, room, self.number(0), *numbers)
        self.builder.add("transfer", self.at(buffer, offset), room, self.number(_bytes(op)))

    def side_by_side(self, ops: Sequence[Op]) -> int:
        """How many of the ops, from the first on, write numbers side by side to one block; 0 for fewer than two."""
        if ops[0].name not in WRITES or ops[0].operands[0] in self.at_home:
            return 0
        known, expected, found, writes = dict(self.sizes), None, 0, 0
        for number, op in enumerate(ops, 1):
            if op.name == "size" and isinstance(op.attributes["dim"], int):
                known[op.result] = op.attributes["dim"]
            elif op.name in WRITES and op.operands[0] is ops[0].operands[0]:
                start = known.get(op.operands[1])
                if start is None or expected not in (None, start):
                    break
                expected, found, writes = start + _bytes(op), number, writes + 1
            elif op.name != "constant":
                break
        return found if writes > 1 else 0

    def upload_block(self, ops: Sequence[Op]) -> None:
        self.builder.loc = ops[0].loc
        writes = [op for op in ops if op.name in WRITES]
        for op in ops:
            if op.name not in WRITES:
                self.copy(op)
        target = self.values[writes[0].operands[0]]
        if self.pending and target not in self.own:
            self.inspect()
        total = self.number(sum(map(_bytes, writes)))
        source = self.builder.make("alloc", total, dtype=element_of(target))
        start = 0
        for op in writes:
            numbers = (self.values[operand] for operand in op.operands[2:])
            self.builder.add(op.name, source, self.number(start), *numbers)
            start += _bytes(op)
        self.builder.add("transfer", self.at(target, self.values[writes[0].operands[1]]), source, total)
        self.builder.add("free", source, total)


def element_of(buffer: Value) -> DType:
    """The dtype of the elements of a buffer."""
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype


def _takes_arrays(invoke: Op) -> bool:
    return any(isinstance(kind, int) for _, kind in invoke.attributes["takes"])


def _bytes(op: Op) -> int:
    """The bytes of an element that a host program reads or writes."""
    return element_of(op.operands[0]).itemsize * (2 if op.name.endswith("pair") else 1)
