"""Looking for keys: functions for each form of a key, which a program that needs them holds (`tables`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jitflow.backends.llvm.heap.hashes import HASHES, key_parameters, python_hash, quick_hash
from jitflow.backends.llvm.heap.headers import functions
from jitflow.backends.llvm.heap.tables import COUNT_KEY, FIRST_PLACE, set_places, table_places
from jitflow.ir.types import TEXT, Container, Item, Scalar, Several, Tag

__all__ = ["FIRST_WORD", "key_functions", "name_of_keys"]

FIRST_WORD = {"list": 0, "deque": 0, "dict": 1, "set": 2}
"""Which word of an entry is the first of its key or item."""


def name_of_keys(kind: Container) -> str:
    """What the functions for keys of this form are called: a letter for each word, a pair of brackets a tuple."""
    return f"jitflow.{kind.family}.{_letters(kind.key)}.{len(kind.words)}"


def _letters(item: Item | None) -> str:
    if isinstance(item, tuple):
        return f"t{''.join(map(_letters, item))}e"
    if item == TEXT:
        return "s"
    if isinstance(item, Several):
        return f"k{_letters(item.carriers[0])}"
    assert isinstance(item, Scalar)
    return {"f": "f", "u": "u"}.get(item.dtype.kind, "i")


@cache
def key_functions(kind: Container) -> dict[str, str]:
    """The functions ``find`` and ``enter`` of a dict or set, with what they call, by name."""
    name = name_of_keys(kind)
    texts = {"jitflow.hash": HASHES} if kind.family == "set" else {}
    texts[f"{name}.hash"] = python_hash(kind, name) if kind.family == "set" else quick_hash(kind, name)
    write = _set_functions if kind.family == "set" else _dict_functions
    texts[name] = functions(write(kind, name))
    return texts


def _equal(kind: Container, entry: str) -> Iterator[str]:
    """The lines that compare the key of an entry with that looked for, the last of which defines ``%equal``."""
    result = "true"
    for number, word in enumerate(kind.keys):
        if isinstance(word, Tag):
            continue
        offset = 8 * (FIRST_WORD[kind.family] + number)
        yield f"  %e{number}.at = getelementptr i8, ptr {entry}, i64 {offset}"
        yield f"  %e{number} = load i64, ptr %e{number}.at, align 8"
        if word == TEXT:
            yield f"  %e{number}.may = and i1 %same, {'%active' if kind.family == 'set' else 'true'}"
            yield f"  %e{number}.same = call i1 @jitflow.text.same(i64 %e{number}, i64 %k{number}, i1 %e{number}.may)"
        elif word.dtype.kind == "f":
            yield f"  %e{number}.float = bitcast i64 %e{number} to double"
            yield f"  %k{number}.float = bitcast i64 %k{number} to double"
            yield f"  %e{number}.same = fcmp oeq double %e{number}.float, %k{number}.float"
        else:
            yield f"  %e{number}.same = icmp eq i64 %e{number}, %k{number}"
        yield f"  %all{number} = and i1 {result}, %e{number}.same"
        result = f"%all{number}"
    yield f"  %equal = and i1 {result}, true"


def _write(kind: Container, entry: str, first: int, last: int) -> str:
    """The lines that write words of a key or item into an entry."""
    lines = []
    for number in range(first, last):
        offset = 8 * (FIRST_WORD[kind.family] + number)
        lines += [f"  %w{number}.at = getelementptr i8, ptr {entry}, i64 {offset}",
                  f"  store i64 %k{number}, ptr %w{number}.at, align 8"]  # fmt: skip
    return "\n".join(lines)


# -- dicts ----------------------------------------------------------------------------------------------------


def _dict_functions(kind: Container, name: str) -> str:
    keys, words, width = len(kind.keys), len(kind.words), 8 * (1 + len(kind.words))
    compare = "\n".join(_equal(kind, "%entry"))
    arguments = key_parameters(kind.keys)
    return f"""define internal i64 @{name}.search(ptr %c, i64 %hash, {arguments}) #0 {{
