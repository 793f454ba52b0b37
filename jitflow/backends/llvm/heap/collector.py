"""Collecting containers that nobody can reach.

When as much was made as was alive at the last time, and some megabytes, what cannot be reached is given back. What the
program may reach is found in its frames, between the host program's and that which collects: every word there that is
the address of a header, or points into one, keeps it, registers included, which are written to the frame first. From
there on entries say exactly what they refer to. A word that only looks like an address keeps something too long, which
costs nothing else. So compiled code knows nothing of collecting: no list of what is alive, no counting, and functions
that call others need no protocol.
"""

from __future__ import annotations

__all__ = ["COLLECTING"]

COLLECTING = """define hidden void @jitflow.heap.collect(ptr %heap) noinline #0 {
start:
  call void @llvm.eh.unwind.init()
  call void @jitflow.heap.reach(ptr %heap)
  call void @jitflow.heap.sweep(ptr %heap, i64 1)
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

define internal void @jitflow.heap.sweep(ptr %heap, i64 %unkept) #0 {
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
  %is.unkept = icmp eq i64 %state, %unkept
  br i1 %is.unkept, label %drop, label %look
look:
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
