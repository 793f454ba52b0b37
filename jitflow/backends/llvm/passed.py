"""Containers that the caller passes: made of words in front of everything, and told in words at the end.

`jitflow.frontend.python.passed_words` writes the words and reads those that come back. All containers of a call are
made at once, so that what is one object is one, and a list of them, the *registry*, keeps each while the call runs:
the caller may still hold what the program takes out of another container. At the end, however it comes, and in front of
calls that may look, those that are not as they were are told with all that was put into them, which is in the registry
from then on, and also what the program returns.

    given     ...id of Python's object, number of containers, of groups, where these begin, then the roots
              a group is all containers of a type: bytes of an entry, which words refer, kind, name of the type,
              how many, words of entries; of each how many rows, keys, places taken; then their entries
    told      length, how many are returned, these; then containers, and 0
              a container is its number, words of an entry, how many entries, and these

A reference is a number, from 1 on. The first word given becomes the address of what is told, 0 if there is nothing
to tell, 1 if there was no memory to tell it in.
"""

from __future__ import annotations

from zlib import crc32

from jitflow.backends.llvm.headers import functions
from jitflow.backends.llvm.keys import FIRST_WORD, key_functions, name_of_keys
from jitflow.ir.types import Container

__all__ = ["PASSED", "PASSED_NAME", "index_function", "type_name"]

PASSED_NAME = "jitflow.passed"


def type_name(kind: Container) -> int:
    """A number for a type, which the words of a group have."""
    return crc32(str(kind).encode())


def index_function(kind: Container) -> tuple[str, dict[str, str]]:
    """The function that makes a dict's entries known by their keys, and the texts that it needs."""
    name = name_of_keys(kind)
    first, keys, width = FIRST_WORD["dict"], len(kind.keys), 8 * (FIRST_WORD["dict"] + len(kind.words))
    loads = "\n".join(
        f"  %k{number}.at = getelementptr i8, ptr %entry, i64 {8 * (first + number)}\n"
        f"  %k{number} = load i64, ptr %k{number}.at, align 8"
        for number in range(keys)
    )
    arguments = ", ".join(f"i64 %k{number}" for number in range(keys))
    text = f"""define internal i1 @{name}.index(ptr %c) #0 {{
start:
  %rows = field i64 %c ROWS
  %data = field ptr %c DATA
  br label %row
row:
  %number = phi i64 [ 0, %start ], [ %number.next, %row ]
  %offset = mul i64 %number, {width}
  %entry = getelementptr i8, ptr %data, i64 %offset
{loads}
  %hash = call i64 @{name}.hash({arguments})
  store i64 %hash, ptr %entry, align 8
  %number.next = add i64 %number, 1
  %more = icmp ult i64 %number.next, %rows
  br i1 %more, label %row, label %settle
settle:
  %settled = call i1 @jitflow.heap.settle(ptr %c)
  ret i1 %settled
}}"""
    return f"{name}.index", {**key_functions(kind), f"{name}.index": functions(text)}


