"""Patterns of ``match`` that name a class: ``case Point(x, y=0)``."""

from __future__ import annotations

from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS
from jitflow.frontend.tracers import located

__all__ = ["is_of", "part_of"]

_HOLD_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes of which the one part by its place is the object itself."""


def is_of(thing: Any, kind: Any, count: int, *names: str) -> Any:
    """Whether a thing is of a class and has ``count`` parts by their places, and the attributes of these names."""
    found = BUILTIN_FUNCTIONS["isinstance"](thing, kind)
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


def _holds_itself(kind: Any) -> bool:
    return any(kind == one for one in _HOLD_THEMSELVES)
