"""Containers in memory: headers in slabs, entries in blocks, and what collects those that nobody can reach.

A reference is the address of a header of 128 bytes, which knows where the entries lie, how many there are, how wide an
entry is and which of its words are references. Entries move when a container grows, headers never do. All belong to
the *heap* of one call, a record in the frame of the host program; whatever it still holds at the end is given back.

**Collecting.** Containers are made (`make`) without asking who holds them; when as much was made as was alive at the
last time, and some megabytes, what cannot be reached is given back. What the program may reach is found in its frames,
between the host program's and that which collects: every word there that is the address of a header, or points into
one, keeps it, registers included, which are written to the frame first. From there on entries say exactly what they
refer to. A word that only looks like an address keeps something too long, which costs nothing else. So compiled code
knows nothing of collecting: no list of what is alive, no counting, and functions that call others need no protocol.

This is the part that is the same in all programs, whose machine code is generated once in a process. What depends on
the types of keys is written into each program (`keys`).
"""

from __future__ import annotations

import re

__all__ = ["BLOCK", "CHANGES", "DATA", "HEAP", "HEAP_BYTES", "LIMIT", "LIVE", "ROWS", "RUNTIME", "SHARED_NAME",
           "with_fields"]  # fmt: skip

SHARED_NAME = "jitflow.containers"

HEADER = {
    "DATA": 0, "ROWS": 8, "LIVE": 16, "BLOCK": 24, "LIMIT": 32, "INDEX": 40, "MASK": 48, "HEAP": 56, "WIDTH": 64,
    "REFERENCES": 72, "CHANGES": 80, "KIND": 88, "LINK": 96, "STATE": 104, "NUMBER": 112,
}  # fmt: skip
"""``DATA`` is the first entry, ``ROWS`` how many there are, gaps included, ``LIVE`` how many keys; ``BLOCK`` and
``LIMIT`` are where the memory begins and ends. ``INDEX`` of a dict is a table of ``MASK`` + 1 words; of a set, whose
entries are a table themselves, it is the number of places that were ever taken. ``STATE`` is 0 of what is free, 1 of
what is not, 2 of what can be reached."""
DATA, ROWS, LIVE, BLOCK, LIMIT, HEAP, CHANGES = (
    HEADER[name] for name in ("DATA", "ROWS", "LIVE", "BLOCK", "LIMIT", "HEAP", "CHANGES")
)

RECORD = {
    "ALLOCATE": 0, "RELEASE": 8, "BASE": 16, "BYTES": 24, "MOST": 32, "SLABS": 40, "NEXT_SLAB": 48, "FREE": 56,
    "BUMP": 64, "BUMP_END": 72, "GRAY": 80, "CHUNK": 88, "CHUNK_END": 96, "CHUNKS": 104, "CLASSES": 112,
    "PASSED": 192, "WORDS": 200, "GIVEN": 208, "SEEN": 216,
}  # fmt: skip
"""The record of a heap. ``BASE`` is the end of the frames that are looked through, ``BYTES`` what is taken, ``MOST``
when to collect; small blocks come from chunks, with a list of free ones for each of ten powers of two from 64 on. What
stands behind these is about containers that the caller passes (`passed`)."""
HEAP_BYTES = RECORD["SEEN"] + 8

_FIELD = re.compile(r"  (%[\w.]+) = field (\w+) (%[\w.]+) (\w+)")
_SET = re.compile(r"  set (\w+) ([%\w.-]+), (%[\w.]+) (\w+)")
_OFFSETS = HEADER | {f"HEAP_{name}": offset for name, offset in RECORD.items()}


def with_fields(text: str) -> str:
    """``%x = field i64 %c ROWS`` and ``set i64 %x, %c ROWS`` as a load and a store at a field's place."""
    count = 0
    lines = []
    for line in text.splitlines():
        if match := _FIELD.match(line):
            name, kind, base, field = match.groups()
            offset = _OFFSETS.get(field, field)
            lines += [f"  {name}.at = getelementptr i8, ptr {base}, i64 {offset}",
                      f"  {name} = load {kind}, ptr {name}.at, align 8"]  # fmt: skip
        elif match := _SET.match(line):
            kind, value, base, field = match.groups()
            count += 1
            offset = _OFFSETS.get(field, field)
            lines += [f"  %set.{count} = getelementptr i8, ptr {base}, i64 {offset}",
                      f"  store {kind} {value}, ptr %set.{count}, align 8"]  # fmt: skip
        else:
            lines.append(line)
    return "\n".join(lines)


