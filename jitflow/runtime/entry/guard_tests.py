"""What guards ask of an object beside its type and identity.

These are functions of the runtime: a process that finds its code on disk asks them without importing what traces.
"""

from __future__ import annotations

import sys
from types import CellType
from typing import Any

import numpy as np

__all__ = ["class_member", "contents", "has_contents", "has_items", "has_keys", "has_no_attributes",
           "has_order", "has_own", "is_read_only", "is_unbound", "is_writeable", "lacks_attribute",
           "lacks_key", "lacks_own"]  # fmt: skip

_MOST_ITEMS, _MOST_BYTES = 4096, 1 << 16
"""Of what is compared by its contents."""
_TOLD_APART = {str, bytes, type(None), int}
"""Types of which no two have objects that are equal, and whose equal objects nobody can tell apart."""


def lacks_attribute(name: str, thing: Any) -> bool:
    """Whether something has no such attribute."""
    return not hasattr(thing, name)


def has_own(name: str, thing: Any) -> bool:
    """Whether an object has such an attribute of its own, beside those of its class."""
    return name in getattr(thing, "__dict__", ())


def lacks_own(name: str, thing: Any) -> bool:
    """Whether an object has no such attribute of its own."""
    return not has_own(name, thing)


def class_member(name: str, kind: type) -> Any:
    """What a class or its bases have under a name, as it is written there."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise AttributeError(name)


def has_no_attributes(thing: Any) -> bool:
    """Whether an object, which may have no room for them, has none but those of its class."""
    return not getattr(thing, "__dict__", None)


def lacks_key(name: str, namespace: dict[str, Any]) -> bool:
    """Whether a name is in no namespace."""
    return name not in namespace


def has_keys(identities: frozenset[int], thing: dict[Any, Any]) -> bool:
    """Whether these very objects are among the keys of a dict."""
    return identities <= {id(key) for key in thing}


def has_items(kind: Any, items: tuple[Any, ...], thing: Any) -> bool:
    """Whether something is a set of a type that holds just these items, of the same types."""
    if type(thing) is not kind or len(thing) != len(items) or not thing.issuperset(items):
        return False
    kinds, room = {*map(type, thing)}, [sys.maxsize]
    if kinds <= _TOLD_APART and kinds == {*map(type, items)}:
        return True
    return {_contents(one, room) for one in thing} == {_contents(one, room) for one in items}


def has_order(copied: Any, items: tuple[Any, ...], thing: Any) -> bool:
    """Whether Python goes through a set that holds these items in this order, and through a copy as through another."""
    return (*thing,) == items and [*set(thing)] == [*copied]


def is_unbound(cell: CellType) -> bool:
    """Whether a name that functions share has no value."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def is_read_only(array: Any) -> bool:
    """Whether an array may not be written to."""
    if type(array) is np.ndarray:
        return not array.flags.writeable
    from jitflow.runtime.entry.device_arrays import header_of

    header = header_of(array)
    return header is not None and not header.flags.writeable


def is_writeable(array: Any) -> bool:
    """Whether an array may be written to."""
    return not is_read_only(array)


def has_contents(expected: Any, thing: Any) -> bool:
    """Whether something has the `contents` that it had."""
    return bool(contents(thing) == expected)


def contents(thing: Any) -> Any:
    """What is in containers of each other, arrays, numbers and texts: equal only if types and bits are.

    Of anything else it is the object. None where there is too much to be compared at each call.
    """
    try:
        return _contents(thing, [_MOST_ITEMS])
    except (_TooMuch, RecursionError):
        return None


class _TooMuch(Exception):
    pass


class _Object:
    """An object, which is equal to itself alone."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return type(other) is _Object and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def _contents(thing: Any, room: list[int]) -> Any:
    room[0] -= 1
    kind = type(thing)
    if room[0] < 0 or (kind is np.ndarray and thing.nbytes > _MOST_BYTES):
        raise _TooMuch
    if kind in (list, tuple):
        return kind, tuple(_contents(item, room) for item in thing)
    if kind is dict:
        return kind, tuple((_contents(key, room), _contents(item, room)) for key, item in thing.items())
    if kind in (set, frozenset):
        return kind, frozenset(_contents(item, room) for item in thing)
    if kind is np.ndarray and not thing.dtype.hasobject:
        return kind, thing.dtype.str, thing.shape, thing.tobytes()
    if kind in (bool, int, float, complex) or isinstance(thing, np.number | np.bool_):
        return kind, repr(thing)
    return (kind, thing) if kind in (str, bytes) else _Object(thing)
