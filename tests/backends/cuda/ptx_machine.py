"""PTX as text and as the state of a grid: kernels with their instructions, registers of all threads, memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DTYPES", "MIDDLE", "WARP", "Array", "Block", "Copy", "Instruction", "Kernel", "Machine", "PtxError",
           "Shared", "parse_ptx"]  # fmt: skip

Array = np.ndarray[Any, Any]
WARP = 32
WIDTHS = {"pred": 1, "b8": 8, "b16": 16, "b32": 32, "f32": 32, "b64": 64, "f64": 64}
DTYPES = {
    "pred": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    **{f"{kind}{bits}": getattr(np, f"{'int' if kind == 's' else 'uint'}{bits}")
       for kind in "sub" for bits in (8, 16, 32, 64)},
}  # fmt: skip
BITS = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class PtxError(Exception):
    """The text does what PTX does not define, or what this interpreter does not know."""


@dataclass(frozen=True, slots=True)
class Instruction:
    guard: str
    opcode: str
    operands: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    parameters: dict[str, str]
    """Types of the parameters by name."""
    registers: dict[str, str]
    """Types of registers by what their names begin with."""
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    shared: dict[str, int] = field(default_factory=dict)
    """Bytes of the memory that the threads of a block share, by name; -1 for as much as there is at the launch."""


# -- reading

_ENTRY = re.compile(r"\.visible \.entry (\w+)\((.*?)\)\s*(?:\.\w+[^{]*)?\{(.*?)\n\}", re.DOTALL)
_SHARED = re.compile(r"\.shared \.align \d+ \.b8 (\w+)\[(\d*)\]")
_INSTRUCTION = re.compile(r"(?:@(!?%\w+)\s+)?([a-z][\w.]*)(?:\s+(.*))?")


def parse_ptx(text: str) -> dict[str, Kernel]:
    """The kernels of a module by name. What the module shares is in each kernel that names it, and of its own there."""
    text = re.sub(r"//[^\n]*", "", text)
    declared = {name: int(size or -1) for name, size in _SHARED.findall(_ENTRY.sub("", text))}
    return {name: _parse_kernel(name, parameters, body, declared) for name, parameters, body in _ENTRY.findall(text)}


def _parse_kernel(name: str, parameters: str, body: str, declared: dict[str, int]) -> Kernel:
    named = set(re.findall(r"\w+", body))
    kernel = Kernel(name, {}, {}, (), {}, {name: size for name, size in declared.items() if name in named})
    for parameter in filter(None, (part.strip() for part in parameters.split(","))):
        _, type, parameter_name = parameter.split()
        kernel.parameters[parameter_name] = type.removeprefix(".")
    instructions: list[Instruction] = []
    for statement in re.findall(r"\$\w+:|[^;{}\n]*\{[^}\n]*\}[^;]*;|[^;\n]+;", body):
        line = statement.strip().rstrip(";")
        if line.endswith(":"):
            kernel.labels[line[:-1]] = len(instructions)
        elif line.startswith(".shared"):
            found = _SHARED.fullmatch(line)
            if found is None or not found[2]:
                raise PtxError(f"expected bytes that are shared, got {line!r}")
            kernel.shared[found[1]] = int(found[2])
        elif line.startswith(".reg"):
            _, type, prefix = line.split()
            kernel.registers[prefix.partition("<")[0]] = type.removeprefix(".")
        elif not line.startswith(".pragma"):
            instructions.append(_parse_instruction(line))
    return Kernel(name, kernel.parameters, kernel.registers, tuple(instructions), kernel.labels, kernel.shared)


def _parse_instruction(line: str) -> Instruction:
    match = _INSTRUCTION.fullmatch(line)
    if match is None:
        raise PtxError(f"expected an instruction, got {line!r}")
    guard, opcode, rest = match.groups()
    operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s|]+", rest or "")
    return Instruction(guard or "", opcode, tuple(operands), line)


# -- state


@dataclass(eq=False)
class Block:
    """A buffer: its bytes, which of them have been written (None where that is not watched), and who is at each.

    A worker is what others do not wait for: a warp, or a thread where threads work alone. What one has written no other
    may read in the same launch, nor may it write what another has read. Several may write the same.
    """

    content: Array
    written: Array | None = None
    writers: Array | None = None
    readers: Array | None = None

    def load(self, cells: Array, workers: Array) -> Array:
        """The bytes at these places."""
        if self.written is not None and not self.written[cells].all():
            raise PtxError("memory is read that nobody has written")
        self._meet(self.writers, cells, workers, "writes")
        self.readers = self._noted(self.readers, cells, workers)
        return np.ascontiguousarray(self.content[cells])

    def store(self, cells: Array, values: Array, workers: Array) -> None:
        """Put bytes at these places."""
        self._meet(self.readers, cells, workers, "reads")
        other = (self.content[cells] != values).any(1)
        self._meet(self.writers, cells[other], workers[other], "writes")
        self.writers = self._noted(self.writers, cells, workers)
        self.content[cells] = values
        lost = (self.content[cells] != values).any(1)
        self._meet(self.writers, cells[lost], workers[lost], "writes")
        if self.written is not None:
            self.written[cells] = True

    def rest(self) -> None:
        """The launch is over."""
        self.writers = self.readers = None

    def _noted(self, known: Array | None, cells: Array, workers: Array) -> Array:
        known = np.full(self.content.size, -1, np.int64) if known is None else known
        known[cells] = np.broadcast_to(workers[:, None], cells.shape)
        return known

    def _meet(self, known: Array | None, cells: Array, workers: Array, does: str) -> None:
        if known is not None:
            others = known[cells]
            if ((others >= 0) & (others != workers[:, None])).any():
                raise PtxError(f"a worker uses what another one {does} in the same launch")


@dataclass(eq=False)
class Shared(Block):
    """Memory that the threads of each block share, one block's behind the other's.

    Here a worker is a thread: what it has written others may read behind a barrier, those of its warp also behind one
    of the warp, as which it is then known: by a number below -1.
    """

    size: int = 0

    @staticmethod
    def of(size: int, blocks: int) -> Shared:
        """With ``size`` bytes for each of so many blocks."""
        return Shared(np.zeros(size * blocks, np.uint8), np.zeros(size * blocks, np.bool_), size=size)

    def meet_again(self, blocks: Array) -> None:
        """The threads of these blocks have waited for each other."""
        for known in (self.writers, self.readers):
            if known is not None:
                known.reshape(-1, self.size)[blocks] = -1

    def meet_in_warps(self, warps: Array) -> None:
        """The threads of these warps have waited for each other."""
        for known in (self.writers, self.readers):
            if known is not None:
                theirs = (known >= 0) & np.isin(known // WARP, warps)
                known[theirs] = -2 - known[theirs] // WARP

    def _meet(self, known: Array | None, cells: Array, workers: Array, does: str) -> None:
        if known is not None:
            others, own = known[cells], workers[:, None]
            if ((others != -1) & (others != own) & (others != -2 - own // WARP)).any():
                raise PtxError(f"a thread uses what another one {does} without a barrier between them")


class Place(NamedTuple):
    """Where active threads are in a block: which of them, at which bytes, and as which workers."""

    memory: Block
    which: Array
    cells: Array
    workers: Array


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """Bytes on their way to what is shared: by which threads, in which of each one's groups, to where."""

    memory: Block
    threads: Array
    groups: Array
    cells: Array
    values: Array


