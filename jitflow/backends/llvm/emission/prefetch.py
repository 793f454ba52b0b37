"""Asking for memory before it is read."""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter

__all__ = ["bring_near", "prefetch", "prefetch_lines"]

CACHE_LINE = 64


def prefetch_lines(out: Emitter, pointer: str, ahead: int, nbytes: int) -> None:
    """Ask for cache lines that will be read soon. Addresses behind the end of memory do no harm."""
    for line in range(ahead, ahead + nbytes, CACHE_LINE):
        prefetch(out, out.at(pointer, str(line)))


def prefetch(out: Emitter, place: str) -> None:
    """Ask for one cache line."""
    out.module.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
    out.do(bring_near(place))


def bring_near(place: str) -> str:
    """The instruction that asks for a cache line."""
    return f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)"
