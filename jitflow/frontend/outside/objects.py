"""What an object outside is to the recorder: questions about its kind."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Iterator
from types import BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import Any

import numpy as np

from jitflow.frontend.outside.purity import is_foreign_impure, is_pure_module

__all__ = [
    "CACHED_FUNCTION",
    "C_METHODS",
    "MARKS",
    "Recorded",
    "array_fields",
    "is_compiled",
    "is_constant",
    "is_frozen",
    "is_made",
    "is_numpy_function",
    "is_plain_class",
]

CACHED_FUNCTION = type(functools.lru_cache(max))
"""What `functools.lru_cache` makes: its function is traced anew, because the results would be tracers."""


class Recorded:
    """An object of the program whose changes are ops, so that regions need not look for them."""

    may_change = False
    """Whether it is a list that the program may change."""
    register: int | None = None
    """Where the very object is found, if it is one of the caller's."""
    is_text = False
    """Whether it is text."""
    flows = False
    """Whether it is a reference, which paths may hand on and return as it is."""

    @property
    def length(self) -> Any:
        """``len(self)``."""
        raise NotImplementedError

    def truth(self) -> Any:
        """Whether Python takes it as true, as a bool of the running program."""
        raise NotImplementedError

    def settled(self) -> Any:
        """What it holds now: an object around arrays."""
        raise NotImplementedError

    def contains(self, item: Any) -> Any:
        """``item in self``."""
        raise NotImplementedError

    def is_same(self, other: Any) -> Any:
        """``self is other``, of two references."""
        raise NotImplementedError

    def entered(self) -> Any:
        """What a loop through it asks for items."""
        return self

    def known_items(self) -> Iterator[Any] | None:
        """What a loop goes through, if that is known while tracing."""
        return None

    def returned(self) -> Any:
        """The same, where the program returns it."""
        raise NotImplementedError


MARKS = (type(np._NoValue), type(dataclasses.MISSING), type(getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None)))
"""The classes of what stands for defaults that there are not, and in dataclasses for those that are to be made."""
C_METHODS = (BuiltinFunctionType, MethodWrapperType, WrapperDescriptorType, MethodDescriptorType)
"""Functions and methods written in C."""


def is_compiled(thing: Any) -> bool:
    """Whether this is a function that `jitflow.function` made."""
    return getattr(type(thing), "__jitflow_compiled__", False) is True


def is_made(function: Any) -> bool:
    """Whether this is a function of jitflow's that is made of the user's, which it has in its cells."""
    return getattr(function, "__jitflow_made__", False) is True


def array_fields(kind: type) -> tuple[str, ...]:
    """The attributes of jitflow's own objects that are arrays of the program, such as the state of a generator.

    The constructor of such a class takes them by name. The object is made anew around traced arrays.
    """
    names: tuple[str, ...] = vars(kind).get("__jitflow_arrays__", ())
    return names


def is_plain_class(kind: type) -> bool:
    """A class that may be used as it is: Python's, NumPy's, exceptions and enumerations."""
    return (
        is_pure_module(kind.__module__)
        or is_foreign_impure(kind.__module__)
        or issubclass(kind, BaseException | enum.Enum)
    )


def is_numpy_function(thing: Any) -> bool:
    """One of the callables that NumPy and scipy.special make their functions of."""
    return type(thing).__module__.startswith(("numpy", "scipy.special"))


def is_constant(thing: Any) -> bool:
    """A value that a compiled function may return as it is."""
    return (
        thing is None
        or thing is Ellipsis
        or thing is NotImplemented
        or type(thing) in (bool, int, float, complex, str, bytes, slice, range)
        or isinstance(thing, np.generic | np.dtype | type | enum.Enum)
    )


def is_frozen(value: Any) -> bool:
    """A value that cannot change as long as it is the same object."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(is_frozen, value))
    return (
        value is None
        or isinstance(value, MARKS)
        or type(value) in (bool, int, float, complex, str, bytes, slice, range)
        or isinstance(value, np.number | np.bool_ | np.dtype | enum.Enum)
        or (isinstance(value, type) and is_plain_class(value))
    )
