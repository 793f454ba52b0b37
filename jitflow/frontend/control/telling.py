"""What is told of an exception that the running program would raise: to a handler that asks, or behind a ``finally``.

Five numbers: which of the exceptions that the trace knows it was, and up to two ints and two floats of it.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import exception_class
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.traced import together
from jitflow.frontend.tracers.python_numbers import as_weak, division_words
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.location import Loc
from jitflow.ir.types import Index, Scalar, Type
from jitflow.records import dataclass
from jitflow.runtime.objects.texts import RAISE

__all__ = [
    "NOTHING_TOLD",
    "Makers",
    "Raised",
    "can_be_told",
    "error_of",
    "number_of",
    "raised_at",
    "relocate",
    "told_by",
]

NOTHING_TOLD = (-1, 0, 0, 0.0, 0.0)
_ROOM = 2
_DIVISIONS = {"floor_divide": operator.floordiv, "remainder": operator.mod, "divide": operator.truediv}
Make = Callable[[Sequence[Any]], BaseException]
"""What makes an exception, of the numbers that are told of it."""


class Makers(dict[Op, "Make | None"]):
    """For checks that stand for raising more than a message: what makes the exception, None if that cannot be told."""


@dataclass(frozen=True)
class Raised:
    """An exception that the running program may raise: what makes it, and where."""

    kind: type[BaseException]
    message: str
    types: tuple[Type, ...]
    make: Make | None
    places: tuple[Loc, ...]
    shown: tuple[tuple[str, Any], ...] = ()
    """What else a check says of it: that it holds no text but a key, of numbers of these types."""

    def exception(self, told: Sequence[Any]) -> BaseException:
        """The exception, with what is told of it."""
        if self.make is not None:
            return self.make(self.numbers(told))
        for _, shape in self.shown:
            return self.kind(_key_of(shape, iter(self.numbers(told))))
        return self.kind(_filled_in(self.message, self.numbers(told))) if self.message else self.kind()

    def numbers(self, told: Sequence[Any]) -> list[Any]:
        """The numbers in it, of the types that they had."""
        integers, floats = list(told[:_ROOM]), list(told[_ROOM:])
        return [_of_type((floats if _is_float(kind) else integers).pop(0), kind) for kind in self.types]

    @property
    def looks(self) -> Any:
        """What tells it from other exceptions, wherever they are raised."""
        return self.kind, self.message, self.types, self.make, self.shown


class Moments(list[dict[Op, Any]]):
    """For each attempt that is being traced, what is noted with ops that may raise something."""


def relocate(place: Loc) -> None:
    """The last op, which may stand for raising something, is at another place of the program."""
    builder = current_trace().builder
    before = builder.ops[-1]
    builder.relocate_last(place)
    for notes in (current_trace().state(Makers), *current_trace().state(Moments)):
        if before in notes:
            notes[builder.ops[-1]] = notes.pop(before)


class _Numbers(dict[Raised, int]):
    """The number of each exception that the trace knows."""


def error_of(op: Op) -> tuple[Raised, Sequence[Value]] | None:
    """What an op raises, and the numbers that are told of it; None if that cannot be told."""
    trace, make = current_trace(), current_trace().state(Makers).get(op)
    if op in trace.state(Makers) and make is None:
        return None
    shown = tuple((name, shape) for name, shape in op.attributes.items() if name == "literal")
    if op.name == "check":
        kind, message = exception_class(op.attributes["error"]), op.attributes["message"]
        operands: Sequence[Value] = op.operands[1:]
    elif op.name in _DIVISIONS and isinstance(divided := op.operands[0].type, Scalar):
        kind, operands = ZeroDivisionError, ()
        message = division_words(_DIVISIONS[op.name], divided.dtype)
    elif op.name == "host_call" and op.attributes.get("routine") == RAISE:
        options = dict(op.attributes["options"])
        kind, message, operands = exception_class(options["error"]), "", op.operands
        make = trace.state(Makers).setdefault(op, _maker(kind, options["arguments"]))
    else:
        return None
    types = tuple(operand.type for operand in operands)
    if not can_be_told(types):
        return None
    return Raised(kind, message, types, make, tuple(op.loc.chain()), shown), operands


def can_be_told(types: Sequence[Type]) -> bool:
    """Whether there is room for numbers of these types."""
    floats = sum(map(_is_float, types))
    fits = floats <= _ROOM and len(types) - floats <= _ROOM
    return fits and all(_is_float(kind) or _is_int(kind) for kind in types)


def number_of(op: Op) -> int:
    """The number of the exception that an op raises; -1 if nothing can be told of it."""
    found, known = error_of(op), current_trace().state(_Numbers)
    return -1 if found is None else known.setdefault(found[0], len(known))


def told_by(op: Op) -> list[Value]:
    """What is told of the exception that an op raises: one number each, as Python's."""
    found = error_of(op)
    if found is None:
        return _constants(NOTHING_TOLD)
    _, operands = found
    integers = [as_weak(integer(operand), I64) for operand in operands if not _is_float(operand.type)]
    floats = [as_weak(operand, F64) for operand in operands if _is_float(operand.type)]
    padding = ([0] * (_ROOM - len(integers)), [0.0] * (_ROOM - len(floats)))
    return [*_constants([number_of(op)]), *integers, *_constants(padding[0]), *floats, *_constants(padding[1])]


def raised_at(first: int, last: int) -> list[tuple[int, Raised]]:
    """The exceptions that lines of the running function led to, or calls there, with their numbers."""
    here = current_trace().here()
    return [
        (number, raised)
        for raised, number in current_trace().state(_Numbers).items()
        if any(place.file == here.file and first <= place.line <= last for place in raised.places)
    ]


def _constants(numbers: Sequence[int | float]) -> list[Value]:
    dtypes = [I64 if type(number) is int else F64 for number in numbers]
    return [as_weak(values.constant(number, dtype), dtype) for number, dtype in zip(numbers, dtypes, strict=True)]


def _maker(kind: type[BaseException], arguments: Sequence[tuple[str, Any]]) -> Make:
    """What makes the exception of a routine that raises (`jitflow.runtime.objects.texts.raise_error`)."""

    def make(numbers: Sequence[Any]) -> BaseException:
        given = []
        for what, argument in arguments:
            if what == "text":
                argument = TracedText(argument, tuple(numbers))
            given.append(numbers[argument] if what == "value" else argument)
        return kind(*given)

    return make


def _filled_in(message: str, numbers: Sequence[Any]) -> Any:
    """The message of a check, which is a format, with its numbers."""
    fields, parts = iter(numbers), list[Any]()
    for words, field, specification, _ in string.Formatter().parse(message):
        parts.append(words)
        if field is not None:
            parts.append((next(fields), "", specification or ""))
    return together(parts)


def _key_of(shape: Any, numbers: Iterator[Any]) -> Any:
    """A key of numbers: one, or a tuple."""
    return tuple(_key_of(part, numbers) for part in shape) if isinstance(shape, tuple) else next(numbers)


def _is_float(kind: Type) -> bool:
    return isinstance(kind, Scalar) and kind.dtype == F64


def _is_int(kind: Type) -> bool:
    return isinstance(kind, Index) or (isinstance(kind, Scalar) and kind.dtype == I64)


def _of_type(number: Any, kind: Type) -> Any:
    """A number that was told as Python's, of the type that it had."""
    if isinstance(kind, Index) or (isinstance(kind, Scalar) and kind.weak):
        return number
    return tracers.wrap(values.as_scalar(values.as_strong(tracers.lift(number))))
