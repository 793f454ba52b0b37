"""Programs that are split over devices: messages between their parts, and the function that runs all of them.

Each part is a host program of its own, a function ``run.0``, ``run.1``... beside those of the others. They have one
list of sites and one context, of which each call makes a copy, to put the address of its frame into
(`jitflow.runtime.parallel.channels_text`). `run` says what there is to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emitter import Emission, Emitter, ModuleText
from jitflow.backends.llvm.emission.signatures import runs_elsewhere
from jitflow.backends.llvm.emission.slots import ERROR_SLOTS, from_slot, to_slots
from jitflow.errors import CompilerBug
from jitflow.ir.context_names import POLL
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.status import OUT_OF_MEMORY, STOPPED
from jitflow.ir.together import FRAME, MEET, PART_WORDS, PARTITION_PREFIX, RECEIVE, SEND, SHAPE_FIELDS, TOGETHER
from jitflow.ir.types import Buffer

__all__ = ["MESSAGE_EMISSION", "part_name", "run_parts"]


def part_name(number: int) -> str:
    """The function of a part."""
    return f'"run.{number}"'


# -- messages


def _symbol(out: Emitter, name: str) -> str:
    return out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(name)))}, align 8")


def _send(out: Emitter, op: Op) -> Sequence[str]:
    """A token, a number, or memory, which belongs to the message from here on, with its bytes and sizes."""
    buffer, nbytes, given = "null", "0", op.operands
    if given and isinstance(given[0].type, Buffer):
        buffer, nbytes = out.operand(given[0]), out.operand(given[1])
        given = given[2:]
    words = [word for value in given for word in to_slots(out, value.type, out.operand(value))]
    area = out.stack("i64", max(len(words), 1))
    for number, word in enumerate(words):
        out.do(f"store i64 {word}, ptr {out.at(area, str(8 * number))}, align 8")
    out.module.message_words = max(out.module.message_words, len(words))
    frame, send, receiver = _symbol(out, FRAME), _symbol(out, SEND), out.module.devices.index(op.attributes["to"])
    where = f"i64 {op.attributes['channel']}, i64 {receiver}"
    out.do(f"call void {send}(ptr {frame}, {where}, ptr {buffer}, i64 {nbytes}, ptr {area}, i64 {len(words)})")
    if buffer != "null" and out.ledger is not None:
        out.ledger.strike(out, op.operands[0])
    return ()


def _recv(out: Emitter, op: Op) -> Sequence[str]:
    types = [result.type for result in op.results]
    in_memory = 2 if types and isinstance(types[0], Buffer) else 0
    count = len(types) - in_memory
    area = out.stack("i64", 2 + count)
    out.module.message_words = max(out.module.message_words, count)
    sender = out.module.devices.index(op.attributes["source"])
    where = f"i64 {op.attributes['channel']}, i64 {sender}, ptr {area}, i64 {count}, i1 {_asks(out, op)}"
    frame, receive = _symbol(out, FRAME), _symbol(out, RECEIVE)
    _require(out, op, out.let(f"call i32 {receive}(ptr {frame}, {where})"))
    results = []
    if in_memory:
        buffer = out.let(f"load ptr, ptr {area}, align 8")
        nbytes = out.let(f"load i64, ptr {out.at(area, '8')}, align 8")
        results += [buffer, nbytes]
        _own(out, op, buffer, nbytes)
    for number, type in enumerate(types[in_memory:]):
        results.append(from_slot(out, type, out.at(area, str(16 + 8 * number))))
    return results


def _own(out: Emitter, op: Op, buffer: str, nbytes: str) -> None:
    """The program has to give back what it has received."""
    if out.ledger is None:
        raise CompilerBug("expected memory to be handled by a host program, not by a kernel")
    noted = out.ledger.enter(out, op, op.results[0], buffer, nbytes)

    def fail() -> None:
        out.do(f"call void {out.let('load ptr, ptr ' + out.at('%context', '8'))}(ptr {buffer}, i64 {nbytes})")
        report(out, OUT_OF_MEMORY, op, ())
        out.do(f"store i64 {nbytes}, ptr {out.at('%error', '16')}, align 8")
        out.leave(str(OUT_OF_MEMORY))

    if noted != "true":
        out.fail_unless(noted, fail)


def _meet(out: Emitter, op: Op) -> Sequence[str]:
    frame, meet = _symbol(out, FRAME), _symbol(out, MEET)
    _require(out, op, out.let(f"call i32 {meet}(ptr {frame}, i1 {_asks(out, op)})"))
    return ()


def _asks(out: Emitter, op: Op) -> str:
    """Whether the op asks, while it waits, whether it is to go on: on the caller's thread, where it may fail."""
    return "true" if out.module.is_home(out.function) and "polls" in op.attributes else "false"


