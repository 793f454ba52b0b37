"""What the program has put into containers that the caller passes, told in words.

That is done at the end, however it comes, and in front of calls that may look. Those that are not as they were are told
with all that was put into them, which is in the registry (`passed`) from then on, and so is what the program returns.
`jitflow.frontend.containers.passed_words` reads the words.

    told      length, how many are returned, these; then containers, and 0
              a container is its number, words of an entry, how many entries, and these; of a set that was given
              then come how many places its table has, how many are taken, from where on the next key is popped, and
              of each place 0 where no key ever was, 1 where one is, 2 where one was

A reference is a number, from 1 on. The first word that was given becomes the address of what is told, 0 if there is
nothing to tell, 1 if there was no memory to tell it in.
"""

from __future__ import annotations

__all__ = ["TELLING"]

TELLING = """define hidden void @jitflow.passed.tell(ptr %heap) #0 {
start:
  %registry = field ptr %heap HEAP_PASSED
  %none = icmp eq ptr %registry, null
  br i1 %none, label %done, label %open
open:
  %words = field ptr %heap HEAP_WORDS
  %out = call ptr @jitflow.heap.make(ptr %heap, i64 8, i64 0, i64 0)
  %no.out = icmp eq ptr %out, null
  br i1 %no.out, label %full, label %tell
tell:
  %told = call i1 @jitflow.passed.all(ptr %heap, ptr %registry, ptr %words, ptr %out)
  br i1 %told, label %size, label %full
size:
  %rows = field i64 %out ROWS
  %nothing = icmp eq i64 %rows, 3
  br i1 %nothing, label %empty, label %take
empty:
  store i64 0, ptr %words, align 8
  br label %done
take:
  %bytes = shl i64 %rows, 3
  %allocate = field ptr %heap HEAP_ALLOCATE
  %block = call ptr %allocate(i64 %bytes)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %full, label %copy
copy:
  %data = field ptr %out DATA
  store i64 %rows, ptr %data, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %data, i64 %bytes, i1 false)
  store ptr %block, ptr %words, align 8
  br label %done
full:
  store i64 1, ptr %words, align 8
  br label %done
done:
  ret void
}

define internal i1 @jitflow.passed.all(ptr %heap, ptr %registry, ptr %words, ptr %out) #0 {
start:
  %known = field ptr %registry DATA
  %count = field i64 %registry ROWS
  br label %number
number:
  %place = phi i64 [ 0, %start ], [ %place.next, %number.one ]
  %numbered = icmp eq i64 %place, %count
  br i1 %numbered, label %returned, label %number.one
number.one:
  %header.at = getelementptr ptr, ptr %known, i64 %place
  %header = load ptr, ptr %header.at, align 8
  %place.next = add i64 %place, 1
  set i64 %place.next, %header NUMBER
  br label %number
returned:
  %length.put = call i1 @jitflow.heap.put(ptr %out, i64 0)
  br i1 %length.put, label %given.test, label %full
given.test:
  %given = field ptr %heap HEAP_GIVEN
  %no.given = icmp eq ptr %given, null
  br i1 %no.given, label %given.none, label %given.some
given.none:
  %none.put = call i1 @jitflow.heap.put(ptr %out, i64 0)
  br i1 %none.put, label %groups, label %full
given.some:
  %roots = field i64 %given ROWS
  %roots.data = field ptr %given DATA
  %roots.put = call i1 @jitflow.heap.put(ptr %out, i64 %roots)
  br i1 %roots.put, label %root, label %full
root:
  %root.place = phi i64 [ 0, %given.some ], [ %root.next, %root.put ]
  %roots.over = icmp eq i64 %root.place, %roots
  br i1 %roots.over, label %groups, label %root.one
root.one:
  %root.at = getelementptr ptr, ptr %roots.data, i64 %root.place
  %root.header = load ptr, ptr %root.at, align 8
  %root.number = call i64 @jitflow.heap.number(ptr %registry, ptr %root.header)
  %root.failed = icmp eq i64 %root.number, -1
  br i1 %root.failed, label %full, label %root.write
root.write:
  %root.written = call i1 @jitflow.heap.put(ptr %out, i64 %root.number)
  br i1 %root.written, label %root.put, label %full
root.put:
  %root.next = add i64 %root.place, 1
  br label %root
groups:
  %group.count = field i64 %words 16
  %first.word = field i64 %words 24
  %first = getelementptr i64, ptr %words, i64 %first.word
  br label %group
group:
  %left = phi i64 [ %group.count, %groups ], [ %left.less, %group.done ]
  %current = phi ptr [ %first, %groups ], [ %current.next, %group.done ]
  %base = phi i64 [ 0, %groups ], [ %base.next, %group.done ]
  %groups.over = icmp eq i64 %left, 0
  br i1 %groups.over, label %end, label %members
members:
  %width = field i64 %current 0
  %kind = field i64 %current 16
  %members.count = field i64 %current 32
  %sizes = getelementptr i8, ptr %current, i64 48
  %sizes.words = mul i64 %members.count, 3
  %source.first = getelementptr i64, ptr %sizes, i64 %sizes.words
  br label %member
member:
  %inside = phi i64 [ 0, %members ], [ %inside.next, %member.done ]
  %source = phi ptr [ %source.first, %members ], [ %source.next, %member.done ]
  %member.more = icmp ult i64 %inside, %members.count
  br i1 %member.more, label %compare, label %group.done
compare:
  %member.place = add i64 %base, %inside
  %known.now = field ptr %registry DATA
  %member.at = getelementptr ptr, ptr %known.now, i64 %member.place
  %one = load ptr, ptr %member.at, align 8
  %triple = mul i64 %inside, 3
  %size = getelementptr i64, ptr %sizes, i64 %triple
  %rows = load i64, ptr %size, align 8
  %same = call i1 @jitflow.passed.same(ptr %one, ptr %source, i64 %rows, i64 %kind)
  br i1 %same, label %member.done, label %changed
changed:
  %member.number = add i64 %member.place, 1
  %number.put = call i1 @jitflow.heap.put(ptr %out, i64 %member.number)
  br i1 %number.put, label %hold, label %full
hold:
  %held = call i1 @jitflow.heap.tell(ptr %out, ptr %registry, ptr %one)
  br i1 %held, label %lie, label %full
lie:
  %is.set = icmp eq i64 %kind, 3
  br i1 %is.set, label %table, label %member.done
table:
  %tabled = call i1 @jitflow.passed.table(ptr %out, ptr %one)
  br i1 %tabled, label %member.done, label %full
member.done:
  %inside.next = add i64 %inside, 1
  %bytes = mul i64 %rows, %width
  %source.next = getelementptr i8, ptr %source, i64 %bytes
  br label %member
group.done:
  %left.less = sub i64 %left, 1
  %base.next = add i64 %base, %members.count
  %current.next = call ptr @jitflow.passed.next(ptr %current)
  br label %group
end:
  %fresh.number = phi i64 [ %base, %group ], [ %fresh.next, %fresh.done ]
  %seen = field i64 %registry ROWS
  %fresh.over = icmp eq i64 %fresh.number, %seen
  br i1 %fresh.over, label %last, label %fresh
fresh:
  %data.now = field ptr %registry DATA
  %new.at = getelementptr ptr, ptr %data.now, i64 %fresh.number
  %new = load ptr, ptr %new.at, align 8
  %fresh.next = add i64 %fresh.number, 1
  %fresh.put = call i1 @jitflow.heap.put(ptr %out, i64 %fresh.next)
  br i1 %fresh.put, label %fresh.one, label %full
fresh.one:
  %fresh.held = call i1 @jitflow.heap.tell(ptr %out, ptr %registry, ptr %new)
  br i1 %fresh.held, label %fresh.done, label %full
fresh.done:
  br label %end
last:
  %last.put = call i1 @jitflow.heap.put(ptr %out, i64 0)
  br i1 %last.put, label %done, label %full
full:
  ret i1 false
done:
  ret i1 true
}

define internal i1 @jitflow.passed.table(ptr %out, ptr %set) #0 {
start:
  %places = field i64 %set ROWS
  %taken = field i64 %set INDEX
  %finger = field i64 %set FINGER
  %width = field i64 %set WIDTH
  %data = field ptr %set DATA
  %places.put = call i1 @jitflow.heap.put(ptr %out, i64 %places)
  %taken.put = call i1 @jitflow.heap.put(ptr %out, i64 %taken)
  %finger.put = call i1 @jitflow.heap.put(ptr %out, i64 %finger)
  %two.put = and i1 %places.put, %taken.put
  %all.put = and i1 %two.put, %finger.put
  br i1 %all.put, label %look, label %full
look:
  %place = phi i64 [ 0, %start ], [ %place.next, %put ]
  %over = icmp eq i64 %place, %places
  br i1 %over, label %done, label %put
put:
  %offset = mul i64 %place, %width
  %entry = getelementptr i8, ptr %data, i64 %offset
  %state = load i64, ptr %entry, align 8
  %place.next = add i64 %place, 1
  %put.now = call i1 @jitflow.heap.put(ptr %out, i64 %state)
  br i1 %put.now, label %look, label %full
full:
  ret i1 false
done:
  ret i1 true
}

define internal i1 @jitflow.passed.same(ptr %header, ptr %source, i64 %rows, i64 %kind) #0 {
start:
  %rows.now = field i64 %header ROWS
  %changes = field i64 %header CHANGES
  %as.many = icmp eq i64 %rows, %rows.now
  %no.changes = icmp eq i64 %changes, 0
  %alike = and i1 %as.many, %no.changes
  br i1 %alike, label %kinds, label %other
kinds:
  %is.set = icmp eq i64 %kind, 3
  %empty = icmp eq i64 %rows, 0
  %enough = or i1 %is.set, %empty
  br i1 %enough, label %same, label %begin
begin:
  %is.dict = icmp eq i64 %kind, 2
  %first = zext i1 %is.dict to i64
  %data = field ptr %header DATA
  %width = field i64 %header WIDTH
  %references = field i64 %header REFERENCES
  %row.words = lshr i64 %width, 3
  br label %row
row:
  %number = phi i64 [ 0, %begin ], [ %number.next, %row.done ]
  %start.at = mul i64 %number, %row.words
  %entry = getelementptr i64, ptr %data, i64 %start.at
  %before = getelementptr i64, ptr %source, i64 %start.at
  br label %word
word:
  %place = phi i64 [ %first, %row ], [ %place.next, %word.done ]
  %now.at = getelementptr i64, ptr %entry, i64 %place
  %now = load i64, ptr %now.at, align 8
  %then.at = getelementptr i64, ptr %before, i64 %place
  %then = load i64, ptr %then.at, align 8
  %shifted = lshr i64 %references, %place
  %bit = and i64 %shifted, 1
  %is.reference = icmp ne i64 %bit, 0
  br i1 %is.reference, label %refer, label %compare
refer:
  %target = inttoptr i64 %now to ptr
  %target.number = field i64 %target NUMBER
  br label %compare
compare:
  %is.now = phi i64 [ %now, %word ], [ %target.number, %refer ]
  %equal = icmp eq i64 %is.now, %then
  br i1 %equal, label %word.done, label %other
word.done:
  %place.next = add i64 %place, 1
  %words.over = icmp uge i64 %place.next, %row.words
  br i1 %words.over, label %row.done, label %word
row.done:
  %number.next = add i64 %number, 1
  %more = icmp ult i64 %number.next, %rows
  br i1 %more, label %row, label %same
same:
  ret i1 true
other:
  ret i1 false
}"""
