"""What lowering needs to know of the processor: how wide its vectors are, and who runs the iterations of outer loops.

The kernels are the same for every target, made by one lowering. On a GPU a vector is a warp: its 32 lanes are 32
threads, so a horizontal reduction is a warp's, and in a vertical one every thread has an output of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.dims import Dim, evaluate_known
from jitflow.machines.processor import CodeTarget
from jitflow.records import dataclass

__all__ = ["A100", "CPU", "GPU", "H200", "PLAIN", "Given", "Gpu", "Processor", "Target"]


@dataclass(frozen=True, slots=True)
class Given:
    """The text of a schedule that a user gives for a kernel, the loops that it is for, and where it stands.

    ``kind`` is what it says: a ``schedule`` of loops, the ``blocks`` of a product, the ``panels`` of a contraction.
    """

    kind: str
    kernel: str
    loops: str
    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Processor:
    """What schedules need to know of a core: its vector registers and its caches.

    ``instructions``: for vectors, in a nanosecond.
    ``bandwidths``: bytes in a nanosecond, from each of the ``caches``, the smallest first, and from memory.
    ``reads_ahead``: how many elements in advance memory is asked for that is read on and on.
    """

    vector_bytes: int = 64
    registers: int = 32
    second_cache: int = 1 << 20
    reads_ahead: int = 512
    instructions: float = 4.0
    bandwidths: tuple[float, ...] = (150.0, 100.0, 70.0, 20.0)

    @staticmethod
    def of(target: CodeTarget) -> Processor | None:
        """The core that code is generated for; None where it has no vectors."""
        facts = *target.vectors, target.second_cache, target.reads_ahead
        return Processor(*facts) if facts[0] else None

    @property
    def for_sums(self) -> int:
        """Registers for the sums of a block and for what they are made of, beside some for everything else."""
        return self.registers - self.registers // 8

    @property
    def caches(self) -> tuple[int, ...]:
        """The bytes of its caches, the smallest first."""
        return (1 << 15, self.second_cache, 1 << 25)

    def bandwidth(self, nbytes: int) -> float:
        """Of the smallest cache that holds so many bytes, else of memory."""
        held = (bandwidth for size, bandwidth in zip(self.caches, self.bandwidths, strict=False) if nbytes <= size)
        return next(held, self.bandwidths[-1])


PLAIN = Processor(16, 16)
"""A core whose vectors do not multiply and add floats at once: what it has is used for bytes alone."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What schedules need to know of a GPU, as its maker states it.

    ``clock``: in GHz. ``bandwidth``: bytes of memory in a nanosecond; ``cache_bandwidth``: of the second cache.
    ``flops``: what is done in a nanosecond by the form of arithmetic, a product and a sum as two; of tensor cores what
    ``mma.sync`` reaches, which is this ``share`` of their peak. Of each multiprocessor: 32-bit ``registers``, bytes
    ``on_chip``, ``warps`` and ``blocks``.
    """

    name: str
    architecture: str
    multiprocessors: int
    clock: float
    bandwidth: float
    cache_bandwidth: float
    flops: Mapping[str, float]
    on_chip: int
    share: float = 1.0
    registers: int = 1 << 16
    warps: int = 64
    blocks: int = 32


A100 = Gpu(
    "A100 40 GB",
    "sm_80",
    108,
    1.41,
    1555,
    4500,
    {"fma": 19500, "tf32": 156000, "f16": 312000, "bf16": 312000},
    164 << 10,
)
H200 = Gpu(
    "H200",
    "sm_90",
    132,
    1.98,
    4800,
    5500,
    {"fma": 66900, "tf32": 307000, "f16": 613000, "bf16": 613000},
    228 << 10,
    share=0.62,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of processor.

    ``vector_bytes`` is the width of its vectors. ``lanes``, if it is not 0, is how many lanes every vector has whatever
    its dtype. ``distributed``: iterations of outer loops may run at the same time, so these loops are marked
    ``parallel``, scratch memory is not shared between them, and what pays only on one core with wide vectors and deep
    caches is left out (short loops joined under patterns of lanes, versions for short sizes, writes past the caches).
    ``masked``: vector loops run under masks throughout, rather than once without and once, for the tail, with.
    ``threads``: how many may run a kernel, each of which takes spans of the outermost loop (`sharing.py`).
    ``processor`` is what products by blocks need to know of a core, None where all products are the library's.
    ``notes``: the program tells a profile when what it launches begins and ends (`notes.py`). ``given`` are schedules
    that the user wants instead of those that are chosen. ``sizes`` are those of the first call, by their names.
    """

    vector_bytes: int = 64
    lanes: int = 0
    distributed: bool = False
    masked: bool = False
    threads: int = 1
    processor: Processor | None = None
    notes: bool = False
    given: tuple[Given, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()

    def expected(self, dim: Dim) -> int | None:
        """What a size was at the first call, None if that is not known."""
        return evaluate_known(dim, dict(self.sizes))


CPU = Target(processor=Processor())
GPU = Target(vector_bytes=512, lanes=32, distributed=True, masked=True)