start:
  %mask = field i64 %c MASK
  %none = icmp eq i64 %mask, -1
  br i1 %none, label %missing, label %begin
begin:
  %index = field ptr %c INDEX
  %data = field ptr %c DATA
{FIRST_PLACE}
  br label %look
{table_places("begin", "tagged")}
tagged:
  %difference = xor i64 %slot, %hash
  %tag = lshr i64 %difference, 32
  %alike = icmp eq i64 %tag, 0
  br i1 %alike, label %compare, label %on
compare:
  %low = and i64 %slot, 4294967295
  %row = sub i64 %low, 1
  %offset = mul i64 %row, {width}
  %entry = getelementptr i8, ptr %data, i64 %offset
  %known = load i64, ptr %entry, align 8
  %same = icmp eq i64 %known, %hash
{compare}
  %here = and i1 %same, %equal
  br i1 %here, label %found, label %on
found:
  ret i64 %row
missing:
  ret i64 -1
}}
define internal i64 @{name}.find(ptr %c, {arguments}) #0 {{
start:
  %hash = call i64 @{name}.hash({arguments})
  %row = call i64 @{name}.search(ptr %c, i64 %hash, {arguments})
  ret i64 %row
}}
define internal i1 @{name}.enter(ptr %c, {key_parameters(kind.words)}) #0 {{
start:
  %hash = call i64 @{name}.hash({arguments})
  %row = call i64 @{name}.search(ptr %c, i64 %hash, {arguments})
  %unknown = icmp slt i64 %row, 0
  br i1 %unknown, label %crowd, label %write
crowd:
  %rows = field i64 %c ROWS
  %mask.before = field i64 %c MASK
  %size = add i64 %mask.before, 1
  %after = add i64 %rows, 1
  %three = mul i64 %after, 3
  %two = shl i64 %size, 1
  %crowded = icmp ugt i64 %three, %two
  br i1 %crowded, label %settle, label %room
settle:
  %settled = call i1 @jitflow.heap.settle(ptr %c)
  br i1 %settled, label %room, label %full
room:
  %rows.now = field i64 %c ROWS
  %data = field ptr %c DATA
  %limit = field ptr %c LIMIT
  %offset = mul i64 %rows.now, {width}
  %entry = getelementptr i8, ptr %data, i64 %offset
  %end = getelementptr i8, ptr %entry, i64 {width}
  %fits = icmp ule ptr %end, %limit
  br i1 %fits, label %add, label %grow
grow:
  %grown = call i1 @jitflow.heap.grow(ptr %c, i1 false)
  br i1 %grown, label %room.again, label %full
room.again:
  %data.again = field ptr %c DATA
  %entry.again = getelementptr i8, ptr %data.again, i64 %offset
  br label %add
add:
  %fresh = phi ptr [ %entry, %room ], [ %entry.again, %room.again ]
  store i64 %hash, ptr %fresh, align 8
{_write(kind, "%fresh", 0, words)}
  %rows.more = add i64 %rows.now, 1
  set i64 %rows.more, %c ROWS
{COUNT_KEY}
  %index = field ptr %c INDEX
  %mask = field i64 %c MASK
{FIRST_PLACE}
  %tag = and i64 %hash, -4294967296
  %word = or i64 %tag, %rows.more
  br label %look
{table_places("add", "on")}
missing:
  store i64 %word, ptr %slot.at, align 8
  ret i1 true
write:
  %data.found = field ptr %c DATA
  %offset.found = mul i64 %row, {width}
  %entry.found = getelementptr i8, ptr %data.found, i64 %offset.found
{_write(kind, "%entry.found", keys, words).replace("%w", "%v")}
  ret i1 true
