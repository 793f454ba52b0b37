"""What the code of containers is written with: calls of the heap's functions, fields of headers, words of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.backends.llvm.emission.slots import to_slots
from jitflow.backends.llvm.emission.types import element_type
from jitflow.backends.llvm.heap.headers import DATA
from jitflow.backends.llvm.heap.heap import RUNTIME, SHARED_NAME
from jitflow.backends.llvm.heap.keys import FIRST_WORD
from jitflow.backends.llvm.heap.texts import TEXT_FUNCTIONS, TEXTS, TEXTS_NAME
from jitflow.ir.core import Op, Value
from jitflow.ir.status import OUT_OF_MEMORY
from jitflow.ir.types import TEXT, Container, Scalar

__all__ = [
    "OF_ENTRY",
    "as_pointer",
    "call_heap",
    "entry_at",
    "entry_bytes",
    "fill_entry",
    "header_field",
    "kind_of",
    "number_of_word",
    "own_functions",
    "require_memory",
    "set_header_field",
    "words_of",
]

_OF_HEADER, OF_ENTRY = ", align 8, !tbaa !5", ", align 8, !tbaa !6"


def call_heap(out: Emitter, name: str, result: str, *arguments: str) -> str:
    """Call a function that all programs share."""
    out.module.shared[SHARED_NAME] = RUNTIME
    out.module.declare(f"jitflow.heap.{name}", result, [argument.split()[0] for argument in arguments])
    call = f"call {result} @jitflow.heap.{name}({', '.join(arguments)})"
    if result != "void":
        return out.let(call)
    out.do(call)
    return ""


def as_pointer(out: Emitter, value: Value) -> str:
    """The header that a reference leads to."""
    return out.let(f"inttoptr i64 {out.operand(value)} to ptr")


def kind_of(value: Value) -> Container:
    """The type of a reference."""
    assert isinstance(value.type, Container)
    return value.type


def entry_bytes(kind: Container) -> int:
    """The bytes of an entry."""
    return 8 * (FIRST_WORD[kind.family] + len(kind.words))


def header_field(out: Emitter, header: str, offset: int, type: str = "i64") -> str:
    """What a header has at an offset."""
    return out.let(f"load {type}, ptr {out.at(header, str(offset))}{_OF_HEADER}")


def set_header_field(out: Emitter, header: str, offset: int, value: str, type: str = "i64") -> None:
    """Put something into a header at an offset."""
    out.do(f"store {type} {value}, ptr {out.at(header, str(offset))}{_OF_HEADER}")


def words_of(out: Emitter, values: Sequence[Value]) -> list[str]:
    """The words of values."""
    return [word for value in values for word in to_slots(out, value.type, out.operand(value))]


def number_of_word(out: Emitter, type: Scalar, word: str) -> str:
    """The number of a word."""
    element = element_type(type.dtype)
    if type.dtype.kind == "b":
        return out.let(f"icmp ne i64 {word}, 0")
    bits = type.dtype.bits
    narrow = word if bits == 64 else out.let(f"trunc i64 {word} to i{bits}")
    return narrow if element == f"i{bits}" else out.let(f"bitcast i{bits} {narrow} to {element}")


def entry_at(out: Emitter, kind: Container, header: str, position: str) -> str:
    """Where the entry of a position is."""
    data = header_field(out, header, DATA, "ptr")
    return out.let(f"getelementptr i8, ptr {data}, i64 {out.let(f'mul i64 {position}, {entry_bytes(kind)}')}")


def fill_entry(out: Emitter, kind: Container, entry: str, words: Sequence[str], first: int = 0) -> None:
    """Put words into an entry, from that number on behind those that are no item's."""
    for number, word in enumerate(words, FIRST_WORD[kind.family] + first):
        out.do(f"store i64 {word}, ptr {out.at(entry, str(8 * number))}{OF_ENTRY}")


def require_memory(out: Emitter, op: Op, condition: str) -> None:
    """Fail for want of memory unless the condition holds."""

    def fail() -> None:
        report(out, OUT_OF_MEMORY, op, ())
        out.leave(str(OUT_OF_MEMORY))

    out.fail_unless(condition, fail)


def own_functions(
    out: Emitter,
    words: Sequence[Scalar],
    functions: Mapping[str, str],
    called: Sequence[tuple[str, str, Sequence[str]]],
) -> None:
    """Write functions that are for keys or an order of such words into this program, and declare what they call."""
    out.module.shared[SHARED_NAME] = RUNTIME
    if TEXT in words:
        out.module.shared[TEXTS_NAME] = TEXTS
        for name, (gives, takes) in TEXT_FUNCTIONS.items():
            out.module.declare(f"jitflow.text.{name}", gives, takes)
    for name, result, parameters in called:
        out.module.declare(name, result, parameters)
    for name, text in functions.items():
        out.module.define(name, text)
