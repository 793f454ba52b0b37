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

__all__ = ["PRINT", "RAISE", "filled", "print_text", "raise_error", "text_of"]

PRINT, RAISE = f"{__name__}.print_text", f"{__name__}.raise_error"
"""The names of the routines."""


def _of_characters(numbers: Any) -> str:
    return "".join(map(chr, numbers.tolist()))


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii, "t": _of_characters}


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


def raise_error(*values: Any, error: str, arguments: Sequence[tuple[str, Any]]) -> NoReturn:
    """Raise the exception of that class.

    Each argument is ``("text", template)``, ``("value", number)`` of a value, or ``("known", constant)``.
    """
    given = [
        text_of(what, values) if kind == "text" else values[what] if kind == "value" else what
        for kind, what in arguments
    ]
    raise exception_class(error)(*given)
