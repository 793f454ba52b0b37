"""What patterns of ``match`` ask: of a class, ``Point(x, y=0)``, of sequences and of mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS
from jitflow.frontend.tracers import Alternatives, located

__all__ = ["has_length", "is_mapping", "is_of", "is_sequence", "part_of"]

_HOLD_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes of which the one part by its place is the object itself."""
_isinstance = BUILTIN_FUNCTIONS["isinstance"]


def is_of(thing: Any, kind: Any, count: int, *names: str) -> Any:
    """Whether a thing is of a class and has ``count`` parts by their places, and the attributes of these names."""
    found = _isinstance(thing, kind)
    if found is False:
        return False
    places = () if _holds_itself(kind) else getattr(kind, "__match_args__", ())
    known = 1 if _holds_itself(kind) else len(places)
    if count > known:
        plural = "" if known == 1 else "s"
        raise located(
            UserTypeError(f"{kind.__name__}() accepts {known} positional sub-pattern{plural} ({count} given)")
        )
    return found if all(hasattr(thing, name) for name in (*places[:count], *names)) else False


def part_of(thing: Any, kind: Any, place: int) -> Any:
    """What a thing of a class holds at a place."""
    return thing if _holds_itself(kind) else getattr(thing, kind.__match_args__[place])


def is_sequence(thing: Any) -> Any:
    """Whether a thing has items by their places, for ``match``: text has not."""
    if type(thing) is Alternatives:
        return thing.each(is_sequence)
    return _isinstance(thing, Sequence) and not _isinstance(thing, str | bytes | bytearray)


def is_mapping(thing: Any) -> Any:
    """Whether a thing has items by keys."""
    return _isinstance(thing, Mapping)


def has_length(thing: Any, count: int, or_more: bool) -> Any:
    """Whether a sequence has so many items."""
    length = BUILTIN_FUNCTIONS["len"](thing)
    return length >= count if or_more else length == count


def _holds_itself(kind: Any) -> bool:
    return any(kind == one for one in _HOLD_THEMSELVES)