_OPEN = """define hidden i1 @jitflow.passed.open(ptr %heap, ptr %words) #0 {
start:
  %known = field ptr %heap HEAP_PASSED
  %is.known = icmp ne ptr %known, null
  br i1 %is.known, label %done, label %make
make:
  %registry = call ptr @jitflow.heap.make(ptr %heap, i64 8, i64 1, i64 0)
  %failed = icmp eq ptr %registry, null
  br i1 %failed, label %full, label %room
room:
  %count = field i64 %words 8
  %needed = shl i64 %count, 3
  %bytes = call i64 @jitflow.heap.rounded(i64 %needed)
  %block = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %no.block = icmp eq ptr %block, null
  br i1 %no.block, label %full, label %open
open:
  %limit = getelementptr i8, ptr %block, i64 %bytes
  set ptr %block, %registry DATA
  set ptr %block, %registry BLOCK
  set ptr %limit, %registry LIMIT
  %groups = field i64 %words 16
  %first.word = field i64 %words 24
  %first = getelementptr i64, ptr %words, i64 %first.word
  br label %headers
headers:
  %left = phi i64 [ %groups, %open ], [ %left.less, %headers.next ]
  %group = phi ptr [ %first, %open ], [ %group.next, %headers.next ]
  %headers.over = icmp eq i64 %left, 0
  br i1 %headers.over, label %fill, label %headers.make
headers.make:
  %made = call i1 @jitflow.passed.headers(ptr %heap, ptr %registry, ptr %group)
  br i1 %made, label %headers.next, label %full
headers.next:
  %left.less = sub i64 %left, 1
  %group.next = call ptr @jitflow.passed.next(ptr %group)
  br label %headers
fill:
  %rest = phi i64 [ %groups, %headers ], [ %rest.less, %fill.next ]
  %filled = phi ptr [ %first, %headers ], [ %filled.next, %fill.next ]
  %number = phi i64 [ 0, %headers ], [ %number.next, %fill.next ]
  %fill.over = icmp eq i64 %rest, 0
  br i1 %fill.over, label %known.now, label %fill.entries
fill.entries:
  %entered = call i1 @jitflow.passed.entries(ptr %heap, ptr %registry, ptr %filled, i64 %number)
  br i1 %entered, label %fill.next, label %full
fill.next:
  %rest.less = sub i64 %rest, 1
  %members = field i64 %filled 32
  %number.next = add i64 %number, %members
  %filled.next = call ptr @jitflow.passed.next(ptr %filled)
  br label %fill
known.now:
  set ptr %registry, %heap HEAP_PASSED
  set ptr %words, %heap HEAP_WORDS
  br label %done
full:
  ret i1 false
done:
  ret i1 true
}

define internal ptr @jitflow.passed.next(ptr %group) #0 {
start:
  %members = field i64 %group 32
  %words = field i64 %group 40
  %sizes = mul i64 %members, 3
  %sum = add i64 %sizes, %words
  %all = add i64 %sum, 6
  %next = getelementptr i64, ptr %group, i64 %all
  ret ptr %next
}

define internal i1 @jitflow.passed.headers(ptr %heap, ptr %registry, ptr %group) #0 {
start:
  %width = field i64 %group 0
  %references = field i64 %group 8
  %kind = field i64 %group 16
  %members = field i64 %group 32
  %data = field ptr %registry DATA
  br label %look
look:
  %number = phi i64 [ 0, %start ], [ %number.next, %put ]
  %more = icmp ult i64 %number, %members
  br i1 %more, label %make, label %done
make:
  %header = call ptr @jitflow.heap.make(ptr %heap, i64 %width, i64 %references, i64 %kind)
  %failed = icmp eq ptr %header, null
  br i1 %failed, label %full, label %put
put:
  %rows = field i64 %registry ROWS
  %place = getelementptr ptr, ptr %data, i64 %rows
  store ptr %header, ptr %place, align 8
  %rows.more = add i64 %rows, 1
  set i64 %rows.more, %registry ROWS
  %number.next = add i64 %number, 1
  br label %look
full:
  ret i1 false
done:
  ret i1 true
}

define internal i1 @jitflow.passed.entries(ptr %heap, ptr %registry, ptr %group, i64 %first) #0 {
start:
  %width = field i64 %group 0
  %references = field i64 %group 8
  %kind = field i64 %group 16
  %members = field i64 %group 32
  %is.set = icmp eq i64 %kind, 3
  %known = field ptr %registry DATA
  %sizes = getelementptr i8, ptr %group, i64 48
  %sizes.words = mul i64 %members, 3
  %source.first = getelementptr i64, ptr %sizes, i64 %sizes.words
  br label %look
look:
  %number = phi i64 [ 0, %start ], [ %number.next, %next ]
  %source = phi ptr [ %source.first, %start ], [ %source.next, %next ]
  %more = icmp ult i64 %number, %members
  br i1 %more, label %one, label %done
one:
  %place = add i64 %first, %number
  %header.at = getelementptr ptr, ptr %known, i64 %place
  %header = load ptr, ptr %header.at, align 8
  %triple = mul i64 %number, 3
  %size = getelementptr i64, ptr %sizes, i64 %triple
  %rows = field i64 %size 0
  %needed = mul i64 %rows, %width
  %empty = icmp eq i64 %rows, 0
  br i1 %empty, label %next, label %take
take:
  %bytes = call i64 @jitflow.heap.rounded(i64 %needed)
  %block = call ptr @jitflow.heap.take(ptr %heap, i64 %bytes)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %full, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %source, i64 %needed, i1 false)
  %limit = getelementptr i8, ptr %block, i64 %bytes
  %live = field i64 %size 8
  set ptr %block, %header BLOCK
  set ptr %block, %header DATA
  set ptr %limit, %header LIMIT
  set i64 %live, %header LIVE
  br i1 %is.set, label %table, label %refer
table:
  %mask = sub i64 %rows, 1
  %taken = field i64 %size 16
  %taken.word = inttoptr i64 %taken to ptr
  set i64 %mask, %header MASK
  set ptr %taken.word, %header INDEX
  br label %finish
refer:
  %plain = icmp eq i64 %references, 0
  br i1 %plain, label %finish, label %row
row:
  %row.number = phi i64 [ 0, %refer ], [ %row.next, %row.done ]
  %row.offset = mul i64 %row.number, %width
  %entry = getelementptr i8, ptr %block, i64 %row.offset
  br label %word
word:
  %bits = phi i64 [ %references, %row ], [ %bits.rest, %word.done ]
  %word.number = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %word.at = getelementptr i64, ptr %entry, i64 %word.number
  %reference = load i64, ptr %word.at, align 8
  %none = icmp eq i64 %reference, 0
  br i1 %none, label %word.done, label %follow
follow:
  %reference.place = sub i64 %reference, 1
  %target.at = getelementptr ptr, ptr %known, i64 %reference.place
  %target = load ptr, ptr %target.at, align 8
  store ptr %target, ptr %word.at, align 8
  br label %word.done
word.done:
  %bits.less = sub i64 %bits, 1
  %bits.rest = and i64 %bits, %bits.less
  %words.over = icmp eq i64 %bits.rest, 0
  br i1 %words.over, label %row.done, label %word
row.done:
  %row.next = add i64 %row.number, 1
  %rows.left = icmp ult i64 %row.next, %rows
  br i1 %rows.left, label %row, label %finish
finish:
  set i64 %rows, %header ROWS
  br label %next
next:
  %source.next = getelementptr i8, ptr %source, i64 %needed
  %number.next = add i64 %number, 1
  br label %look
full:
  ret i1 false
done:
  ret i1 true
}

define hidden i64 @jitflow.passed.root(ptr %heap, i64 %number) #0 {
start:
  %words = field ptr %heap HEAP_WORDS
  %registry = field ptr %heap HEAP_PASSED
  %place = add i64 %number, 4
  %root.at = getelementptr i64, ptr %words, i64 %place
  %root = load i64, ptr %root.at, align 8
  %data = field ptr %registry DATA
  %root.place = sub i64 %root, 1
  %header.at = getelementptr i64, ptr %data, i64 %root.place
  %header = load i64, ptr %header.at, align 8
  ret i64 %header
}

define hidden i1 @jitflow.passed.index(ptr %heap, i64 %name, ptr %function) #0 {
start:
  %words = field ptr %heap HEAP_WORDS
  %registry = field ptr %heap HEAP_PASSED
  %data = field ptr %registry DATA
  %groups = field i64 %words 16
  %first.word = field i64 %words 24
  %first = getelementptr i64, ptr %words, i64 %first.word
  br label %groups.next
groups.next:
  %left = phi i64 [ %groups, %start ], [ %left.less, %group.done ]
  %group = phi ptr [ %first, %start ], [ %group.next, %group.done ]
  %number = phi i64 [ 0, %start ], [ %number.next, %group.done ]
  %over = icmp eq i64 %left, 0
  br i1 %over, label %done, label %test
test:
  %known = field i64 %group 24
  %members = field i64 %group 32
  %meant = icmp eq i64 %known, %name
  br i1 %meant, label %member, label %group.done
member:
  %inside = phi i64 [ 0, %test ], [ %inside.next, %member.done ]
  %more = icmp ult i64 %inside, %members
  br i1 %more, label %one, label %group.done
one:
  %place = add i64 %number, %inside
  %header.at = getelementptr ptr, ptr %data, i64 %place
  %header = load ptr, ptr %header.at, align 8
  %mask = field i64 %header MASK
  %rows = field i64 %header ROWS
  %fresh = icmp eq i64 %mask, -1
  %some = icmp ne i64 %rows, 0
  %wanted = and i1 %fresh, %some
  br i1 %wanted, label %call, label %member.done
call:
  %indexed = call i1 %function(ptr %header)
  br i1 %indexed, label %member.done, label %full
member.done:
  %inside.next = add i64 %inside, 1
  br label %member
group.done:
  %left.less = sub i64 %left, 1
  %number.next = add i64 %number, %members
  %group.next = call ptr @jitflow.passed.next(ptr %group)
  br label %groups.next
full:
  ret i1 false
done:
  ret i1 true
}

define hidden i1 @jitflow.passed.give(ptr %heap, i64 %reference) #0 {
start:
  %known = field ptr %heap HEAP_GIVEN
  %is.known = icmp ne ptr %known, null
  br i1 %is.known, label %put, label %make
make:
  %made = call ptr @jitflow.heap.make(ptr %heap, i64 8, i64 1, i64 0)
  set ptr %made, %heap HEAP_GIVEN
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %full, label %put
put:
  %given = phi ptr [ %known, %start ], [ %made, %make ]
  %done = call i1 @jitflow.heap.put(ptr %given, i64 %reference)
  ret i1 %done
full:
  ret i1 false
}"""

