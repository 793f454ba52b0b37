"""Where keys stand: the places that are looked at for one, in a dict's table and in a set.

A dict has its entries in the order in which they were added, and a table of words beside them: the number of an entry,
from 1 on, and half of its hash, so that most of what is not meant is passed over without a look at the entry. A set is
CPython's table itself, place by place (`Objects/setobject.c`): its order shows when a loop goes through it, so hashes,
probes and the size of the table are Python's. Entries begin with the hash, those of sets with the state of the place
before it: 0 where no key ever was, 1 where one is.

The loops stand here once, as text; `keys` writes them into programs with a comparison of keys, and what is the same for
all keys, a table of another size, is native code that all programs share.
"""

from __future__ import annotations

__all__ = ["COUNT_KEY", "FIRST_PLACE", "TABLES", "set_places", "table_places"]

FIRST_PLACE = """  %high = lshr i64 %hash, 32
  %mixed = xor i64 %hash, %high
  %first = and i64 %mixed, %mask"""
"""Where a dict looks first for a hash."""

COUNT_KEY = """  %live = field i64 %c LIVE
  %live.more = add i64 %live, 1
  set i64 %live.more, %c LIVE
  %changes = field i64 %c CHANGES
  %changes.more = add i64 %changes, 1
  set i64 %changes.more, %c CHANGES"""


def table_places(before: str, taken: str) -> str:
    """The words of a dict's table from the ``%first`` on, until one is 0: ``%open``. Behind ``on`` comes the next."""
    return f"""look:
  %place = phi i64 [ %first, %{before} ], [ %place.next, %on ]
  %slot.at = getelementptr i64, ptr %index, i64 %place
  %slot = load i64, ptr %slot.at, align 8
  %open = icmp eq i64 %slot, 0
  br i1 %open, label %missing, label %{taken}
on:
  %place.after = add i64 %place, 1
  %place.next = and i64 %place.after, %mask
  br label %look"""


def set_places(
    before: str, data: str, width: str, *, taken: str, passed: str = "", outer: str = "", inner: str = ""
) -> str:
    """The places of a set where Python looks for a ``%hash``, until one is free.

    ``outer`` and ``inner`` are phis of the two loops, ``passed`` is done where a place is passed by.
    """
    return f"""  %first = and i64 %hash, %mask
  br label %outer
outer:
  %place = phi i64 [ %first, %{before} ], [ %place.next, %perturb ]
  %rest = phi i64 [ %hash, %{before} ], [ %rest.next, %perturb ]
{outer}
  %last = add i64 %place, 9
  %linear = icmp ule i64 %last, %mask
  %probes = select i1 %linear, i64 9, i64 0
  br label %inner
inner:
  %slot = phi i64 [ %place, %outer ], [ %slot.next, %next ]
  %left = phi i64 [ %probes, %outer ], [ %left.next, %next ]
{inner}
  %slot.offset = mul i64 %slot, {width}
  %slot.at = getelementptr i8, ptr {data}, i64 %slot.offset
  %state = load i64, ptr %slot.at, align 8
  %open = icmp eq i64 %state, 0
  br i1 %open, label %missing, label %{taken}
on:
{passed}
  %none.left = icmp eq i64 %left, 0
  br i1 %none.left, label %perturb, label %next
next:
  %slot.next = add i64 %slot, 1
  %left.next = sub i64 %left, 1
  br label %inner
perturb:
  %rest.next = lshr i64 %rest, 5
  %five = mul i64 %place, 5
  %six = add i64 %five, 1
  %sum = add i64 %six, %rest.next
  %place.next = and i64 %sum, %mask
  br label %outer"""


def _each_row(before: str, word: str, carried: str = "") -> str:
    """The entries of a container in turn, each from ``entry`` on, with its first ``word``; then ``done``."""
    return f"""  %width = field i64 %c WIDTH
  %data = field ptr %c DATA
  %rows = field i64 %c ROWS
  br label %each
each:
  %row = phi i64 [ 0, %{before} ], [ %row.next, %following ]
{carried}
  %more = icmp ult i64 %row, %rows
  br i1 %more, label %entry, label %done
entry:
  %entry.offset = mul i64 %row, %width
  %entry.at = getelementptr i8, ptr %data, i64 %entry.offset
  {word} = load i64, ptr %entry.at, align 8"""


_NEXT_ROW = """  %row.next = add i64 %row, 1
  br label %each"""

