"""Containers that the caller passes: made of words in front of everything (`told` says what becomes of them).

`jitflow.frontend.containers.passed_words` writes the words. All containers of a call are made at once, so that what is
one object is one, and a list of them, the *registry*, keeps each while the call runs: the caller may still hold what
the program takes out of another container.

    given     ...id of Python's object, number of containers, of groups, where these begin, then the roots
              a group is all containers of a type: bytes of an entry, which words refer, kind, name of the type,
              how many, words of entries; of each how many rows, keys, places taken (of a set also, in the upper
              half, from where on the next key is popped); then their entries

A reference is a number, from 1 on.
"""

from __future__ import annotations

from zlib import crc32

from jitflow.backends.llvm.heap.headers import EMPTY, NOBODYS, functions
from jitflow.backends.llvm.heap.keys import FIRST_WORD, key_functions, name_of_keys
from jitflow.backends.llvm.heap.told import TELLING
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
  %filled = field i64 %size 16
  %finger = lshr i64 %filled, 32
  set i64 %finger, %header FINGER
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
  %taken = and i64 %filled, 4294967295
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
  %referred = load ptr, ptr %target.at, align 8
  br label %word.done
word.done:
  %target = phi ptr [ @NOBODYS, %word ], [ %referred, %follow ]
  store ptr %target, ptr %word.at, align 8
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

_DECLARATIONS = f"""@{NOBODYS} = {EMPTY}
declare ptr @jitflow.heap.make(ptr, i64, i64, i64)
declare ptr @jitflow.heap.take(ptr, i64)
declare i64 @jitflow.heap.rounded(i64)
declare i1 @jitflow.heap.put(ptr, i64)
declare i64 @jitflow.heap.number(ptr, ptr)
declare i1 @jitflow.heap.tell(ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)"""

PASSED = "\n\n".join((_DECLARATIONS, *map(functions, (_OPEN.replace("@NOBODYS", f"@{NOBODYS}"), TELLING))))
"""The functions that all programs share."""