_MAKE = """define hidden ptr @jitflow.heap.make(ptr %heap, i64 %width, i64 %references, i64 %kind) #0 {
start:
  %bytes = field i64 %heap HEAP_BYTES
  %most = field i64 %heap HEAP_MOST
  %many = icmp ugt i64 %bytes, %most
  br i1 %many, label %collect, label %take
collect:
  call void @jitflow.heap.collect(ptr %heap)
  br label %take
take:
  %free = field ptr %heap HEAP_FREE
  %none = icmp eq ptr %free, null
  br i1 %none, label %bump, label %again
again:
  %following = field ptr %free LINK
  set ptr %following, %heap HEAP_FREE
  br label %fill
bump:
  %place = field ptr %heap HEAP_BUMP
  %end = field ptr %heap HEAP_BUMP_END
  %room = icmp ult ptr %place, %end
  br i1 %room, label %advance, label %slab
slab:
  %slab.bytes = field i64 %heap HEAP_NEXT_SLAB
  %allocate = field ptr %heap HEAP_ALLOCATE
  %made = call ptr %allocate(i64 %slab.bytes)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %link
full:
  ret ptr null
link:
  %slabs = field ptr %heap HEAP_SLABS
  set ptr %slabs, %made 0
  set i64 %slab.bytes, %made 8
  set ptr %made, %heap HEAP_SLABS
  %twice = shl i64 %slab.bytes, 1
  %large = icmp ugt i64 %twice, 16777216
  %next.slab = select i1 %large, i64 16777216, i64 %twice
  set i64 %next.slab, %heap HEAP_NEXT_SLAB
  %first = getelementptr i8, ptr %made, i64 128
  %slab.end = getelementptr i8, ptr %made, i64 %slab.bytes
  set ptr %slab.end, %heap HEAP_BUMP_END
  br label %advance
advance:
  %here = phi ptr [ %place, %bump ], [ %first, %link ]
  %behind = getelementptr i8, ptr %here, i64 128
  set ptr %behind, %heap HEAP_BUMP
  br label %fill
fill:
  %header = phi ptr [ %free, %again ], [ %here, %advance ]
  call void @llvm.memset.p0.i64(ptr %header, i8 0, i64 128, i1 false)
  set ptr %heap, %header HEAP
  set i64 %width, %header WIDTH
  set i64 %references, %header REFERENCES
  set i64 %kind, %header KIND
  set i64 -1, %header MASK
  set i64 1, %header STATE
  %taken = field i64 %heap HEAP_BYTES
  %more = add i64 %taken, 128
  set i64 %more, %heap HEAP_BYTES
  ret ptr %header
}"""

_TAKE = """define hidden ptr @jitflow.heap.take(ptr %heap, i64 %bytes) #0 {
start:
  %taken = field i64 %heap HEAP_BYTES
  %more = add i64 %taken, %bytes
  set i64 %more, %heap HEAP_BYTES
  %large = icmp ugt i64 %bytes, 32768
  br i1 %large, label %system, label %small
system:
  %allocate = field ptr %heap HEAP_ALLOCATE
  %whole = call ptr %allocate(i64 %bytes)
  ret ptr %whole
small:
  %power = call i64 @llvm.cttz.i64(i64 %bytes, i1 true)
  %class = sub i64 %power, 6
  %lists = getelementptr i8, ptr %heap, i64 CLASSES
  %list = getelementptr i64, ptr %lists, i64 %class
  %free = load ptr, ptr %list, align 8
  %none = icmp eq ptr %free, null
  br i1 %none, label %cut, label %again
again:
  %following = load ptr, ptr %free, align 8
  store ptr %following, ptr %list, align 8
  ret ptr %free
cut:
  %place = field ptr %heap HEAP_CHUNK
  %end = field ptr %heap HEAP_CHUNK_END
  %place.number = ptrtoint ptr %place to i64
  %end.number = ptrtoint ptr %end to i64
  %left = sub i64 %end.number, %place.number
  %fits = icmp uge i64 %left, %bytes
  br i1 %fits, label %give, label %chunk
chunk:
  %function = field ptr %heap HEAP_ALLOCATE
  %chunks = field ptr %heap HEAP_CHUNKS
  %is.first = icmp eq ptr %chunks, null
  %size = select i1 %is.first, i64 65472, i64 1048512
  %made = call ptr %function(i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %link
full:
  ret ptr null
link:
  set ptr %chunks, %made 0
  set i64 %size, %made 8
  set ptr %made, %heap HEAP_CHUNKS
  %first = getelementptr i8, ptr %made, i64 64
  %last = getelementptr i8, ptr %made, i64 %size
  set ptr %last, %heap HEAP_CHUNK_END
  br label %give
give:
  %here = phi ptr [ %place, %cut ], [ %first, %link ]
  %behind = getelementptr i8, ptr %here, i64 %bytes
  set ptr %behind, %heap HEAP_CHUNK
  ret ptr %here
}

define hidden void @jitflow.heap.give(ptr %heap, ptr %block, i64 %bytes) #0 {
start:
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %taken = field i64 %heap HEAP_BYTES
  %less = sub i64 %taken, %bytes
  set i64 %less, %heap HEAP_BYTES
  %large = icmp ugt i64 %bytes, 32768
  br i1 %large, label %system, label %small
system:
  %release = field ptr %heap HEAP_RELEASE
  call void %release(ptr %block, i64 %bytes)
  br label %done
small:
  %power = call i64 @llvm.cttz.i64(i64 %bytes, i1 true)
  %class = sub i64 %power, 6
  %lists = getelementptr i8, ptr %heap, i64 CLASSES
  %list = getelementptr i64, ptr %lists, i64 %class
  %before = load ptr, ptr %list, align 8
  store ptr %before, ptr %block, align 8
  store ptr %block, ptr %list, align 8
  br label %done
done:
  ret void
}

define hidden i64 @jitflow.heap.rounded(i64 %bytes) #0 {
start:
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 64)
  %less = sub i64 %some, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %power = sub i64 64, %zeros
  %rounded = shl i64 1, %power
  ret i64 %rounded
}

define internal void @jitflow.heap.give.all(ptr %header) #0 {
start:
  %heap = field ptr %header HEAP
  %block = field ptr %header BLOCK
  %limit = field ptr %header LIMIT
  %block.number = ptrtoint ptr %block to i64
  %limit.number = ptrtoint ptr %limit to i64
  %bytes = sub i64 %limit.number, %block.number
  call void @jitflow.heap.give(ptr %heap, ptr %block, i64 %bytes)
  %kind = field i64 %header KIND
  %is.dict = icmp eq i64 %kind, 2
  br i1 %is.dict, label %index, label %done
index:
  %table = field ptr %header INDEX
  %mask = field i64 %header MASK
  %size = add i64 %mask, 1
  %table.bytes = shl i64 %size, 3
  call void @jitflow.heap.give(ptr %heap, ptr %table, i64 %table.bytes)
  br label %done
done:
  ret void
}"""

