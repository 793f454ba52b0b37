"""What jitflow finds on this machine: the facts behind `jitflow doctor`.

Every fact is looked up where the compiler itself looks it up, so that the report explains what happens at a call.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
from collections.abc import Callable, Iterator
from typing import Any

from jitflow import __version__
from jitflow.config import CONFIG

__all__ = ["facts", "measured"]

_PACKAGES = (
    ("numpy",), ("llvmlite",), ("scipy",), ("ml_dtypes",), ("cupy-cuda13x", "cupy-cuda12x"),
    ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
)  # fmt: skip
"""What is looked for, each under the first of its names by which it is installed."""


def facts() -> Iterator[tuple[str, str]]:
    """Yield what was found as (name, text); a lookup that fails is a fact too."""
    yield "python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "jitflow", __version__
    for names in _PACKAGES:
        versions = {name: _version(name) for name in names}
        name = next((name for name in names if versions[name]), names[0])
        yield name, versions[name] or "not installed"
    lookups: dict[str, Callable[[], str]] = {
        "llvm": _llvm,
        "system": lambda: f"{platform.system()} {platform.machine()}",
        "cpu": _processor,
        "vectors": _vectors,
        "threads": _threads,
        "blas": _blas,
        "gpu": _gpu,
        "entry path": _entry_path,
        "machine": _machine,
    }
    for name, look_up in lookups.items():
        try:
            yield name, look_up()
        except Exception as error:
            yield name, f"lookup failed: {type(error).__name__}: {error}"


def measured() -> str:
    """Measure this machine, keep the profile, and say where."""
    from jitflow.machines.machine import write_profile
    from jitflow.machines.measuring import measure

    return str(write_profile(measure()))


def _machine() -> str:
    from jitflow.machines.machine import KINDS, profile_path, read_profile

    profile = read_profile()
    where = f"guessed (there is no {profile_path()}; --measure writes it)" if profile is None else str(profile_path())
    processor = KINDS["cpu"] if profile is None else profile.processors[0]
    return f"{processor.facts}, {where}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _llvm() -> str:
    from llvmlite import binding

    return ".".join(str(part) for part in binding.llvm_version_info)


def _processor() -> str:
    from llvmlite import binding

    from jitflow.machines import processor

    return f"{processor.name()}, {binding.get_default_triple()}"


def _vectors() -> str:
    from jitflow.machines import processor

    widths = (("avx512f", 512), ("avx", 256), ("sse2", 128), ("neon", 128))
    feature, bits = next(((name, bits) for name, bits in widths if processor.has_features(name)), ("none found", 64))
    return f"{bits} bits ({feature})"


def _threads() -> str:
    from jitflow.machines.cores import usable_cores

    cores = usable_cores()
    said = f"{CONFIG.threads} (JITFLOW_THREADS)" if CONFIG.threads else str(cores)
    return f"{said}, of {cores} processors that the process may use"


def _blas() -> str:
    import scipy

    configuration: dict[str, Any] = scipy.show_config(mode="dicts")
    library = configuration["Build Dependencies"]["blas"]
    return f"{library['name']} {library['version']}, through scipy"


def _gpu() -> str:
    """Ask the driver itself, because cupy may be missing where a GPU is not."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "not found (no CUDA driver)"
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "not found (a CUDA driver, but no device)"
    name = ctypes.create_string_buffer(256)
    device = ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(device), 0) != 0 or driver.cuDeviceGetName(name, len(name), device) != 0:
        return f"{count.value} found"
    return f"{count.value} found, the first a {name.value.decode()}"


def _entry_path() -> str:
    if CONFIG.disable:
        return "none (JITFLOW_DISABLE is set: plain Python runs)"
    if CONFIG.entry == "python":
        return "python (JITFLOW_ENTRY=python)"
    from jitflow.runtime.native.object_layout import layout_is_known

    return "native" if layout_is_known() else "python (this interpreter's object layout is not known)"
