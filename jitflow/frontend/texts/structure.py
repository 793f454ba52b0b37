"""How Python shows what is made of other things: lists, tuples, dicts and records, item by item."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.proxies import ObjectProxy
from jitflow.frontend.outside.purity import Impure, without_text
from jitflow.frontend.tracers import located
from jitflow.frontend.tracers.base import TRACED

__all__ = ["known_text", "structure", "without_stand_ins"]

Pieces = list[Any]
"""Strings, and tuples of one item each, whose `repr` stands there."""

_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}
_NAMELESS = (ObjectProxy, Impure, FunctionType, MethodType, BuiltinFunctionType, partial)


def structure(thing: Any) -> Pieces | None:
    """What `repr` makes of a container or an exception; None for what is neither."""
    kind: Any = thing.__class__ if isinstance(thing, ObjectProxy) else type(thing)
    if isinstance(thing, Recorded) and thing.is_text:
        return None
    if isinstance(thing, Recorded):
        raise located(
            UserNotImplementedError(
                "the text of a list of which only the running program knows the length",
                mend="return the list and print it outside, or print np.array of it",
            )
        )
    if isinstance(thing, list) and kind.__repr__ is list.__repr__:
        return ["[", *_separated([(item,)] for item in thing), "]"]
    if isinstance(thing, tuple) and kind.__repr__ is tuple.__repr__:
        return ["(", *_separated([(item,)] for item in thing), ",)" if len(thing) == 1 else ")"]
    if isinstance(thing, dict) and kind.__repr__ is dict.__repr__:
        return ["{", *_separated([(key,), ": ", (item,)] for key, item in thing.items()), "}"]
    if issubclass(kind, BaseException) and kind.__repr__ is BaseException.__repr__:
        return [f"{kind.__name__}(", *_separated([(part,)] for part in thing.args), ")"]
    if thing.__class__ is range:
        numbers = (thing.start, thing.stop, thing.step)
        return ["range(", *_separated([(number,)] for number in (numbers[:2] if thing.step == 1 else numbers)), ")"]
    if kind is slice:
        return ["slice(", *_separated([(part,)] for part in (thing.start, thing.stop, thing.step)), ")"]
    if isinstance(thing, tuple) and hasattr(kind, "_fields") and _came_with_it(kind):
        return [f"{kind.__name__}(", *_named(kind._fields, thing), ")"]
    if hasattr(kind, "__dataclass_fields__") and not isinstance(thing, type) and _came_with_it(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.repr]
        return [f"{kind.__qualname__}(", *_named(names, [getattr(thing, name) for name in names]), ")"]
    return None


def _separated(items: Iterable[Pieces]) -> Pieces:
    found: Pieces = []
    for item in items:
        found += [", ", *item] if found else item
    return found


def _named(names: Iterable[str], items: Iterable[Any]) -> Pieces:
    return _separated([f"{name}=", (item,)] for name, item in zip(names, items, strict=True))


def _came_with_it(kind: Any) -> bool:
    """Whether the ``__repr__`` of a record class is the one that Python made, and nothing else makes its text."""
    shows = kind.__repr__
    code = getattr(getattr(shows, "__wrapped__", shows), "__code__", None)
    made: bool = code is not None and (code.co_filename.startswith("<") or shows.__module__ == "collections")
    return made and kind.__str__ is object.__str__ and kind.__format__ is object.__format__


def known_text(thing: Any, conversion: str, specification: str) -> str:
    """The field of a text whose value is known, as `jitflow.runtime.objects.texts` has its parts."""
    shown = ""
    if not _is_nameless(thing):
        converted = _CONVERSIONS[conversion](thing) if conversion in _CONVERSIONS else thing
        shown = specification % (converted,) if conversion == "%" else format(converted, specification)
    if _is_nameless(thing):
        raise without_text(thing)
    return str(without_stand_ins(shown, thing))


def without_stand_ins(shown: Any, thing: Any) -> Any:
    """A text of a thing, unless what stands for another one is in it."""
    if isinstance(shown, str) and TRACED in shown:
        raise without_text(thing)
    return shown


def _is_nameless(thing: Any) -> bool:
    """Whether the text would show where an object lies in memory, or run code of the user's unseen."""
    if isinstance(thing, type | enum.Enum):
        return False
    kind = type(thing)
    methods = (kind.__repr__, kind.__str__, kind.__format__)
    bare = all(method in (object.__repr__, object.__str__, object.__format__) for method in methods)
    return bare or isinstance(thing, _NAMELESS)
