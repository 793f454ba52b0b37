"""NVRTC, the compiler for CUDA C++ that is a library: it needs neither a driver nor a GPU.

A thin binding through ctypes of the library in the wheels ``nvidia-cuda-nvrtc``, for CUDA 13, and
``nvidia-cuda-nvrtc-cu12``. This is the only place that knows of it; whoever compiles without it is told what to
install.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from jitflow.errors import CompilerBug
from jitflow.machines.cores import usable_cores
from jitflow.records import dataclass

__all__ = ["OPTIONS", "Resources", "compile_to_cubin", "compile_to_ptx", "is_available", "resources"]

OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
"""No licence with floats: nothing is contracted, quotients and roots are rounded correctly, denormals stay."""

_SPLIT_FROM = 13
"""The version of NVRTC from which on it knows how to optimise functions on several cores."""

_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_MISSING = (
    "NVRTC is not installed, which compiles kernels for GPUs: pip install 'jitflow[cuda13]', or 'jitflow[cuda12]' "
    "where the driver is one for CUDA 12"
)


def compile_to_cubin(source: str, arch: str) -> bytes:
    """Machine code for one kind of GPU, such as ``sm_90``.

    Raises ImportError where NVRTC is not installed, ValueError for a kind that it does not know, and `CompilerBug` for
    source that it refuses.
    """
    return _compile(source, arch, "CUBIN")


def compile_to_ptx(source: str, arch: str) -> str:
    """PTX, the assembly of all GPUs from ``arch`` (such as ``compute_90``) on; raises as `compile_to_cubin` does."""
    return _compile(source, arch, "PTX").rstrip(b"\0").decode()


@dataclass(frozen=True, slots=True)
class Resources:
    """What each thread of a kernel has in machine code: registers, bytes of memory of its own, those spilt to it.

    ``on_chip``: bytes that a block has whatever it is launched with.
    """

    registers: int
    stack: int
    spilled: int
    on_chip: int


def resources(source: str, arch: str) -> dict[str, Resources]:
    """What the kernels need on one kind of GPU, by name, as the assembler tells it (``--ptxas-options=-v``)."""
    log = _compile(source, arch, "ProgramLog", "--ptxas-options=-v").decode()
    found = re.findall(
        r"Function properties for (\w+)\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads\n.*?Used (\d+) registers(.*)", log,
    )  # fmt: skip
    kernels: dict[str, Resources] = {}
    for name, stack, stores, loads, registers, rest in found:
        on_chip = re.search(r"(\d+) bytes smem", rest)
        spilled = int(stores) + int(loads)
        kernels[name] = Resources(int(registers), int(stack), spilled, int(on_chip[1]) if on_chip else 0)
    return kernels


def is_available() -> bool:
    """Whether NVRTC is installed."""
    try:
        _library()
    except ImportError:
        return False
    return True


def _compile(source: str, arch: str, kind: str, *more: str) -> bytes:
    library, program = _library(), ctypes.c_void_p()
    created = library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    _expect_success(library, created, "nvrtcCreateProgram")
    try:
        given = (f"--gpu-architecture={arch}", *OPTIONS, *_spread(library), *more)
        options = [option.encode() for option in given]
        status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if status == _INVALID_OPTION:
            raise ValueError(f"expected a GPU architecture that NVRTC knows, got {arch!r}")
        if status != 0:
            raise CompilerBug(
                f"NVRTC refused the kernels for {arch}: {_text(library, program, 'ProgramLog').strip()}",
                pass_name="cuda", surrounding=_numbered(source),
            )  # fmt: skip
        return _bytes(library, program, kind)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


_INVALID_OPTION = 5


def _spread(library: ctypes.CDLL) -> tuple[str, ...]:
    """What has the kernels of a module optimised at the same time, which takes nine tenths of compiling them."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _expect_success(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
    return (f"--split-compile={usable_cores()}",) if major.value >= _SPLIT_FROM else ()


def _bytes(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    """One of the results of a compilation, which NVRTC hands out by size and content."""
    size = ctypes.c_size_t()
    _expect_success(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
    content = ctypes.create_string_buffer(size.value)
    _expect_success(library, getattr(library, f"nvrtcGet{what}")(program, content), what)
    return content.raw


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    return _bytes(library, program, what).rstrip(b"\0").decode(errors="replace")


def _expect_success(library: ctypes.CDLL, status: int, what: str) -> None:
    if status != 0:
        raise CompilerBug(f"{what}: {library.nvrtcGetErrorString(status).decode()}", pass_name="cuda")


def _numbered(source: str) -> str:
    return "\n".join(f"{number:4}  {line}" for number, line in enumerate(source.splitlines(), 1))


@cache
def _library() -> ctypes.CDLL:
    for path in _candidates():
        library = ctypes.CDLL(str(path))
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return library
    raise ImportError(_MISSING)


def _candidates() -> Iterator[Path]:
    """The library as the wheels install it: ``nvidia/cu13/lib/libnvrtc.so.13``, or ``nvrtc64_130_0.dll``."""
    prefix = "nvrtc64" if sys.platform == "win32" else "libnvrtc.so"
    for package in _PACKAGES:
        try:
            installed = files(package) or ()
        except PackageNotFoundError:
            continue
        for file in installed:
            if file.name.startswith(prefix) and "alt" not in file.name:
                yield Path(str(file.locate()))
