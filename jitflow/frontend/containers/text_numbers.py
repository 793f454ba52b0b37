"""Numbers that texts of the running program write: ``int(text)``, and what `bin`, `oct` and `hex` make."""

from __future__ import annotations

from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.containers import conversions, letters
from jitflow.frontend.containers import text_programs as programs
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.held_items import python_int
from jitflow.frontend.containers.program_texts import digits_of
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.building import passed
from jitflow.frontend.texts.characters import numbers_of
from jitflow.frontend.texts.traced import is_text_value, together, waits
from jitflow.frontend.tracers.base import located
from jitflow.ir.dtypes import BOOL, F64
from jitflow.ir.types import Scalar
from jitflow.runtime.objects.texts import NUMBER

__all__ = ["float_", "in_base", "int_"]

_PREFIXES = {2: "b", 8: "o", 16: "x"}


def _int_of_text(text: Any, base: Any = 10) -> Any:
    """``int(text, base)``."""
    if isinstance(base, tracers.Tracer):
        base = base.__index__()
    if type(base) is not int or not (base == 0 or 2 <= base <= 36):
        raise located(UserValueError("int() base must be >= 2 and <= 36, or 0"))
    if base == 0:
        raise refusal("int(text, 0) of a text that the running program makes", "name the base")
    if base == 10 and (numbers := numbers_of(text)) is not None and len(numbers) == 1:
        (number,) = numbers
        if isinstance(number, tracers.Tracer):
            letters.require_ascii(number)
            return _digit_of(number, text)
    return programs.integer(digits_of(text), base, ord(_PREFIXES[base]) if base in _PREFIXES else 0)


def _digit_of(number: Any, text: Any) -> Any:
    def complain() -> NoReturn:
        raise_(ValueError(together(["invalid literal for int() with base 10: ", (text, "r", "")])))

    return choose(letters.between(number, "0", "9"), lambda: number - ord("0"), complain)


def in_base(letter: str, number: Any) -> Any:
    """`bin`, `oct` and `hex`."""
    if not isinstance(number, tracers.Tracer):
        return {"b": bin, "o": oct, "x": hex}[letter](number)
    if values.dtype_of_value(tracers.lift(number)).kind not in "biu":
        name = number.__class__.__name__
        raise located(UserTypeError(f"'{name}' object cannot be interpreted as an integer"))
    return together([(_plain_int(number), "", f"#{letter}")])


def _plain_int(number: Any) -> Any:
    is_bool = values.dtype_of_value(tracers.lift(number)) == BOOL
    return python_int(tracers.lift(number)) if is_bool else number


def int_(*args: Any, **keywords: Any) -> Any:
    """`int`."""
    if args and _is_of_run(args[0]):
        return _int_of_text(*args, **keywords)
    return conversions.int_(*map(_as_known, args), **keywords)


def float_(*args: Any) -> Any:
    """`float`."""
    if args and _is_of_run(args[0]):
        return _float_of_text(args[0])
    return conversions.float_(*map(_as_known, args))


def _float_of_text(text: Any) -> Any:
    """The number that Python reads in a text, each time that the program comes here."""
    given = passed(text)
    found = current_trace().make(
        "host_call", *map(tracers.lift, given.operands), types=[Scalar(F64, True)], routine=NUMBER, keywords=(),
        options=(("template", given.template),), effect="check",
    )  # fmt: skip
    return tracers.wrap(found)


def _as_known(thing: Any) -> Any:
    """What Python may have, of text that holds nothing but sizes and pinned numbers."""
    return str(thing) if type(thing) is TracedText else thing


def _is_of_run(thing: Any) -> bool:
    """Whether it is text that the running program makes."""
    return is_text_value(thing) or (type(thing) is TracedText and waits(thing))
