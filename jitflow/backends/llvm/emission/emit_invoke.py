"""The call of a routine: words on the stack, the trampoline from the context, memory and sizes out of the words.

One on a GPU finds behind the words of its operands the stream in whose order it works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emit_inner_loop import Described, call_loop
from jitflow.backends.llvm.emission.emit_short_rows import call_short_row, short_row
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.ledger import ENTRY_BYTES
from jitflow.errors import CompilerBug
from jitflow.ir.context_names import SITE_PREFIX, TRAMPOLINE
from jitflow.ir.core import Op, Value, walk_loops
from jitflow.ir.inner_loops import inner_loop
from jitflow.ir.routines import comes_with_memory
from jitflow.ir.status import OUT_OF_MEMORY, ROUTINE_FAILED

__all__ = ["INVOKE_EMISSION"]


def _invoke(out: Emitter, op: Op) -> Sequence[str]:
    if out.ledger is None:
        raise CompilerBug("expected routines to be called by a host program, not by a kernel")
    given = iter(op.operands)
    counts = [1 + 2 * (kind if isinstance(kind, int) else 0) for _, kind in op.attributes["takes"]]
    taken = [_word(out, next(given)) for count in counts for _ in range(count)]
    expected, places, sizes = _results(out, op, given)
    held = [_word(out, value) for value in given]
    results: list[str] = []

    device = op.attributes.get("device", "")
    stream = [_word_of(out, _context(out, f"{device} stream"))] if device else []

    def through_python() -> str:
        arguments = _filled(out, [*taken, *stream])
        results.append(_filled(out, expected))
        trampoline, place = (_context(out, name) for name in (TRAMPOLINE, f"{SITE_PREFIX}{out.module.site(op)}"))
        return out.let(f"call i32 {trampoline}(ptr {place}, ptr {arguments}, ptr {results[0]})")

    loop = None if device else inner_loop(op.attributes)
    row = None if device else short_row(op.attributes)
    if row is not None and any(other is op for other in walk_loops(out.function.region)):
        status = call_short_row(out, row, _described(out, op, taken, expected), through_python)
    elif loop is None:
        status = through_python()
    else:
        things = _described(out, op, taken, expected)
        if loop.in_place:
            del things[len(counts)]  # the first operand once more
        status = call_loop(out, loop, things, partial(_context, out), partial(_filled, out), through_python)

    def fail() -> None:
        if "on_failure" in op.attributes:
            following = replace(op, operands=(), results=(), attributes=dict(op.attributes["on_failure"]))
            trampoline, place = map(partial(_context, out), (TRAMPOLINE, f"{SITE_PREFIX}{out.module.site(following)}"))
            out.let(f"call i32 {trampoline}(ptr {place}, ptr {_filled(out, held)}, ptr {_filled(out, ())})")
        report(out, ROUTINE_FAILED, op, ())
        out.leave(str(ROUTINE_FAILED))

    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), fail)
    made = [out.let(f"load ptr, ptr {out.at(results[0], str(8 * word))}, align 8") for word in places]
    found = [out.let(f"load i64, ptr {out.at(results[0], str(8 * word))}, align 8") for word in sizes]
    for number, value in enumerate(op.results[: len(made)]):
        _enter(out, op, value, made[number:])
    return [*made, *found]


def _results(out: Emitter, op: Op, given: Iterator[Value]) -> tuple[list[str], list[int], list[int]]:
    """The words of the results before the call; which of them become pointers, and which sizes."""
    words: list[str] = []
    places: list[int] = []
    sizes: dict[int, int] = {}
    for _, dims in op.attributes["gives"]:
        if comes_with_memory(op.attributes, dims):
            places.append(len(words))
            words.append("0")
        else:
            words.append(_word(out, next(given)))
        for number in dims:
            if number >= 0:
                sizes.setdefault(number, len(words))
            words.append(_word(out, next(given)) if number < 0 else "-1")
    return words, places, [sizes[number] for number in sorted(sizes)]


def _described(out: Emitter, op: Op, taken: Sequence[str], expected: Sequence[str]) -> list[Described]:
    """Operands and results, all of which are memory whose dims are known."""
    things, words, places = [], iter(taken), iter(expected)
    for _, kind in op.attributes["takes"]:
        rank = kind if isinstance(kind, int) else 0
        address, dims, strides = next(words), [next(words) for _ in range(rank)], [next(words) for _ in range(rank)]
        things.append(Described(address, dims, strides))
    for dtype, numbers in op.attributes["gives"]:
        address, dims = next(places), [next(places) for _ in numbers]
        things.append(Described.contiguous(out, address, dims, dtype))
    return things


def _word(out: Emitter, value: Value) -> str:
    operand = out.operand(value)
    return _word_of(out, operand) if out.typed(value).startswith("ptr") else operand


def _word_of(out: Emitter, address: str) -> str:
    return out.let(f"ptrtoint ptr {address} to i64")


def _filled(out: Emitter, words: Sequence[str]) -> str:
    """An area of the frame that holds these words."""
    area = out.stack("i64", max(len(words), 1))
    for number, word in enumerate(words):
        out.do(f"store i64 {word}, ptr {out.at(area, str(8 * number))}, align 8")
    return area


def _context(out: Emitter, symbol: str) -> str:
    slot = out.module.symbol_slot(symbol)
    return out.let(f"load ptr, ptr {out.at('%context', str(8 * slot))}, align 8")


def _enter(out: Emitter, op: Op, value: Value, buffers: Sequence[str]) -> None:
    """The first buffer is the program's from here on. Who gave it knows its size, so the ledger need not."""
    device = op.attributes.get("device", "")
    ledger = out.device_ledger if device else out.ledger
    assert ledger is not None
    noted = ledger.enter(out, op, value, buffers[0], "0")
    if noted == "true":
        return

    def give_back_and_fail() -> None:
        for buffer in buffers:
            if device:
                free, stream = (_context(out, f"{device} {name}") for name in ("cuMemFreeAsync", "stream"))
                out.do(f"call i32 {free}(ptr {buffer}, ptr {stream})")
            else:
                free = out.let(f"load ptr, ptr {out.at('%context', '8')}, align 8")
                out.do(f"call void {free}(ptr {buffer}, i64 0)")
        report(out, OUT_OF_MEMORY, op, ())
        out.do(f"store i64 {ENTRY_BYTES}, ptr {out.at('%error', '16')}, align 8")
        out.leave(str(OUT_OF_MEMORY))

    out.fail_unless(noted, give_back_and_fail)


INVOKE_EMISSION: dict[str, Emission] = {"invoke": _invoke}
