"""Guards, as the Python entry asks them: whether an object is what the program was compiled for."""

from __future__ import annotations

import struct
import sys
from types import FunctionType
from typing import Any

from jitflow.runtime import plan as p

__all__ = ["guard_holds", "same_constant"]


def guard_holds(guard: p.Guard, thing: Any) -> bool:
    """Whether a guard holds of an object. `IsSame` and `IsOther` are about two of them, and not asked here."""
    match guard:
        case p.IsObject(_, expected):
            return thing is expected
        case p.IsType(_, expected):
            return type(thing) is expected
        case p.HasLength(_, length):
            try:
                return len(thing) == length
            except Exception:
                return False
        case p.KeysAre(_, keys):
            return type(thing) is dict and len(thing) == len(keys) and all(map(same_constant, thing, keys))
        case p.Satisfies(_, test, _):
            return test(thing)
        case p.EqualsConstant(_, value, expected):
            return type(thing) is expected and same_constant(thing, value)
        case p.FunctionIs():
            return _same_function(guard, thing)
    raise TypeError(f"unknown guard {guard!r}")


def same_constant(thing: Any, value: Any) -> bool:
    """Whether two values of one type are the same to a program: equal, and floats by their bits."""
    if type(thing) is not type(value):
        return False
    if isinstance(value, float):
        return struct.pack("d", thing) == struct.pack("d", value)
    if isinstance(value, complex):
        return struct.pack("dd", thing.real, thing.imag) == struct.pack("dd", value.real, value.imag)
    if isinstance(value, tuple):
        return len(thing) == len(value) and all(map(same_constant, thing, value))
    try:
        return thing is value or bool(thing == value)
    except Exception:
        return False


def _same_function(guard: p.FunctionIs, thing: Any) -> bool:
    return (
        type(thing) is FunctionType
        and thing.__code__ is guard.code
        and _same_items(thing.__defaults__, guard.defaults)
        and _same_items(_flat(thing.__kwdefaults__), _flat_pairs(guard.keyword_defaults))
        and (guard.any_closure or _same_items(thing.__closure__, guard.closure))
    )


def _same_items(items: tuple[Any, ...] | None, expected: tuple[Any, ...] | None) -> bool:
    items, expected = items or (), expected or ()
    return len(items) == len(expected) and all(item is other for item, other in zip(items, expected, strict=True))


def _flat(keyword_defaults: dict[str, Any] | None) -> tuple[Any, ...]:
    return _flat_pairs(tuple((keyword_defaults or {}).items()))


def _flat_pairs(pairs: tuple[tuple[str, Any], ...] | None) -> tuple[Any, ...]:
    """The names, interned so that equal ones are identical, then the values."""
    pairs = pairs or ()
    return (*(sys.intern(name) for name, _ in pairs), *(value for _, value in pairs))
