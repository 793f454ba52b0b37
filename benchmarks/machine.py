"""The machine that measures: pinned to one thread, described, and its copy bandwidth measured."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import statistics
import time
from functools import cache
from pathlib import Path

__all__ = ["ONE_THREAD", "copy_bandwidth", "describe_machine", "pin_to_one_core", "versions"]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
"""What the libraries read when they are imported. JAX gets 64-bit types; 32-bit work stays 32-bit all the same."""

_PACKAGES = ("jitflow", "numpy", "scipy", "llvmlite", "numba", "jax", "jaxlib", "torch")


def pin_to_one_core() -> None:
    """Let this process run on one core only, where the system can do that: then no peer gains by a hidden thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe_machine() -> dict[str, str | int]:
    """Return what is known about the processor and the system."""
    return {
        "cpu": _processor_name(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
    }


def _processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def copy_bandwidth(footprint: int) -> float:
    """Return the bytes per second, read plus written, of the best copy whose source and target fill `footprint`.

    A copy that fits into a cache is faster than one that does not, so a workload is compared with a copy of its own
    size, rounded up to a power of two.
    """
    return _copy_bandwidth(1 << max(footprint - 1, 1 << 20).bit_length())


@cache
def _copy_bandwidth(footprint: int) -> float:
    import numpy as np

    size = footprint // 2
    source = np.ones(size // 8)
    target = np.zeros_like(source)
    copies = (
        lambda: np.copyto(target, source),
        lambda: ctypes.memmove(target.ctypes.data, source.ctypes.data, size),
    )
    rounds = 9 if footprint >= 1 << 26 else 31
    medians = []
    for copy in copies:
        copy()
        samples = []
        for _ in range(rounds):
            start = time.perf_counter()
            copy()
            samples.append(time.perf_counter() - start)
        medians.append(statistics.median(samples))
    return 2 * size / min(medians)
