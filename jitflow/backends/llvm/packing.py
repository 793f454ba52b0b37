"""Packing containers for the border: one list of words that tells them and all that they hold, each once.

Containers are numbered in the order in which they are found, in the words that collecting uses otherwise: ``NUMBER``,
and ``LINK`` to the next one found.
"""

from __future__ import annotations

__all__ = ["PACKING"]

PACKING = """define hidden i1 @jitflow.heap.pack(ptr %out, ptr %roots, i64 %count) #0 {
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
  %kind.keyed = sub i64 %kind, 2
  %keyed = icmp ult i64 %kind.keyed, 2
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