_GROW = """define hidden i1 @jitflow.heap.grow(ptr %header, i1 %front) #0 {
start:
  %heap = field ptr %header HEAP
  %rows = field i64 %header ROWS
  %width = field i64 %header WIDTH
  %data = field ptr %header DATA
  %block = field ptr %header BLOCK
  %limit = field ptr %header LIMIT
  %used = mul i64 %rows, %width
  %data.number = ptrtoint ptr %data to i64
  %block.number = ptrtoint ptr %block to i64
  %limit.number = ptrtoint ptr %limit to i64
  %gap = sub i64 %data.number, %block.number
  %capacity = sub i64 %limit.number, %block.number
  %half = lshr i64 %capacity, 1
  %wide.gap = icmp ugt i64 %gap, %half
  %behind = xor i1 %front, true
  %back = and i1 %wide.gap, %behind
  br i1 %back, label %move, label %larger
move:
  call void @llvm.memmove.p0.p0.i64(ptr %block, ptr %data, i64 %used, i1 false)
  set ptr %block, %header DATA
  ret i1 true
larger:
  %more = lshr i64 %used, 1
  %some = call i64 @llvm.umax.i64(i64 %more, i64 %width)
  %extra = add i64 %used, %some
  %both = add i64 %extra, %some
  %wanted = select i1 %front, i64 %both, i64 %extra
  %bytes = call i64 @jitflow.heap.rounded(i64 %wanted)
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %copy
full:
  ret i1 false
copy:
  %rest = sub i64 %bytes, %used
  %middle = lshr i64 %rest, 1
  %aligned = and i64 %middle, -8
  %enough = call i64 @llvm.umax.i64(i64 %aligned, i64 %width)
  %start.at = select i1 %front, i64 %enough, i64 0
  %fresh.data = getelementptr i8, ptr %fresh, i64 %start.at
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh.data, ptr %data, i64 %used, i1 false)
  call void @jitflow.heap.give(ptr %heap, ptr %block, i64 %capacity)
  %fresh.limit = getelementptr i8, ptr %fresh, i64 %bytes
  set ptr %fresh, %header BLOCK
  set ptr %fresh.limit, %header LIMIT
  set ptr %fresh.data, %header DATA
  ret i1 true
}

define hidden void @jitflow.heap.clear(ptr %header) #0 {
start:
  %rows = field i64 %header ROWS
  %live = field i64 %header LIVE
  %some = icmp ne i64 %live, 0
  %changed = zext i1 %some to i64
  %changes = field i64 %header CHANGES
  %after = add i64 %changes, %changed
  set i64 %after, %header CHANGES
  call void @jitflow.heap.give.all(ptr %header)
  set ptr null, %header DATA
  set ptr null, %header BLOCK
  set ptr null, %header LIMIT
  set ptr null, %header INDEX
  set i64 -1, %header MASK
  set i64 0, %header ROWS
  set i64 0, %header LIVE
  ret void
}"""

