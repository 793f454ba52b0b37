"""The launch of a kernel that several threads share (`jitflow.runtime.workers_text`).

What the kernel takes lies in the caller's frame, as words, for as long as the call lasts. A small function reads it
from there and runs the kernel on one span; its address is what the threads are given. In a program that is profiled,
each thread notes its spans.
"""

from __future__ import annotations

from jitflow.backends.llvm.emit_notes import read_clock, write_note
from jitflow.backends.llvm.emitter import Emitter, can_fail, takes_context
from jitflow.backends.llvm.slots import from_slot, to_slots
from jitflow.ir.core import Function, Op
from jitflow.ir.routines import SHARE

__all__ = ["can_be_shared", "launch_shared"]

_SPAN = ("i64 %first", "i64 %last", "i64 %worker")
_WORDS = 2
"""Words of each value: the most that one needs."""


def can_be_shared(op: Op, kernel: Function) -> bool:
    """Whether threads may share a launch. What fails, or polls, needs the caller's thread."""
    return "shared" in op.attributes and not (can_fail(kernel) or takes_context(kernel) or kernel.results)


def launch_shared(out: Emitter, op: Op, kernel: Function) -> None:
    """Run a kernel on spans side by side."""
    *given, _, last, _, least = op.operands
    area = out.stack("i64", _WORDS * max(len(given) + out.module.notes, 1))
    if out.module.notes:
        out.do(f"store ptr %context, ptr {out.at(area, str(8 * _WORDS * len(given)))}, align 8")
    for number, value in enumerate(given):
        for part, word in enumerate(to_slots(out, value.type, out.operand(value))):
            out.do(f"store i64 {word}, ptr {out.at(area, str(8 * (_WORDS * number + part)))}, align 8")
    name = f'"{kernel.name}_span"'
    out.module.define(name, _span(out, op, kernel, name))
    share = out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(SHARE)))}, align 8")
    step, most = op.attributes["shared"]
    sizes = ", ".join(f"i64 {operand}" for operand in (out.operand(last), step, out.operand(least), most))
    out.do(f"call void {share}(ptr @{name}, ptr {area}, {sizes})")


def _span(out: Emitter, op: Op, kernel: Function, name: str) -> str:
    inner = Emitter(out.module, kernel, out.rows)
    inner.lines.append("  br label %enter")
    inner.begin("enter")
    given = kernel.parameters[:-3]
    for number, parameter in enumerate(given):
        slot = inner.at("%area", str(8 * _WORDS * number))
        inner.operands[parameter] = from_slot(inner, parameter.type, slot)
    arguments = [inner.typed(parameter) for parameter in given]
    call = f'call i32 @"{kernel.name}"({", ".join([*arguments, *_SPAN, "ptr null"])})'
    if out.module.notes:
        context = inner.let(f"load ptr, ptr {inner.at('%area', str(8 * _WORDS * len(given)))}, align 8")
        start = read_clock(inner, context)
        inner.do(call)
        write_note(inner, op, start, context=context)
    else:
        inner.do(call)
    inner.do("ret void")
    return inner.text(f"internal void @{name}(ptr %area, {', '.join(_SPAN)}) #0")