_TELL = """define hidden void @jitflow.passed.tell(ptr %heap) #0 {
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
  set i64 %count, %heap HEAP_SEEN
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
  %root.number = call i64 @jitflow.passed.number(ptr %heap, ptr %root.header)
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
  %held = call i1 @jitflow.passed.held(ptr %heap, ptr %out, ptr %one)
  br i1 %held, label %member.done, label %full
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
  %seen = field i64 %heap HEAP_SEEN
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
  %fresh.held = call i1 @jitflow.passed.held(ptr %heap, ptr %out, ptr %new)
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

define internal i64 @jitflow.passed.number(ptr %heap, ptr %header) #0 {
start:
  %none = icmp eq ptr %header, null
  br i1 %none, label %nothing, label %test
nothing:
  ret i64 0
test:
  %known = field i64 %header NUMBER
  %is.known = icmp ne i64 %known, 0
  br i1 %is.known, label %done, label %fresh
fresh:
  %registry = field ptr %heap HEAP_PASSED
  %reference = ptrtoint ptr %header to i64
  %put = call i1 @jitflow.heap.put(ptr %registry, i64 %reference)
  br i1 %put, label %number, label %full
number:
  %seen = field i64 %heap HEAP_SEEN
  %more = add i64 %seen, 1
  set i64 %more, %heap HEAP_SEEN
  set i64 %more, %header NUMBER
  br label %done
done:
  %found = phi i64 [ %known, %test ], [ %more, %number ]
  ret i64 %found
full:
  ret i64 -1
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
  %none = icmp eq i64 %now, 0
  br i1 %none, label %compare, label %follow
follow:
  %target = inttoptr i64 %now to ptr
  %target.number = field i64 %target NUMBER
  br label %compare
compare:
  %is.now = phi i64 [ %now, %word ], [ 0, %refer ], [ %target.number, %follow ]
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
}

define internal i1 @jitflow.passed.held(ptr %heap, ptr %out, ptr %header) #0 {
start:
  %kind = field i64 %header KIND
  %width = field i64 %header WIDTH
  %references = field i64 %header REFERENCES
  %data = field ptr %header DATA
  %rows = field i64 %header ROWS
  %live = field i64 %header LIVE
  %keyed = icmp uge i64 %kind, 2
  %entries = select i1 %keyed, i64 %live, i64 %rows
  %is.set = icmp eq i64 %kind, 3
  %is.dict = icmp eq i64 %kind, 2
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
  %unindexed = field i64 %header MASK
  %is.indexed = icmp ne i64 %unindexed, -1
  %gap.now = and i1 %is.gap, %is.indexed
  %gap.dict = and i1 %gap.now, %is.dict
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
  %target.number = call i64 @jitflow.passed.number(ptr %heap, ptr %target)
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

_DECLARATIONS = """declare ptr @jitflow.heap.make(ptr, i64, i64, i64)
declare ptr @jitflow.heap.take(ptr, i64)
declare i64 @jitflow.heap.rounded(i64)
declare i1 @jitflow.heap.put(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)"""

PASSED = "\n\n".join((_DECLARATIONS, *map(functions, (_OPEN, _TELL))))
"""The functions that all programs share."""
