"""The processor that code is compiled for: this machine's, a lesser one that it includes, or that of another machine.

`JITFLOW_CPU` names one of the levels of x86-64 (the psABI's microarchitecture levels), so that what a processor without
AVX-512 runs can be tried on one that has it. What is exported may be for any `CodeTarget` (``TARGETS``).

LLVM is asked what a processor can do, and imported for it. Which processor it is, `identity` tells without.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from jitflow.config import CONFIG
from jitflow.records import dataclass

if TYPE_CHECKING:
    from llvmlite.binding import FeatureMap

__all__ = ["TARGETS", "CodeTarget", "features", "free_masks", "gathers", "has_features", "here", "identity", "name",
           "reads_ahead", "second_cache", "vectors"]  # fmt: skip

_IDENTITY = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
"""What of Linux's description of a processor of x86-64 decides what LLVM finds out about it."""
_DESCRIBED, _MOST_DESCRIBED = Path("/proc/cpuinfo"), 1 << 14
_SAMPLING = Path("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling")

_ADDED = {
    "x86-64": "64bit cmov cx8 fxsr mmx sse sse2",
    "x86-64-v2": "cx16 crc32 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""What each level has that the one before has not, by LLVM's names."""


def name() -> str:
    """The processor, as LLVM calls it."""
    return CONFIG.cpu if CONFIG.cpu != "host" else _host_name()


def _host_name() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_name())


@cache
def identity() -> tuple[str, ...]:
    """All that decides what this module says: equal in two processes only if everything else here is.

    Linux tells of a processor of x86-64 what model it is and all it can do that the kernel knows of; of another, LLVM.
    """
    try:
        with open(_DESCRIBED, encoding="utf-8", errors="replace") as file:
            first = file.read(_MOST_DESCRIBED).partition("\n\n")[0]
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
        found = tuple(facts[key] for key in _IDENTITY)
    except (OSError, KeyError):
        found = (_host_name(), features().flatten())
    return (CONFIG.cpu, *found, _sampling(), str(second_cache()))


@cache
def features() -> FeatureMap:
    """What the processor can do, by LLVM's names.

    Raises ValueError if this machine has not all of what `JITFLOW_CPU` names.
    """
    import llvmlite.binding as llvm

    host = llvm.get_host_cpu_features()
    if CONFIG.cpu == "host":
        return host
    levels = list(_ADDED)
    included = {feature for level in levels[: levels.index(CONFIG.cpu) + 1] for feature in _ADDED[level].split()}
    missing = ", ".join(sorted(feature for feature in included if not host.get(feature)))
    if missing:
        raise ValueError(f"JITFLOW_CPU={CONFIG.cpu} names more than this machine has: {_host_name()} lacks {missing}")
    return llvm.FeatureMap({feature: has and feature in included for feature, has in host.items()})


def has_features(*wanted: str) -> bool:
    """Whether the processor has all of these."""
    found = features()
    return all(found.get(feature, False) for feature in wanted)


def vectors() -> tuple[int, int]:
    """How wide the vectors are that are multiplied and added to at once, in bytes, and how many registers there are.

    0 where there are none.
    """
    return here().vectors


@cache
def gathers() -> bool:
    """Whether one instruction loads elements from several places faster than one does after the other.

    On Zen 4 it keeps its loads from overlapping those of the next turn, which takes twice as long where memory is not
    in the first cache; on Intel's with AVX-512 it takes half to two thirds of the time of single loads in the caches,
    unless microcode guards it against gather data sampling.
    """
    if not has_features("avx512f") or _host_name().startswith("znver"):
        return False
    return not _sampling().startswith("Mitigation")


def _sampling() -> str:
    """What the system says about gather data sampling; nothing where it does not know of it."""
    try:
        return _SAMPLING.read_text()
    except OSError:
        return ""


@cache
def free_masks() -> bool:
    """Whether a load or store under a mask that leaves out no lane takes no longer than one without.

    It does not on Intel's with AVX-512. On Zen 5 what is read under masks is not fetched ahead: beyond the caches it
    comes at half the speed, and what is computed of it waits (a GELU of 16 MB takes 3.7 ms, without masks 1.0). Without
    registers for masks a store under one takes twelve cycles (Zen 3).
    """
    return has_features("avx512f") and not _host_name().startswith("znver")


