"""What a profiled program tells: calls of the runtime's clock, and of what takes its notes (`runtime/native/notes.py`).

A slot of the context holds the address of the program's rows, one for each site, in which notes are summed up.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.ir.context_names import CLOCK, NOTE, NOTE_ROW, NOTES
from jitflow.ir.core import Function, Op

__all__ = ["NOTES_EMISSION", "note_end", "read_clock", "write_note"]


def note_end(out: Emitter, program: Function) -> None:
    """A program that fails ends here: its own note."""
    for op in program.region.ops[-2:]:
        if op.name == "note":
            out.emit(op)


def read_clock(out: Emitter, context: str = "%context") -> str:
    """The time."""
    return out.let(f"call i64 {_symbol(out, CLOCK, context)}()")


def write_note(
    out: Emitter, op: Op, start: str, nbytes: str = "0", operations: str = "0", context: str = "%context"
) -> None:
    """A note about the site of an op, from ``start`` to now."""
    row = out.at(_symbol(out, NOTES, context), str(NOTE_ROW * out.module.site(op)))
    out.do(f"call void {_symbol(out, NOTE, context)}(ptr {row}, i64 {start}, i64 {nbytes}, i64 {operations})")


def _symbol(out: Emitter, name: str, context: str) -> str:
    return out.let(f"load ptr, ptr {out.at(context, str(8 * out.module.symbol_slot(name)))}, align 8")


def _clock(out: Emitter, op: Op) -> Sequence[str]:
    return [read_clock(out)]


def _note(out: Emitter, op: Op) -> Sequence[str]:
    write_note(out, op, *map(out.operand, op.operands))
    return ()


NOTES_EMISSION: dict[str, Emission] = {"clock": _clock, "note": _note}
