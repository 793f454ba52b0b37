"""Text that the running program makes: what is done to it is called (`texts`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.heap_access import as_pointer, call_heap, require_memory
from jitflow.backends.llvm.heap.headers import DATA
from jitflow.backends.llvm.heap.heap import RUNTIME, SHARED_NAME
from jitflow.backends.llvm.heap.texts import TEXT_FUNCTIONS, TEXTS, TEXTS_NAME
from jitflow.ir.core import Op

__all__ = ["TEXT_EMISSION"]


def _call(out: Emitter, name: str, *arguments: str) -> str:
    """Call a function that all programs share."""
    out.module.shared[SHARED_NAME], out.module.shared[TEXTS_NAME] = RUNTIME, TEXTS
    gives, takes = TEXT_FUNCTIONS[name]
    out.module.declare(f"jitflow.text.{name}", gives, takes)
    return out.let(f"call {gives} @jitflow.text.{name}({', '.join(arguments)})")


def _constant(out: Emitter, op: Op) -> Sequence[str]:
    characters = op.attributes["characters"]
    made = call_heap(out, "make", "ptr", f"ptr {as_pointer(out, op.operands[0])}", "i64 8", "i64 0", "i64 4")
    require_memory(out, op, out.let(f"icmp ne ptr {made}, null"))
    if characters:
        words = ", ".join(f"i64 {number}" for number in characters)
        name = f"jitflow.characters.{hashlib.sha256(words.encode()).hexdigest()[:16]}"
        out.module.define(name, f"@{name} = internal constant [{len(characters)} x i64] [{words}]")
        require_memory(out, op, _call(out, "write", f"ptr {made}", f"ptr @{name}", f"i64 {len(characters)}"))
    return [out.let(f"ptrtoint ptr {made} to i64")]


def _concatenate(out: Emitter, op: Op) -> Sequence[str]:
    heap, *texts = op.operands
    given = (f"ptr {as_pointer(out, value)}" for value in (heap, *texts))
    made = _call(out, "join", *given)
    require_memory(out, op, out.let(f"icmp ne ptr {made}, null"))
    return [out.let(f"ptrtoint ptr {made} to i64")]


def _compare(out: Emitter, op: Op) -> Sequence[str]:
    return [_call(out, "compare", *(f"i64 {out.operand(text)}" for text in op.operands))]


def _extend(out: Emitter, op: Op) -> Sequence[str]:
    text, source, start, stop = op.operands
    data = out.let(f"load ptr, ptr {out.at(as_pointer(out, source), str(DATA))}, align 8")
    first = out.let(f"getelementptr i64, ptr {data}, i64 {out.operand(start)}")
    count = out.let(f"sub i64 {out.operand(stop)}, {out.operand(start)}")
    require_memory(out, op, _call(out, "write", f"ptr {as_pointer(out, text)}", f"ptr {first}", f"i64 {count}"))
    return ()


def _insert(out: Emitter, op: Op) -> Sequence[str]:
    text, *numbers = op.operands
    given = (f"i64 {out.operand(number)}" for number in numbers)
    require_memory(out, op, _call(out, "insert", f"ptr {as_pointer(out, text)}", *given))
    return ()


def _number(out: Emitter, op: Op) -> Sequence[str]:
    text, number = op.operands
    ten = ord("A" if op.attributes.get("capitals") else "a") - 10
    given = (f"i64 {out.operand(number)}", f"i64 {op.attributes['base']}", f"i64 {ten}")
    require_memory(out, op, _call(out, "number", f"ptr {as_pointer(out, text)}", *given))
    return ()


def _packed(out: Emitter, op: Op) -> Sequence[str]:
    text, length, *words = op.operands
    packed = out.stack("i64", len(words))
    for number, word in enumerate(words):
        out.do(f"store i64 {out.operand(word)}, ptr {out.at(packed, str(8 * number))}, align 8")
    given = (f"ptr {as_pointer(out, text)}", f"ptr {packed}", f"i64 {out.operand(length)}")
    require_memory(out, op, _call(out, "unpack", *given))
    return ()


TEXT_EMISSION: dict[str, Emission] = {
    "text_constant": _constant,
    "concatenate_texts": _concatenate,
    "compare_texts": _compare,
    "extend_text": _extend,
    "insert_characters": _insert,
    "append_number": _number,
    "append_packed": _packed,
}
