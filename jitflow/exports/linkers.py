"""Shared libraries of object code, by whatever linker is at hand: a C compiler, or the one of ziglang's wheel.

Libraries leave what C and its mathematics provide to the process that loads them, as extensions of Python do; a module
of WebAssembly has all that it needs, and exports its memory with ``malloc`` and ``free``.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from jitflow.machines.processor import CodeTarget

__all__ = ["link_library", "suffix_of"]

_STACK = 1 << 20
"""Bytes of a WebAssembly module's stack."""


def suffix_of(target: CodeTarget) -> str:
    """What the names of libraries end in."""
    if target.is_wasm:
        return ".wasm"
    return ".dylib" if "darwin" in target.triple or "macos" in target.triple else ".so"


def link_library(code: Path, library: Path, target: CodeTarget, visible: Sequence[str]) -> str:
    """Make a library of an object. Returns why there is none, or nothing."""
    failed = "no linker was found: install a C compiler, or ziglang"
    for command in _commands(code, library, target, visible):
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode == 0:
            return ""
        failed = f"{Path(command[0]).name} failed: {ran.stderr.strip()[-400:]}"
    return failed


def _commands(code: Path, library: Path, target: CodeTarget, visible: Sequence[str]) -> Iterator[list[str]]:
    if target.is_wasm:
        exported = [f"--export={name}" for name in (*visible, "malloc", "free")]
        options = ["--no-entry", *exported, "-z", f"stack-size={_STACK}", "--stack-first", "--allow-undefined"]
        for linker in _with_zig("wasm-ld"):
            yield [*linker, *options, str(code), "-o", str(library)]
        return
    if _runs_here(target):
        for compiler in filter(None, map(shutil.which, ("cc", "gcc", "clang"))):
            yield [compiler, "-shared", str(code), "-o", str(library), "-lm"]
    if "linux" in target.triple:
        for linker in _with_zig("ld.lld"):
            yield [*linker, "-shared", str(code), "-o", str(library)]


def _with_zig(linker: str) -> Iterator[list[str]]:
    """A linker of LLVM's: its own, or that of ziglang's wheel."""
    if found := shutil.which(linker):
        yield [found]
    if importlib.util.find_spec("ziglang"):
        yield [sys.executable, "-m", "ziglang", linker]


def _runs_here(target: CodeTarget) -> bool:
    from jitflow.machines.processor import here

    return target.triple.split("-")[0] == here().triple.split("-")[0] and (
        target is here() or sys.platform.startswith("linux")
    )
