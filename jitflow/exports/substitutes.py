"""What stands in the place of the runtime in exported programs, as LLVM text: memory, polls and room to recurse.

Memory is C's, in blocks that are aligned as programs expect. The system takes large blocks back at once and gives
others page by page, which takes longer than most kernels; so some that were freed last are kept for the next call. They
lie in places that are exchanged in one step each, so threads need no lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.machines.processor import CodeTarget
from jitflow.runtime.native.llvm_text import FunctionText

__all__ = ["ALIGNMENT", "as_size", "runtime_text"]

ALIGNMENT = 64
"""What programs expect of memory that they get."""
_HEAD = 16
"""Bytes before a block, in which its size and what C calls it stand."""
_LARGE, _KEPT = 1 << 16, 8
"""Bytes of blocks that are kept, and how many are."""
_RECURSION = 1000
"""How deep functions that call themselves may go, as in Python."""
_STACK = 1 << 18
"""How much of the stack they may use."""


def runtime_text(target: CodeTarget) -> Iterator[str]:
    """The functions that the context of a program holds."""
    size = "i32" if target.is_wasm else "i64"
    yield f"declare ptr @malloc({size})\ndeclare void @free(ptr)"
    yield f"@jitflow.kept = internal global [{_KEPT} x ptr] zeroinitializer"
    yield _alloc(size, target).text()
    yield _free().text()
    yield "define internal i32 @jitflow.poll(ptr %last) #0 {\n  ret i32 0\n}\n"
    room = FunctionText("internal i64 @jitflow.room(ptr %room) #0")
    here = room.let(f"ptrtoint ptr {room.stack(1)} to i64")
    room.store("i64", room.call("i64", "@llvm.usub.sat.i64", f"i64 {here}", f"i64 {_STACK}"), "%room")
    room.give("i64", str(_RECURSION))
    yield "declare i64 @llvm.usub.sat.i64(i64, i64)\n" + room.text()


def _alloc(size: str, target: CodeTarget) -> FunctionText:
    f = FunctionText("internal ptr @jitflow.alloc(i64 %bytes) #0")
    refused = f.label("refused")
    f.require(f.compare("ult", "%bytes", str(1 << (30 if target.is_wasm else 46))), refused)
    with f.when(f.compare("uge", "%bytes", str(_LARGE))), f.each_below(str(_KEPT)) as number:
        place = _place(f, number)
        found = f.let(f"atomicrmw xchg ptr {place}, ptr null seq_cst")
        with f.when(f.compare("ne", found, "null", "ptr")):
            room = f.load("i64", found, -_HEAD)
            fits = f.let(f"and i1 {f.compare('uge', room, '%bytes')}, "
                         f"{f.compare('ult', f.let(f'lshr i64 {room}, 1'), '%bytes')}")  # fmt: skip
            with f.when(fits):
                f.give("ptr", found)
            other = f.let(f"atomicrmw xchg ptr {place}, ptr {found} seq_cst")
            with f.when(f.compare("ne", other, "null", "ptr")):  # another thread has put it there meanwhile
                f.run("@free", f"ptr {f.load('ptr', other, -8)}")
    whole = f.let(f"add i64 %bytes, {ALIGNMENT + _HEAD}")
    block = f.call("ptr", "@malloc", f"{size} {as_size(f, whole, target)}")
    f.require_not(f.is_null(block), refused)
    behind = f.let(f"add i64 {f.let(f'ptrtoint ptr {block} to i64')}, {ALIGNMENT + _HEAD - 1}")
    aligned = f.let(f"inttoptr i64 {f.let(f'and i64 {behind}, -{ALIGNMENT}')} to ptr")
    f.store("ptr", block, aligned, -8)
    f.store("i64", "%bytes", aligned, -_HEAD)
    f.give("ptr", aligned)
    f.begin(refused)
    f.give("ptr", "null")
    return f


def _free() -> FunctionText:
    """Keep a large block in the first place, and what was there in the next one; the last one goes."""
    f = FunctionText("internal void @jitflow.free(ptr %memory, i64 %bytes) #0")
    held = f.stack(1)
    with f.when(f.is_null("%memory")):
        f.give("void")
    f.store("ptr", "%memory", held)
    with f.when(f.compare("uge", f.load("i64", "%memory", -_HEAD), str(_LARGE))), f.each_below(str(_KEPT)) as number:
        before = f.let(f"atomicrmw xchg ptr {_place(f, number)}, ptr {f.load('ptr', held)} seq_cst")
        with f.when(f.is_null(before)):
            f.give("void")
        f.store("ptr", before, held)
    f.run("@free", f"ptr {f.load('ptr', f.load('ptr', held), -8)}")
    f.give("void")
    return f


def _place(f: FunctionText, number: str) -> str:
    return f.let(f"getelementptr ptr, ptr @jitflow.kept, i64 {number}")


def as_size(function: FunctionText, number: str, target: CodeTarget) -> str:
    """A number of bytes as C's allocator takes it."""
    return function.let(f"trunc i64 {number} to i32") if target.is_wasm else number
