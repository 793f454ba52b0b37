"""The machine that measures: pinned to one thread, described, and its copy bandwidth measured."""

from __future__ import annotations

import ctypes
import importlib.metadata
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from llvmlite import binding

__all__ = [
    "ALL_THREADS",
    "KEEP_MEMORY",
    "ONE_THREAD",
    "copy_bandwidth",
    "describe_machine",
    "on_all_cores",
    "pin_to_one_core",
    "versions",
]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "JITFLOW_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
}
"""What the libraries read when they are imported. JAX gets 64-bit types; 32-bit work stays 32-bit all the same."""

ALL_THREADS = {"JITFLOW_THREADS": str(os.cpu_count() or 1), "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
"""The same where everybody may use all cores; jitflow uses one of them unless it is told."""

KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
"""Let glibc's malloc recycle what is freed, however large: then no peer pays for fresh pages at each call."""

_PACKAGES = ("jitflow", "numpy", "scipy", "llvmlite", "numba", "jax", "jaxlib", "torch", "tensorflow", "tensorflow-cpu",
             "cupy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")  # fmt: skip

_LINE = 64
_STREAMING_COPY = """
define void @streaming_copy(ptr %target, ptr %source, i64 %size) {
entry:
  br label %loop
loop:
  %offset = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr i8, ptr %source, i64 %offset
  %to = getelementptr i8, ptr %target, i64 %offset
  %line = load <8 x double>, ptr %from, align 64
  store <8 x double> %line, ptr %to, align 64, !nontemporal !0
  %next = add i64 %offset, 64
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
!0 = !{i32 1}
"""


_CORES: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pin_to_one_core() -> None:
    """Let this process run on one core only, where the system can do that: then no peer gains by a hidden thread."""
    if _CORES:
        os.sched_setaffinity(0, {max(_CORES)})


@contextmanager
def on_all_cores() -> Iterator[None]:
    """Within, this thread runs on all cores that the process began with: a first call, which may compile in threads."""
    if not _CORES:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _CORES)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


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
    size, to the nearest power of two.
    """
    return _copy_bandwidth(1 << round(math.log2(max(footprint, 1 << 20))))


@cache
def _copy_bandwidth(footprint: int) -> float:
    """Time NumPy's copy, the C library's, and one that writes past the caches, and take the best."""
    size = footprint // 2
    source, target = _aligned_memory(size), _aligned_memory(size)
    source_address, target_address = source.ctypes.data, target.ctypes.data
    copies: list[Callable[[], object]] = [
        lambda: np.copyto(target, source),
        lambda: ctypes.memmove(target_address, source_address, size),
    ]
    with _streaming_copy() as streaming_copy:
        copies.append(lambda: streaming_copy(target_address, source_address, size))
        return 2 * size / min(_median_seconds(copy, 9 if size >= 1 << 25 else 31) for copy in copies)


def _aligned_memory(size: int) -> np.ndarray:
    """Return touched memory that begins at a cache line."""
    memory = np.ones(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


def _median_seconds(work: Callable[[], object], rounds: int) -> float:
    work()
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


@contextmanager
def _streaming_copy() -> Iterator[Callable[[int, int, int], None]]:
    """Compile a copy of whole cache lines whose stores do not read what they overwrite."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(_STREAMING_COPY), machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
    try:
        yield signature(engine.get_function_address("streaming_copy"))
    finally:
        engine.close()