def _require(out: Emitter, op: Op, status: str) -> None:
    def fail() -> None:
        report(out, STOPPED, op, ())
        out.do(f"store i64 {out.let(f'sext i32 {status} to i64')}, ptr %error, align 8")
        out.leave(status)

    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), fail)


def _progress(out: Emitter, op: Op) -> Sequence[str]:
    """The record stands behind the error slots."""
    level = op.attributes["level"]
    place = out.at("%error", str(8 * (ERROR_SLOTS + level)))
    order = op.attributes.get("order")
    word = out.let(f"add i64 {out.let(f'load i64, ptr {place}, align 8')}, 1") if order is None else str(order)
    out.do(f"store i64 {word}, ptr {place}, align 8")
    for below in range(level + 1, out.module.levels):
        out.do(f"store i64 0, ptr {out.at('%error', str(8 * (ERROR_SLOTS + below)))}, align 8")
    return ()


MESSAGE_EMISSION: dict[str, Emission] = {"send": _send, "recv": _recv, "meet": _meet, "progress": _progress}


# -- the whole


def run_parts(module: ModuleText, programs: Sequence[Function], signature: str) -> str:
    """The function that runs the programs; their sites and symbols must be known by now."""
    first = next(op for op in walk(programs[0].region))
    slots = {name: module.symbol_slot(name) for name in (TOGETHER, FRAME, POLL)}
    elsewhere = {
        number: module.symbol_slot(f"{PARTITION_PREFIX}{program.attributes['device']}")
        for number, program in enumerate(programs) if runs_elsewhere(program)
    }  # fmt: skip
    channels = [op.attributes["channel"] for program in programs for op in walk(program.region) if op.name == "recv"]
    shape = {
        "parties": len(programs),
        "channels": max(channels, default=-1) + 1,
        "message_words": module.message_words,
        "levels": module.levels,
        "site": module.site(first),
        "frame_slot": slots[FRAME],
        "poll_slot": slots[POLL],
        "context_words": module.context_words,
    }
    lines = []
    for number, program in enumerate(programs):
        code = f"@{part_name(number)}"
        if number in elsewhere:
            code = f"%elsewhere.{number}"
            lines += [
                f"  {code}.slot = getelementptr i8, ptr %context, i64 {8 * elsewhere[number]}",
                f"  {code} = load ptr, ptr {code}.slot, align 8",
            ]
        lines += [
            f"  %code.{number} = getelementptr i8, ptr %parts, i64 {8 * PART_WORDS * number}",
            f"  store ptr {code}, ptr %code.{number}, align 8",
            f"  %results.{number} = getelementptr i8, ptr %code.{number}, i64 8",
            f"  store i64 {8 * program.attributes.get('first_result', 0)}, ptr %results.{number}, align 8",
            f"  %python.{number} = getelementptr i8, ptr %code.{number}, i64 16",
            f"  store i64 {int(_calls_routines(program))}, ptr %python.{number}, align 8",
        ]
    given = "ptr %context, ptr @shape, ptr %parts, ptr %arguments, ptr %results, ptr %error"
    return "\n".join(
        [
            _words("shape", [shape[name] for name in SHAPE_FIELDS]),
            f"define {signature} {{",
            "start:",
            f"  %parts = alloca [{PART_WORDS * len(programs)} x i64], align 16",
            *lines,
            f"  %together.slot = getelementptr i8, ptr %context, i64 {8 * slots[TOGETHER]}",
            "  %together = load ptr, ptr %together.slot, align 8",
            f"  %status = call i32 %together({given})",
            "  ret i32 %status",
            "}",
        ]
    )


def _calls_routines(program: Function) -> bool:
    return not runs_elsewhere(program) and any(op.name == "invoke" for op in walk(program.region))


def _words(name: str, words: Sequence[int]) -> str:
    return f"@{name} = internal constant [{len(words)} x i64] [{', '.join(f'i64 {word}' for word in words)}]"
