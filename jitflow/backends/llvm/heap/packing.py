"""Telling containers in words: those of a program's results in one list, each once, with all that they hold.

Containers are numbered in the order in which they are found, by a *registry*, a list of them. Each keeps its number,
which counts only where the registry has that very container at that place (Briggs and Torczon, 1993): so numbers need
not be taken back, whatever was told of a container before. What a value of several kinds is not has the number 0.
"""

from __future__ import annotations

__all__ = ["PACKING"]

PACKING = """define hidden i1 @jitflow.heap.pack(ptr %out, ptr %roots, i64 %count) #0 {
start:
  %heap = field ptr %out HEAP
  %registry = call ptr @jitflow.heap.make(ptr %heap, i64 8, i64 1, i64 0)
  %failed = icmp eq ptr %registry, null
  br i1 %failed, label %full, label %root
root:
  %place = phi i64 [ 0, %start ], [ %place.next, %root.write ]
  %roots.left = icmp ult i64 %place, %count
  br i1 %roots.left, label %root.one, label %one
root.one:
  %root.at = getelementptr ptr, ptr %roots, i64 %place
  %root.header = load ptr, ptr %root.at, align 8
  %root.number = call i64 @jitflow.heap.number(ptr %registry, ptr %root.header)
  %root.failed = icmp eq i64 %root.number, -1
  br i1 %root.failed, label %full, label %root.write
root.write:
  %place.next = add i64 %place, 1
  %root.put = call i1 @jitflow.heap.put(ptr %out, i64 %root.number)
  br i1 %root.put, label %root, label %full
one:
  %number = phi i64 [ 0, %root ], [ %number.next, %tell ]
  %found = field i64 %registry ROWS
  %left = icmp ult i64 %number, %found
  br i1 %left, label %tell, label %done
tell:
  %data = field ptr %registry DATA
  %header.at = getelementptr ptr, ptr %data, i64 %number
  %header = load ptr, ptr %header.at, align 8
  %number.next = add i64 %number, 1
  %told = call i1 @jitflow.heap.tell(ptr %out, ptr %registry, ptr %header)
  br i1 %told, label %one, label %full
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

define hidden i64 @jitflow.heap.number(ptr %registry, ptr %header) #0 {
start:
  %state = field i64 %header STATE
  %none = icmp eq i64 %state, 0
  br i1 %none, label %nothing, label %test
nothing:
  ret i64 0
test:
  %known = field i64 %header NUMBER
  %place = sub i64 %known, 1
  %found = field i64 %registry ROWS
  %inside = icmp ult i64 %place, %found
  br i1 %inside, label %look, label %fresh
look:
  %data = field ptr %registry DATA
  %there.at = getelementptr ptr, ptr %data, i64 %place
  %there = load ptr, ptr %there.at, align 8
  %is.known = icmp eq ptr %there, %header
  br i1 %is.known, label %same, label %fresh
same:
  ret i64 %known
fresh:
  %reference = ptrtoint ptr %header to i64
  %put = call i1 @jitflow.heap.put(ptr %registry, i64 %reference)
  br i1 %put, label %number, label %full
number:
  %more = field i64 %registry ROWS
  set i64 %more, %header NUMBER
  ret i64 %more
full:
  ret i64 -1
}

define hidden i1 @jitflow.heap.tell(ptr %out, ptr %registry, ptr %header) #0 {
start:
  %kind = field i64 %header KIND
  %width = field i64 %header WIDTH
  %references = field i64 %header REFERENCES
  %data = field ptr %header DATA
  %rows = field i64 %header ROWS
  %live = field i64 %header LIVE
  %mask = field i64 %header MASK
  %is.set = icmp eq i64 %kind, 3
  %is.dict = icmp eq i64 %kind, 2
  %keyed = or i1 %is.set, %is.dict
  %entries = select i1 %keyed, i64 %live, i64 %rows
  %is.indexed = icmp ne i64 %mask, -1
  %has.gaps = and i1 %is.dict, %is.indexed
  %words = lshr i64 %width, 3
  %first.dict = zext i1 %is.dict to i64
  %first = select i1 %is.set, i64 2, i64 %first.dict
  %shown = sub i64 %words, %first
  %shown.put = call i1 @jitflow.heap.put(ptr %out, i64 %shown)
  br i1 %shown.put, label %put.length, label %full
put.length:
  %length.put = call i1 @jitflow.heap.put(ptr %out, i64 %entries)
  br i1 %length.put, label %row, label %full
row:
  %row.number = phi i64 [ 0, %put.length ], [ %row.next, %row.done ]
  %rows.left = icmp ult i64 %row.number, %rows
  br i1 %rows.left, label %row.test, label %done
row.test:
  %row.offset = mul i64 %row.number, %width
  %entry = getelementptr i8, ptr %data, i64 %row.offset
  %state = load i64, ptr %entry, align 8
  %is.gap = icmp eq i64 %state, 0
  %gap.dict = and i1 %is.gap, %has.gaps
  %is.active = icmp eq i64 %state, 1
  %inactive = xor i1 %is.active, true
  %gap.set = and i1 %inactive, %is.set
  %skipped = or i1 %gap.dict, %gap.set
  br i1 %skipped, label %row.done, label %word
word:
  %word.number = phi i64 [ %first, %row.test ], [ %word.next, %word.done ]
  %word.at = getelementptr i64, ptr %entry, i64 %word.number
  %value = load i64, ptr %word.at, align 8
  %shifted = lshr i64 %references, %word.number
  %bit = and i64 %shifted, 1
  %is.reference = icmp ne i64 %bit, 0
  br i1 %is.reference, label %refer, label %write
refer:
  %target = inttoptr i64 %value to ptr
  %target.number = call i64 @jitflow.heap.number(ptr %registry, ptr %target)
  %no.number = icmp eq i64 %target.number, -1
  br i1 %no.number, label %full, label %write
write:
  %written = phi i64 [ %value, %word ], [ %target.number, %refer ]
  %put = call i1 @jitflow.heap.put(ptr %out, i64 %written)
  br i1 %put, label %word.done, label %full
word.done:
  %word.next = add i64 %word.number, 1
  %words.over = icmp uge i64 %word.next, %words
  br i1 %words.over, label %row.done, label %word
row.done:
  %row.next = add i64 %row.number, 1
  br label %row
full:
  ret i1 false
done:
  ret i1 true
}"""
