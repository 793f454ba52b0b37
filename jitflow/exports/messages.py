"""What a C program is told of a failure: Python's class and message, and the user's line.

    int32_t status; char message[512];
    IndexError: index 7 is out of bounds for axis 0 with size 5 (heat.py:12, in heat)

Messages are made of a text for each op that can fail, in which a byte 1 and a byte for the place of the word stand for
numbers that the program reports. Floats and complex numbers are left out: to print them as Python does needs Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Formatter

from jitflow.exports.bridge import DOES_NOT_FIT, MISSING_ROUTINE
from jitflow.ir.records import Op
from jitflow.ir.status import OUT_OF_MEMORY
from jitflow.ir.types import Index, Scalar
from jitflow.runtime.entry.plan import ERROR_SLOTS

__all__ = ["MESSAGE_BYTES", "messages_text"]

MESSAGE_BYTES = 512
"""How long a message is at most, with the zero behind it."""


def messages_text(name: str, sites: Sequence[Op], fits: str, routines: Sequence[str]) -> str:
    """The function ``@jitflow.say(message, status, error)`` and its texts; ``fits``: what sizes the code is for."""
    lines = []
    for number, op in enumerate(sites):
        lines.append(_constant(f"jitflow.message.{number}", _template(op)))
    table = ", ".join(f"ptr @jitflow.message.{number}" for number in range(len(sites)))
    lines.append(f"@jitflow.messages = internal constant [{len(sites)} x ptr] [{table}]")
    lines.append(_constant("jitflow.no_memory", b"MemoryError: Unable to allocate memory for an array"))
    lines.append(_constant("jitflow.unfit", f"ValueError: {name} was exported for {fits}".encode()))
    missing = f"RuntimeError: {name} is to be linked with a BLAS that has {', '.join(routines)}"
    lines.append(_constant("jitflow.unlinked", missing.encode()))
    numbers = {"UNFIT": DOES_NOT_FIT, "UNLINKED": MISSING_ROUTINE, "MEMORY": OUT_OF_MEMORY, "SITES": len(sites),
               "LAST": MESSAGE_BYTES - 1}  # fmt: skip
    text = _SAY
    for word, number in numbers.items():
        text = text.replace(word, str(number))
    return "\n".join([*lines, text])


def _constant(name: str, content: bytes) -> str:
    content += b"\0"
    return f'@{name} = internal constant [{len(content)} x i8] c"{"".join(f"{chr(92)}{b:02X}" for b in content)}"'


def _template(op: Op) -> bytes:
    kind = str(op.attributes.get("error", "ValueError"))
    message = str(op.attributes.get("message", "operands could not be broadcast together"))
    words = list(_words(op))
    parts, automatic = [], 0
    for text, field, _, _ in Formatter().parse(message):
        parts.append(text.encode())
        if field is not None:
            number = int(field) if field.isdigit() else automatic
            automatic += 1
            parts.append(words[number] if number < len(words) else b"...")
    if "literal" in op.attributes:
        parts = [b", ".join(words)]
    told = b"".join(parts)
    place = op.loc
    where = f" ({place.file.rsplit('/', 1)[-1]}:{place.line}, in {place.function})" if place.file else ""
    return kind.removeprefix("User").encode() + (b": " + told if told else b"") + where.encode()


def _words(op: Op) -> Iterator[bytes]:
    """What stands for each number that the op reports."""
    position = 2
    for operand in op.operands[1:] if op.name == "check" else op.operands:
        type = operand.type
        is_whole = not isinstance(type, Scalar) or type.dtype.kind in "iub" or isinstance(type, Index)
        room = position < ERROR_SLOTS
        yield bytes([1, position + 1]) if is_whole and room else b"..."
        position += 2 if isinstance(type, Scalar) and type.dtype.name == "c128" else 1


_SAY = """
define internal void @jitflow.say(ptr %message, i32 %status, ptr %error) #0 {
start:
  %digits = alloca [24 x i8], align 8
  %unheard = icmp eq ptr %message, null
  br i1 %unheard, label %over, label %choose
