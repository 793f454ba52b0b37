"""Characters that the running program computes: ``chr(n)``, and ``text[i]`` of a text that is known.

Such a character is its number, in a text of one field. A text of characters alone has a length and items, and is
compared number by number; whatever else Python does with text needs all of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.traced import TracedText, is_text_value, together, waits
from jitflow.frontend.tracers import SizeTracer, Tracer, lift, located, type_of, wrap
from jitflow.frontend.tracers.base import begin_anew_rewritten
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Scalar

__all__ = ["character", "characters_of", "chr_", "contains_text", "length_of", "numbers_of", "ord_"]

_LAST = 0x10FFFF
_FIELD = (0, "", "c")


def character(number: Any) -> TracedText:
    """The character of a number of the running program, which is known to be that of one."""
    return TracedText((_FIELD,), (number,))


@raising_for_the_program
def chr_(number: Any) -> Any:
    """`chr`."""
    if not isinstance(number, Tracer):
        return chr(number)
    kind = type_of(number)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind == Scalar(BOOL, True)):
        name = number.__class__.__name__ if isinstance(kind, Scalar) and kind.weak else f"numpy.{kind.dtype.numpy}"
        raise located(UserTypeError(f"'{name}' object cannot be interpreted as an integer"))
    if isinstance(number, SizeTracer):
        number = wrap(values.emit("cast", lift(number), dtype=I64))
    plain = as_weak(lift(number), I64)
    long = values.cast(plain, I64)
    bounds = (values.emit(name, long, values.constant(bound, I64))
              for name, bound in (("greater_equal", 0), ("less_equal", _LAST)))  # fmt: skip
    values.check(values.emit("logical_and", *bounds), ValueError, "chr() arg not in range(0x110000)")
    return character(wrap(plain))


@raising_for_the_program
def ord_(thing: Any) -> Any:
    """`ord`."""
    numbers = numbers_of(thing) if type(thing) is TracedText else None
    if numbers is None:
        if is_text_value(thing):
            return ord_(_only(thing))
        return ord(thing) if type(thing) is not TracedText else ord_(_only(_whole(thing)))
    if len(numbers) != 1:
        raise located(UserTypeError(f"ord() expected a character, but string of length {len(numbers)} found"))
    return numbers[0]


def _only(text: Any) -> Any:
    """The only character of a text."""
    if not is_text_value(text):
        return text
    words = "ord() expected a character, but string of length {} found"
    is_one = values.emit("equal", text.number(), values.constant(1, I64))
    values.check(is_one, TypeError, words, text.number())
    return text.item(0)


def characters_of(thing: Any) -> Any:
    """What gives the characters of a text one by one; all else as it is."""
    if type(thing) is not TracedText:
        return thing
    numbers = numbers_of(thing)
    return _whole(thing) if numbers is None else [_item(thing, place) for place in range(len(numbers))]


def length_of(text: TracedText) -> Any:
    """`len` of a text."""
    numbers = numbers_of(text)
    if numbers is not None:
        return len(numbers)
    whole = _whole(text)
    return whole.length if is_text_value(whole) else len(whole)


def numbers_of(thing: Any) -> list[Any] | None:
    """The numbers of the characters of a text; None for text that has fields of another kind."""
    if type(thing) is str:
        return [ord(letter) for letter in thing]
    if type(thing) is not TracedText:
        return None
    found: list[Any] = []
    for part in thing.template:
        if isinstance(part, str):
            found += map(ord, part)
        elif isinstance(part[0], int) and part[1:] == _FIELD[1:]:
            found.append(thing.operands[part[0]])
        else:
            return None
    return found


def contains_text(text: str, part: TracedText) -> Any:
    """``part in text``, for a character."""
    numbers = numbers_of(part)
    if numbers is None or len(numbers) != 1:
        whole = _whole(part)
        return surface.program_text(text).contains(whole) if is_text_value(whole) else whole in text
    answer: Any = False
    for letter in sorted(set(text)):
        answer = (numbers[0] == ord(letter)) | answer
    return answer


def _compared(name: str) -> Callable[[Any, Any], Any]:
    compare: Callable[[Any, Any], Any] = getattr(operator, name)

    def method(self: TracedText, other: Any) -> Any:
        ours, theirs = numbers_of(self), numbers_of(other)
        if ours is None or theirs is None:
            return NotImplemented if not isinstance(other, str) else compare(_whole(self), _whole(other))
        if name not in ("eq", "ne"):
            return (
                compare(ours[0], theirs[0]) if len(ours) == len(theirs) == 1 else compare(_whole(self), _whole(other))
            )
        if len(ours) != len(theirs):
            return name == "ne"
        answer: Any = True
        for one, another in zip(ours, theirs, strict=True):
            answer = (one == another) & answer
        return answer if name == "eq" else answer ^ True

    method.__name__ = f"__{name}__"
    return method


def _length(self: TracedText) -> int:
    numbers = numbers_of(self)
    return len(_whole(self)) if numbers is None else len(numbers)


def _item(self: TracedText, index: Any) -> Any:
    numbers = numbers_of(self)
    parts = (index.start, index.stop, index.step) if type(index) is slice else (index,)
    if numbers is None or not all(part is None or type(part) is int for part in parts):
        return _whole(self)[index]
    if type(index) is int and not -len(numbers) <= index < len(numbers):
        raise IndexError("string index out of range")
    chosen = numbers[index] if type(index) is slice else [numbers[index]]
    known = "".join(chr(number) if type(number) is int else "" for number in chosen)
    if len(known) == len(chosen):
        return known
    operands = [number for number in chosen if type(number) is not int]
    places = iter(range(len(operands)))
    template = tuple(chr(number) if type(number) is int else (next(places), *_FIELD[1:]) for number in chosen)
    return TracedText(template, tuple(operands))


def _iterated(self: TracedText) -> Iterator[Any]:
    if numbers_of(self) is None and waits(self):
        begin_anew_rewritten(current_trace())
    return (_item(self, place) for place in range(len(self)))


def _repeated(self: TracedText, count: Any) -> Any:
    return together([(self, "", "")] * count) if type(count) is int else _whole(self) * count


def _whole(text: Any) -> Any:
    """Python's string where that is to be had; otherwise a sequence of characters of the running program."""
    if type(text) is not TracedText:
        return text
    return surface.program_text(text) if waits(text) else str(text)


_METHODS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "__mul__": _repeated,
    "__rmul__": _repeated,
    "__len__": _length,
    "__getitem__": _item,
    "__iter__": _iterated,
    "__contains__": lambda self, part: part in _whole(self),
}
for _name, _method in _METHODS.items():
    setattr(TracedText, _name, _method)
