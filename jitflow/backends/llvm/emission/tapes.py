"""Tapes in memory: a chain of chunks, each at least twice as large as the one before, and a record that knows its end.

The record lies in the frame of the host program. It holds where the end of the tape is (``top``), and the span of the
chunk that it is in (``begin``, ``end``). Behind it lies the first chunk, so that a loop of few turns takes no memory
from the pool. A chunk starts with a header: the chunk before, the chunk behind, its bytes, and where its last value
ended when the tape went on to the next one. Nothing moves when a tape grows, so an array may stay on its tape as long
as nothing is pushed over it.

A kernel has the three addresses in its own frame, where LLVM makes registers of them. It leaves ``top`` behind in the
record when it ends; ``begin`` and ``end`` change in the record first.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.ir.types import Tape
from jitflow.records import dataclass

__all__ = [
    "TapeEnd",
    "call_back",
    "call_clear",
    "call_find",
    "call_grow",
    "close_tapes",
    "new_tape",
    "open_tapes",
    "release_tapes",
    "take_tapes",
]

HEADER = 64
"""Bytes, which keep the data of a chunk as aligned as the pool's blocks are."""

FIRST_CHUNK = 512
SMALLEST_CHUNK = 4096 - 64
"""From the pool. With what that adds to a block, this and all that are twice as large fill the blocks that it has."""

_RECORD = 32


@dataclass(frozen=True, slots=True)
class TapeEnd:
    """The record of a tape, and the addresses of the words that say where its end is."""

    record: str
    top: str
    begin: str
    end: str

    @property
    def is_in_record(self) -> bool:
        return self.top == self.record


def new_tape(out: Emitter) -> TapeEnd:
    """The record of an empty tape, and its first chunk, in the frame of the host program."""
    record = out.stack("i8", _RECORD + FIRST_CHUNK)
    begin, end, chunk, data, limit, behind, size = (f"{record}.{name}" for name in _PARTS)
    out.entry += [
        *(f"  {record}.{name} = getelementptr i8, ptr {record}, i64 {place}" for name, place in _PARTS.items()),
        f"  store ptr {data}, ptr {record}, align 8",
        f"  store ptr {data}, ptr {begin}, align 8",
        f"  store ptr {limit}, ptr {end}, align 8",
        f"  store ptr null, ptr {chunk}, align 8",
        f"  store ptr null, ptr {behind}, align 8",
        f"  store i64 {FIRST_CHUNK}, ptr {size}, align 8",
    ]
    return TapeEnd(record, record, begin, end)


_PARTS = {
    "begin": 8, "end": 16, "chunk": _RECORD, "data": _RECORD + HEADER, "limit": _RECORD + FIRST_CHUNK,
    "behind": _RECORD + 8, "size": _RECORD + 16,
}  # fmt: skip
"""Where what the program needs of a record and the first chunk lies."""


def open_tapes(out: Emitter) -> None:
    """At the start of a kernel: take the ends of its tapes from their records."""
    for parameter in out.function.parameters:
        if isinstance(parameter.type, Tape):
            record = out.operand(parameter)
            local = [out.stack("ptr") for _ in range(3)]
            out.tapes[parameter] = TapeEnd(record, *local)
            for word, place in enumerate(local):
                out.entry += [
                    f"  {place}.address = getelementptr i8, ptr {record}, i64 {8 * word}",
                    f"  {place}.before = load ptr, ptr {place}.address, align 8",
                    f"  store ptr {place}.before, ptr {place}, align 8",
                ]


def take_tapes(out: Emitter) -> None:
    """At the start of a function that calls itself: the ends of its tapes stay in their records, for all calls."""
    for parameter in out.function.parameters:
        if isinstance(parameter.type, Tape):
            record = out.operand(parameter)
            begin, end = (f"{record}.{name}" for name in ("begin", "end"))
            out.tapes[parameter] = TapeEnd(record, record, begin, end)
            out.entry += [f"  {place} = getelementptr i8, ptr {record}, i64 {8 * word}"
                          for word, place in enumerate((begin, end), 1)]  # fmt: skip


def close_tapes(out: Emitter) -> None:
    """At the end of a kernel that has not failed: say where the tapes end now."""
    for tape in out.tapes.values():
        out.do(f"store ptr {out.let(f'load ptr, ptr {tape.top}, align 8')}, ptr {tape.record}, align 8")


def release_tapes(out: Emitter) -> None:
    """After a failure of the host program: give back what its tapes hold."""
    for tape in out.tapes.values():
        call_clear(out, tape)


def call_grow(out: Emitter, tape: TapeEnd, top: str, nbytes: str) -> str:
    """Go on to a chunk that has room for a value. Returns where it goes, null where there is no memory."""
    out.module.define("jitflow.tape.grow", _GROW)
    arguments = f"ptr %context, ptr {tape.record}, ptr {top}, i64 {nbytes}, ptr %error"
    place = out.let(f"call ptr @jitflow.tape.grow({arguments})")
    _follow(out, tape)
    return place


