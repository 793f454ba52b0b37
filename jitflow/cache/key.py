"""What code of a function is found by: all that it depends on and that no guard compares.

The root function's code with its name and options; the versions of everything whose code decides what is compiled; the
processor; the switches and limits that a trace or a lowering asks. None of it asks for a trace.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.cache.content import Incomparable, content_of
from jitflow.config import CONFIG, user_folder

if TYPE_CHECKING:
    from jitflow.compilation.specialised import Options

__all__ = ["environment", "key_of", "lasting"]

_FORMAT = 1
"""What a file looks like; another number is another cache."""


def key_of(function: FunctionType, options: Options, threads: int) -> str:
    """The key of a function's code. Raises `Incomparable` where there is none.

    A function that jitflow has made, a gradient, has one code for all that it may be made of: these are in the key too.
    """
    inner = [_code_in(cell) for cell in function.__closure__ or ()]
    about = (
        content_of(function.__code__), str(function.__module__), function.__qualname__, *inner,
        repr(options), str(threads), *environment(),
    )  # fmt: skip
    return hashlib.sha256("\n".join(about).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _code_in(cell: Any) -> str:
    """The code of the function in a cell, if there is one that can be compared; guards compare it in any case."""
    try:
        code = getattr(cell.cell_contents, "__code__", None)
        return content_of(code) if code is not None else ""
    except (ValueError, Incomparable):
        return ""


def environment() -> tuple[str, ...]:
    """What the code of any function depends on."""
    return (*lasting(), repr(np.get_printoptions()), _tuned())


@cache
def lasting() -> tuple[str, ...]:
    """What the code of any function depends on and that stays as it is as long as this process runs."""
    from jitflow.machines import processor

    here = Path(__file__).parents[1]
    versions = (
        _FORMAT,
        sys.version,
        sys.implementation.cache_tag,
        sys.platform,
        platform.machine(),
        sys.flags.optimize,
    )
    libraries = (
        np.__version__,
        _stamp_of("llvmlite", "_version.py") or _version_of_llvmlite(),
        _stamp_of("scipy", "version.py"),
    )
    return tuple(map(str, (*versions, *libraries, *processor.identity(), CONFIG.entry, _stamp(here))))


def _stamp(package: Path) -> str:
    """What tells the files of jitflow from others of the same version, as a checkout has them that is worked on."""
    found, folders = [], [os.fspath(package)]
    for folder in folders:
        place = os.open(folder, os.O_RDONLY) if os.scandir in os.supports_fd else folder  # files are found from there
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(".py"):
                        about = entry.stat()
                        found.append(f"{folder}/{name} {about.st_size} {about.st_mtime_ns}")
                    elif name[0] not in "_." and entry.is_dir():
                        folders.append(f"{folder}/{name}")
        finally:
            if isinstance(place, int):
                os.close(place)
    return hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "surrogatepass")).hexdigest()


def _stamp_of(package: str, file: str) -> str:
    """What tells versions of a package apart, by the file that says which it is, without importing it."""
    for folder in sys.path:
        version = os.path.join(folder or os.curdir, package, file)
        try:
            about = os.stat(version)
        except OSError:
            continue
        return f"{version} {about.st_size} {about.st_mtime_ns}"
    return ""


def _version_of_llvmlite() -> str:
    import llvmlite

    return str(llvmlite.__version__)


def _tuned() -> str:
    """The schedules that were measured on this machine, which lowering follows."""
    try:
        return hashlib.sha256((user_folder() / "schedules.json").read_bytes()).hexdigest()
    except OSError:
        return ""
