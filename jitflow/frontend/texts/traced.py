"""The text that only the running program knows, and how it is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.spoken import said, speaks
from jitflow.frontend.texts.structure import known_text, structure
from jitflow.frontend.tracers import (
    ArrayTracer,
    NumberTracer,
    SizeTracer,
    Tracer,
    holds_alternatives,
    kind_by_kind,
    lift,
    located,
    wrap,
)
from jitflow.frontend.tracers.base import lacking, needs_number
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.runtime.objects.texts import text_of

__all__ = ["Field", "TracedText", "in_words", "is_known", "is_text_value", "together", "waits"]

Field = tuple[Any, str, Any]
"""A value, its conversion and its specification, which is text."""


class TracedText:
    """A string that only the running program knows. ``template`` is that of `jitflow.runtime.objects.texts`.

    Where Python needs the text itself it gets it, if sizes and pinned numbers alone are missing.
    """

    __slots__ = ("operands", "template")

    def __init__(self, template: tuple[Any, ...], operands: tuple[Tracer, ...]) -> None:
        self.template = template
        self.operands = operands

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str

    def from_number(self, first: int) -> tuple[Any, ...]:
        """The template, with values that are numbered from ``first`` on."""
        return _shifted(self.template, first)

    def with_numbers(self, number: Callable[[Any], Any]) -> str:
        """The text, with what ``number`` gives for the values."""
        return text_of(self.template, [number(operand) for operand in self.operands])

    def __str__(self) -> str:
        return self.with_numbers(_number)

    def __repr__(self) -> str:
        return f"<traced text {self.template}>"

    def __add__(self, other: Any) -> Any:
        return together([(self, "", ""), (other, "", "")]) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return together([(other, "", ""), (self, "", "")]) if isinstance(other, str) else NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(lacking(self, name))
        return surface.text_attribute(self, name)


def waits(text: TracedText) -> bool:
    """Whether Python could not have the text even if it asked for it: more than sizes and what may be pinned lacks."""

    def is_to_be_had(operand: Any) -> bool:
        if isinstance(operand, SizeTracer):
            return not current_trace().is_open(operand.dim)
        return isinstance(operand, NumberTracer) and operand._pin is not None

    return not all(map(is_to_be_had, text.operands))


def _on_the_text(name: str) -> Callable[..., Any]:
    def method(self: TracedText, *args: Any) -> Any:
        return getattr(str(self), name)(*args)

    method.__name__ = name
    return method


for _name in "eq ne lt le gt ge hash len iter getitem contains mul rmul mod".split():
    setattr(TracedText, f"__{_name}__", _on_the_text(f"__{_name}__"))


def _number(operand: Tracer) -> Any:
    """The number itself, which a guard then keeps."""
    if isinstance(operand, SizeTracer):
        return int(operand)
    reason = "Python needs the text itself here, but values in it are known only when the compiled code runs"
    mend = "print the text, or raise an exception with it; do everything else with it outside the compiled function"
    if is_text_value(operand):
        raise located(UserNotImplementedError(reason, mend=mend))
    number = pinned(operand)
    if number is operand:
        raise needs_number(operand, reason, mend)
    return number


def is_text_value(thing: Any) -> bool:
    """Whether it is text of which only the running program knows the length."""
    return isinstance(thing, Recorded) and thing.is_text


def is_known(thing: Any) -> bool:
    """Whether nothing in it waits for the running program."""
    if is_text_value(thing) or isinstance(thing, Tracer) or type(thing) in (TracedText, np.ndarray) or speaks(thing):
        return False
    if issubclass(type(thing), BaseException):
        return all(map(is_known, thing.args))
    parts = structure(thing)
    return parts is None or all(type(part) is str or is_known(part[0]) for part in parts)


def together(parts: Iterable[str | Field]) -> Any:
    """Strings and fields one behind the other: a string if all is known."""
    text = _Collector()
    for part in parts:
        if type(part) is str:
            text.parts.append(part)
        else:
            text.add(*part)
    if not text.operands:
        return text_of(tuple(text.parts), ())
    return TracedText(tuple(text.parts), tuple(text.operands))


def in_words(thing: Any) -> Any:
    """What `str` makes of an exception that is not known; everything else as it is."""
    is_error = issubclass(type(thing), BaseException) and (not is_known(thing) or holds_alternatives(thing.args))
    usual: tuple[Any, ...] = (BaseException.__str__, KeyError.__str__)
    if not is_error or type(thing).__str__ not in usual:
        return thing
    return _words_of("r" if isinstance(thing, KeyError) else "s", *thing.args)


@kind_by_kind
def _words_of(conversion: str, *args: Any) -> Any:
    if len(args) != 1:
        return together([(args, "r", "")]) if args else ""
    return together([(args[0], conversion, "")])


class _Collector:
    """The parts of a template, and the values for it."""

    def __init__(self, operands: list[Tracer] | None = None) -> None:
        self.parts: list[Any] = []
        self.operands: list[Tracer] = [] if operands is None else operands

    def add(self, thing: Any, conversion: str, specification: Any) -> None:
        """A field."""
        thing = in_words(thing) if conversion in ("", "s") else thing
        thing, conversion, specification = said(thing, conversion, specification) or (thing, conversion, specification)
        if is_known(thing) and type(specification) is str:
            self.parts.append(known_text(thing, conversion, specification))
            return
        what, conversion = self._what(thing, conversion)
        words = specification if type(specification) is str else self._taken_over(specification)
        if isinstance(what, tuple) and not conversion and not words:
            self.parts += what
        else:
            self.parts.append((what, conversion, words))

    def _what(self, thing: Any, conversion: str) -> tuple[Any, str]:
        """The number of a value, or a template; and what is still to be done to it."""
        if type(thing) is TracedText:
            return self._taken_over(thing), "" if conversion == "s" else conversion
        if is_text_value(thing):
            self.operands.append(thing)
            return len(self.operands) - 1, "" if conversion == "s" else conversion
        parts = structure(thing)
        if parts is None:
            if is_known(thing) and isinstance(thing, str):
                return (known_text(thing, conversion, ""),), ""
            return self._operand(thing if isinstance(thing, Tracer) else wrap(lift(thing))), conversion
        inner = _Collector(self.operands)
        for part in parts:
            if type(part) is str:
                inner.parts.append(part)
            else:
                inner.add(part[0], "r", "")
        return tuple(inner.parts), "%" if conversion == "%" else ""

    def _operand(self, tracer: Tracer) -> int:
        if isinstance(tracer, ArrayTracer):  # it may be written to before the text is used
            tracer = wrap(current_trace().make("copy", lift(tracer)), owned=True)
        self.operands.append(tracer)
        return len(self.operands) - 1

    def _taken_over(self, other: TracedText) -> tuple[Any, ...]:
        if type(other) is not TracedText:
            raise located(UserTypeError(f"expected the format of a text, got {type(other).__name__}"))
        first = len(self.operands)
        self.operands += other.operands
        return _shifted(other.template, first)


def _shifted(template: tuple[Any, ...], first: int) -> tuple[Any, ...]:
    """A template whose values are numbered from ``first`` on."""
    shifted: list[Any] = []
    for part in template:
        if isinstance(part, str):
            shifted.append(part)
            continue
        what, conversion, words = part
        moved = what + first if isinstance(what, int) else _shifted(what, first)
        shifted.append((moved, conversion, words if isinstance(words, str) else _shifted(words, first)))
    return tuple(shifted)