full:
  ret i1 false
}}"""


# -- sets -----------------------------------------------------------------------------------------------------


@cache
def _places_are_taken_again() -> bool:
    """Whether this Python puts a new key in the place of one that was removed: 16 comes by the place of 0."""
    held = {0, 8}
    held.discard(0)
    held.add(16)
    return [*held] == [16, 8]


def _set_functions(kind: Container, name: str) -> str:
    width = 8 * (2 + len(kind.keys))
    arguments = key_parameters(kind.keys)
    compare = "\n".join(_equal(kind, "%slot.at"))
    places = set_places(
        "begin",
        "%data",
        str(width),
        taken="test",
        outer="  %left.free = phi i64 [ -1, %begin ], [ %free.now, %perturb ]",
        inner="  %free = phi i64 [ %left.free, %outer ], [ %free.now, %next ]",
        passed=f"""  %was.taken = icmp eq i64 %state, {2 if _places_are_taken_again() else 3}
  %free.now = select i1 %was.taken, i64 %slot, i64 %free""",
    )
    return f"""define internal i64 @{name}.search(ptr %c, i64 %hash, {arguments}) #0 {{
start:
  %mask = field i64 %c MASK
  %data = field ptr %c DATA
  %none = icmp eq i64 %mask, -1
  br i1 %none, label %nowhere, label %begin
nowhere:
  ret i64 -1
begin:
{places}
test:
  %active = icmp eq i64 %state, 1
  %hash.at = getelementptr i8, ptr %slot.at, i64 8
  %known = load i64, ptr %hash.at, align 8
  %same = icmp eq i64 %known, %hash
{compare}
  %alike = and i1 %same, %equal
  %here = and i1 %alike, %active
  br i1 %here, label %found, label %on
found:
  ret i64 %slot
missing:
  %has.free = icmp sge i64 %free, 0
  %target = select i1 %has.free, i64 %free, i64 %slot
  %negative = xor i64 %target, -1
  ret i64 %negative
}}
define internal i64 @{name}.find(ptr %c, {arguments}) #0 {{
start:
  %hash = call i64 @{name}.hash({arguments})
  %row = call i64 @{name}.search(ptr %c, i64 %hash, {arguments})
  %found = call i64 @llvm.smax.i64(i64 %row, i64 -1)
  ret i64 %found
}}
define internal i1 @{name}.enter(ptr %c, {arguments}) #0 {{
start:
  %mask = field i64 %c MASK
  %none = icmp eq i64 %mask, -1
  br i1 %none, label %table, label %look
table:
  %made = call i1 @jitflow.heap.resize(ptr %c, i64 0)
  br i1 %made, label %look, label %full
look:
  %hash = call i64 @{name}.hash({arguments})
  %row = call i64 @{name}.search(ptr %c, i64 %hash, {arguments})
  %missing = icmp slt i64 %row, 0
  br i1 %missing, label %add, label %done
add:
  %slot = xor i64 %row, -1
  %data = field ptr %c DATA
  %offset = mul i64 %slot, {width}
  %entry = getelementptr i8, ptr %data, i64 %offset
  %state = load i64, ptr %entry, align 8
  store i64 1, ptr %entry, align 8
  %hash.at = getelementptr i8, ptr %entry, i64 8
  store i64 %hash, ptr %hash.at, align 8
{_write(kind, "%entry", 0, len(kind.keys))}
{COUNT_KEY}
  %again = icmp eq i64 %state, 2
  br i1 %again, label %done, label %fresh
fresh:
  %filled = field i64 %c INDEX
  %filled.more = add i64 %filled, 1
  set i64 %filled.more, %c INDEX
  %five = mul i64 %filled.more, 5
  %mask.now = field i64 %c MASK
  %three = mul i64 %mask.now, 3
  %roomy = icmp ult i64 %five, %three
  br i1 %roomy, label %done, label %resize
resize:
  %many = icmp ugt i64 %live.more, 50000
  %power = select i1 %many, i64 1, i64 2
  %least = shl i64 %live.more, %power
  %resized = call i1 @jitflow.heap.resize(ptr %c, i64 %least)
  ret i1 %resized
done:
  ret i1 true
full:
  ret i1 false
}}"""
