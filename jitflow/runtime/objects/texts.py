"""Texts with values that the running program computes: printed, or the message of what it raises.

A *template* says how the text is made of the values: a tuple whose parts are strings and fields, ``(what, conversion,
specification)``. ``what`` is the number of a value, or a template again; ``conversion`` is ``s``, ``r`` or ``a`` as
behind the ``!`` of an f-string, empty for none, or ``%`` where the specification is one of ``%``-formatting, as in
``%5.2f``, and ``t`` that of an array with the numbers of characters. So ``f"{x:.2f} at {i!r}"`` is
``((0, "", ".2f"), " at ", (1, "r", ""))``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jitflow.errors import exception_class

__all__ = [
    "NUMBER",
    "PACKED",
    "PACKED_WORDS",
    "PRINT",
    "RAISE",
    "filled",
    "float_of_text",
    "packed_text",
    "print_text",
    "raise_error",
    "text_of",
    "text_of_characters",
]

PRINT, RAISE, PACKED = f"{__name__}.print_text", f"{__name__}.raise_error", f"{__name__}.packed_text"
NUMBER = f"{__name__}.float_of_text"
"""The names of the routines."""


def text_of_characters(numbers: Any) -> str:
    """The text that has characters of these numbers."""
    found: str = numbers.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return found


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii, "t": text_of_characters}


def text_of(template: Any, values: Sequence[Any]) -> str:
    """The text of a template with these values."""
    if isinstance(template, str):
        return template
    return "".join(part if isinstance(part, str) else _field(part, values) for part in template)


def filled(template: Any, *values: Any) -> str:
    """The same, as a result is made of what the program returns."""
    return text_of(template, values)


def _field(part: tuple[Any, str, Any], values: Sequence[Any]) -> str:
    what, conversion, specification = part
    thing = values[what] if isinstance(what, int) else text_of(what, values)
    words = text_of(specification, values)
    if conversion == "%":
        return words % (thing,)
    return format(_CONVERSIONS[conversion](thing) if conversion else thing, words)


def print_text(*values: Any, template: Any, file: str, flush: bool) -> None:
    """Print a text to what ``sys`` holds under the name ``file`` now."""
    print(text_of(template, values), end="", file=getattr(sys, file), flush=flush)


PACKED_WORDS = 16
"""How many numbers a short text is handed over in, eight characters in each."""


def packed_text(*values: Any, template: Any) -> tuple[int, ...]:
    """The length of a text and its characters, which are few: the numbers in it, as Python writes them."""
    text = text_of(template, values)
    if len(text) > 8 * PACKED_WORDS or not text.isascii():
        raise NotImplementedError(f"a number in a text that grows, written in more than {8 * PACKED_WORDS} characters")
    packed = text.encode().ljust(8 * PACKED_WORDS, b"\0")
    words = (packed[place : place + 8] for place in range(0, len(packed), 8))
    return len(text), *(int.from_bytes(word, "little", signed=True) for word in words)


def float_of_text(*values: Any, template: Any) -> float:
    """`float` of a text."""
    return float(text_of(template, values))


def raise_error(*values: Any, error: str, arguments: Sequence[tuple[str, Any]]) -> NoReturn:
    """Raise the exception of that class.

    Each argument is ``("text", template)``, ``("value", number)`` of a value, or ``("known", constant)``.
    """
    given = [
        text_of(what, values) if kind == "text" else values[what] if kind == "value" else what
        for kind, what in arguments
    ]
    raise exception_class(error)(*given)
