"""Text in memory: functions that are the same in all programs.

A text is a list of words with the numbers of its characters (`headers`). It has no gap in front of them, since nothing
is ever taken off it.

Where a text is joined to the end of another one, and there is room behind that, the new text shares its block: nobody
has looked at what lies behind the end. So adding to a text again and again takes time for what is added alone. A record
says how many share a block, and where its last character is: who is not the last to add makes a copy.
"""

from __future__ import annotations

from jitflow.backends.llvm.heap.headers import functions

__all__ = ["TEXTS", "TEXTS_NAME", "TEXT_FUNCTIONS"]

TEXTS_NAME = "jitflow.texts"

TEXT_FUNCTIONS = {
    "write": ("i1", ("ptr", "ptr", "i64")),
    "join": ("ptr", ("ptr", "ptr", "ptr")),
    "insert": ("i1", ("ptr", "i64", "i64", "i64")),
    "number": ("i1", ("ptr", "i64", "i64", "i64")),
    "unpack": ("i1", ("ptr", "ptr", "i64")),
    "compare": ("i64", ("i64", "i64")),
    "same": ("i1", ("i64", "i64", "i1")),
    "hash": ("i64", ("i64",)),
}
"""What each gives and takes. ``write`` appends words to a text, ``insert`` puts one character so many times at a
position, ``number`` appends the digits of one in a base; they say whether there was memory. Whether two texts are
the ``same`` is asked only if they may be: the memory of a key that was removed may be somebody else's."""

_RESERVE = """define hidden ptr @jitflow.text.reserve(ptr %c, i64 %count) #0 {
start:
  %data = field ptr %c DATA
  %rows = field i64 %c ROWS
  %limit = field ptr %c LIMIT
  %used = shl i64 %rows, 3
  %bytes = shl i64 %count, 3
  %data.number = ptrtoint ptr %data to i64
  %limit.number = ptrtoint ptr %limit to i64
  %capacity = sub i64 %limit.number, %data.number
  %wanted = add i64 %used, %bytes
  %fits = icmp ule i64 %wanted, %capacity
  br i1 %fits, label %there, label %grow
there:
  %end = getelementptr i8, ptr %data, i64 %used
  ret ptr %end
grow:
  %half = lshr i64 %used, 1
  %extra = add i64 %wanted, %half
  %some = call i64 @llvm.umax.i64(i64 %extra, i64 64)
  %less = sub i64 %some, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %power = sub i64 64, %zeros
  %rounded = shl i64 1, %power
  %large = icmp ugt i64 %count, 1152921504606846976
  br i1 %large, label %full, label %take
take:
  %heap = field ptr %c HEAP
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 %rounded)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %full, label %move
full:
  ret ptr null
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %data, i64 %used, i1 false)
  %block = field ptr %c BLOCK
  call void @jitflow.heap.give(ptr %heap, ptr %block, i64 %capacity)
  %fresh.limit = getelementptr i8, ptr %fresh, i64 %rounded
  set ptr %fresh, %c BLOCK
  set ptr %fresh.limit, %c LIMIT
  set ptr %fresh, %c DATA
  %fresh.end = getelementptr i8, ptr %fresh, i64 %used
  ret ptr %fresh.end
}"""

_WRITE = """define hidden i1 @jitflow.text.write(ptr %c, ptr %from, i64 %count) #0 {
start:
  %to = call ptr @jitflow.text.reserve(ptr %c, i64 %count)
  %failed = icmp eq ptr %to, null
  %some = icmp ne i64 %count, 0
  %stops = and i1 %failed, %some
  br i1 %stops, label %full, label %copy
full:
  ret i1 false
copy:
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %rows = field i64 %c ROWS
  %rows.more = add i64 %rows, %count
  set i64 %rows.more, %c ROWS
  ret i1 true
}"""

_INSERT = """define hidden i1 @jitflow.text.insert(ptr %c, i64 %position, i64 %count, i64 %number) #0 {
start:
  %none = icmp sle i64 %count, 0
  br i1 %none, label %done, label %reserve
reserve:
  %end = call ptr @jitflow.text.reserve(ptr %c, i64 %count)
  %failed = icmp eq ptr %end, null
  br i1 %failed, label %full, label %move
full:
  ret i1 false
move:
  %rows = field i64 %c ROWS
  %data = field ptr %c DATA
  %from = getelementptr i64, ptr %data, i64 %position
  %to = getelementptr i64, ptr %from, i64 %count
  %behind = sub i64 %rows, %position
  %bytes = shl i64 %behind, 3
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %rows.more = add i64 %rows, %count
  set i64 %rows.more, %c ROWS
  br label %fill
fill:
  %place = phi i64 [ 0, %move ], [ %place.next, %fill ]
  %here = getelementptr i64, ptr %from, i64 %place
  store i64 %number, ptr %here, align 8
  %place.next = add i64 %place, 1
  %more = icmp ult i64 %place.next, %count
  br i1 %more, label %fill, label %done
done:
  ret i1 true
}"""