_SETTLE = """define hidden i1 @jitflow.heap.settle(ptr %header) #0 {
start:
  %live = field i64 %header LIVE
  %three = mul i64 %live, 3
  %some = call i64 @llvm.umax.i64(i64 %three, i64 8)
  %size = call i64 @jitflow.heap.rounded(i64 %some)
  %mask.before = field i64 %header MASK
  %size.before = add i64 %mask.before, 1
  %same = icmp eq i64 %size, %size.before
  br i1 %same, label %close, label %table
table:
  %heap = field ptr %header HEAP
  %bytes = shl i64 %size, 3
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %replace
full:
  ret i1 false
replace:
  %before = field ptr %header INDEX
  %bytes.before = shl i64 %size.before, 3
  call void @jitflow.heap.give(ptr %heap, ptr %before, i64 %bytes.before)
  %mask.now = sub i64 %size, 1
  set ptr %fresh, %header INDEX
  set i64 %mask.now, %header MASK
  br label %close
close:
  %index = field ptr %header INDEX
  %mask = field i64 %header MASK
  %table.bytes = shl i64 %size, 3
  call void @llvm.memset.p0.i64(ptr %index, i8 0, i64 %table.bytes, i1 false)
  %rows = field i64 %header ROWS
  %width = field i64 %header WIDTH
  %data = field ptr %header DATA
  br label %look
look:
  %row = phi i64 [ 0, %close ], [ %row.next, %following ]
  %kept = phi i64 [ 0, %close ], [ %kept.next, %following ]
  %more = icmp ult i64 %row, %rows
  br i1 %more, label %test, label %done
test:
  %offset = mul i64 %row, %width
  %entry = getelementptr i8, ptr %data, i64 %offset
  %hash = load i64, ptr %entry, align 8
  %gap = icmp eq i64 %hash, 0
  br i1 %gap, label %following, label %keep
keep:
  %target.offset = mul i64 %kept, %width
  %target = getelementptr i8, ptr %data, i64 %target.offset
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %entry, i64 %width, i1 false)
  %kept.more = add i64 %kept, 1
  %tag = and i64 %hash, -4294967296
  %word = or i64 %tag, %kept.more
  br label %probe
probe:
  %hashed = phi i64 [ %hash.start, %start.probe ], [ %probe.next, %taken ], [ %hash, %keep ]
  %start.here = phi i64 [ 1, %start.probe ], [ 1, %taken ], [ 0, %keep ]
  %first = icmp eq i64 %start.here, 0
  br i1 %first, label %start.probe, label %slot
start.probe:
  %high = lshr i64 %hashed, 32
  %mixed = xor i64 %hashed, %high
  %hash.start = and i64 %mixed, %mask
  br label %probe
slot:
  %slot.at = getelementptr i64, ptr %index, i64 %hashed
  %slot.word = load i64, ptr %slot.at, align 8
  %open = icmp eq i64 %slot.word, 0
  br i1 %open, label %enter, label %taken
taken:
  %probe.more = add i64 %hashed, 1
  %probe.next = and i64 %probe.more, %mask
  br label %probe
enter:
  store i64 %word, ptr %slot.at, align 8
  br label %following
following:
  %kept.next = phi i64 [ %kept, %test ], [ %kept.more, %enter ]
  %row.next = add i64 %row, 1
  br label %look
done:
  set i64 %kept, %header ROWS
  ret i1 true
}"""

_RESIZE = """define hidden i1 @jitflow.heap.resize(ptr %header, i64 %least) #0 {
start:
  %more.than = add i64 %least, 1
  %some = call i64 @llvm.umax.i64(i64 %more.than, i64 8)
  %less = sub i64 %some, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %power = sub i64 64, %zeros
  %size = shl i64 1, %power
  %mask = sub i64 %size, 1
  %heap = field ptr %header HEAP
  %width = field i64 %header WIDTH
  %needed = mul i64 %size, %width
  %bytes = call i64 @jitflow.heap.rounded(i64 %needed)
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %fill
full:
  ret i1 false
fill:
  call void @llvm.memset.p0.i64(ptr %fresh, i8 0, i64 %needed, i1 false)
  %data = field ptr %header DATA
  %rows = field i64 %header ROWS
  br label %look
look:
  %row = phi i64 [ 0, %fill ], [ %row.next, %following ]
  %again = icmp ult i64 %row, %rows
  br i1 %again, label %test, label %done
test:
  %offset = mul i64 %row, %width
  %entry = getelementptr i8, ptr %data, i64 %offset
  %state = load i64, ptr %entry, align 8
  %active = icmp eq i64 %state, 1
  br i1 %active, label %hash, label %following
hash:
  %hash.at = getelementptr i8, ptr %entry, i64 8
  %hashed = load i64, ptr %hash.at, align 8
  %first = and i64 %hashed, %mask
  br label %outer
outer:
  %place = phi i64 [ %first, %hash ], [ %place.next, %perturb ]
  %rest = phi i64 [ %hashed, %hash ], [ %rest.next, %perturb ]
  %last = add i64 %place, 9
  %linear = icmp ule i64 %last, %mask
  %probes = select i1 %linear, i64 9, i64 0
  br label %inner
inner:
  %slot = phi i64 [ %place, %outer ], [ %slot.next, %next ]
  %left = phi i64 [ %probes, %outer ], [ %left.next, %next ]
  %slot.offset = mul i64 %slot, %width
  %target = getelementptr i8, ptr %fresh, i64 %slot.offset
  %target.state = load i64, ptr %target, align 8
  %open = icmp eq i64 %target.state, 0
  br i1 %open, label %enter, label %taken
taken:
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
  br label %outer
enter:
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %entry, i64 %width, i1 false)
  br label %following
following:
  %row.next = add i64 %row, 1
  br label %look
done:
  call void @jitflow.heap.give.all(ptr %header)
  %limit = getelementptr i8, ptr %fresh, i64 %bytes
  %live = field i64 %header LIVE
  %live.word = inttoptr i64 %live to ptr
  set ptr %fresh, %header DATA
  set ptr %fresh, %header BLOCK
  set ptr %limit, %header LIMIT
  set i64 %size, %header ROWS
  set i64 %mask, %header MASK
  set ptr %live.word, %header INDEX
  ret i1 true
}"""

