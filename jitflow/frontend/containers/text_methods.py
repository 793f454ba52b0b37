"""Python's methods of texts of the running program: ops on their characters, or programs over these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers import letters
from jitflow.frontend.containers import text_programs as programs
from jitflow.frontend.containers.containers import ProgramContainer
from jitflow.frontend.containers.held_items import python_int
from jitflow.frontend.containers.making_texts import bool_value, empty_text, program_text, text_argument, text_list
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.recording import values
from jitflow.frontend.texts.building import is_text
from jitflow.frontend.texts.characters import numbers_of
from jitflow.frontend.texts.traced import together
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import TEXT

__all__ = ["TextMethods", "join_items"]


class TextMethods(ProgramContainer):
    """What texts are asked for by name."""

    if TYPE_CHECKING:

        def part(self, start: Any, stop: Any) -> Any: ...

    def _bounds(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """Positions as `str.find` takes them: that where it begins may be behind the end."""
        length, zero = self.number(), values.constant(0, I64)
        first = zero if start is None else values.emit("maximum", from_front(integer(start), length), zero)
        last = length
        if stop is not None:
            last = values.emit("maximum", values.emit("minimum", from_front(integer(stop), length), length), zero)
        return python_int(first), python_int(last)

    def find(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.find``."""
        return programs.find(self, text_argument("find", part), *self._bounds(start, stop))

    def rfind(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.rfind``."""
        return programs.rfind(self, text_argument("rfind", part), *self._bounds(start, stop))

    def index(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.index``."""
        return _found(self.find(part, start, stop))

    def rindex(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.rindex``."""
        return _found(self.rfind(part, start, stop))

    def count_of(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.count``."""
        return programs.count(self, text_argument("count", part), *self._bounds(start, stop))

    def startswith(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.startswith``."""
        if isinstance(part, tuple):
            return _any(self.startswith(one, start, stop) for one in part)
        return programs.matches(self, text_argument("startswith", part), *self._bounds(start, stop))

    def endswith(self, part: Any, start: Any = None, stop: Any = None) -> Any:
        """``str.endswith``."""
        if isinstance(part, tuple):
            return _any(self.endswith(one, start, stop) for one in part)
        ending = text_argument("endswith", part)
        first, last = self._bounds(start, stop)
        place = last - ending.length
        return tracers.wrap(
            as_weak(
                values.emit("logical_and", bool_value(place >= first), bool_value(self._has(ending, place, last))), BOOL
            )
        )

    def _has(self, part: Any, place: Any, last: Any) -> Any:
        place = python_int(values.emit("maximum", integer(place), values.constant(0, I64)))
        return programs.matches(self, part, place, last)

    def replace(self, old: Any, new: Any, count: Any = -1) -> Any:
        """``str.replace``."""
        return programs.replaced(
            empty_text(), self, text_argument("replace", old), text_argument("replace", new), python_int(integer(count))
        )

    def partition(self, sep: Any) -> Any:
        """``str.partition``."""
        return self._cut(self.find(sep), text_argument("partition", sep), self.number())

    def rpartition(self, sep: Any) -> Any:
        """``str.rpartition``."""
        return self._cut(self.rfind(sep), text_argument("rpartition", sep), values.constant(0, I64))

    def _cut(self, place: Any, separator: Any, otherwise: Value) -> Any:
        """What stands in front of a separator, itself, and what stands behind; without one, where it is cut then."""
        values.check(separator.truth(), ValueError, "empty separator")
        is_there, found = bool_value(place >= 0), integer(place)
        start = python_int(values.select(is_there, found, otherwise))
        stop = python_int(values.select(is_there, values.emit("add", found, separator.number()), otherwise))
        return self.part(0, start), self.part(start, stop), self.part(stop, self.length)

    def split(self, sep: Any = None, maxsplit: Any = -1) -> Any:
        """``str.split``."""
        found, maxsplit = text_list(), python_int(integer(maxsplit))
        if sep is None:
            return programs.split_at_spaces(found, self, maxsplit)
        separator = text_argument("split", sep)
        values.check(separator.truth(), ValueError, "empty separator")
        return programs.split_at(found, self, separator, maxsplit)

    def splitlines(self, keepends: bool = False) -> Any:
        """``str.splitlines``."""
        return programs.split_lines(text_list(), self, bool(keepends))

    def join(self, items: Any) -> Any:
        """``str.join``."""
        return join_items(self, items)

    def _stripped(self, letters: Any, left: bool, right: bool) -> Any:
        taken = None if letters is None else text_argument("strip", letters)
        return self.part(*programs.spaces_around(self, taken, left, right))

    def strip(self, letters: Any = None) -> Any:
        """``str.strip``."""
        return self._stripped(letters, True, True)

    def lstrip(self, letters: Any = None) -> Any:
        """``str.lstrip``."""
        return self._stripped(letters, True, False)

    def rstrip(self, letters: Any = None) -> Any:
        """``str.rstrip``."""
        return self._stripped(letters, False, True)

    def removeprefix(self, part: Any) -> Any:
        """``str.removeprefix``."""
        part = text_argument("removeprefix", part)
        has_it = bool_value(self.startswith(part))
        start = values.select(has_it, part.number(), values.constant(0, I64))
        return self.part(python_int(start), self.length)

    def removesuffix(self, part: Any) -> Any:
        """``str.removesuffix``."""
        part = text_argument("removesuffix", part)
        less = values.select(bool_value(self.endswith(part)), part.number(), values.constant(0, I64))
        return self.part(0, python_int(values.emit("subtract", self.number(), less)))

    def _changed(self, change: Callable[[Any], Any]) -> Any:
        return programs.letters_changed(empty_text(), self, change)

    def upper(self) -> Any:
        """``str.upper``."""
        return self._changed(letters.upper)

    def lower(self) -> Any:
        """``str.lower``."""
        return self._changed(letters.lower)

    casefold = lower

    def swapcase(self) -> Any:
        """``str.swapcase``."""
        return self._changed(letters.swapped)

    def capitalize(self) -> Any:
        """``str.capitalize``."""
        return programs.capitalized(empty_text(), self, letters.upper, letters.lower)

    def title(self) -> Any:
        """``str.title``."""
        return programs.titled(empty_text(), self, letters.is_letter, letters.upper, letters.lower)

    def isupper(self) -> Any:
        """``str.isupper``."""
        return programs.is_cased(self, letters.is_upper, letters.is_lower)

    def islower(self) -> Any:
        """``str.islower``."""
        return programs.is_cased(self, letters.is_lower, letters.is_upper)

    def _padded(self, width: Any, fill: Any, where: str) -> Any:
        letters = numbers_of(fill)
        if letters is None or len(letters) != 1:
            raise located(UserTypeError("The fill character must be exactly one character long"))
        found = self.part(0, self.length)
        length, zero = found.number(), values.constant(0, I64)
        count = values.emit("maximum", values.emit("subtract", integer(width), length), zero)
        letter = integer(letters[0])
        left = {"l": zero, "r": count}.get(where)
        if left is None:  # as CPython: half of it, and of an odd one the larger half if the width is odd
            odd = values.emit("bitwise_and", values.emit("bitwise_and", count, integer(width)), values.constant(1, I64))
            left = values.emit("add", values.emit("floor_divide", count, values.constant(2, I64)), odd)
        found.op("insert_characters", length, values.emit("subtract", count, left), letter)
        found.op("insert_characters", zero, left, letter)
        return found

    def ljust(self, width: Any, fill: Any = " ") -> Any:
        """``str.ljust``."""
        return self._padded(width, fill, "l")

    def rjust(self, width: Any, fill: Any = " ") -> Any:
        """``str.rjust``."""
        return self._padded(width, fill, "r")

    def center(self, width: Any, fill: Any = " ") -> Any:
        """``str.center``."""
        return self._padded(width, fill, "c")

    def zfill(self, width: Any) -> Any:
        """``str.zfill``."""
        found = self.part(0, self.length)
        length, zero, one = found.number(), values.constant(0, I64), values.constant(1, I64)
        first = program_text(together([(found[:1], "", "")]))
        signed = values.emit("logical_or", bool_value(first == "-"), bool_value(first == "+"))
        place = values.select(signed, one, zero)
        count = values.emit("maximum", values.emit("subtract", integer(width), length), zero)
        found.op("insert_characters", place, count, values.constant(ord("0"), I64))
        return found


def _found(place: Any) -> Any:
    values.check(bool_value(place >= 0), ValueError, "substring not found")
    return place


def _any(answers: Any) -> Any:
    found: Any = False
    for answer in answers:
        found = answer | found
    return found


def join_items(separator: Any, items: Any) -> Any:
    """``separator.join(items)``, of a list of the running program, or of something that it goes through."""
    if is_text(items):
        items = program_text(items)
    elif not isinstance(items, ProgramContainer):
        found = text_list()
        own_loop(items, found.append)
        items = found
    elif not items.is_known:
        return ""
    elif items.held.item != TEXT:
        name = {"b": "bool", "f": "float"}.get(getattr(getattr(items.held.item, "dtype", None), "kind", "i"), "int")
        values.check(values.emit("logical_not", items.truth()), TypeError,
                     f"sequence item 0: expected str instance, {name} found")  # fmt: skip
        return ""
    return programs.joined(empty_text(), program_text(separator), items)
