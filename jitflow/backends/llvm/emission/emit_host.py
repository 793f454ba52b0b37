"""What runs the kernels: slots, memory, launches and library calls.

A host program that fails gives back every buffer that it allocated and has not freed, results included: see
`ledger.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.ledger import Ledger
from jitflow.backends.llvm.emission.signatures import can_fail, takes_context
from jitflow.backends.llvm.emission.slots import from_slot, to_slots
from jitflow.backends.llvm.emission.symbols import FLAG_LETTERS, LIBRARY
from jitflow.backends.llvm.emission.types import element_type, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dtypes import parse_dtype
from jitflow.ir.status import OUT_OF_MEMORY

__all__ = ["HOST_EMISSION", "by_pointer", "is_complex"]

ALLOCATE_SLOT, FREE_SLOT = 0, 1


def _context_function(out: Emitter, slot: int) -> str:
    return out.let(f"load ptr, ptr {out.at('%context', str(8 * slot))}, align 8")


# -- slots


def _argument(out: Emitter, op: Op) -> Sequence[str]:
    slot = out.at("%arguments", str(8 * op.attributes["slot"]))
    return [from_slot(out, op.result.type, slot)]


def _result(out: Emitter, op: Op) -> Sequence[str]:
    (value,) = op.operands
    for number, word in enumerate(to_slots(out, value.type, out.operand(value)), op.attributes["slot"]):
        out.do(f"store i64 {word}, ptr {out.at('%results', str(8 * number))}, align 8")
    return ()


# -- memory


def _alloc(out: Emitter, op: Op) -> Sequence[str]:
    (size,) = op.operands
    nbytes, ledger = out.operand(size), _ledger(out)
    if ledger.has_entry(op.result):
        buffer = ledger.allocate(out, op.result, nbytes, out.module.site(op))
        out.leave_unless(out.let(f"icmp ne ptr {buffer}, null"), str(OUT_OF_MEMORY))
        return [buffer]
    allocate = _context_function(out, ALLOCATE_SLOT)
    buffer = out.let(f"call ptr {allocate}(i64 {nbytes})")

    def fail() -> None:
        report(out, OUT_OF_MEMORY, op, [size])
        out.leave(str(OUT_OF_MEMORY))

    def give_back_and_fail() -> None:
        out.do(f"call void {_context_function(out, FREE_SLOT)}(ptr {buffer}, i64 {nbytes})")
        fail()

    out.fail_unless(out.let(f"icmp ne ptr {buffer}, null"), fail)
    out.fail_unless(ledger.enter(out, op, op.result, buffer, nbytes), give_back_and_fail)
    return [buffer]


def _free(out: Emitter, op: Op) -> Sequence[str]:
    buffer, size = op.operands
    ledger = _ledger(out)
    if ledger.has_entry(buffer):
        ledger.free(out, buffer, out.operand(size))
        return ()
    ledger.strike(out, buffer)
    free = _context_function(out, FREE_SLOT)
    out.do(f"call void {free}(ptr {out.operand(buffer)}, i64 {out.operand(size)})")
    return ()


def _ledger(out: Emitter) -> Ledger:
    if out.ledger is None:
        raise CompilerBug("expected memory to be handled by a host program, not by a kernel")
    return out.ledger


def _offset(out: Emitter, op: Op) -> Sequence[str]:
    buffer, distance = op.operands
    return [out.at(out.operand(buffer), out.operand(distance))]


# -- kernels and libraries


def _launch(out: Emitter, op: Op) -> Sequence[str]:
    kernel = out.module.kernels.get(op.attributes["kernel"])
    if kernel is None:
        raise CompilerBug(
            f"launch: expected a kernel of this program, got {op.attributes['kernel']!r}", location=op.loc
        )
    if kernel.name in out.module.written_out:
        return _written_out(out, op, kernel)
    types = [register_type(result.type) for result in op.results]
    places = [out.stack(text) for text in types]
    arguments = ", ".join(
        [
            *(out.typed(operand) for operand in op.operands),
            *(f"ptr {place}" for place in places),
            "ptr %error" if can_fail(kernel) else "ptr null",
            *(["ptr %context"] if takes_context(kernel) else []),
        ]
    )
    status = out.let(f'call i32 @"{kernel.name}"({arguments})')
    if can_fail(kernel):
        passed = out.let(f"icmp eq i32 {status}, 0")
        out.fail_unless(passed, lambda: out.leave(status))
    return [out.let(f"load {text}, ptr {place}") for text, place in zip(types, places, strict=True)]


def _written_out(out: Emitter, op: Op, kernel: Function) -> Sequence[str]:
    """A kernel that only shares loops, in lines of its host program: values go at once to where parts find them."""
    sharing, out.sharing = out.sharing, out.module.written_out[kernel.name]
    out.operands.update(zip(kernel.parameters, map(out.operand, op.operands), strict=True))
    results = out.emit_region(kernel.region)
    out.sharing = sharing
    return results


def _library(out: Emitter, op: Op) -> Sequence[str]:
    symbol = op.attributes["symbol"]
    function = LIBRARY.get(symbol)
    if function is None:
        raise CompilerBug(f"library: expected one of {', '.join(LIBRARY)}, got {symbol!r}", location=op.loc)
    counts = [2 if is_complex(parameter) else 1 for parameter in function.parameters]
    expected = sum(counts) + bool(function.result)
    if len(op.operands) != expected:
        raise CompilerBug(f"{symbol}: expected {expected} operands, got {len(op.operands)}", location=op.loc)
    operands = iter(op.operands)
    arguments = [
        by_pointer(out, parameter, *islice(operands, count))
        for parameter, count in zip(function.parameters, counts, strict=True)
    ]
    address = _context_function(out, out.module.symbol_slot(symbol))
    call = f"{address}({', '.join(f'ptr {argument}' for argument in arguments)})"
    if function.result:
        text = element_type(parse_dtype(function.result))
        value = out.let(f"call {text} {call}")
        out.do(
            f"store {text} {value}, ptr {out.operand(op.operands[-1])}, align {parse_dtype(function.result).itemsize}"
        )
    else:
        out.do(f"call void {call}")
    return ()


def is_complex(parameter: str) -> bool:
    """Whether a parameter is a complex number, which comes as its two parts."""
    return parameter in ("c64", "c128")


def by_pointer(out: Emitter, parameter: str, operand: Value, imaginary: Value | None = None) -> str:
    """The address of an operand, or of its place in the frame, as BLAS wants it."""
    if imaginary is not None:
        return _pair_by_pointer(out, operand, imaginary)
    if parameter == "array":
        return out.operand(operand)
    text, integer = register_type(operand.type), out.operand(operand)
    if parameter == "flag":
        slot = out.stack("i8")
        letter = str(ord(FLAG_LETTERS[0]))
        for number, name in enumerate(FLAG_LETTERS[1:], 1):
            chosen = out.let(f"icmp eq {text} {integer}, {number}")
            letter = out.let(f"select i1 {chosen}, i8 {ord(name)}, i8 {letter}")
        out.do(f"store i8 {letter}, ptr {slot}")
        return slot
    if parameter == "int":
        slot = out.stack("i32")
        narrow = integer if text == "i32" else out.let(f"trunc {text} {integer} to i32")
        out.do(f"store i32 {narrow}, ptr {slot}, align 4")
        return slot
    slot = out.stack(text)
    out.do(f"store {text} {integer}, ptr {slot}, align 16")
    return slot


def _pair_by_pointer(out: Emitter, real: Value, imaginary: Value) -> str:
    text = register_type(real.type)
    slot = out.stack(f"[2 x {text}]")
    out.do(f"store {text} {out.operand(real)}, ptr {slot}, align 8")
    second = out.let(f"getelementptr {text}, ptr {slot}, i64 1")
    out.do(f"store {text} {out.operand(imaginary)}, ptr {second}, align 4")
    return slot


HOST_EMISSION: dict[str, Emission] = {
    "argument": _argument,
    "result": _result,
    "alloc": _alloc,
    "free": _free,
    "offset": _offset,
    "launch": _launch,
    "library": _library,
}