_NUMBER = """define hidden i1 @jitflow.text.number(ptr %c, i64 %number, i64 %base, i64 %letters) #0 {
start:
  %digits = alloca [72 x i64], align 16
  %is.negative = icmp slt i64 %number, 0
  %minus = sub i64 0, %number
  %size = select i1 %is.negative, i64 %minus, i64 %number
  br label %digit
digit:
  %place = phi i64 [ 72, %start ], [ %place.next, %digit ]
  %rest = phi i64 [ %size, %start ], [ %rest.next, %digit ]
  %rest.next = udiv i64 %rest, %base
  %value = urem i64 %rest, %base
  %is.digit = icmp ult i64 %value, 10
  %as.digit = add i64 %value, 48
  %as.letter = add i64 %value, %letters
  %character = select i1 %is.digit, i64 %as.digit, i64 %as.letter
  %place.next = sub i64 %place, 1
  %here = getelementptr i64, ptr %digits, i64 %place.next
  store i64 %character, ptr %here, align 8
  %is.last = icmp eq i64 %rest.next, 0
  br i1 %is.last, label %sign, label %digit
sign:
  %before = sub i64 %place.next, 1
  %sign.at = getelementptr i64, ptr %digits, i64 %before
  store i64 45, ptr %sign.at, align 8
  %first = select i1 %is.negative, i64 %before, i64 %place.next
  %from = getelementptr i64, ptr %digits, i64 %first
  %count = sub i64 72, %first
  %written = call i1 @jitflow.text.write(ptr %c, ptr %from, i64 %count)
  ret i1 %written
}"""

_UNPACK = """define hidden i1 @jitflow.text.unpack(ptr %c, ptr %packed, i64 %count) #0 {
start:
  %end = call ptr @jitflow.text.reserve(ptr %c, i64 %count)
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %check
check:
  %failed = icmp eq ptr %end, null
  br i1 %failed, label %full, label %put
full:
  ret i1 false
put:
  %place = phi i64 [ 0, %check ], [ %place.next, %put ]
  %from = getelementptr i8, ptr %packed, i64 %place
  %byte = load i8, ptr %from, align 1
  %number = zext i8 %byte to i64
  %to = getelementptr i64, ptr %end, i64 %place
  store i64 %number, ptr %to, align 8
  %place.next = add i64 %place, 1
  %more = icmp ult i64 %place.next, %count
  br i1 %more, label %put, label %finish
finish:
  %rows = field i64 %c ROWS
  %rows.more = add i64 %rows, %count
  set i64 %rows.more, %c ROWS
  br label %done
done:
  ret i1 true
}"""

_JOIN = """define hidden ptr @jitflow.text.join(ptr %heap, ptr %a, ptr %b) #0 {
start:
  %made = call ptr @jitflow.heap.make(ptr %heap, i64 8, i64 0, i64 4)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %look
full:
  ret ptr null
look:
  %a.data = field ptr %a DATA
  %a.rows = field i64 %a ROWS
  %b.data = field ptr %b DATA
  %b.rows = field i64 %b ROWS
  %a.bytes = shl i64 %a.rows, 3
  %b.bytes = shl i64 %b.rows, 3
  %end = getelementptr i8, ptr %a.data, i64 %a.bytes
  %end.number = ptrtoint ptr %end to i64
  %limit = field ptr %a LIMIT
  %limit.number = ptrtoint ptr %limit to i64
  %room = sub i64 %limit.number, %end.number
  %fits = icmp sge i64 %room, %b.bytes
  %some = icmp ne i64 %a.rows, 0
  %may = and i1 %fits, %some
  br i1 %may, label %shared, label %copy
shared:
  %share = field ptr %a INDEX
  %alone = icmp eq ptr %share, null
  br i1 %alone, label %begin, label %ask
begin:
  %fresh = call ptr @jitflow.heap.take(ptr %heap, i64 64)
  %no.room = icmp eq ptr %fresh, null
  br i1 %no.room, label %full, label %record
record:
  store i64 1, ptr %fresh, align 8
  set ptr %fresh, %a INDEX
  br label %behind
ask:
  %used.at = getelementptr i8, ptr %share, i64 8
  %used = load ptr, ptr %used.at, align 8
  %is.last = icmp eq ptr %used, %end
  br i1 %is.last, label %behind, label %copy
behind:
  %known = phi ptr [ %fresh, %record ], [ %share, %ask ]
  call void @llvm.memcpy.p0.p0.i64(ptr %end, ptr %b.data, i64 %b.bytes, i1 false)
  %new.end = getelementptr i8, ptr %end, i64 %b.bytes
  %end.at = getelementptr i8, ptr %known, i64 8
  store ptr %new.end, ptr %end.at, align 8
  %users = load i64, ptr %known, align 8
  %users.more = add i64 %users, 1
  store i64 %users.more, ptr %known, align 8
  %block = field ptr %a BLOCK
  %rows = add i64 %a.rows, %b.rows
  set ptr %a.data, %made DATA
  set i64 %rows, %made ROWS
  set ptr %block, %made BLOCK
  set ptr %limit, %made LIMIT
  set ptr %known, %made INDEX
  ret ptr %made
copy:
  %total = add i64 %a.rows, %b.rows
  %twice = shl i64 %total, 1
  %reserved = call ptr @jitflow.text.reserve(ptr %made, i64 %twice)
  %one = call i1 @jitflow.text.write(ptr %made, ptr %a.data, i64 %a.rows)
  %other = call i1 @jitflow.text.write(ptr %made, ptr %b.data, i64 %b.rows)
  %both = and i1 %one, %other
  %result = select i1 %both, ptr %made, ptr null
  ret ptr %result
}"""

