"""What is shipped along with programs for a target that lacks it.

WebAssembly has no product and sum that are rounded once, no halves, no integers of 128 bits, and no allocator: LLVM
calls functions of a C library for these, which nobody there may have. They are written in C (``wasm32/helpers.c``) and
kept as LLVM text, so that nobody needs a compiler. They are weak: a library that has them comes first. On the other
targets these are one instruction or part of the C library that programs are linked with anyway.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jitflow.machines.processor import CodeTarget

__all__ = ["helper_names", "helpers_text"]


def helpers_text(target: CodeTarget) -> str:
    """The text of what the target lacks."""
    return _wasm32() if target.is_wasm else ""


def helper_names(target: CodeTarget) -> list[str]:
    """The functions in it that code may call."""
    return re.findall(r"^define weak hidden [^@]*@(\w+)", helpers_text(target), re.MULTILINE)


@cache
def _wasm32() -> str:
    return (Path(__file__).parent / "wasm32" / "helpers.ll").read_text()
