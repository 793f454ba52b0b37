"""Reads and guards, as the Python entry knows them: what a path leads to, and whether it is what code is for."""

from __future__ import annotations

import builtins
import struct
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.native.dtypes import PYTHON_SCALARS, numpy_dtype, same_layout_dtypes

__all__ = ["array_fits", "builtins_of", "dtype_fits", "found_by", "guard_holds", "same_constant", "scalar_types"]


def found_by(read: p.Read, arguments: Sequence[Any], register: Callable[[int], Any]) -> Any:
    """What a read finds at a call; raises what Python raises where there is nothing. ``register`` gives other ones."""
    match read:
        case p.Argument(index):
            return arguments[index]
        case p.Global(namespace, name):
            return namespace[name] if name in namespace else builtins_of(namespace)[name]
        case p.Cell(cell):
            return cell.cell_contents
        case p.Item(parent, key):
            return register(parent)[key]
        case p.Attribute(parent, name):
            return getattr(register(parent), name)
        case p.Contents(parent):
            return register(parent)._at_home
        case p.Made(function, parents):
            return function(*map(register, parents))


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
    if isinstance(value, tuple | frozenset):
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


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """The builtins that code with these globals sees."""
    found = namespace.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


def array_fits(leaf: p.ArrayLeaf, array: Any) -> bool:
    """Whether an object is an array of the leaf's class."""
    return (
        type(array) is np.ndarray
        and dtype_fits(leaf.dtype, array.dtype)
        and array.ndim == leaf.rank
        and array.flags.aligned
        and (array.flags.writeable or not leaf.writeable)
        and all(one is None or one == (dim == 1) for one, dim in zip(leaf.ones, array.shape, strict=True))
        and p.layout_of(array) == leaf.layout
    )


def dtype_fits(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is this one in native byte order; metadata does not matter."""
    numbers = {candidate.num for candidate in (numpy_dtype(name), *same_layout_dtypes(name))}
    return dtype.num in numbers and dtype.isnative


def scalar_types(leaf: p.ScalarLeaf) -> tuple[type, ...]:
    """The exact types that a scalar leaf accepts."""
    if leaf.kind == "python":
        return (PYTHON_SCALARS[leaf.dtype],)
    return tuple(dtype.type for dtype in (numpy_dtype(leaf.dtype), *same_layout_dtypes(leaf.dtype)))
