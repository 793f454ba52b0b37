"""Named tuples as items: of what class one is, which the type of an item tells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jitflow.frontend.outside.made_objects import users_class
from jitflow.frontend.recording.trace import current_trace

__all__ = ["is_named_tuple", "kind_of_named", "named_tuple"]

_OWN = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__")
"""What makes another key or item of a tuple, which compares as its items do."""


class _Classes(dict[Any, type]):
    """The classes of the trace's own, or the user's, of which named tuples are, by those of the user's."""


def is_named_tuple(thing: Any) -> bool:
    """Whether it is a named tuple that is nothing but its items."""
    kind = type(thing)
    if not isinstance(thing, tuple) or not hasattr(kind, "_fields"):
        return False
    compares = any(name in vars(base) for base in kind.__mro__ if base not in (object, tuple) for name in _OWN)
    return not compares and not getattr(thing, "__dict__", None)


def kind_of_named(thing: Any) -> type:
    """The user's class of a named tuple."""
    kind = users_class(type(thing))
    current_trace().state(_Classes)[kind] = type(thing)
    return kind


def named_tuple(kind: Any, items: Iterable[Any]) -> Any:
    """A named tuple of the user's class."""
    trace = current_trace()
    known = trace.state(_Classes)
    if kind not in known:
        assert trace.adopt_class is not None
        adopted = trace.adopt_class(kind)
        known[kind] = kind if adopted is kind else adopted._jitflow_class()
    return tuple.__new__(known[kind], items)