@dataclass
class Machine:
    """The state of a grid: ``memory`` are buffers of bytes by the upper part of their addresses."""

    kernel: Kernel
    memory: dict[int, Block]
    arguments: dict[str, Array]
    special: dict[str, Array]
    workers: Array
    """Which worker each thread is, or is a part of."""
    registers: dict[str, Array] = field(default_factory=dict)
    active: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """The threads that execute the instruction, in ascending order."""
    shared: list[Shared] = field(default_factory=list)
    """What the threads of blocks share, in the order of the kernel's names for it."""
    block_threads: int = 1
    copies: list[Copy] = field(default_factory=list)
    """What has been asked for and may not be there yet."""
    committed: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many groups of copies each thread has closed."""
    issued: Counter[str] = field(default_factory=Counter)
    """How many instructions warps have executed, by what their names begin with, and the bytes that these moved:
    ``memory`` in pieces of 32, which memory has, and ``shared``."""
    uses: dict[str, list[Block]] = field(default_factory=lambda: {"constant": [], "written": [], "read": []})

    _counted: tuple[Array | None, int] = (None, 0)

    @property
    def threads(self) -> int:
        return self.special["%tid.x"].size

    @property
    def warps(self) -> int:
        """How many have an active thread."""
        if self._counted[0] is not self.active:
            numbers = self.active // WARP
            self._counted = self.active, 1 + int(np.count_nonzero(numbers[1:] != numbers[:-1]))
        return self._counted[1]

    def type_of(self, register: str) -> str:
        return self.kernel.registers[register.rstrip("0123456789")]

    def read(self, operand: str, type: str) -> Array:
        """What the active threads have in an operand, as a type of the same width."""
        dtype = np.dtype(DTYPES[type])
        if operand in self.special:
            return self.special[operand][self.active].astype(np.uint32).view(dtype)
        if operand.startswith("%"):
            if operand not in self.registers:
                raise PtxError(f"{operand} is read before it is written")
            bits = self.registers[operand][self.active]
            if bits.dtype.itemsize != dtype.itemsize or (bits.dtype == np.bool_) != (type == "pred"):
                raise PtxError(f"{operand} does not have the width of {type}")
            return bits.view(dtype)
        if operand in self.kernel.shared:
            return np.full(self.active.size, SHARED * (1 + [*self.kernel.shared].index(operand)), dtype)
        return np.full(self.active.size, _immediate(operand, dtype))

    def read_low(self, operand: str, type: str) -> Array:
        """The low part of a register that may be wider than the type, as conversions and stores take it."""
        dtype = np.dtype(DTYPES[type])
        if operand.startswith("%") and operand in self.registers and dtype.kind in "iu":
            bits = self.registers[operand][self.active]
            if bits.dtype.itemsize > dtype.itemsize:
                return bits.astype(f"u{dtype.itemsize}").view(dtype)
        return self.read(operand, type)

    def write(self, register: str, values: Array) -> None:
        """Put numbers into a register of the active threads: a wider one is filled as their type extends."""
        if not register.startswith("%") or register in self.special:
            raise PtxError(f"expected a register to write to, got {register}")
        bits = BITS[WIDTHS[self.type_of(register)]]
        width = np.dtype(bits).itemsize
        if values.dtype.kind in "iu" and values.dtype.itemsize < width:
            values = values.astype(f"{values.dtype.kind}{width}")
        if values.dtype.itemsize != width or (values.dtype == np.bool_) != (bits is np.bool_):
            raise PtxError(f"{register} does not have the width of {values.dtype}")
        if register not in self.registers:
            self.registers[register] = np.zeros(self.threads, bits)
        self.registers[register][self.active] = values.view(bits)

    def note(self, use: str, block: Block) -> None:
        """Remember how a buffer is used. What is read as constant must not be written, by whatever name."""
        if block not in self.uses[use]:
            self.uses[use].append(block)
        for constant in self.uses["constant"]:
            if any(np.may_share_memory(constant.content, block.content) for block in self.uses["written"]):
                raise PtxError("a buffer that is read as constant is written")

    def places(self, space: str, operand: str, itemsize: int, use: str = "read") -> list[Place]:
        """Where an address points to: buffers in memory, or what blocks share, of which each has its own."""
        base, _, shift = operand.strip("[]").partition("+")
        is_shared = space == "shared"
        addresses = self.read(base, "u32" if is_shared else "s64").astype(np.int64) + int(shift or 0)
        if (addresses % itemsize).any():
            raise PtxError(f"unaligned address in {operand}")
        return (self._on_chip if is_shared else self._in_memory)(addresses, operand, itemsize, use)

    def _on_chip(self, addresses: Array, operand: str, itemsize: int, _use: str) -> list[Place]:
        found: list[Place] = []
        self.issued["shared"] += itemsize * addresses.size
        numbers = (addresses + SHARED // 2) // SHARED
        for number in _different(numbers):
            which = np.flatnonzero(numbers == number)
            offsets = addresses[which] - SHARED * number
            if not 0 < number <= len(self.shared):
                raise PtxError(f"an address outside of what is shared in {operand}")
            memory, threads = self.shared[number - 1], self.active[which]
            if offsets.min() < 0 or offsets.max() + itemsize > memory.size:
                raise PtxError(f"an address outside of what is shared in {operand}")
            start = threads // self.block_threads * memory.size + offsets
            found.append(Place(memory, which, start[:, None] + np.arange(itemsize), threads))
        return found

    def _in_memory(self, addresses: Array, operand: str, itemsize: int, use: str) -> list[Place]:
        found: list[Place] = []
        keys, pieces = addresses >> 40, addresses // 32 - addresses.min() // 32
        self.issued["memory"] += 32 * np.unique(self.active // WARP * (pieces.max() + 1) + pieces).size
        for key in _different(keys):
            which = np.flatnonzero(keys == key)
            offsets = (addresses[which] & ((1 << 40) - 1)) - MIDDLE
            block = self.memory.get(int(key))
            if block is None or offsets.min() < 0 or offsets.max() + itemsize > block.content.size:
                raise PtxError(f"an address outside of every buffer in {operand}")
            self.note(use, block)
            found.append(Place(block, which, offsets[:, None] + np.arange(itemsize), self.workers[self.active[which]]))
        return found


def _different(numbers: Array) -> Array:
    """Each number once; mostly there is one."""
    return numbers[:1] if (numbers == numbers[:1]).all() else np.unique(numbers)


SHARED = 1 << 20
"""Each name of what is shared stands for this many addresses."""
MIDDLE = 1 << 39
"""Buffers begin in the middle of their part of the addresses, so that one before the start is seen."""


def _immediate(text: str, dtype: np.dtype[Any]) -> Any:
    if re.fullmatch("0f[0-9A-F]{8}", text) and dtype.itemsize == 4:
        return np.uint32(int(text[2:], 16)).view(dtype)
    if re.fullmatch("0d[0-9A-F]{16}", text) and dtype.itemsize == 8:
        return np.uint64(int(text[2:], 16)).view(dtype)
    if re.fullmatch(r"-?\d+", text) and dtype.kind in "iub":
        return np.asarray(int(text) & ((1 << 8 * dtype.itemsize) - 1)).astype(f"u{dtype.itemsize}").view(dtype)
    raise PtxError(f"expected an operand of {dtype}, got {text}")
