"""Texts of the running program: Python's methods as ops on their characters, or programs over these.

A text is what `jitflow.frontend.texts.building` makes of known text and templates, or is made here: appended to as
long as nobody else has it, and never changed from there on. So it flows as a number does, and nobody asks which object
it is. A character by itself stays text of one number (`texts/characters.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.containers import letters
from jitflow.frontend.containers import text_programs as programs
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.held_items import KINDS, class_of, columns_of, place_of, python_int, size_of
from jitflow.frontend.containers.list_operations import require_memory, steps_of
from jitflow.frontend.containers.making_texts import empty_text, program_text
from jitflow.frontend.containers.text_methods import TextMethods
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.building import can_be_built, is_text, put_text
from jitflow.frontend.texts.characters import character, numbers_of
from jitflow.frontend.texts.traced import TracedText, together, waits
from jitflow.frontend.tracers.base import lacking, located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import TEXT

__all__ = ["ProgramText", "digits_of"]


class ProgramText(TextMethods, Source):
    """A text of the running program."""

    held = TEXT
    may_change = False
    is_text = True
    once = False

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str

    # -- its characters -----------------------------------------------------------------------------

    @property
    def count(self) -> Dim:  # type: ignore[override]
        return tracers.dim_of(size_of(self.number()))

    span = count

    @property
    def array(self) -> Any:
        """The numbers of its characters."""
        return columns_of(self)[0]

    def gone_through(self) -> Source:
        return _Characters(self)

    def number_at(self, place: Any) -> Any:
        """The number of the character at a position that is there."""
        return python_int(self.op("get_item", integer(place))[0])

    def item(self, position: Any) -> Any:
        return character(self.number_at(position))

    def put(self, number: Any) -> None:
        """Append a character, while it is made."""
        self.op("append_item", integer(number))

    def put_all(self, text: Any) -> None:
        """Append a text, while it is made."""
        put_text(self.value, program_text(text).value)

    def part(self, start: Any, stop: Any) -> Any:
        """From one position to another, which are there."""
        found = empty_text()
        found.op("extend_text", self.value, integer(start), integer(stop))
        return found

    def complaint(self, base: Any) -> Any:
        """What `int` says of a text that is no number."""
        known = ("invalid literal for int() with base ", (base, "", ""), ": ", (self, "r", ""))
        return together(known)

    # -- operators ----------------------------------------------------------------------------------

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self._slice(position)
        name = None if isinstance(position, tracers.SizeTracer) else _no_index(position)
        if name is not None:
            raise located(UserTypeError(f"string indices must be integers, not '{name}'"))
        return self.item(tracers.wrap(place_of(position, self.number(), IndexError, "string index out of range")))

    def _slice(self, position: slice) -> Any:
        start, step, count = steps_of(position, self.number())
        found = empty_text()
        if type(step) is int and step == 1:
            found.op("extend_text", self.value, integer(start), integer(start + count))
            return found

        def take(turn: Any) -> None:
            found.op("append_item", self.op("get_item", integer(start + turn * step))[0])

        own_loop(traced_range(count), take)
        return found

    def __add__(self, other: Any) -> Any:
        if not is_text(other) and not isinstance(other, tracers.Alternatives):
            name = other.__class__.__name__
            raise located(UserTypeError(f'can only concatenate str (not "{name}") to str'))
        return _together(self, other) if is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return _together(other, self) if is_text(other) else NotImplemented

    def __mul__(self, number: Any) -> Any:
        require_memory(number, self.length)
        found = empty_text()
        own_loop(traced_range(number), lambda _: found.put_all(self))
        return found

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> NoReturn:
        raise refusal("a format that the running program makes", "write an f-string")

    def order(self, other: Any) -> Value:
        """-1 if it comes before another text, 0 if they are equal, 1 if behind."""
        (found,) = current_trace().add("compare_texts", self.value, program_text(other).value)
        return found

    def contains(self, part: Any) -> Any:
        """``part in self``."""
        return self.find(part) >= 0

    def truth(self) -> Value:
        return values.emit("greater", self.number(), values.constant(0, I64))

    def is_same(self, other: Any) -> NoReturn:
        raise refusal("`is` of texts that the running program makes", "compare them with ==")

    def __hash__(self) -> int:  # type: ignore[override]
        raise refusal(
            "a text that the running program makes, as a key of a dict or set of Python's",
            "begin with an empty one, and put it there: d = {}; d[text] = item",
        )

    def __len__(self) -> int:
        raise refusal("len() of a text that the running program makes, as a number of Python's",
                      "use len(...) in the compiled function")  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name == "count":
            raise AttributeError(name)
        if name == "isascii":
            return lambda: programs.keeps(self, letters.QUESTIONS[name]) | not_(self)
        if name in letters.QUESTIONS:
            return partial(programs.keeps, self, letters.QUESTIONS[name])
        if not name.startswith("_") and hasattr(str, name):
            raise refusal(f"str.{name} of a text that the running program makes", "write a loop over its characters")
        raise AttributeError(lacking(self, name))


class _Characters(Source):
    """A loop through the characters of a text."""

    once = False

    def __init__(self, text: ProgramText) -> None:
        self.item = text.item  # type: ignore[method-assign]
        self.count = self.span = tracers.dim_of(size_of(text.number()))

    def item(self, position: Any) -> Any:
        """The character at a position."""
        raise NotImplementedError


def _compared(name: str, operator: str) -> Callable[[Any, Any], Any]:
    def method(self: ProgramText, other: Any) -> Any:
        if not is_text(other) or type(other) is tracers.Alternatives:
            return NotImplemented if type(other) is tracers.Alternatives or name not in ("eq", "ne") else name == "ne"
        order = self.order(other)
        return tracers.wrap(as_weak(values.emit(operator, order, values.constant(0, I64)), BOOL))

    method.__name__ = f"__{name}__"
    return method


for _name, _operator in (
    ("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
    ("ge", "greater_equal"),
):  # fmt: skip
    setattr(ProgramText, f"__{_name}__", _compared(_name, _operator))
ProgramText.__name__ = "str"  # as Python's messages have it
KINDS.update(str=ProgramText)


def _no_index(position: Any) -> str | None:
    """The class of what is no index; None for integers."""
    if isinstance(position, tracers.ScalarTracer):
        is_integer = values.dtype_of_value(position.value).kind in ("iu" if not position.weak else "iub")
        weak = position.__class__.__name__
        return None if is_integer else weak if position.weak else f"numpy.{weak}"
    return None if isinstance(position, int | np.integer) else position.__class__.__name__


def _together(one: Any, other: Any) -> Any:
    value = current_trace().make("concatenate_texts", program_text(one).value, program_text(other).value)
    return class_of(TEXT)(tracers.ScalarTracer(value))


def digits_of(text: Any) -> ProgramText:
    """The characters that are to write a number."""
    found: ProgramText = program_text(text)
    return found


@raising_for_the_program
def text_attribute(text: TracedText, name: str) -> Any:
    """An attribute of text that is a template, as yet."""
    if not hasattr(str, name):
        raise AttributeError(lacking(text, name))
    if not waits(text) or not can_be_built(text):
        return getattr(str(text), name)
    if name == "count":
        name = "count_of"
    numbers = numbers_of(text)
    asked = {"isupper": letters.is_upper, "islower": letters.is_lower, **letters.QUESTIONS, **letters.CHANGES}
    if numbers is not None and len(numbers) == 1 and name in asked:
        return lambda: asked[name](numbers[0])
    return getattr(program_text(text), name)


surface.install(text_attribute=text_attribute)
