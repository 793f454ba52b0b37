"""Arrays in the heap of a call: their memory is that of a list which never changes its length."""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.heap_access import as_pointer, call_heap, header_field, require_memory
from jitflow.backends.llvm.heap.headers import DATA
from jitflow.ir.core import Op

__all__ = ["HELD_ARRAY_EMISSION"]


def _add_items(out: Emitter, op: Op) -> Sequence[str]:
    held, count = op.operands
    arguments = f"ptr {as_pointer(out, held)}", f"i64 {out.operand(count)}"
    require_memory(out, op, call_heap(out, "add.items", "i1", *arguments))
    return ()


def _item_memory(out: Emitter, op: Op) -> Sequence[str]:
    """Where there is no array, since what has one may be something else, there is no memory either."""
    (held,) = op.operands
    some, behind, before = out.label("some"), out.label("behind"), out.block
    out.branch(out.let(f"icmp ne i64 {out.operand(held)}, 0"), some, behind)
    out.begin(some)
    header = as_pointer(out, held)
    if op.attributes.get("kept"):
        call_heap(out, "pin", "void", f"ptr {header}")
    data, last = header_field(out, header, DATA, "ptr"), out.block
    out.jump(behind)
    out.begin(behind)
    return [out.let(f"phi ptr [ null, %{before} ], [ {data}, %{last} ]")]


def _hold(out: Emitter, op: Op) -> Sequence[str]:
    """The reference is in a register or in the frame up to here, where the collector finds it."""
    out.do(f'call void asm sideeffect "", "r"(i64 {out.operand(op.operands[0])})')
    return ()


HELD_ARRAY_EMISSION: dict[str, Emission] = {
    "add_items": _add_items,
    "item_memory": _item_memory,
    "hold": _hold,
}
