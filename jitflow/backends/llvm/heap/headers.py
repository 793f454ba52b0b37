"""What containers look like in memory: the fields of their headers, and of the record of a heap.

Native text names fields: ``%x = field i64 %c ROWS`` is a load, ``set i64 %x, %c ROWS`` a store, ``%x = place %c ROWS``
the address. `functions` puts their places in.
"""

from __future__ import annotations

import re

__all__ = ["BLOCK", "CHANGES", "DATA", "EMPTY", "HEAP", "HEAP_BYTES", "LIMIT", "LIVE", "NOBODYS", "ROWS", "functions"]

HEADER = {
    "DATA": 0, "ROWS": 8, "LIVE": 16, "BLOCK": 24, "LIMIT": 32, "INDEX": 40, "MASK": 48, "HEAP": 56, "WIDTH": 64,
    "REFERENCES": 72, "CHANGES": 80, "KIND": 88, "LINK": 96, "STATE": 104, "NUMBER": 112,
    "FINGER": 120,
}  # fmt: skip
"""``DATA`` is the first entry, ``ROWS`` how many there are, gaps included, ``LIVE`` how many keys; ``BLOCK`` and
``LIMIT`` are where the memory begins and ends. ``INDEX`` of a dict is a table of ``MASK`` + 1 words; of a set, whose
entries are a table themselves, it is the number of places that were ever taken, and ``FINGER`` is the place from which
on the next key is popped; of a text whose block others share, it is the record of that (`texts`). ``STATE`` is 0 of
what is free, 1 of what is not, 2 of what can be reached, 3 of what is kept until the call ends."""
DATA, ROWS, LIVE, BLOCK, LIMIT, HEAP, CHANGES = (
    HEADER[name] for name in ("DATA", "ROWS", "LIVE", "BLOCK", "LIMIT", "HEAP", "CHANGES")
)

NOBODYS = "jitflow.nobodys"
_WORDS = ", ".join(f"i64 {-1 if name == 'MASK' else 0}" for name in HEADER)
EMPTY = f"internal constant [{len(HEADER)} x i64] [{_WORDS}]"
"""The header that every reference leads to which nobody follows: whoever goes through that finds nothing, of whatever
type it is. It belongs to no heap and is neither collected nor told, since its ``STATE`` is 0."""

RECORD = {
    "ALLOCATE": 0, "RELEASE": 8, "BASE": 16, "BYTES": 24, "MOST": 32, "SLABS": 40, "NEXT_SLAB": 48, "FREE": 56,
    "BUMP": 64, "BUMP_END": 72, "GRAY": 80, "CHUNK": 88, "CHUNK_END": 96, "CHUNKS": 104, "CLASSES": 112,
    "PASSED": 192, "WORDS": 200, "GIVEN": 208,
}  # fmt: skip
"""The record of a heap. ``BASE`` is the end of the frames that are looked through, ``BYTES`` what is taken, ``MOST``
when to collect; small blocks come from chunks, with a list of free ones for each of ten powers of two from 64 on. What
stands behind these is about containers that the caller passes (`passed`)."""
HEAP_BYTES = RECORD["GIVEN"] + 8

_OFFSETS = HEADER | {f"HEAP_{name}": offset for name, offset in RECORD.items()}
_FIELD = re.compile(r"  (%[\w.]+) = (?:field (\w+)|place) (%[\w.]+) (\w+)")
_SET = re.compile(r"  set (\w+) ([%\w.-]+), (%[\w.]+) (\w+)")


def functions(text: str) -> str:
    """The functions of a text that names fields."""
    return "\n\n".join(_function(f"define {part}") for part in text.removeprefix("define ").split("\ndefine "))


def _function(text: str) -> str:
    count = 0
    lines = []
    for line in text.splitlines():
        if match := _FIELD.match(line):
            name, kind, base, field = match.groups()
            place = f"getelementptr i8, ptr {base}, i64 {_OFFSETS.get(field, field)}"
            lines += (
                [f"  {name}.at = {place}", f"  {name} = load {kind}, ptr {name}.at, align 8"]
                if kind
                else [f"  {name} = {place}"]
            )
        elif match := _SET.match(line):
            kind, value, base, field = match.groups()
            count += 1
            lines += [f"  %set.{count} = getelementptr i8, ptr {base}, i64 {_OFFSETS.get(field, field)}",
                      f"  store {kind} {value}, ptr %set.{count}, align 8"]  # fmt: skip
        else:
            lines.append(line)
    return "\n".join(lines)