_COLLECT = """define hidden void @jitflow.heap.collect(ptr %heap) noinline #0 {
start:
  call void @llvm.eh.unwind.init()
  call void @jitflow.heap.reach(ptr %heap)
  call void @jitflow.heap.sweep(ptr %heap)
  ret void
}

define internal void @jitflow.heap.mark(ptr %heap, i64 %word) #0 {
start:
  %head = field ptr %heap HEAP_SLABS
  %current = field ptr %heap HEAP_BUMP
  br label %look
look:
  %slab = phi ptr [ %head, %start ], [ %following, %next ]
  %none = icmp eq ptr %slab, null
  br i1 %none, label %done, label %test
test:
  %bytes = field i64 %slab 8
  %first = getelementptr i8, ptr %slab, i64 128
  %whole.end = getelementptr i8, ptr %slab, i64 %bytes
  %is.head = icmp eq ptr %slab, %head
  %end = select i1 %is.head, ptr %current, ptr %whole.end
  %first.number = ptrtoint ptr %first to i64
  %end.number = ptrtoint ptr %end to i64
  %length = sub i64 %end.number, %first.number
  %offset = sub i64 %word, %first.number
  %inside = icmp ult i64 %offset, %length
  br i1 %inside, label %found, label %next
next:
  %following = load ptr, ptr %slab, align 8
  br label %look
found:
  %aligned = and i64 %offset, -128
  %header = getelementptr i8, ptr %first, i64 %aligned
  call void @jitflow.heap.shade(ptr %heap, ptr %header)
  br label %done
done:
  ret void
}

define internal void @jitflow.heap.shade(ptr %heap, ptr %header) #0 {
start:
  %state = field i64 %header STATE
  %white = icmp eq i64 %state, 1
  br i1 %white, label %gray, label %done
gray:
  set i64 2, %header STATE
  %before = field ptr %heap HEAP_GRAY
  set ptr %before, %header LINK
  set ptr %header, %heap HEAP_GRAY
  br label %done
done:
  ret void
}

define internal void @jitflow.heap.reach(ptr %heap) noinline #0 {
start:
  %here = call ptr @llvm.frameaddress.p0(i32 0)
  %base = field ptr %heap HEAP_BASE
  br label %frames
frames:
  %place = phi ptr [ %here, %start ], [ %place.next, %frame.word ]
  %more = icmp ult ptr %place, %base
  br i1 %more, label %frame.word, label %grays
frame.word:
  %word = load volatile i64, ptr %place, align 8
  call void @jitflow.heap.mark(ptr %heap, i64 %word)
  %place.next = getelementptr i8, ptr %place, i64 8
  br label %frames
grays:
  %header = field ptr %heap HEAP_GRAY
  %none = icmp eq ptr %header, null
  br i1 %none, label %done, label %scan
scan:
  %link = field ptr %header LINK
  set ptr %link, %heap HEAP_GRAY
  %references = field i64 %header REFERENCES
  %plain = icmp eq i64 %references, 0
  br i1 %plain, label %grays, label %entries
entries:
  %data = field ptr %header DATA
  %rows = field i64 %header ROWS
  %width = field i64 %header WIDTH
  %kind = field i64 %header KIND
  %is.dict = icmp eq i64 %kind, 2
  br label %rows.next
rows.next:
  %row = phi i64 [ 0, %entries ], [ %row.after, %row.done ]
  %rows.left = icmp ult i64 %row, %rows
  br i1 %rows.left, label %one.row, label %grays
one.row:
  %row.offset = mul i64 %row, %width
  %entry = getelementptr i8, ptr %data, i64 %row.offset
  %first.word = load i64, ptr %entry, align 8
  %is.gap = icmp eq i64 %first.word, 0
  %skipped = and i1 %is.gap, %is.dict
  br i1 %skipped, label %row.done, label %words
words:
  %bits = phi i64 [ %references, %one.row ], [ %bits.rest, %word.done ]
  %word.number = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %word.at = getelementptr i64, ptr %entry, i64 %word.number
  %reference = load ptr, ptr %word.at, align 8
  %is.null = icmp eq ptr %reference, null
  br i1 %is.null, label %word.done, label %follow
follow:
  call void @jitflow.heap.shade(ptr %heap, ptr %reference)
  br label %word.done
word.done:
  %bits.less = sub i64 %bits, 1
  %bits.rest = and i64 %bits, %bits.less
  %words.over = icmp eq i64 %bits.rest, 0
  br i1 %words.over, label %row.done, label %words
row.done:
  %row.after = add i64 %row, 1
  br label %rows.next
done:
  ret void
}

define internal void @jitflow.heap.sweep(ptr %heap) #0 {
start:
  %head = field ptr %heap HEAP_SLABS
  %current = field ptr %heap HEAP_BUMP
  br label %slabs
slabs:
  %slab = phi ptr [ %head, %start ], [ %following, %slab.done ]
  %none = icmp eq ptr %slab, null
  br i1 %none, label %done, label %open
open:
  %bytes = field i64 %slab 8
  %first = getelementptr i8, ptr %slab, i64 128
  %whole.end = getelementptr i8, ptr %slab, i64 %bytes
  %is.head = icmp eq ptr %slab, %head
  %end = select i1 %is.head, ptr %current, ptr %whole.end
  br label %headers
headers:
  %header = phi ptr [ %first, %open ], [ %header.next, %header.done ]
  %more = icmp ult ptr %header, %end
  br i1 %more, label %test, label %slab.done
test:
  %state = field i64 %header STATE
  switch i64 %state, label %header.done [ i64 1, label %drop
                                          i64 2, label %keep ]
keep:
  set i64 1, %header STATE
  br label %header.done
drop:
  call void @jitflow.heap.give.all(ptr %header)
  set i64 0, %header STATE
  %free = field ptr %heap HEAP_FREE
  set ptr %free, %header LINK
  set ptr %header, %heap HEAP_FREE
  %taken = field i64 %heap HEAP_BYTES
  %less = sub i64 %taken, 128
  set i64 %less, %heap HEAP_BYTES
  br label %header.done
header.done:
  %header.next = getelementptr i8, ptr %header, i64 128
  br label %headers
slab.done:
  %following = load ptr, ptr %slab, align 8
  br label %slabs
done:
  %left = field i64 %heap HEAP_BYTES
  %twice = shl i64 %left, 1
  %most = call i64 @llvm.umax.i64(i64 %twice, i64 8388608)
  set i64 %most, %heap HEAP_MOST
  ret void
}"""

