"""How the loops of a kernel are spread over a grid of threads.

*Who works.* In a kernel with vectors a worker is a warp: thread ``lane`` holds lane number ``lane`` of every vector,
and each thread computes what is a scalar or an offset for itself. So all of a warp's threads take the same branches,
and folding lanes is shuffling within the warp: a horizontal reduction is a warp for each row, a vertical one a thread
for each output. A kernel without vectors (a running sum) has a thread for each position. Where warps ``share`` what is
to be done, a worker is a team of them, and a block: each warp does what stands beside for itself.

*What is spread.* Parallel loops that stand directly inside each other, if nothing beside them touches what they write:
the innermost along x, the next along y and z; loops outside of these run in order. Every loop strides over the whole
grid, so any grid computes the right result, and `Launch.shape` chooses a good one. A kernel without such loops (the sum
of everything) is one worker's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jitflow.backends.cuda.types import WARP
from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.types import Buffer, Vector
from jitflow.records import dataclass

__all__ = ["Axis", "Grid", "Launch", "grid_of", "takes_record"]

WORKERS_ON_CHIP = 2
"""Warps of a block that have rows on the chip, so that rows may be long: multiprocessors hold many blocks."""
ALIGNMENT = 16
"""Bytes at whose multiples begins what is on the chip."""
BLOCK_THREADS = 256
"""Threads of a block, where workers are warps or threads; a team of warps is a block."""

LIMITS = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}
"""The most blocks along each axis."""
NARROW_SUFFIX = "_narrow"
"""What is appended to the name of a kernel whose indices have 32 bits, if there is one for 64 too."""
ENOUGH = 2048
"""Blocks that keep every GPU busy: more would repeat what each worker does beside its loop."""


Given = Mapping[Value, Value]
"""The arguments of a launch by the kernel's parameters."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop's steps along one axis. ``start`` and ``stop`` are numbers or positions of parameters of the kernel."""

    name: str
    loop: Op
    start: int | Value
    stop: int | Value
    step: int
    most: int

    def blocks(self, builder: Builder, number: Callable[[int], Value], workers: int, given: Given) -> Value:
        """Blocks with which every worker has at most one step, as far as there may be so many."""
        build = builder.make
        needed = given[self.stop] if isinstance(self.stop, Value) else number(self.stop)
        if self.start != 0:
            start = given[self.start] if isinstance(self.start, Value) else number(self.start)
            needed = build("subtract", needed, start)
        share = self.step * (workers if self.name == "x" else 1)
        if share != 1:
            needed = build("floor_divide", build("add", needed, number(share - 1)), number(share))
        return build("minimum", build("maximum", needed, number(1)), number(self.most))


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes of one kernel, x first, whether its workers have warps, and of how many warps each of them is a team."""

    warps: bool
    axes: tuple[Axis, ...]
    team: int = 1
    rooms: tuple[int | Value, ...] = ()
    """What each worker has for itself on the chip: bytes, numbers or parameters of the kernel."""

    @property
    def workers(self) -> int:
        """Workers of a block along x."""
        if self.team > 1 or not self.axes:
            return 1
        if self.rooms:
            return WORKERS_ON_CHIP
        return BLOCK_THREADS // WARP if self.warps else BLOCK_THREADS

    def axis(self, loop: Op) -> Axis | None:
        """The axis along which a loop is spread, None if it runs in order."""
        return next((axis for axis in self.axes if axis.loop is loop), None)

    def prologue(self, index: str) -> list[str]:
        """Statements that name the lane, and this worker's number and their count along x, as this type."""
        lines = ["const i32 lane = threadIdx.x;"] if self.warps else []
        if self.team > 1:
            lines.append("const i32 warp = threadIdx.z;")
        if self.axes:
            thread = "y" if self.warps else "x"
            lines.append(f"const {index} worker = ({index})blockIdx.x * blockDim.{thread} + threadIdx.{thread};")
            lines.append(f"const {index} workers = ({index})gridDim.x * blockDim.{thread};")
        return lines

    def worker(self, axis: str, index: str) -> tuple[str, str]:
        """The number of this worker along an axis and their count, as names, or as this type."""
        return ("worker", "workers") if axis == "x" else (f"blockIdx.{axis}", f"({index})gridDim.{axis}")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel of a module is launched.

    It takes its parameters and behind them, if the program `takes_record`, the address of the error record.
    """

    kernel: str
    parameters: tuple[Value, ...]
    grid: Grid
    narrow_below: int = 0
    """If not 0, there is a kernel for indices of 32 bits too, where all sizes are below this."""

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block."""
        workers = self.grid.workers
        return (WARP, workers, self.grid.team) if self.grid.warps else (workers, 1, 1)

    def room(self, builder: Builder, number: Callable[[int], Value], arguments: Sequence[Value]) -> Value:
        """Bytes on the chip that a block needs, as a host program computes them of the kernel's arguments."""
        given = dict(zip(self.parameters, arguments, strict=True))
        workers, total = self.grid.workers, number(0)
        for room in self.grid.rooms:
            nbytes = given[room] if isinstance(room, Value) else number(room)
            rounded = builder.make("add", nbytes, number(ALIGNMENT - 1))
            rounded = builder.make(
                "multiply", builder.make("floor_divide", rounded, number(ALIGNMENT)), number(ALIGNMENT)
            )
            total = builder.make("add", total, builder.make("multiply", rounded, number(workers)))
        return total

    def shape(
        self, builder: Builder, number: Callable[[int], Value], arguments: Sequence[Value]
    ) -> tuple[Value, Value, Value]:
        """Blocks of the grid along x, y and z, as a host program computes them of the kernel's arguments.

        ``number`` gives the value of an index that is known.
        """
        given = dict(zip(self.parameters, arguments, strict=True))
        workers = self.grid.workers
        axes = {axis.name: axis for axis in self.grid.axes}
        x, y, z = (axes[name].blocks(builder, number, workers, given) if name in axes else number(1) for name in "xyz")
        return x, y, z


