"""The memory of containers: headers in slabs, entries in blocks.

A reference is the address of a header of 128 bytes, which knows where the entries lie, how many there are, how wide an
entry is and which of its words are references. Entries move when a container grows, headers never do. All belong to
the *heap* of one call, a record in the frame of the host program; whatever it still holds at the end is given back.
Containers are made (`make`) without asking who holds them (`collector`).

This is the part that is the same in all programs, whose machine code is generated once in a process. What depends on
the types of keys is written into each program (`keys`).
"""

from __future__ import annotations

from jitflow.backends.llvm.heap.collector import COLLECTING
from jitflow.backends.llvm.heap.headers import HEAP_BYTES, functions
from jitflow.backends.llvm.heap.packing import PACKING
from jitflow.backends.llvm.heap.tables import TABLES

__all__ = ["RUNTIME", "SHARED_NAME"]

SHARED_NAME = "jitflow.containers"

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
  %lists = place %heap HEAP_CLASSES
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
  %lists = place %heap HEAP_CLASSES
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
  %kind = field i64 %header KIND
  %is.text = icmp eq i64 %kind, 4
  br i1 %is.text, label %text, label %own
text:
  %share = field ptr %header INDEX
  %is.shared = icmp ne ptr %share, null
  br i1 %is.shared, label %shared, label %own
shared:
  %users = load i64, ptr %share, align 8
  %others = sub i64 %users, 1
  store i64 %others, ptr %share, align 8
  %is.last = icmp eq i64 %others, 0
  br i1 %is.last, label %last, label %done
last:
  call void @jitflow.heap.give(ptr %heap, ptr %share, i64 64)
  br label %own
own:
  %block = field ptr %header BLOCK
  %limit = field ptr %header LIMIT
  %block.number = ptrtoint ptr %block to i64
  %limit.number = ptrtoint ptr %limit to i64
  %bytes = sub i64 %limit.number, %block.number
  call void @jitflow.heap.give(ptr %heap, ptr %block, i64 %bytes)
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

define hidden i1 @jitflow.heap.add.items(ptr %header, i64 %count) #0 {
start:
  %heap = field ptr %header HEAP
  %width = field i64 %header WIDTH
  %used = mul i64 %count, %width
  %bytes = call i64 @jitflow.heap.rounded(i64 %used)
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %fill
full:
  ret i1 false
fill:
  call void @llvm.memset.p0.i64(ptr %fresh, i8 0, i64 %used, i1 false)
  %limit = getelementptr i8, ptr %fresh, i64 %bytes
  set ptr %fresh, %header BLOCK
  set ptr %limit, %header LIMIT
  set ptr %fresh, %header DATA
  set i64 %count, %header ROWS
  ret i1 true
}

define hidden void @jitflow.heap.pin(ptr %header) #0 {
start:
  set i64 3, %header STATE
  ret void
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

_OPEN = f"""define hidden void @jitflow.heap.open(ptr %heap, ptr %context, ptr %base) #0 {{
start:
  call void @llvm.memset.p0.i64(ptr %heap, i8 0, i64 {HEAP_BYTES}, i1 false)
  %allocate = load ptr, ptr %context, align 8
  %release.at = getelementptr i8, ptr %context, i64 8
  %release = load ptr, ptr %release.at, align 8
  set ptr %allocate, %heap HEAP_ALLOCATE
  set ptr %release, %heap HEAP_RELEASE
  set ptr %base, %heap HEAP_BASE
  set i64 8388608, %heap HEAP_MOST
  set i64 16384, %heap HEAP_NEXT_SLAB
  ret void
}}

define hidden void @jitflow.heap.close(ptr %heap) #0 {{
start:
  %release = field ptr %heap HEAP_RELEASE
  %slabs = field ptr %heap HEAP_SLABS
  %opened = icmp eq ptr %slabs, null
  br i1 %opened, label %done, label %sweep
sweep:
  call void @jitflow.heap.sweep(ptr %heap, i64 3)
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
}}"""

_DECLARATIONS = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.eh.unwind.init()
declare ptr @llvm.frameaddress.p0(i32)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)"""

_PARTS = (_OPEN, _MAKE, _TAKE, _GROW, TABLES, COLLECTING, PACKING)
RUNTIME = "\n\n".join((_DECLARATIONS, *map(functions, _PARTS)))
