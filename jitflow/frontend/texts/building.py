"""Text as a sequence of characters of the running program, made of what text is before: known, or a template.

Most text is put together to be shown, and stays a template (`traced`). Where paths of the program meet with text of
several forms, or somebody asks for its characters, it is made: a value of the IR (`jitflow.ir.types.TEXT`). Nothing
here is a loop or a branch, so that it can be done wherever a path ends.
"""

from __future__ import annotations

import re
from typing import Any

from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.traced import TracedText, is_text_value
from jitflow.frontend.tracers import Alternatives, ScalarTracer, SizeTracer, Tracer, lift, type_of
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import TEXT, Scalar
from jitflow.runtime.objects.texts import PACKED, PACKED_WORDS

__all__ = ["MadeText", "built", "can_be_built", "is_text", "passed"]

_SPECIFICATION = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^=]))?(?P<sign>[-+ ]?)(?P<prefix>#?)(?P<zeros>0?)(?P<width>\d*)"
    r"(?:\.(?P<precision>\d+))?(?P<kind>[bcdoxXs]?)",
    re.S,
)
_BASES = {"b": 2, "o": 8, "d": 10, "x": 16, "X": 16, "": 10}
_SHORT = 8
"""Known characters up to so many are appended one by one."""


def is_text(thing: Any) -> bool:
    """Whether it is text on every path."""
    if type(thing) is Alternatives:
        return all(is_text(held) for held in thing.options.values())
    return type(thing) in (str, TracedText) or is_text_value(thing)


def can_be_built(thing: Any) -> bool:
    """Whether the characters of a text can be made one by one: not of arrays, of which there may be any number."""
    if type(thing) is Alternatives:
        return all(can_be_built(held) for held in thing.options.values())
    if type(thing) is not TracedText:
        return is_text(thing)
    return all(isinstance(part, str) or _can_be_put(part, thing.operands) or _can_be_packed(part, thing.operands)
               for part in thing.template)  # fmt: skip


def _can_be_packed(part: tuple[Any, str, Any], operands: tuple[Any, ...]) -> bool:
    """Whether Python can make the characters of a field when the program runs: of numbers, which are few."""
    found = [operands[place] for place in _places(part)]
    return all(isinstance(operand, Tracer) and isinstance(type_of(operand), Scalar) for operand in found)


def _places(part: Any) -> list[int]:
    """The numbers of the values in a part of a template."""
    if isinstance(part, str):
        return []
    what, _, words = part
    inside = [what] if isinstance(what, int) else [place for piece in what for place in _places(piece)]
    return [*inside, *(() if isinstance(words, str) else (place for piece in words for place in _places(piece)))]


def _put_packed(made: Value, part: Any, operands: tuple[Any, ...]) -> None:
    """Have Python make a field."""
    places = sorted({*_places(part)})
    numbers = {place: number for number, place in enumerate(places)}

    def renumbered(piece: Any) -> Any:
        if isinstance(piece, str):
            return piece
        what, conversion, words = piece
        whole = numbers[what] if isinstance(what, int) else tuple(map(renumbered, what))
        return whole, conversion, words if isinstance(words, str) else tuple(map(renumbered, words))

    found = current_trace().add(
        "host_call", *(lift(operands[place]) for place in places), types=[Scalar(I64)] * (1 + PACKED_WORDS),
        routine=PACKED, keywords=(), options=(("template", (renumbered(part),)),), effect="check",
    )  # fmt: skip
    current_trace().add("append_packed", made, *found)


def _can_be_put(part: tuple[Any, str, Any], operands: tuple[Any, ...]) -> bool:
    what, conversion, words = part
    found = None if not isinstance(words, str) else _SPECIFICATION.fullmatch(words)
    if found is None:
        return False
    if not isinstance(what, int):
        inside = all(isinstance(piece, str) or _can_be_put(piece, operands) for piece in what)
        return inside and conversion in ("", "s") and _is_of_texts(found)
    operand = operands[what]
    if is_text_value(operand):
        return conversion in ("", "s") and _is_of_texts(found)
    kind = type_of(operand) if isinstance(operand, Tracer) else None
    if not isinstance(kind, Scalar) or kind.dtype.kind not in "biu" or kind.dtype.name == "u64":
        return False
    if conversion == "r" and not kind.weak:
        return False
    if kind.dtype == BOOL:
        return not words and conversion in ("", "s", "r")
    is_number = found["kind"] != "s" and found["precision"] is None and (found["kind"] != "c" or words == "c")
    return (conversion == "" and is_number) or (conversion in ("s", "r") and _is_of_texts(found))


def _is_of_texts(found: re.Match[str]) -> bool:
    """Whether a specification is one for text."""
    return found["kind"] in ("", "s") and found["align"] != "=" and not (found["sign"] or found["prefix"])


class MadeText(ScalarTracer):
    """The reference to a text that is made where it is asked for: on the path that leads there."""

    __slots__ = ("_known", "_text")

    def __init__(self, text: Any) -> None:
        super().__init__(Value(TEXT))
        self._text = text
        self._known: tuple[list[Op], int, Op, Value] | None = None

    @property
    def type(self) -> Scalar:
        return TEXT

    @property
    def value(self) -> Value:
        ops = current_trace().builder.ops
        if self._known is not None:
            where, place, op, found = self._known
            if where is ops and place < len(ops) and ops[place] is op:
                return found
        found = built(self._text)
        ops = current_trace().builder.ops
        if ops:
            self._known = ops, len(ops) - 1, ops[-1], found
        return found


