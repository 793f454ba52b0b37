"""Calls of functions of the module: those that compute a number, and those that call themselves.

A function that calls itself is handed, in front of what it takes, the *room* of the whole recursion and how many calls
may lie in each other from here on. The room is a record in the frame of the host program: the end of the thread's
stack, the countdown to the next poll and its time (`jitflow.runtime.native.recursion` fills these), and the addresses
that other functions are handed, which are read where they are needed: registers are saved in each call. Whoever calls
looks first whether there is room. The function gives its status with its results, in registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emit_poll import PERIOD, lend_turns, poll_each_call, share_polls, take_turns
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.ledger import Ledger
from jitflow.backends.llvm.emission.signatures import returned_type
from jitflow.backends.llvm.emission.tapes import take_tapes
from jitflow.backends.llvm.emission.types import register_type
from jitflow.ir.context_names import ROOM
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.status import CHECK_FAILED, OUT_OF_MEMORY
from jitflow.ir.types import Buffer

__all__ = ["CALL_EMISSION", "begin_procedure", "calls_procedures", "end_procedure", "open_room",
           "procedure_parameters", "procedure_symbol", "procedure_text"]  # fmt: skip

_BEFORE = ("ptr %room", "i64 %depth")
_WORDS = {"error": 24, "context": 32}
"""Where in the room the addresses lie that other functions are handed one by one."""


def calls_procedures(function: Function) -> bool:
    """Whether a host program calls functions that call themselves."""
    return any(op.name == "call" and "frames" in op.attributes for op in walk(function.region))


def open_room(out: Emitter) -> None:
    """What a host program has in its frame for all that it calls."""
    out.entry += [
        "  %room = alloca [5 x i64], align 16",
        "  %room.turns = getelementptr i8, ptr %room, i64 8",
        f"  store i64 {PERIOD}, ptr %room.turns, align 8",
        "  %room.polled = getelementptr i8, ptr %room, i64 16",
        "  store i64 0, ptr %room.polled, align 8",
        f"  %room.slot = getelementptr i8, ptr %context, i64 {8 * out.module.symbol_slot(ROOM)}",
        "  %room.fill = load ptr, ptr %room.slot, align 8",
        "  %depth = call i64 %room.fill(ptr %room)",
        *(
            line
            for name, place in _WORDS.items()
            for line in (
                f"  %room.{name} = getelementptr i8, ptr %room, i64 {place}",
                f"  store ptr %{name}, ptr %room.{name}, align 8",
            )
        ),
    ]


def procedure_symbol(name: str) -> str:
    """What the module calls a function that calls itself, whose name may well be that of something else in it."""
    return f'"recursion.{name}"'


def procedure_parameters(function: Function) -> list[str]:
    """The types of what a function that calls itself is handed."""
    return [*(text.split()[0] for text in _BEFORE), *(register_type(value.type) for value in function.parameters)]


def begin_procedure(out: Emitter) -> str:
    """The beginning of a function that calls itself; returns its parameters."""
    function = out.function
    out.operands.update((parameter, f"%a{position}") for position, parameter in enumerate(function.parameters))
    parameters = ", ".join([*_BEFORE, *map(out.typed, function.parameters)])
    if function.layer == "host":
        out.ledger = Ledger(function)
        out.ledger.open(out)
    share_polls(out)
    take_tapes(out)
    out.lines.append("  br label %enter")
    out.begin("enter")
    for position in function.attributes.get("owned", ()):
        if out.ledger is not None:
            out.ledger.take(out, function.parameters[position])
    poll_each_call(out, function.region.ops[0])
    return parameters


def end_procedure(out: Emitter, results: Sequence[str]) -> None:
    """Hand over the results, and all memory that is not among them."""
    function = out.function
    kind = returned_type(function)
    lend_turns(out)
    if out.ledger is not None:
        for value in function.results:
            if isinstance(value.type, Buffer):
                out.ledger.strike(out, value)
        out.ledger.close(out)
    given = out.let(f"insertvalue {kind} poison, i32 0, 0")
    for number, (value, operand) in enumerate(zip(function.results, results, strict=True), 1):
        given = out.let(f"insertvalue {kind} {given}, {register_type(value.type)} {operand}, {number}")
    out.do(f"ret {kind} {given}")


def procedure_text(out: Emitter, signature: str) -> str:
    """The finished function, in which each block reads the addresses that it uses."""
    found: list[str] = []
    for block in _BLOCK.split(out.text(signature)):
        for name, place in _WORDS.items():
            if not re.search(rf"%{name}\b(?!\.)", block):
                continue
            own = f"%{name}.{len(found)}"
            block = re.sub(rf"%{name}\b(?!\.)", own, block)
            head = re.match(r"(?:define[^\n]*\n)?[\w.]+:\n(?:  %\S+ = phi [^\n]*\n)*", block)
            assert head is not None
            read = (
                f"  {own}.place = getelementptr i8, ptr %room, i64 {place}\n"
                f"  {own} = load ptr, ptr {own}.place, align 8, !invariant.load !2\n"
            )
            block = block[: head.end()] + read + block[head.end() :]
        found.append(block)
    return "".join(found)


_BLOCK = re.compile(r"^(?=[\w.]+:$)(?<!\{\n)", re.MULTILINE)


def _call_for_numbers(out: Emitter, op: Op) -> Sequence[str]:
    """A call of a function of numbers, which writes them to the frame: LLVM selects instructions for that quickly."""
    room = f"  %numbers = alloca [{max(len(one.results) for one in out.module.called.values())} x i64], align 8"
    if room not in out.entry:
        out.entry.append(room)
    out.do(f'call void @"{op.attributes["function"]}"({", ".join(["ptr %numbers", *map(out.typed, op.operands)])})')
    places = (out.at("%numbers", str(8 * number)) for number in range(len(op.results)))
    return [
        out.let(f"load {register_type(value.type)}, ptr {place}, align 8")
        for value, place in zip(op.results, places, strict=True)
    ]


def _call(out: Emitter, op: Op) -> Sequence[str]:
    name = op.attributes["function"]
    function, frames = out.module.called[name], op.attributes.get("frames")
    if frames is None:
        return _call_for_numbers(out, op)

    def fail() -> None:
        report(out, CHECK_FAILED, op, ())
        out.leave(str(CHECK_FAILED))

    if frames > 0:  # else it is no function of the user's, and calls no others
        out.fail_unless(out.let(f"icmp sgt i64 %depth, {frames}"), fail)
        out.module.declare("llvm.stacksave.p0", "ptr", [])
        here = out.let(f"ptrtoint ptr {out.let('call ptr @llvm.stacksave.p0()')} to i64")
        out.fail_unless(out.let(f"icmp ugt i64 {here}, {out.let('load i64, ptr %room, align 8')}"), fail)
    rest = out.let(f"sub i64 %depth, {frames}")
    for position in function.attributes.get("owned", ()):
        if out.ledger is not None:
            out.ledger.strike(out, op.operands[position])
    counts = bool(out.function.attributes.get("recursive"))
    if counts:
        lend_turns(out)
    before = ["ptr %room", f"i64 {rest}"]
    kind = returned_type(function)
    found = out.let(f"call {kind} @{procedure_symbol(name)}({', '.join([*before, *map(out.typed, op.operands)])})")
    if counts:
        take_turns(out)
    status = out.let(f"extractvalue {kind} {found}, 0")
    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), lambda: out.leave(status))
    results = [out.let(f"extractvalue {kind} {found}, {number}") for number in range(1, len(op.results) + 1)]
    for value, buffer in zip(op.results, results, strict=True):
        if isinstance(value.type, Buffer):
            _own(out, op, results, buffer)
    return results


def _own(out: Emitter, op: Op, results: Sequence[str], buffer: str) -> None:
    """The first buffer is the caller's from here on."""
    assert out.ledger is not None
    number = results.index(buffer)
    noted = out.ledger.enter(out, op, op.results[number], buffer, "0")
    if noted == "true":
        return

    def give_back_and_fail() -> None:
        free = out.let(f"load ptr, ptr {out.at('%context', '8')}, align 8")
        for value, other in zip(op.results[number:], results[number:], strict=True):
            if isinstance(value.type, Buffer):
                out.do(f"call void {free}(ptr {other}, i64 0)")
        report(out, OUT_OF_MEMORY, op, ())
        out.leave(str(OUT_OF_MEMORY))

    out.fail_unless(noted, give_back_and_fail)


CALL_EMISSION: dict[str, Emission] = {"call": _call}