_RELEASE = """define hidden void @jitflow.heap.open(ptr %heap, ptr %context, ptr %base) #0 {
start:
  call void @llvm.memset.p0.i64(ptr %heap, i8 0, i64 RECORD_BYTES, i1 false)
  %allocate = load ptr, ptr %context, align 8
  %release.at = getelementptr i8, ptr %context, i64 8
  %release = load ptr, ptr %release.at, align 8
  set ptr %allocate, %heap HEAP_ALLOCATE
  set ptr %release, %heap HEAP_RELEASE
  set ptr %base, %heap HEAP_BASE
  set i64 8388608, %heap HEAP_MOST
  set i64 16384, %heap HEAP_NEXT_SLAB
  ret void
}

define hidden void @jitflow.heap.close(ptr %heap) #0 {
start:
  %release = field ptr %heap HEAP_RELEASE
  %slabs = field ptr %heap HEAP_SLABS
  %opened = icmp eq ptr %slabs, null
  br i1 %opened, label %done, label %sweep
sweep:
  call void @jitflow.heap.sweep(ptr %heap)
  br label %slab
slab:
  %one = phi ptr [ %slabs, %sweep ], [ %one.next, %slab ]
  %one.next = load ptr, ptr %one, align 8
  %one.bytes = field i64 %one 8
  call void %release(ptr %one, i64 %one.bytes)
  %last = icmp eq ptr %one.next, null
  br i1 %last, label %chunks, label %slab
chunks:
  %first = field ptr %heap HEAP_CHUNKS
  br label %chunk
chunk:
  %piece = phi ptr [ %first, %chunks ], [ %piece.next, %give ]
  %none = icmp eq ptr %piece, null
  br i1 %none, label %done, label %give
give:
  %piece.next = load ptr, ptr %piece, align 8
  %piece.bytes = field i64 %piece 8
  call void %release(ptr %piece, i64 %piece.bytes)
  br label %chunk
done:
  set ptr null, %heap HEAP_SLABS
  set ptr null, %heap HEAP_CHUNKS
  ret void
}"""

_KEYS = """define hidden ptr @jitflow.heap.keys(ptr %set) #0 {
start:
  %heap = field ptr %set HEAP
  %width = field i64 %set WIDTH
  %narrow = sub i64 %width, 16
  %made = call ptr @jitflow.heap.make(ptr %heap, i64 %narrow, i64 0, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %room
room:
  %live = field i64 %set LIVE
  %none = icmp eq i64 %live, 0
  br i1 %none, label %empty, label %take
empty:
  ret ptr %made
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
  %data = field ptr %set DATA
  %rows = field i64 %set ROWS
  br label %look
look:
  %row = phi i64 [ 0, %fill ], [ %row.next, %following ]
  %target = phi ptr [ %block, %fill ], [ %target.next, %following ]
  %more = icmp ult i64 %row, %rows
  br i1 %more, label %test, label %done
test:
  %offset = mul i64 %row, %width
  %entry = getelementptr i8, ptr %data, i64 %offset
  %state = load i64, ptr %entry, align 8
  %active = icmp eq i64 %state, 1
  br i1 %active, label %copy, label %following
copy:
  %key = getelementptr i8, ptr %entry, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %key, i64 %narrow, i1 false)
  %target.more = getelementptr i8, ptr %target, i64 %narrow
  br label %following
following:
  %target.next = phi ptr [ %target, %test ], [ %target.more, %copy ]
  %row.next = add i64 %row, 1
  br label %look
done:
  ret ptr %made
}"""