def built(text: Any) -> Value:
    """The text as a value."""
    trace = current_trace()
    if type(text) is str:
        return trace.make("text_constant", characters=tuple(map(ord, text)))
    if type(text) is Alternatives:
        found: Value = text.each(surface.program_text).value
        return found
    if type(text) is not TracedText:
        known: Value = text.value
        return known
    match text.template:
        case ((int(place), "" | "s", ""),) if is_text_value(text.operands[place]):
            return built(text.operands[place])
    made = trace.make("make_container", type=TEXT)
    for part in text.template:
        _put(made, part, text.operands)
    return made


def put_known(made: Value, words: str) -> None:
    """Append known characters."""
    trace = current_trace()
    if len(words) <= _SHORT:
        for letter in words:
            trace.add("append_item", made, values.constant(ord(letter), I64))
    else:
        put_text(made, built(words))


def put_text(made: Value, text: Value) -> None:
    """Append a text."""
    (length,) = current_trace().add("container_length", text)
    current_trace().add("extend_text", made, text, values.constant(0, I64), length)


def _put(made: Value, part: Any, operands: tuple[Any, ...]) -> None:
    if isinstance(part, str):
        put_known(made, part)
        return
    what, conversion, words = part
    if not _can_be_put(part, operands):
        _put_packed(made, part, operands)
        return
    found = _SPECIFICATION.fullmatch(words)
    assert found is not None
    (start,) = current_trace().add("container_length", made)
    is_number = False
    if found["precision"] is not None:
        whole = TracedText(((what, conversion, ""),), operands)
        put_text(made, built(surface.program_text(whole)[: int(found["precision"])]))
    elif not isinstance(what, int):
        for piece in what:
            _put(made, piece, operands)
    elif is_text_value(operands[what]):
        put_text(made, built(operands[what]))
    elif words == "c":
        current_trace().add("append_item", made, _integer(operands[what]))
    elif type_of(operands[what]).dtype == BOOL:
        put_text(made, values.select(lift(operands[what]), built("True"), built("False")))
    else:
        is_number = conversion == ""
        kind = found["kind"] if is_number else ""
        capitals: dict[str, Any] = {"capitals": True} if kind == "X" else {}
        current_trace().add("append_number", made, _integer(operands[what]), base=_BASES[kind], **capitals)
        if is_number:
            _sign(made, start, found, _integer(operands[what]))
    _pad(made, start, found, is_number, _integer(operands[what]) if is_number else None)


def _integer(operand: Any) -> Value:
    value = lift(operand)
    if isinstance(operand, SizeTracer):
        return values.emit("cast", value, dtype=I64)
    return values.cast(values.as_scalar(value), I64)


def _sign(made: Value, start: Value, found: re.Match[str], number: Value) -> None:
    """A sign in front of what is not negative, and what tells the base."""
    is_negative = values.emit("cast", values.emit("less", number, values.constant(0, I64)), dtype=I64)
    one = values.constant(1, I64)
    if found["prefix"] and found["kind"] in ("b", "o", "x", "X"):
        for letter in (found["kind"], "0"):
            place = values.emit("add", start, is_negative)
            current_trace().add("insert_characters", made, place, one, values.constant(ord(letter), I64))
    if found["sign"] in ("+", " ") and found["sign"]:
        count = values.emit("subtract", one, is_negative)
        current_trace().add("insert_characters", made, start, count, values.constant(ord(found["sign"]), I64))


def _pad(made: Value, start: Value, found: re.Match[str], is_number: bool, number: Value | None) -> None:
    """Fill up to the width."""
    if not found["width"]:
        return
    fill = found["fill"] or ("0" if found["zeros"] else " ")
    align = found["align"] or ("=" if found["zeros"] and is_number else ">" if is_number else "<")
    (length,) = current_trace().add("container_length", made)
    count = values.emit("subtract", values.constant(int(found["width"]), I64), values.emit("subtract", length, start))
    count = values.emit("maximum", count, values.constant(0, I64))
    place = start
    if align == "=":
        assert number is not None
        signed = values.emit("less", number, values.constant(0, I64))
        place = values.emit("add", start, values.emit("cast", signed, dtype=I64))
        before = 2 * bool(found["prefix"] and found["kind"] in ("b", "o", "x", "X"))
        if found["sign"] in ("+", " ") and found["sign"]:
            place, before = start, before + 1
        place = values.emit("add", place, values.constant(before, I64))
    character = values.constant(ord(fill), I64)
    if align == "<":
        place = length
    if align == "^":
        left = values.emit("floor_divide", count, values.constant(2, I64))
        right = values.emit("subtract", count, left)
        current_trace().add("insert_characters", made, length, right, character)
        count = left
    current_trace().add("insert_characters", made, place, count, character)


def passed(thing: Any) -> Any:
    """A text as it is handed to a routine of Python's: characters that the program made are arrays of their numbers."""
    if is_text_value(thing):
        return TracedText(((0, "t", ""),), (thing.array,))
    if type(thing) is not TracedText or not any(map(is_text_value, thing.operands)):
        return thing
    texts = {place for place, operand in enumerate(thing.operands) if is_text_value(operand)}

    def renewed(template: Any) -> Any:
        return tuple(
            part
            if isinstance(part, str)
            else (what_of(part[0]), part[1], renewed(part[2]) if type(part[2]) is tuple else part[2])
            for part in template
        )

    def what_of(what: Any) -> Any:
        if not isinstance(what, int):
            return renewed(what)
        return ((what, "t", ""),) if what in texts else what

    operands = tuple(operand.array if place in texts else operand for place, operand in enumerate(thing.operands))
    return TracedText(renewed(thing.template), operands)
