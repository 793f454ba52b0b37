"""What is done to whole sets as CPython does it, because their order shows: one is added to another, a key is popped.

CPython makes the table large enough for all keys before it adds them, and copies it as it stands where that comes to
the same (`set_merge` in `Objects/setobject.c`). `set.pop` takes the first key from a place on that it keeps.
"""

from __future__ import annotations

from jitflow.backends.llvm.heap.headers import functions
from jitflow.backends.llvm.heap.keys import FIRST_WORD, name_of_keys
from jitflow.ir.types import Container

__all__ = ["MERGING", "merging", "popping", "swapping", "tidying"]

MERGING = (("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1")),)


def merging(kind: Container, other: Container) -> tuple[str, str]:
    """The name and text of the function that adds the keys of a set or dict to a set."""
    words = len(kind.keys)
    first, width = FIRST_WORD[other.family], 8 * (FIRST_WORD[other.family] + len(other.words))
    name = f"{name_of_keys(kind)}.merge.{other.family}.{width}"
    loads = "\n".join(
        f"  %k{number}.at = getelementptr i8, ptr %entry, i64 {8 * (first + number)}\n"
        f"  %k{number} = load i64, ptr %k{number}.at, align 8"
        for number in range(words)
    )
    arguments = ", ".join(f"i64 %k{number}" for number in range(words))
    is_set = other.family == "set"
    text = f"""define internal i1 @{name}(ptr %c, ptr %other) #0 {{
start:
  %itself = icmp eq ptr %c, %other
  %live = field i64 %other LIVE
  %none = icmp eq i64 %live, 0
  %nothing = or i1 %itself, %none
  br i1 %nothing, label %done, label %measure
measure:
  %filled = field i64 %c INDEX
  %mask.before = field i64 %c MASK
  %unmade = icmp eq i64 %mask.before, -1
  %mask.least = select i1 %unmade, i64 7, i64 %mask.before
  %after = add i64 %filled, %live
  %five = mul i64 %after, 5
  %three = mul i64 %mask.least, 3
  %crowded = icmp uge i64 %five, %three
  %resizes = or i1 %crowded, %unmade
  br i1 %resizes, label %resize, label %compare
resize:
  %held = field i64 %c LIVE
  %all = add i64 %held, %live
  %double = shl i64 %all, 1
  %least = select i1 %crowded, i64 %double, i64 0
  %made = call i1 @jitflow.heap.resize(ptr %c, i64 %least)
  br i1 %made, label %compare, label %full
compare:
  %data = field ptr %c DATA
  %from = field ptr %other DATA
  %rows = field i64 %other ROWS
  %changes = field i64 %c CHANGES
  %changes.more = add i64 %changes, 1
  set i64 %changes.more, %c CHANGES
  %mask = field i64 %c MASK
  %mask.other = field i64 %other MASK
  %alike = icmp eq i64 %mask, %mask.other
  %filled.now = field i64 %c INDEX
  %empty = icmp eq i64 %filled.now, 0
  %filled.other = field i64 %other INDEX
  %dense = icmp eq i64 %filled.other, %live
  %same.size = and i1 %alike, %empty
  %may.copy = and i1 %same.size, %dense
  %copies = and i1 %may.copy, {"true" if is_set else "false"}
  br i1 %copies, label %copy, label %look
copy:
  %bytes = mul i64 %rows, {width}
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %from, i64 %bytes, i1 false)
  set i64 %live, %c LIVE
  set i64 %live, %c INDEX
  br label %done
look:
  %row = phi i64 [ 0, %compare ], [ %row.next, %following ]
  %more = icmp ult i64 %row, %rows
  br i1 %more, label %test, label %done
test:
  %offset = mul i64 %row, {width}
  %entry = getelementptr i8, ptr %from, i64 %offset
  %state = load i64, ptr %entry, align 8
  %active = icmp {"eq i64 %state, 1" if is_set else "ne i64 %state, 0"}
  br i1 %active, label %add, label %following
add:
{loads}
  %added = call i1 @{name_of_keys(kind)}.enter(ptr %c, {arguments})
  br i1 %added, label %following, label %full
following:
  %row.next = add i64 %row, 1
  br label %look
done:
  ret i1 true
full:
  ret i1 false
}}"""
    return name, functions(text)


_SWAPPED = ("i64 DATA", "i64 ROWS", "i64 LIVE", "i64 BLOCK", "i64 LIMIT", "i64 INDEX", "i64 MASK")


def swapping() -> tuple[str, str]:
    """The name and text of the function that gives each of two sets the keys of the other one."""
    lines = []
    for number, field in enumerate(_SWAPPED):
        kind, name = field.split()
        lines += [f"  %a{number} = field {kind} %a {name}", f"  %b{number} = field {kind} %b {name}",
                  f"  set {kind} %b{number}, %a {name}", f"  set {kind} %a{number}, %b {name}"]  # fmt: skip
    for each in "ab":
        lines += [f"  %{each}.changes = field i64 %{each} CHANGES", f"  %{each}.more = add i64 %{each}.changes, 1",
                  f"  set i64 %{each}.more, %{each} CHANGES"]  # fmt: skip
    body = "\n".join(lines)
    text = f"define internal void @jitflow.set.swap(ptr %a, ptr %b) #0 {{\nstart:\n{body}\n  ret void\n}}"
    return "jitflow.set.swap", functions(text)


def tidying() -> tuple[str, str]:
    """The name and text of the function that makes a table anew of which more than a fifth are removed keys."""
    text = """define internal i1 @jitflow.set.tidy(ptr %c) #0 {
start:
  %live = field i64 %c LIVE
  %filled = field i64 %c INDEX
  %mask = field i64 %c MASK
  %gaps = sub i64 %filled, %live
  %fifth = udiv i64 %mask, 5
  %few = icmp ule i64 %gaps, %fifth
  br i1 %few, label %done, label %resize
resize:
  %many = icmp ugt i64 %live, 50000
  %power = select i1 %many, i64 1, i64 2
  %least = shl i64 %live, %power
  %made = call i1 @jitflow.heap.resize(ptr %c, i64 %least)
  ret i1 %made
done:
  ret i1 true
}"""
    return "jitflow.set.tidy", functions(text)


def popping(kind: Container) -> tuple[str, str]:
    """The name and text of the function that finds the place of the key that is popped from a set with keys."""
    width = 8 * (FIRST_WORD[kind.family] + len(kind.words))
    name = f"jitflow.set.next.{width}"
    text = f"""define internal i64 @{name}(ptr %c) #0 {{
start:
  %mask = field i64 %c MASK
  %data = field ptr %c DATA
  %finger = field i64 %c FINGER
  %first = and i64 %finger, %mask
  br label %look
look:
  %place = phi i64 [ %first, %start ], [ %place.next, %on ]
  %offset = mul i64 %place, {width}
  %entry = getelementptr i8, ptr %data, i64 %offset
  %state = load i64, ptr %entry, align 8
  %active = icmp eq i64 %state, 1
  br i1 %active, label %found, label %on
on:
  %more = add i64 %place, 1
  %place.next = and i64 %more, %mask
  br label %look
found:
  %behind = add i64 %place, 1
  set i64 %behind, %c FINGER
  ret i64 %place
}}"""
    return name, functions(text)