_COMPARE = """define hidden i64 @jitflow.text.compare(i64 %one, i64 %other) #0 {
start:
  %a = inttoptr i64 %one to ptr
  %b = inttoptr i64 %other to ptr
  %a.rows = field i64 %a ROWS
  %b.rows = field i64 %b ROWS
  %a.data = field ptr %a DATA
  %b.data = field ptr %b DATA
  %shared = call i64 @llvm.umin.i64(i64 %a.rows, i64 %b.rows)
  br label %look
look:
  %place = phi i64 [ 0, %start ], [ %place.next, %same ]
  %more = icmp ult i64 %place, %shared
  br i1 %more, label %compare, label %lengths
compare:
  %a.here = getelementptr i64, ptr %a.data, i64 %place
  %b.here = getelementptr i64, ptr %b.data, i64 %place
  %x = load i64, ptr %a.here, align 8
  %y = load i64, ptr %b.here, align 8
  %equal = icmp eq i64 %x, %y
  br i1 %equal, label %same, label %differ
same:
  %place.next = add i64 %place, 1
  br label %look
differ:
  %before = icmp slt i64 %x, %y
  %answer = select i1 %before, i64 -1, i64 1
  ret i64 %answer
lengths:
  %shorter = icmp ult i64 %a.rows, %b.rows
  %longer = icmp ugt i64 %a.rows, %b.rows
  %up = zext i1 %longer to i64
  %down = sext i1 %shorter to i64
  %result = or i64 %up, %down
  ret i64 %result
}"""

_SAME = """define hidden i1 @jitflow.text.same(i64 %one, i64 %other, i1 %may) #0 {
start:
  br i1 %may, label %ask, label %no
ask:
  %order = call i64 @jitflow.text.compare(i64 %one, i64 %other)
  %equal = icmp eq i64 %order, 0
  ret i1 %equal
no:
  ret i1 false
}"""

_HASH = """define hidden i64 @jitflow.text.hash(i64 %text) #0 {
start:
  %c = inttoptr i64 %text to ptr
  %rows = field i64 %c ROWS
  %data = field ptr %c DATA
  br label %look
look:
  %place = phi i64 [ 0, %start ], [ %place.next, %mix ]
  %hash = phi i64 [ %rows, %start ], [ %mixed, %mix ]
  %more = icmp ult i64 %place, %rows
  br i1 %more, label %mix, label %done
mix:
  %here = getelementptr i64, ptr %data, i64 %place
  %number = load i64, ptr %here, align 8
  %in = xor i64 %hash, %number
  %up = mul i64 %in, -7046029254386353131
  %low = lshr i64 %up, 29
  %mixed = xor i64 %up, %low
  %place.next = add i64 %place, 1
  br label %look
done:
  ret i64 %hash
}"""

_CALLED = """declare ptr @jitflow.heap.make(ptr, i64, i64, i64)
declare ptr @jitflow.heap.take(ptr, i64)
declare void @jitflow.heap.give(ptr, ptr, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""

TEXTS = "\n\n".join(
    (_CALLED, *map(functions, (_RESERVE, _WRITE, _INSERT, _NUMBER, _UNPACK, _JOIN, _COMPARE, _SAME, _HASH)))
)