_PACK = """define hidden i1 @jitflow.heap.pack(ptr %out, ptr %roots, i64 %count) #0 {
start:
  %heap = field ptr %out HEAP
  %some = icmp eq i64 %count, 0
  br i1 %some, label %done, label %root
root:
  %number = phi i64 [ 0, %start ], [ %number.next, %root.done ]
  %found = phi ptr [ null, %start ], [ %found.now, %root.done ]
  %last = phi ptr [ null, %start ], [ %last.now, %root.done ]
  %seen = phi i64 [ 0, %start ], [ %seen.now, %root.done ]
  %root.at = getelementptr ptr, ptr %roots, i64 %number
  %header = load ptr, ptr %root.at, align 8
  %root.pair = call { ptr, ptr, i64, i64 } @jitflow.heap.number(ptr %header, ptr %found, ptr %last, i64 %seen)
  %found.now = extractvalue { ptr, ptr, i64, i64 } %root.pair, 0
  %last.now = extractvalue { ptr, ptr, i64, i64 } %root.pair, 1
  %seen.now = extractvalue { ptr, ptr, i64, i64 } %root.pair, 2
  %root.number = extractvalue { ptr, ptr, i64, i64 } %root.pair, 3
  %root.put = call i1 @jitflow.heap.put(ptr %out, i64 %root.number)
  br i1 %root.put, label %root.done, label %full
root.done:
  %number.next = add i64 %number, 1
  %roots.over = icmp eq i64 %number.next, %count
  br i1 %roots.over, label %one, label %root
one:
  %current = phi ptr [ %found.now, %root.done ], [ %current.next, %one.done ]
  %end = phi ptr [ %last.now, %root.done ], [ %end.rows, %one.done ]
  %total = phi i64 [ %seen.now, %root.done ], [ %total.rows, %one.done ]
  %none = icmp eq ptr %current, null
  br i1 %none, label %forget, label %head
forget:
  %known = phi ptr [ %found.now, %one ], [ %known.next, %forget.one ]
  %forgotten = icmp eq ptr %known, null
  br i1 %forgotten, label %done, label %forget.one
forget.one:
  set i64 0, %known NUMBER
  %known.next = field ptr %known LINK
  br label %forget
head:
  %kind = field i64 %current KIND
  %width = field i64 %current WIDTH
  %references = field i64 %current REFERENCES
  %data = field ptr %current DATA
  %rows = field i64 %current ROWS
  %live = field i64 %current LIVE
  %keyed = icmp uge i64 %kind, 2
  %entries = select i1 %keyed, i64 %live, i64 %rows
  %is.set = icmp eq i64 %kind, 3
  %is.dict = icmp eq i64 %kind, 2
  %words = lshr i64 %width, 3
  %first.dict = zext i1 %is.dict to i64
  %first = select i1 %is.set, i64 2, i64 %first.dict
  %shown = sub i64 %words, %first
  %put.kind = call i1 @jitflow.heap.put(ptr %out, i64 %shown)
  br i1 %put.kind, label %put.length, label %full
put.length:
  %length.put = call i1 @jitflow.heap.put(ptr %out, i64 %entries)
  br i1 %length.put, label %row, label %full
row:
  %row.number = phi i64 [ 0, %put.length ], [ %row.next, %row.done ]
  %end.rows = phi ptr [ %end, %put.length ], [ %end.row, %row.done ]
  %total.rows = phi i64 [ %total, %put.length ], [ %total.row, %row.done ]
  %rows.left = icmp ult i64 %row.number, %rows
  br i1 %rows.left, label %row.test, label %one.done
row.test:
  %row.offset = mul i64 %row.number, %width
  %entry = getelementptr i8, ptr %data, i64 %row.offset
  %state = load i64, ptr %entry, align 8
  %is.gap = icmp eq i64 %state, 0
  %gap.dict = and i1 %is.gap, %is.dict
  %is.active = icmp eq i64 %state, 1
  %inactive = xor i1 %is.active, true
  %gap.set = and i1 %inactive, %is.set
  %skipped = or i1 %gap.dict, %gap.set
  br i1 %skipped, label %row.done, label %word
word:
  %word.number = phi i64 [ %first, %row.test ], [ %word.next, %word.done ]
  %end.word = phi ptr [ %end.rows, %row.test ], [ %end.after, %word.done ]
  %total.word = phi i64 [ %total.rows, %row.test ], [ %total.after, %word.done ]
  %word.at = getelementptr i64, ptr %entry, i64 %word.number
  %value = load i64, ptr %word.at, align 8
  %shifted = lshr i64 %references, %word.number
  %bit = and i64 %shifted, 1
  %is.reference = icmp ne i64 %bit, 0
  br i1 %is.reference, label %refer, label %write
refer:
  %target = inttoptr i64 %value to ptr
  %pair = call { ptr, ptr, i64, i64 } @jitflow.heap.number(ptr %target, ptr %current, ptr %end.word, i64 %total.word)
  %end.new = extractvalue { ptr, ptr, i64, i64 } %pair, 1
  %total.new = extractvalue { ptr, ptr, i64, i64 } %pair, 2
  %target.number = extractvalue { ptr, ptr, i64, i64 } %pair, 3
  br label %write
write:
  %end.after = phi ptr [ %end.word, %word ], [ %end.new, %refer ]
  %total.after = phi i64 [ %total.word, %word ], [ %total.new, %refer ]
  %written = phi i64 [ %value, %word ], [ %target.number, %refer ]
  %put = call i1 @jitflow.heap.put(ptr %out, i64 %written)
  br i1 %put, label %word.done, label %full
word.done:
  %word.next = add i64 %word.number, 1
  %words.over = icmp uge i64 %word.next, %words
  br i1 %words.over, label %row.done, label %word
row.done:
  %end.row = phi ptr [ %end.rows, %row.test ], [ %end.after, %word.done ]
  %total.row = phi i64 [ %total.rows, %row.test ], [ %total.after, %word.done ]
  %row.next = add i64 %row.number, 1
  br label %row
one.done:
  %current.next = field ptr %current LINK
  br label %one
full:
  ret i1 false
done:
  ret i1 true
}

define hidden i1 @jitflow.heap.put(ptr %out, i64 %word) #0 {
start:
  %rows = field i64 %out ROWS
  %data = field ptr %out DATA
  %limit = field ptr %out LIMIT
  %place = getelementptr i64, ptr %data, i64 %rows
  %fits = icmp ult ptr %place, %limit
  br i1 %fits, label %write, label %grow
grow:
  %grown = call i1 @jitflow.heap.grow(ptr %out, i1 false)
  br i1 %grown, label %again, label %full
again:
  %data.now = field ptr %out DATA
  %place.now = getelementptr i64, ptr %data.now, i64 %rows
  br label %write
write:
  %target = phi ptr [ %place, %start ], [ %place.now, %again ]
  store i64 %word, ptr %target, align 8
  %more = add i64 %rows, 1
  set i64 %more, %out ROWS
  ret i1 true
full:
  ret i1 false
}

define internal { ptr, ptr, i64, i64 } @jitflow.heap.number(ptr %header, ptr %first, ptr %last, i64 %seen) #0 {
start:
  %none = icmp eq ptr %header, null
  br i1 %none, label %nothing, label %test
nothing:
  br label %done
test:
  %known = field i64 %header NUMBER
  %is.known = icmp ne i64 %known, 0
  br i1 %is.known, label %done, label %fresh
fresh:
  %more = add i64 %seen, 1
  set i64 %more, %header NUMBER
  set ptr null, %header LINK
  %is.first = icmp eq ptr %last, null
  br i1 %is.first, label %done, label %link
link:
  set ptr %header, %last LINK
  br label %done
done:
  %first.now = phi ptr [ %first, %nothing ], [ %first, %test ], [ %header, %fresh ], [ %first, %link ]
  %last.now = phi ptr [ %last, %nothing ], [ %last, %test ], [ %header, %fresh ], [ %header, %link ]
  %seen.now = phi i64 [ %seen, %nothing ], [ %seen, %test ], [ %more, %fresh ], [ %more, %link ]
  %number = phi i64 [ 0, %nothing ], [ %known, %test ], [ %more, %fresh ], [ %more, %link ]
  %one = insertvalue { ptr, ptr, i64, i64 } poison, ptr %first.now, 0
  %two = insertvalue { ptr, ptr, i64, i64 } %one, ptr %last.now, 1
  %three = insertvalue { ptr, ptr, i64, i64 } %two, i64 %seen.now, 2
  %four = insertvalue { ptr, ptr, i64, i64 } %three, i64 %number, 3
  ret { ptr, ptr, i64, i64 } %four
}"""

_DECLARATIONS = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.eh.unwind.init()
declare ptr @llvm.frameaddress.p0(i32)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)"""


def _runtime() -> str:
    parts = (_DECLARATIONS, _MAKE, _TAKE, _GROW, _SETTLE, _RESIZE, _COLLECT, _RELEASE, _KEYS, _PACK)
    functions = [
        with_fields(f"define {function}")
        for part in parts[1:]
        for function in part.removeprefix("define ").split("\ndefine ")
    ]
    text = "\n\n".join((_DECLARATIONS, *functions))
    return text.replace("CLASSES", str(RECORD["CLASSES"])).replace("RECORD_BYTES", str(HEAP_BYTES))


RUNTIME = _runtime()
