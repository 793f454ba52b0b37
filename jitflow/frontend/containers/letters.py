"""Single characters of the running program, by their numbers: what they are, and what becomes of them.

Beyond ASCII only tables know; a question about such a character is refused when the program comes to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.recording import values
from jitflow.frontend.texts.characters import character
from jitflow.ir.dtypes import BOOL

__all__ = ["CHANGES", "QUESTIONS", "between", "is_letter", "is_lower", "is_space", "is_upper", "lower", "require_ascii",
           "swapped", "upper"]  # fmt: skip


def between(number: Any, first: str, last: str) -> Any:
    """Whether it is one of a row of characters."""
    return (number >= ord(first)) & (number <= ord(last))


def require_ascii(number: Any) -> None:
    """Refuse a character of which only tables know what it is."""
    in_ascii: Any = number < 128
    if isinstance(in_ascii, tracers.Tracer):
        message = "a question about a character beyond ASCII that the running program makes"
        values.check(values.emit("cast", tracers.lift(in_ascii), dtype=BOOL), NotImplementedError, message)


def is_upper(number: Any) -> Any:
    """`str.isupper`."""
    require_ascii(number)
    return between(number, "A", "Z")


def is_lower(number: Any) -> Any:
    """`str.islower`."""
    require_ascii(number)
    return between(number, "a", "z")


def is_letter(number: Any) -> Any:
    """`str.isalpha`."""
    return is_upper(number) | between(number, "a", "z")


def is_digit(number: Any) -> Any:
    require_ascii(number)
    return between(number, "0", "9")


def is_letter_or_digit(number: Any) -> Any:
    return is_letter(number) | between(number, "0", "9")


def is_space(number: Any) -> Any:
    """Whether `str.isspace` says so; all of them are here."""
    in_ascii = between(number, "\t", "\r") | between(number, "\x1c", " ")
    spaces = between(number, "\u2000", "\u200a") | between(number, "\u2028", "\u2029")
    for letter in "\x85\xa0\u1680\u202f\u205f\u3000":
        spaces = spaces | (number == ord(letter))
    return in_ascii | spaces


def upper(number: Any) -> Any:
    """`str.upper`."""
    return number - 32 * is_lower(number)


def lower(number: Any) -> Any:
    """`str.lower`."""
    return number + 32 * is_upper(number)


def swapped(number: Any) -> Any:
    """`str.swapcase`."""
    return number + 32 * is_upper(number) - 32 * between(number, "a", "z")


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "isalpha": is_letter,
    "isdigit": is_digit,
    "isdecimal": is_digit,
    "isnumeric": is_digit,
    "isalnum": is_letter_or_digit,
    "isspace": is_space,
    "isascii": lambda number: number < 128,
}
"""Methods of text that ask something of each character."""
CHANGES: dict[str, Callable[[Any], Any]] = {
    "upper": lambda number: character(upper(number)),
    "lower": lambda number: character(lower(number)),
    "swapcase": lambda number: character(swapped(number)),
}
"""Methods of text that change each character."""