over:
  ret void
choose:
  %site = getelementptr i8, ptr %error, i64 8
  %number = load i64, ptr %site
  %known = icmp ult i64 %number, SITES
  %safe = select i1 %known, i64 %number, i64 0
  %entry = getelementptr ptr, ptr @jitflow.messages, i64 %safe
  switch i32 %status, label %of.site [ i32 UNFIT, label %unfit
                                       i32 UNLINKED, label %unlinked
                                       i32 MEMORY, label %memory ]
of.site:
  br i1 %known, label %site.text, label %memory
site.text:
  %found = load ptr, ptr %entry
  br label %begin
unfit:
  br label %begin
unlinked:
  br label %begin
memory:
  br label %begin
begin:
  %text = phi ptr [ %found, %site.text ], [ @jitflow.unfit, %unfit ], [ @jitflow.unlinked, %unlinked ],
                  [ @jitflow.no_memory, %memory ]
  br label %next
next:
  %from = phi ptr [ %text, %begin ], [ %from.next, %plain ], [ %from.behind, %print ]
  %to = phi i64 [ 0, %begin ], [ %to.next, %plain ], [ %to.behind, %print ]
  %character = load i8, ptr %from
  %full = icmp uge i64 %to, LAST
  %ended = icmp eq i8 %character, 0
  %stops = or i1 %full, %ended
  %place = getelementptr i8, ptr %message, i64 %to
  br i1 %stops, label %end, label %look
end:
  store i8 0, ptr %place
  ret void
look:
  %is.word = icmp eq i8 %character, 1
  br i1 %is.word, label %word, label %plain
plain:
  store i8 %character, ptr %place
  %from.next = getelementptr i8, ptr %from, i64 1
  %to.next = add i64 %to, 1
  br label %next
word:
  %which.at = getelementptr i8, ptr %from, i64 1
  %which = load i8, ptr %which.at
  %from.behind = getelementptr i8, ptr %from, i64 2
  %which.wide = zext i8 %which to i64
  %which.number = sub i64 %which.wide, 1
  %value.at = getelementptr i64, ptr %error, i64 %which.number
  %value = load i64, ptr %value.at
  %negative = icmp slt i64 %value, 0
  %opposite = sub i64 0, %value
  %size = select i1 %negative, i64 %opposite, i64 %value
  br label %divide
divide:
  %left = phi i64 [ %size, %word ], [ %quotient, %divide ]
  %at = phi i64 [ 24, %word ], [ %at.next, %divide ]
  %quotient = udiv i64 %left, 10
  %digit.wide = urem i64 %left, 10
  %digit = trunc i64 %digit.wide to i8
  %letter = add i8 %digit, 48
  %at.next = sub i64 %at, 1
  %digit.at = getelementptr i8, ptr %digits, i64 %at.next
  store i8 %letter, ptr %digit.at
  %more = icmp ne i64 %quotient, 0
  br i1 %more, label %divide, label %sign
sign:
  %sign.at = sub i64 %at.next, 1
  %sign.place = getelementptr i8, ptr %digits, i64 %sign.at
  store i8 45, ptr %sign.place
  %first = select i1 %negative, i64 %sign.at, i64 %at.next
  br label %print
print:
  %digit.number = phi i64 [ %first, %sign ], [ %digit.next, %printed ]
  %to.behind = phi i64 [ %to, %sign ], [ %to.printed, %printed ]
  %digits.end = icmp uge i64 %digit.number, 24
  %full.now = icmp uge i64 %to.behind, LAST
  %print.ends = or i1 %digits.end, %full.now
  br i1 %print.ends, label %next, label %printed
printed:
  %digit.from = getelementptr i8, ptr %digits, i64 %digit.number
  %digit.read = load i8, ptr %digit.from
  %digit.to = getelementptr i8, ptr %message, i64 %to.behind
  store i8 %digit.read, ptr %digit.to
  %digit.next = add i64 %digit.number, 1
  %to.printed = add i64 %to.behind, 1
  br label %print
}
"""