def call_back(out: Emitter, tape: TapeEnd, top: str, nbytes: str) -> str:
    """Go back to the chunk that holds the last value. Returns where it is, null if it is not there."""
    out.module.define("jitflow.tape.back", _BACK)
    place = out.let(f"call ptr @jitflow.tape.back(ptr {tape.record}, ptr {top}, i64 {nbytes})")
    _follow(out, tape)
    return place


def call_find(out: Emitter, tape: TapeEnd, top: str, nbytes: str) -> str:
    """Where the value is that begins so many bytes of values before the end, null if there are fewer."""
    out.module.define("jitflow.tape.find", _FIND)
    return out.let(f"call ptr @jitflow.tape.find(ptr {tape.record}, ptr {top}, i64 {nbytes})")


def call_clear(out: Emitter, tape: TapeEnd) -> None:
    """Give all chunks back but the first."""
    out.module.define("jitflow.tape.clear", _CLEAR)
    top = out.let(f"call ptr @jitflow.tape.clear(ptr %context, ptr {tape.record})")
    _follow(out, tape)
    out.do(f"store ptr {top}, ptr {tape.top}, align 8")


def _follow(out: Emitter, tape: TapeEnd) -> None:
    """Take over the chunk that the record is in now."""
    if not tape.is_in_record:
        for word, place in ((1, tape.begin), (2, tape.end)):
            now = out.let(f"load ptr, ptr {out.at(tape.record, str(8 * word))}, align 8")
            out.do(f"store ptr {now}, ptr {place}, align 8")


# The functions that are called where a chunk ends. Numbers of bytes are unsigned: one that is too large for the address
# space is too large for the pool.

_GROW = """define internal ptr
@jitflow.tape.grow(ptr %context, ptr %tape, ptr %top, i64 %nbytes, ptr %error) noinline cold #0 {
start:
  %begin.place = getelementptr i8, ptr %tape, i64 8
  %end.place = getelementptr i8, ptr %tape, i64 16
  %begin = load ptr, ptr %begin.place, align 8
  %needed = add i64 %nbytes, HEADER
  %chunk = getelementptr i8, ptr %begin, i64 -HEADER
  %top.place = getelementptr i8, ptr %chunk, i64 24
  store ptr %top, ptr %top.place, align 8
  %behind.place = getelementptr i8, ptr %chunk, i64 8
  %behind = load ptr, ptr %behind.place, align 8
  %last = icmp eq ptr %behind, null
  br i1 %last, label %allocate, label %again
again:
  %again.size.place = getelementptr i8, ptr %behind, i64 16
  %again.size = load i64, ptr %again.size.place, align 8
  %fits = icmp uge i64 %again.size, %needed
  br i1 %fits, label %enter, label %allocate
allocate:
  %size.place = getelementptr i8, ptr %chunk, i64 16
  %size = load i64, ptr %size.place, align 8
  %twice = shl i64 %size, 1
  %few = icmp ult i64 %twice, SMALLEST
  %usual = select i1 %few, i64 SMALLEST, i64 %twice
  %large = icmp ugt i64 %needed, %usual
  %fresh.size = select i1 %large, i64 %needed, i64 %usual
  %function = load ptr, ptr %context, align 8
  %fresh = call ptr %function(i64 %fresh.size)
  %none = icmp eq ptr %fresh, null
  br i1 %none, label %full, label %link
full:
  %reported = getelementptr i8, ptr %error, i64 16
  store i64 %fresh.size, ptr %reported, align 8
  ret ptr null
link:
  store ptr %chunk, ptr %fresh, align 8
  %fresh.behind.place = getelementptr i8, ptr %fresh, i64 8
  store ptr %behind, ptr %fresh.behind.place, align 8
  %fresh.size.place = getelementptr i8, ptr %fresh, i64 16
  store i64 %fresh.size, ptr %fresh.size.place, align 8
  store ptr %fresh, ptr %behind.place, align 8
  br i1 %last, label %enter, label %link.behind
link.behind:
  store ptr %fresh, ptr %behind, align 8
  br label %enter
enter:
  %entered = phi ptr [ %behind, %again ], [ %fresh, %link ], [ %fresh, %link.behind ]
  %entered.size = phi i64 [ %again.size, %again ], [ %fresh.size, %link ], [ %fresh.size, %link.behind ]
  %data = getelementptr i8, ptr %entered, i64 HEADER
  %end = getelementptr i8, ptr %entered, i64 %entered.size
  store ptr %data, ptr %begin.place, align 8
  store ptr %end, ptr %end.place, align 8
  ret ptr %data
}""".replace("HEADER", str(HEADER)).replace("SMALLEST", str(SMALLEST_CHUNK))

