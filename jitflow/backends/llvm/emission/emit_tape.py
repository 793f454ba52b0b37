"""Pushing and popping: an address is compared with the end of the chunk, the number moved, the address advanced.

Only where a chunk ends a function is called, which finds the next one or makes it (`tapes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.backends.llvm.emission.emit_control import phi, report
from jitflow.backends.llvm.emission.emit_memory import load_number, store_number
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emission, Emitter
from jitflow.backends.llvm.emission.tapes import call_back, call_clear, call_find, call_grow, new_tape
from jitflow.backends.llvm.emission.types import Number, number_type
from jitflow.ir.core import Op
from jitflow.ir.status import NOT_ON_TAPE, OUT_OF_MEMORY

__all__ = ["TAPE_EMISSION"]

"""What the first error slot says, and also the status, where more is popped than was pushed."""


def _tape(out: Emitter, op: Op) -> Sequence[str]:
    end = out.tapes[op.result] = new_tape(out)
    return [end.record]


def _push(out: Emitter, op: Op) -> Sequence[str]:
    type = number_type(op.operands[1].type)
    store_number(out, type, _advance(out, op, str(type.dtype.itemsize)), out.operand(op.operands[1]))
    return ()


def _pop(out: Emitter, op: Op) -> Sequence[str]:
    type = number_type(op.result.type)
    return [load_number(out, type, _go_back(out, op, str(type.dtype.itemsize)))]


def _extend(out: Emitter, op: Op) -> Sequence[str]:
    return [_advance(out, op, out.operand(op.operands[1]))]


def _retract(out: Emitter, op: Op) -> Sequence[str]:
    return [_go_back(out, op, out.operand(op.operands[1]))]


def _clear(out: Emitter, op: Op) -> Sequence[str]:
    call_clear(out, out.tapes[op.operands[0]])
    return ()


def _peek(out: Emitter, op: Op) -> Sequence[str]:
    type = number_type(op.result.type)
    return [load_number(out, type, _place_of(out, op, type))]


def _poke(out: Emitter, op: Op) -> Sequence[str]:
    type = number_type(op.operands[2].type)
    store_number(out, type, _place_of(out, op, type), out.operand(op.operands[2]))
    return ()


def _place_of(out: Emitter, op: Op, type: Number) -> str:
    """Where the number is that is so many numbers from the end of the tape."""
    tape = out.tapes[op.operands[0]]
    nbytes = out.let(f"mul i64 {out.operand(op.operands[1])}, {type.dtype.itemsize}")
    top, begin = (out.let(f"load ptr, ptr {word}, align 8") for word in (tape.top, tape.begin))

    def elsewhere() -> str:
        place = call_find(out, tape, top, nbytes)
        _require_place(out, op, place)
        return place

    here = out.at(top, out.let(f"sub i64 0, {nbytes}"))
    return _within_chunk(out, (begin, top), nbytes, here, elsewhere)


def _require_place(out: Emitter, op: Op, place: str) -> None:
    """Fail where there is no such value."""

    def fail() -> None:
        report(out, NOT_ON_TAPE, op, ())
        out.leave(str(NOT_ON_TAPE))

    out.fail_unless(out.let(f"icmp ne ptr {place}, null"), fail)


def _advance(out: Emitter, op: Op, nbytes: str) -> str:
    """Room for so many bytes, which is the end of the tape from here on."""
    tape = out.tapes[op.operands[0]]
    top, end = (out.let(f"load ptr, ptr {word}, align 8") for word in (tape.top, tape.end))

    def grow() -> str:
        place = call_grow(out, tape, top, nbytes)

        def fail() -> None:
            report(out, OUT_OF_MEMORY, op, ())
            out.leave(str(OUT_OF_MEMORY))

        out.fail_unless(out.let(f"icmp ne ptr {place}, null"), fail)
        return place

    place = _within_chunk(out, (top, end), nbytes, top, grow)
    out.do(f"store ptr {out.at(place, nbytes)}, ptr {tape.top}, align 8")
    return place


def _go_back(out: Emitter, op: Op, nbytes: str) -> str:
    """The last bytes of the tape, which are no part of it from here on."""
    tape = out.tapes[op.operands[0]]
    top, begin = (out.let(f"load ptr, ptr {word}, align 8") for word in (tape.top, tape.begin))

    def back() -> str:
        place = call_back(out, tape, top, nbytes)
        _require_place(out, op, place)
        return place

    distance = f"-{nbytes}" if nbytes.isdigit() else out.let(f"sub i64 0, {nbytes}")
    last = out.at(top, distance)
    place = _within_chunk(out, (begin, top), nbytes, last, back)
    out.do(f"store ptr {place}, ptr {tape.top}, align 8")
    return place


def _within_chunk(out: Emitter, span: tuple[str, str], nbytes: str, here: str, elsewhere: Callable[[], str]) -> str:
    """``here`` if so many bytes lie between two addresses, what ``elsewhere`` finds if not."""
    low, high = (out.let(f"ptrtoint ptr {address} to i64") for address in span)
    fits = out.let(f"icmp uge i64 {out.let(f'sub i64 {high}, {low}')}, {nbytes}")
    proceed, chunk_ends, before = out.label("on"), out.label("chunk.ends"), out.block
    out.branch(fits, proceed, chunk_ends, UNLIKELY)
    with out.cold(chunk_ends):
        other = elsewhere()
        behind = out.block
        out.jump(proceed)
    out.begin(proceed)
    return out.let(phi("ptr", (here, before), (other, behind)))


TAPE_EMISSION: dict[str, Emission] = {
    "tape": _tape,
    "push": _push,
    "pop": _pop,
    "peek": _peek,
    "poke": _poke,
    "extend": _extend,
    "retract": _retract,
    "clear": _clear,
}