_SETTLE = f"""define hidden i1 @jitflow.heap.settle(ptr %c) #0 {{
start:
  %live = field i64 %c LIVE
  %three = mul i64 %live, 3
  %some = call i64 @llvm.umax.i64(i64 %three, i64 8)
  %size = call i64 @jitflow.heap.rounded(i64 %some)
  %bytes = shl i64 %size, 3
  %mask.before = field i64 %c MASK
  %size.before = add i64 %mask.before, 1
  %same = icmp eq i64 %size, %size.before
  br i1 %same, label %close, label %table
table:
  %heap = field ptr %c HEAP
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %replace
full:
  ret i1 false
replace:
  %before = field ptr %c INDEX
  %bytes.before = shl i64 %size.before, 3
  call void @jitflow.heap.give(ptr %heap, ptr %before, i64 %bytes.before)
  %mask.now = sub i64 %size, 1
  set ptr %fresh, %c INDEX
  set i64 %mask.now, %c MASK
  br label %close
close:
  %index = field ptr %c INDEX
  %mask = field i64 %c MASK
  call void @llvm.memset.p0.i64(ptr %index, i8 0, i64 %bytes, i1 false)
{_each_row("close", "%hash", "  %kept = phi i64 [ 0, %close ], [ %kept.next, %following ]")}
  %gap = icmp eq i64 %hash, 0
  br i1 %gap, label %following, label %keep
keep:
  %target.offset = mul i64 %kept, %width
  %target = getelementptr i8, ptr %data, i64 %target.offset
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %entry.at, i64 %width, i1 false)
  %kept.more = add i64 %kept, 1
  %tag = and i64 %hash, -4294967296
  %word = or i64 %tag, %kept.more
{FIRST_PLACE}
  br label %look
{table_places("keep", "on")}
missing:
  store i64 %word, ptr %slot.at, align 8
  br label %following
following:
  %kept.next = phi i64 [ %kept, %entry ], [ %kept.more, %missing ]
{_NEXT_ROW}
done:
  set i64 %kept, %c ROWS
  ret i1 true
}}"""

_RESIZE = f"""define hidden i1 @jitflow.heap.resize(ptr %c, i64 %least) #0 {{
start:
  %more.than = add i64 %least, 1
  %some = call i64 @llvm.umax.i64(i64 %more.than, i64 8)
  %less = sub i64 %some, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %power = sub i64 64, %zeros
  %size = shl i64 1, %power
  %mask = sub i64 %size, 1
  %heap = field ptr %c HEAP
  %width.before = field i64 %c WIDTH
  %needed = mul i64 %size, %width.before
  %bytes = call i64 @jitflow.heap.rounded(i64 %needed)
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %fill
full:
  ret i1 false
fill:
  call void @llvm.memset.p0.i64(ptr %fresh, i8 0, i64 %needed, i1 false)
{_each_row("fill", "%state.before")}
  %active = icmp eq i64 %state.before, 1
  br i1 %active, label %keep, label %following
keep:
  %hash = field i64 %entry.at 8
{set_places("keep", "%fresh", "%width", taken="on")}
missing:
  call void @llvm.memcpy.p0.p0.i64(ptr %slot.at, ptr %entry.at, i64 %width, i1 false)
  br label %following
following:
{_NEXT_ROW}
done:
  call void @jitflow.heap.give.all(ptr %c)
  %limit = getelementptr i8, ptr %fresh, i64 %bytes
  %live = field i64 %c LIVE
  %live.word = inttoptr i64 %live to ptr
  set ptr %fresh, %c DATA
  set ptr %fresh, %c BLOCK
  set ptr %limit, %c LIMIT
  set i64 %size, %c ROWS
  set i64 %mask, %c MASK
  set ptr %live.word, %c INDEX
  ret i1 true
}}"""

_KEYS = f"""define hidden ptr @jitflow.heap.keys(ptr %c) #0 {{
start:
  %heap = field ptr %c HEAP
  %wide = field i64 %c WIDTH
  %narrow = sub i64 %wide, 16
  %references = field i64 %c REFERENCES
  %of.keys = lshr i64 %references, 2
  %made = call ptr @jitflow.heap.make(ptr %heap, i64 %narrow, i64 %of.keys, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %room
room:
  %live = field i64 %c LIVE
  %none = icmp eq i64 %live, 0
  br i1 %none, label %done, label %take
take:
  %needed = mul i64 %live, %narrow
  %bytes = call i64 @jitflow.heap.rounded(i64 %needed)
  %block = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %no.block = icmp eq ptr %block, null
  br i1 %no.block, label %full, label %fill
full:
  ret ptr null
fill:
  %limit = getelementptr i8, ptr %block, i64 %bytes
  set ptr %block, %made DATA
  set ptr %block, %made BLOCK
  set ptr %limit, %made LIMIT
  set i64 %live, %made ROWS
{_each_row("fill", "%state.before", "  %target = phi ptr [ %block, %fill ], [ %target.next, %following ]")}
  %active = icmp eq i64 %state.before, 1
  br i1 %active, label %copy, label %following
copy:
  %key = getelementptr i8, ptr %entry.at, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %key, i64 %narrow, i1 false)
  %target.more = getelementptr i8, ptr %target, i64 %narrow
  br label %following
following:
  %target.next = phi ptr [ %target, %entry ], [ %target.more, %copy ]
{_NEXT_ROW}
done:
  ret ptr %made
}}"""

TABLES = "\n".join((_SETTLE, _RESIZE, _KEYS))
"""What a dict and a set do at a larger size, and the list of a set's keys."""
