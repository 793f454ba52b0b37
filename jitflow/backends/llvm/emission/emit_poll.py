"""Polls: a countdown in the frame, and the call of the runtime where it has come to its end.

Each turn of a loop takes from the countdown, which LLVM keeps in a register, its part of what may go by between two
polls (``polls``, see `jitflow.passes.lower.poll`). The call is said not to touch the program's memory, so a loop is
optimised as if it were not there.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emitter
from jitflow.ir.context_names import POLL
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.status import INTERRUPTED, STOPPED
from jitflow.ir.together import FRAME, STOPS

__all__ = ["PERIOD", "call_poll", "count_turns", "lend_turns", "open_polls", "poll_each_call", "poll_in_time", "polls",
           "share_polls", "take_turns"]  # fmt: skip

"""What the first error slot says, and also the status: the exception waits where the runtime has left it."""

PERIOD = 1 << 16


def polls(function: Function) -> bool:
    """Whether a kernel or host program polls."""
    return any("polls" in op.attributes for op in walk(function.region))


def open_polls(out: Emitter) -> None:
    """Reserve the countdown, and the word in which the runtime keeps the time of the last poll."""
    out.entry += [
        "  %turns = alloca i64, align 8",
        f"  store i64 {PERIOD}, ptr %turns, align 8",
        "  %polled = alloca i64, align 8",
        "  store i64 0, ptr %polled, align 8",
    ]


def count_turns(out: Emitter, op: Op, turns: str) -> str:
    """Count turns of a loop, and return what is left."""
    share = max(PERIOD // int(op.attributes["polls"]), 1)
    taken = turns if share == 1 else out.let(f"mul i64 {turns}, {share}")
    left = out.let(f"sub i64 {out.let('load i64, ptr %turns, align 8')}, {taken}")
    out.do(f"store i64 {left}, ptr %turns, align 8")
    return left


def share_polls(out: Emitter) -> None:
    """The countdown and the time of the last poll are those of all calls of a function that calls itself.

    One with loops has the countdown in its own frame, where LLVM makes a register of it, but for while it calls.
    """
    out.entry += [f"  %{name} = getelementptr i8, ptr %room, i64 {8 * (1 + n)}"
                  for n, name in enumerate(("shared.turns", "polled"))]  # fmt: skip
    out.entry.append("  %turns = alloca i64, align 8")


def lend_turns(out: Emitter) -> None:
    """Before a call, and at the end: others go on counting."""
    out.do(f"store i64 {out.let('load i64, ptr %turns, align 8')}, ptr %shared.turns, align 8")


def take_turns(out: Emitter) -> None:
    """At the beginning, and after a call: go on where others have left off."""
    out.do(f"store i64 {out.let('load i64, ptr %shared.turns, align 8')}, ptr %turns, align 8")


def poll_in_time(out: Emitter, op: Op) -> None:
    """Count a turn of a loop, and poll if that is due."""
    due, proceed = out.label("due"), out.label("on")
    left = count_turns(out, op, "1")
    _poll_unless(out, op, left, due, proceed)


def poll_each_call(out: Emitter, op: Op) -> None:
    """Count a call of a function that calls itself, and poll if that is due."""
    take_turns(out)
    left = out.let(f"sub i64 {out.let('load i64, ptr %turns, align 8')}, 1")
    out.do(f"store i64 {left}, ptr %turns, align 8")
    _poll_unless(out, op, left, out.label("due"), out.label("on"))


def _poll_unless(out: Emitter, op: Op, left: str, due: str, proceed: str) -> None:
    out.branch(out.let(f"icmp sge i64 {left}, 0"), proceed, due, UNLIKELY)
    with out.cold(due):
        call_poll(out, op)
        out.jump(proceed)
    out.begin(proceed)


def call_poll(out: Emitter, op: Op) -> None:
    """Poll, which may end the function; the countdown starts anew.

    Of the threads that share a loop the caller's does so; all of them end where an earlier span has failed.
    """
    if not out.lowest_failure:
        _call_poll(out, op)
        return
    callers, others = out.label("callers"), out.label("others")
    out.do(f"store i64 {PERIOD}, ptr %turns, align 8")
    out.branch(out.let("icmp eq i64 %worker, 0"), callers, others)
    out.begin(callers)
    _call_poll(out, op)
    out.jump(others)
    out.begin(others)
    lowest = out.let(f"load atomic i64, ptr {out.lowest_failure} monotonic, align 8")
    out.fail_unless(out.let(f"icmp sge i64 {lowest}, %first"), lambda: out.leave(str(STOPPED)))


def _call_poll(out: Emitter, op: Op) -> None:
    if out.module.devices:
        _look_at_the_others(out, op)
    if not out.module.is_home(out.function):
        return
    address = out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(POLL)))}, align 8")
    effects = "nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
    status = out.let(f"call i32 {address}(ptr nocapture %polled) {effects}")
    out.do(f"store i64 {PERIOD}, ptr %turns, align 8")

    def fail() -> None:
        report(out, INTERRUPTED, op, ())
        out.leave(str(INTERRUPTED))

    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), fail)


def _look_at_the_others(out: Emitter, op: Op) -> None:
    """Stop if another part of the program has failed at something that comes before all that this one is at."""
    frame = out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(FRAME)))}, align 8")
    first = out.let(f"load atomic ptr, ptr {frame} monotonic, align 8")
    out.do(f"store i64 {PERIOD}, ptr %turns, align 8")
    failed, proceed = out.label("failed"), out.label("on")
    out.branch(out.let(f"icmp eq ptr {first}, null"), proceed, failed, UNLIKELY)
    with out.cold(failed):
        stops = out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(STOPS)))}, align 8")
        stopped = out.label("stopped")
        status = out.let(f"call i32 {stops}(ptr {frame}, ptr %error)")
        out.branch(out.let(f"icmp eq i32 {status}, 0"), proceed, stopped)
        with out.cold(stopped):
            report(out, STOPPED, op, ())
            out.leave(str(STOPPED))
    out.begin(proceed)
