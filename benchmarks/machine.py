"""The machine that measures: pinned to one thread, or not, and described."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "ALL_THREADS",
    "COMPILED_NOW",
    "KEEP_MEMORY",
    "ONE_THREAD",
    "describe_machine",
    "ensure_environment",
    "on_all_cores",
    "pin_to_one_core",
    "usable_cores",
    "versions",
]

COMPILED_NOW = {"JITFLOW_CACHE": "0"}
"""First calls compile, as those of peers do: they find nothing that was compiled before."""

ONE_THREAD = {
    **COMPILED_NOW,
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

ALL_THREADS = {
    **COMPILED_NOW,
    "JITFLOW_THREADS": str(os.cpu_count() or 1),
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
}
"""The same where everybody may use all cores; jitflow uses one of them unless it is told."""

KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
"""Let glibc's malloc recycle what is freed, however large: then no peer pays for fresh pages at each call."""

_PACKAGES = ("jitflow", "numpy", "scipy", "llvmlite", "numba", "jax", "jaxlib", "ray", "torch", "tensorflow",
             "tensorflow-cpu", "cupy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cuda-nvrtc",
             "nvidia-cuda-nvrtc-cu12")  # fmt: skip

_CORES: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def ensure_environment(variables: Mapping[str, str], module: str) -> None:
    """Run this module's command anew unless these variables are set: libraries read them as they are imported."""
    if any(os.environ.get(name) != value for name, value in variables.items()):
        arguments = [sys.executable, "-m", module, *sys.argv[1:]]
        sys.exit(subprocess.run(arguments, env={**os.environ, **variables}).returncode)


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


def usable_cores() -> int:
    """How many cores this process may run on: one, if it is pinned."""
    return len(os.sched_getaffinity(0)) if _CORES else os.cpu_count() or 1


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
