"""The processor that code is compiled for: this machine's, or a lesser one that it includes.

`JITFLOW_CPU` names one of the levels of x86-64 (the psABI's microarchitecture levels), so that what a processor without
AVX-512 runs can be tried on one that has it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from jitflow.config import CONFIG

__all__ = ["features", "gathers", "has_features", "is_asked", "name", "second_cache", "vectors"]

_ADDED = {
    "x86-64": "64bit cmov cx8 fxsr mmx sse sse2",
    "x86-64-v2": "cx16 crc32 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""What each level has that the one before has not, by LLVM's names."""


def name() -> str:
    """The processor, as LLVM calls it."""
    return str(CONFIG.cpu if CONFIG.cpu != "host" else llvm.get_host_cpu_name())


@cache
def features() -> llvm.FeatureMap:
    """What the processor can do, by LLVM's names.

    Raises ValueError if this machine has not all of what `JITFLOW_CPU` names.
    """
    host = llvm.get_host_cpu_features()
    if CONFIG.cpu == "host":
        return host
    levels = list(_ADDED)
    included = {feature for level in levels[: levels.index(CONFIG.cpu) + 1] for feature in _ADDED[level].split()}
    missing = ", ".join(sorted(feature for feature in included if not host.get(feature)))
    if missing:
        raise ValueError(
            f"JITFLOW_CPU={CONFIG.cpu} names more than this machine has: {llvm.get_host_cpu_name()} lacks {missing}"
        )
    return llvm.FeatureMap({feature: has and feature in included for feature, has in host.items()})


def has_features(*wanted: str) -> bool:
    """Whether the processor has all of these."""
    found = features()
    return all(found.get(feature, False) for feature in wanted)


def vectors() -> tuple[int, int]:
    """How wide the vectors are that are multiplied and added to at once, in bytes, and how many registers there are.

    0 where there are none.
    """
    if has_features("avx512f"):
        return 64, 32
    if has_features("avx2", "fma"):
        return 32, 16
    return (16, 32) if has_features("neon") or has_features("fp-armv8") else (0, 0)


@cache
def gathers() -> bool:
    """Whether one instruction loads elements from several places faster than one does after the other.

    On Zen 4 it keeps its loads from overlapping those of the next turn, which takes twice as long where memory is not
    in the first cache; on Intel's with AVX-512 it takes half to two thirds of the time of single loads in the caches,
    unless microcode guards it against gather data sampling.
    """
    if not has_features("avx512f") or llvm.get_host_cpu_name().startswith("znver"):
        return False
    try:
        sampling = Path("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling").read_text()
    except OSError:
        return True
    return not sampling.startswith("Mitigation")


@cache
def is_asked() -> bool:
    """Whether what is read on and on comes sooner if a program asks for it in advance.

    Intel's processors with AVX-512 read it a quarter faster; on Zen 4, which runs further ahead by itself, sums take up
    to 1.4 times as long with it.
    """
    return not llvm.get_host_cpu_name().startswith(("znver4", "znver5"))


@cache
def second_cache() -> int:
    """The bytes of the second cache of a core; a usual size where the system does not say."""
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    try:
        for index in sorted(folder.glob("index*")):
            if (index / "level").read_text().strip() == "2":
                return int((index / "size").read_text().strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        pass
    return 1 << 19