def takes_record(program: Function) -> bool:
    """Whether the kernels of a program take an error record: all do if one of them may fail.

    It begins with 0; `emit_control.py` says what comes into it. A kernel that finds it filled does nothing: what
    follows a check that failed does not happen, though nobody waits for the check.
    """
    return any(op.name == "check" for kernel in program.kernels for op in walk(kernel.region))


def grid_of(function: Function) -> Grid:
    """How the loops of a kernel are spread."""
    ops = list(walk(function.region))
    warps = any(isinstance(value.type, Vector) for op in ops for value in (*op.operands, *op.results))
    loops: list[Op] = []
    region: Region | None = function.region
    while region is not None:
        loop = _spreadable(region)
        region = None
        if loop is not None:
            loops.append(loop)
            (region,) = loop.regions
    constants = {op.result: op.attributes["dim"] for op in ops if op.name == "size"}
    nearest = zip("xyz", reversed(loops), strict=False)
    team = max((op.attributes["threads"] for op in ops if op.name in ("attend", "share", "multiply_tile")), default=1)
    warps |= team > 1
    rooms = (constants.get(op.operands[0], op.operands[0]) for op in ops if op.name == "on_chip")
    return Grid(warps, tuple(_axis(name, loop, function, constants) for name, loop in nearest), team, tuple(rooms))


def _spreadable(region: Region) -> Op | None:
    """The parallel loop of a region, if workers need not wait for each other there.

    They would have to if an op beside the loop wrote what it touches, or touched what it writes. Each worker runs the
    ops beside the loop, so what they write none of them may read: a number that is replaced would be replaced again.
    """
    loops = [op for op in region.ops if op.name == "for" and op.attributes.get("parallel")]
    if len(loops) != 1:
        return None
    (loop,) = loops
    read, written = _touched([loop])
    others_read, others_written = _touched([op for op in region.ops if op is not loop])
    if written & (others_read | others_written) or others_written & (read | others_read):
        return None
    return loop


def _touched(ops: Sequence[Op]) -> tuple[set[Value], set[Value]]:
    """The buffers that ops read and those that they write."""
    found: dict[str, set[Value]] = {"reads": set(), "writes": set()}
    for outer in ops:
        for op in (outer, *(inner for region in outer.regions for inner in walk(region))):
            for effect in op.own_effects:
                if effect.kind in found and isinstance(op.operands[effect.operand].type, Buffer):
                    found[effect.kind].add(op.operands[effect.operand])
    return found["reads"], found["writes"]


def _axis(name: str, loop: Op, function: Function, constants: dict[Value, int]) -> Axis:
    def bound(value: Value) -> int | Value:
        if value not in constants and value not in function.parameters:
            raise CompilerBug("expected the bounds of a parallel loop to be numbers or parameters", location=loop.loc)
        return constants.get(value, value)

    start, stop, step = (bound(value) for value in loop.operands[:3])
    if not isinstance(step, int) or step <= 0:
        raise CompilerBug("expected a positive number as the step of a parallel loop", location=loop.loc)
    reads = any(op.name == "read" for op in function.region.ops)
    return Axis(name, loop, start, stop, step, ENOUGH if reads else LIMITS[name])
