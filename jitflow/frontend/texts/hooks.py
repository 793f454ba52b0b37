"""What runs in the place of an f-string, and of the functions and methods of Python that make text."""

from __future__ import annotations

import operator
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.texts.characters import characters_of
from jitflow.frontend.texts.spoken import speaks
from jitflow.frontend.texts.structure import structure, without_stand_ins
from jitflow.frontend.texts.traced import TracedText, in_words, is_known, is_text_value, together
from jitflow.frontend.tracers import Alternatives, Tracer, kind_by_kind, located
from jitflow.frontend.tracers.surface import surface

__all__ = ["format_", "formatted", "join", "percent", "repr_", "str_", "text"]

_OF_REPR = (ord("r"), ord("a"))
_CONVERSIONS = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}


def text(*parts: Any) -> Any:
    """An f-string: strings, and fields of value, conversion (a number, as in `ast.FormattedValue`), specification."""
    return _text(
        *(part if type(part) is str or part[1] in _OF_REPR else (in_words(part[0]), *part[1:]) for part in parts)
    )


@kind_by_kind
def _text(*parts: Any) -> Any:
    return together(part if type(part) is str else _field(part[0], _CONVERSIONS[part[1]], part[2]) for part in parts)


def _field(thing: Any, conversion: str, specification: Any) -> tuple[Any, str, Any]:
    if not conversion and type(specification) is str and specification and structure(thing) is not None:
        format(thing, specification)  # Python's error
    return thing, conversion, specification


def str_(*args: Any, **keywords: Any) -> Any:
    """`str`."""
    return _str(*map(in_words, args), **keywords)


@kind_by_kind
def _str(*args: Any, **keywords: Any) -> Any:
    if len(args) != 1 or keywords or isinstance(args[0], bytes):
        return str(*args, **keywords)
    if is_text_value(args[0]):
        return args[0]
    return together([(args[0], "s", "")])


def repr_(thing: Any) -> Any:
    """`repr`."""
    return together([(thing, "r", "")])


def formatted(thing: Any, specification: Any = "") -> Any:
    """`format`."""
    return together([_field(thing, "", specification)])


# -- methods of strings -----------------------------------------------------------------------------------


@kind_by_kind
def join(separator: Any, items: Iterable[Any]) -> Any:
    """`str.join`."""
    items = characters_of(items)
    if hasattr(type(items), "step"):
        items = surface.constructor_of(list)(items)
    if isinstance(items, Recorded) or hasattr(type(items), "gone_through"):
        return surface.program_text(separator).join(items)
    parts = list(items)
    if any(type(part) is Alternatives for part in parts):
        return _joined(separator, *parts)
    if not any(isinstance(part, TracedText | Tracer) or is_text_value(part) for part in (separator, *parts)):
        return separator.join(parts)
    fields: list[Any] = []
    for number, part in enumerate(parts):
        if not isinstance(part, str):
            found = part.__class__.__name__
            raise located(UserTypeError(f"sequence item {number}: expected str instance, {found} found"))
        fields += [(separator if number else "", "", ""), (part, "", "")]
    return together(fields)


@kind_by_kind
def _joined(separator: str, *parts: Any) -> Any:
    return join(separator, parts)


@kind_by_kind
def format_(words: str, /, *args: Any, **keywords: Any) -> Any:
    """`str.format`."""
    if all(map(is_known, (*args, *keywords.values()))):
        return without_stand_ins(words.format(*args, **keywords), next(iter((*args, *keywords.values())), None))
    return _filled_in(words, args, keywords, iter(range(len(words))))


def _filled_in(words: str, args: tuple[Any, ...], keywords: Mapping[str, Any], numbers: Iterator[int]) -> Any:
    """`str.format`; ``numbers`` are those of the fields without a name."""
    parser = string.Formatter()
    parts: list[Any] = []
    for literal, name, specification, conversion in parser.parse(words):
        parts.append(literal)
        if name is None:
            continue
        if not name or name[0] in ".[":
            name = f"{next(numbers)}{name}"
        thing, _ = parser.get_field(name, args, keywords)
        inner = _filled_in(specification, args, keywords, numbers) if specification else ""
        parts.append(_field(thing, conversion or "", inner))
    return together(parts)


# -- the operator % -----------------------------------------------------------------------------------------

_PIECE = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<words>[-+ #0]*(?:\*|\d*)(?:\.(?:\*|\d*))?)[hlL]?(?P<kind>.)")
_MISSING = object()


@kind_by_kind
def percent(words: Any, values: Any) -> Any:
    """``words % values``, where ``words`` is text."""
    if type(words) is not str or is_known(values):
        return without_stand_ins(operator.mod(words, values), values)
    given = iter(values if isinstance(values, tuple) else (values,))
    parts: list[Any] = []
    end = 0
    for piece in _PIECE.finditer(words):
        parts.append(words[end : piece.start()])
        parts.append("%" if piece["kind"] == "%" else _piece(piece, values, given))
        end = piece.end()
    if not isinstance(values, dict) and next(given, _MISSING) is not _MISSING:
        raise located(UserTypeError("not all arguments converted during string formatting"))
    return together([*parts, words[end:]])


def _piece(piece: re.Match[str], values: Any, given: Iterator[Any]) -> tuple[Any, str, str]:
    words, kind = piece["words"], piece["kind"]
    if "*" in words:
        raise located(UserNotImplementedError("* in the format of traced values", mend="write an f-string"))
    thing = next(given, _MISSING) if piece["key"] is None else values[piece["key"]]
    if thing is _MISSING:
        raise located(UserTypeError("not enough arguments for format string"))
    if structure(thing) is None and type(thing) is not TracedText and not is_text_value(thing) and not speaks(thing):
        return thing, "%", f"%{words}{kind}"
    text = (repr_ if kind == "r" else str_)(thing)
    if kind not in "sr":
        return text, "%", f"%{words}{kind}"
    width, dot, precision = words.lstrip("-+ #0").partition(".")
    return text, "", f"{'<' if '-' in words else '>'}{width}{dot and f'.{precision or 0}'}" if width or dot else ""