@cache
def reads_ahead() -> int:
    """How many elements ahead of itself a program does well to ask for memory that it reads on and on; 0: none.

    Intel's processors with AVX-512 read it a quarter faster. Zen 5 reads from memory 1.2 to 3 times as fast, and asks
    for more: of sums, extremes and variances 2048 elements are 1.1 to 1.7 times as fast as 512. On Zen 4, which runs
    further ahead by itself, sums take up to 1.4 times as long with it.
    """
    host = _host_name()
    return 0 if host.startswith("znver4") else 2048 if host.startswith("znver5") else 512


@cache
def second_cache() -> int:
    """The bytes of the second cache of a core; a usual size where the system does not say."""
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    try:
        for index in (folder / name for name in sorted(os.listdir(folder)) if name.startswith("index")):
            if (index / "level").read_text().strip() == "2":
                return int((index / "size").read_text().strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        pass
    return 1 << 19


@dataclass(frozen=True)
class CodeTarget:
    """What code is generated for: LLVM's names of the machine, of its processor and of what this can do.

    The other fields are as in this module: whether it ``gathers``, how far it ``reads_ahead``, its ``second_cache``,
    and whether it has ``free_masks``.
    """

    triple: str
    cpu: str
    features: frozenset[str]
    switches: str
    """The features as LLVM takes them: ``+avx2,-avx512f``."""
    gathers: bool = False
    reads_ahead: int = 512
    second_cache: int = 1 << 19
    free_masks: bool = False

    def has(self, *wanted: str) -> bool:
        """Whether the processor has all of these."""
        return self.features.issuperset(wanted)

    @property
    def vectors(self) -> tuple[int, int]:
        """How wide its vectors are, in bytes, and how many registers there are; 0 where there are none.

        Those of WebAssembly multiply and add one after the other (a function that is shipped along does both at once),
        and its engines have the registers of x86-64.
        """
        if self.has("avx512f"):
            return 64, 32
        if self.has("avx2", "fma"):
            return 32, 16
        if self.has("neon") or self.has("fp-armv8"):
            return 16, 32
        return (16, 16) if self.has("simd128") else (0, 0)

    @property
    def converts_halves(self) -> bool:
        """Whether f16 is converted to f32 and back by an instruction, or by functions that are shipped along."""
        return self.is_wasm or self.has("f16c") or self.has("neon") or self.has("fp-armv8")

    @property
    def attributes(self) -> str:
        """LLVM's attributes of every function: code may use vectors as wide as the processor has them."""
        width = 512 if self.has("avx512f") else 256 if self.has("avx2") else 128
        return f'nounwind "prefer-vector-width"="{width}"'

    @property
    def is_wasm(self) -> bool:
        return self.triple.startswith("wasm32")


@cache
def here() -> CodeTarget:
    """What code that runs in this process is generated for."""
    import llvmlite.binding as llvm

    found = features()
    able = frozenset(feature for feature, has in found.items() if has)
    facts = gathers(), reads_ahead(), second_cache(), free_masks()
    return CodeTarget(str(llvm.get_process_triple()), name(), able, found.flatten(), *facts)


def _level(cpu: str) -> CodeTarget:
    """A level of x86-64, on Linux."""
    levels = list(_ADDED)
    able = frozenset(feature for level in levels[: levels.index(cpu) + 1] for feature in _ADDED[level].split())
    return CodeTarget("x86_64-unknown-linux-gnu", cpu, able, _switches(able))


def _switches(able: frozenset[str]) -> str:
    return ",".join(f"+{feature}" for feature in sorted(able))


def _other(triple: str, cpu: str, able: str) -> CodeTarget:
    has = frozenset(able.split())
    return CodeTarget(triple, cpu, has, _switches(has))


TARGETS: Mapping[str, Callable[[], CodeTarget]] = MappingProxyType({
    "host": here,
    **{cpu: partial(_level, cpu) for cpu in _ADDED},
    "aarch64-linux": lambda: _other("aarch64-unknown-linux-gnu", "generic", "neon fp-armv8"),
    "wasm32": lambda: _other("wasm32-unknown-unknown", "generic", "simd128 bulk-memory sign-ext nontrapping-fptoint"),
})  # fmt: skip
"""What can be exported for, by the name that the user gives."""