_GO_BACK = """before:
  %top.place = getelementptr i8, ptr %previous, i64 24
  %previous.top = load ptr, ptr %top.place, align 8
  %previous.begin = getelementptr i8, ptr %previous, i64 HEADER
  br label %look"""
"""To where the chunk before ends and begins."""

_BACK = """define internal ptr @jitflow.tape.back(ptr %tape, ptr %last, i64 %nbytes) noinline cold #0 {
start:
  %begin.place = getelementptr i8, ptr %tape, i64 8
  %end.place = getelementptr i8, ptr %tape, i64 16
  %first = load ptr, ptr %begin.place, align 8
  br label %look
look:
  %top = phi ptr [ %last, %start ], [ %previous.top, %before ]
  %begin = phi ptr [ %first, %start ], [ %previous.begin, %before ]
  %top.address = ptrtoint ptr %top to i64
  %begin.address = ptrtoint ptr %begin to i64
  %held = sub i64 %top.address, %begin.address
  %here = icmp uge i64 %held, %nbytes
  br i1 %here, label %found, label %look.before
look.before:
  %all = icmp eq i64 %held, 0
  br i1 %all, label %open, label %missing
open:
  %chunk = getelementptr i8, ptr %begin, i64 -HEADER
  %previous = load ptr, ptr %chunk, align 8
  %none = icmp eq ptr %previous, null
  br i1 %none, label %missing, label %before
GO_BACK
found:
  %found.chunk = getelementptr i8, ptr %begin, i64 -HEADER
  %size.place = getelementptr i8, ptr %found.chunk, i64 16
  %size = load i64, ptr %size.place, align 8
  %end = getelementptr i8, ptr %found.chunk, i64 %size
  store ptr %begin, ptr %begin.place, align 8
  store ptr %end, ptr %end.place, align 8
  %back = sub i64 0, %nbytes
  %value = getelementptr i8, ptr %top, i64 %back
  ret ptr %value
missing:
  ret ptr null
}""".replace("GO_BACK", _GO_BACK).replace("HEADER", str(HEADER))

_FIND = """define internal ptr @jitflow.tape.find(ptr %tape, ptr %last, i64 %nbytes) noinline #0 {
start:
  %begin.place = getelementptr i8, ptr %tape, i64 8
  %first = load ptr, ptr %begin.place, align 8
  br label %look
look:
  %top = phi ptr [ %last, %start ], [ %previous.top, %before ]
  %begin = phi ptr [ %first, %start ], [ %previous.begin, %before ]
  %wanted = phi i64 [ %nbytes, %start ], [ %rest, %before ]
  %top.address = ptrtoint ptr %top to i64
  %begin.address = ptrtoint ptr %begin to i64
  %held = sub i64 %top.address, %begin.address
  %here = icmp uge i64 %held, %wanted
  br i1 %here, label %found, label %look.before
look.before:
  %rest = sub i64 %wanted, %held
  %chunk = getelementptr i8, ptr %begin, i64 -HEADER
  %previous = load ptr, ptr %chunk, align 8
  %none = icmp eq ptr %previous, null
  br i1 %none, label %missing, label %before
GO_BACK
found:
  %back = sub i64 0, %wanted
  %value = getelementptr i8, ptr %top, i64 %back
  ret ptr %value
missing:
  ret ptr null
}""".replace("GO_BACK", _GO_BACK).replace("HEADER", str(HEADER))

_CLEAR = """define internal ptr @jitflow.tape.clear(ptr %context, ptr %tape) #0 {
start:
  %behind.place = getelementptr i8, ptr %tape, i64 BEHIND
  %data = getelementptr i8, ptr %tape, i64 DATA
  %end = getelementptr i8, ptr %tape, i64 LIMIT
  %begin.place = getelementptr i8, ptr %tape, i64 8
  %end.place = getelementptr i8, ptr %tape, i64 16
  store ptr %data, ptr %begin.place, align 8
  store ptr %end, ptr %end.place, align 8
  %behind = load ptr, ptr %behind.place, align 8
  store ptr null, ptr %behind.place, align 8
  br label %look
look:
  %chunk = phi ptr [ %behind, %start ], [ %following, %give.back ]
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %done, label %give.back
give.back:
  %following.place = getelementptr i8, ptr %chunk, i64 8
  %following = load ptr, ptr %following.place, align 8
  %size.place = getelementptr i8, ptr %chunk, i64 16
  %size = load i64, ptr %size.place, align 8
  %free.slot = getelementptr i8, ptr %context, i64 8
  %free = load ptr, ptr %free.slot, align 8
  call void %free(ptr %chunk, i64 %size)
  br label %look
done:
  ret ptr %data
}"""
for _part in ("behind", "data", "limit"):
    _CLEAR = _CLEAR.replace(_part.upper(), str(_PARTS[_part]))
