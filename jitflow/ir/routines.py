"""Routines: library functions and callbacks that a program calls with arrays and numbers, and gets such back from.

A routine is known by its name. That of a library function is its dotted path, ``numpy.linalg.solve``, which anybody can
look up. A function of the user's has no such path: its name is a `Routine`, a string that carries the function, so that
whoever holds the op holds the function too.

How a routine is called stands beside its name in the op: which operands go by keyword (``keywords``) and what else it
gets (``options``, pairs of name and value). `run_routine` is that call, for the interpreter and compiled code alike.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from jitflow.ir.dtypes import DType
from jitflow.ir.routine_table import GPU_ROUTINES, row_of

__all__ = ["Routine", "RoutineResultError", "adopt_results", "argument_of", "call_of", "comes_with_memory",
           "flags_ignored", "is_quick", "is_silent", "keeps_arguments", "numbers_of", "options_of", "prepared",
           "quiet_function", "results_of", "routine_function", "routine_on_gpu", "run_routine",
           "without_warnings"]  # fmt: skip

T = TypeVar("T")
_LIBRARIES = ("numpy", "scipy", "jitflow")


class Routine(str):
    """The name of a function that has no path. Its arguments are copies, which it may keep, unless it ``borrows``."""

    function: Callable[..., Any]
    borrows: bool

    @staticmethod
    def of(function: Callable[..., Any], name: str, *, borrows: bool = False) -> Routine:
        """``function``, called ``name`` in the text form. If it ``borrows``, it gets the program's own memory.

        Then it may read its arguments as long as it runs.
        """
        routine = Routine(name)
        routine.function, routine.borrows = function, borrows
        return routine


def keeps_arguments(name: str) -> bool:
    """Whether a routine may keep what it gets, and so gets copies."""
    return isinstance(name, Routine) and not name.borrows


class RoutineResultError(TypeError):
    """A routine returned something else than was declared."""


def routine_function(name: str) -> Callable[..., Any]:
    """What a name stands for. Raises KeyError for a name that is neither a path nor carries its function."""
    return name.function if isinstance(name, Routine) else _found(row_of(name).quicker or name)


def routine_on_gpu(name: str) -> Callable[..., Any]:
    """What does the same on a GPU; its first argument is cupy."""
    return _found(f"{GPU_ROUTINES}.{row_of(name).gpu}")


@cache
def _found(path: str) -> Callable[..., Any]:
    library, *_ = path.split(".")
    module, _, name = path.rpartition(".")
    if library not in _LIBRARIES or not module:
        raise KeyError(f"{path}: the function is known only to the program that was traced with it")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def run_routine(
    name: str, arguments: Sequence[Any], keywords: Sequence[str], options: Sequence[tuple[str, Any]], count: int
) -> Sequence[Any]:
    """The ``count`` results of a routine. ``keywords`` says how each argument goes, ``""`` being by position."""
    return results_of(name, prepared(name, keywords, options)(arguments), count)


def prepared(name: str, keywords: Sequence[str], options: Sequence[tuple[str, Any]]) -> Callable[[Sequence[Any]], Any]:
    """A function of the arguments that calls a routine, in the way that is quickest for it."""
    call = call_of(routine_function(name), keywords, options)
    if is_silent(name):
        return call
    quiet = without_warnings if row_of(name).warns else _without_flags
    return lambda arguments: quiet(call, arguments)


def call_of(
    function: Callable[..., Any], keywords: Sequence[str], options: Sequence[tuple[str, Any]]
) -> Callable[[Sequence[Any]], Any]:
    """A function of the arguments that passes them on, by keyword where they go so, with the options."""
    known, named = options_of(options), [(place, key) for place, key in enumerate(keywords) if key]

    def plainly(arguments: Sequence[Any]) -> Any:
        return function(*arguments, **known)

    def by_keyword(arguments: Sequence[Any]) -> Any:
        given = {key: arguments[place] for place, key in named}
        rest = [argument for place, argument in enumerate(arguments) if place >= len(keywords) or not keywords[place]]
        return function(*rest, **given, **known)

    return by_keyword if named else plainly


def comes_with_memory(attributes: Mapping[str, Any], dims: Sequence[int]) -> bool:
    """Whether the caller of an ``invoke`` makes the memory of a result with these dims."""
    return any(number >= 0 for number in dims) or bool(dims and attributes.get("makes"))


def numbers_of(takes: Sequence[tuple[DType, int | str]], operands: Sequence[T]) -> list[T]:
    """Which operands of an ``invoke`` are memory of the host in a program for a GPU: through them go numbers.

    A call that takes nothing else is one of Python's, with numbers as its results.
    """
    if all(isinstance(kind, str) for _, kind in takes):
        return [*operands]
    places = accumulate((1 + 2 * (kind if isinstance(kind, int) else 0) for _, kind in takes), initial=0)
    return [operands[place] for place, (_, kind) in zip(places, takes, strict=False) if isinstance(kind, str)]


def options_of(options: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The options as keywords."""
    return {key: _plain(value) for key, value in options}


def is_silent(name: str) -> bool:
    """Whether a routine raises no floating-point flags that NumPy would warn of."""
    return isinstance(name, Routine) or row_of(name).silent


def is_quick(name: str) -> bool:
    """Whether a routine of a library may be called without anything around it but ignored flags."""
    return not isinstance(name, Routine) and (is_silent(name) or flags_ignored()[0] is not None)


def quiet_function(name: str) -> Callable[..., Any]:
    """A function of a library which, called with flags ignored and arrays of NumPy's own class, says nothing.

    For these NumPy need not ask the arguments for a function of their own.
    """
    function = routine_function(name)
    function = getattr(function, "_implementation", function)
    if not row_of(name).warns:
        return function

    def quiet(*arguments: Any, **keywords: Any) -> Any:
        with _FILTERS, warnings.catch_warnings(action="ignore"):
            return function(*arguments, **keywords)

    return quiet


@cache
def flags_ignored() -> tuple[Any, Any]:
    """NumPy's context variable for floating-point errors and its value where all are ignored; None if it has none."""
    module = importlib.import_module("numpy._core._multiarray_umath")
    variable, make = (getattr(module, name, None) for name in ("_extobj_contextvar", "_make_extobj"))
    return (None, None) if variable is None or make is None else (variable, make(all="ignore"))


def results_of(name: str, result: Any, count: int) -> Sequence[Any]:
    """What a routine returned, as ``count`` results."""
    if count == 1:
        return (result,)
    if count == 0:
        return ()
    if not isinstance(result, tuple | list) or len(result) != count:
        raise RoutineResultError(f"{name} returned {_described(result)}, expected {count} results")
    return result


_FILTERS = threading.Lock()


def without_warnings(call: Callable[[Sequence[Any]], Any], arguments: Sequence[Any]) -> Any:
    """Call with warnings off. The filters are the process's, so one thread at a time changes them."""
    with _FILTERS, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        return call(arguments)


def _without_flags(call: Callable[[Sequence[Any]], Any], arguments: Sequence[Any]) -> Any:
    with np.errstate(all="ignore"):
        return call(arguments)


def _plain(value: Any) -> Any:
    """An attribute as the routine takes it."""
    return value.numpy if isinstance(value, DType) else value


def adopt_results(
    name: str,
    results: Sequence[Any],
    dtypes: Sequence[DType],
    shapes: Sequence[Sequence[int]],
    fresh: Sequence[Sequence[int]],
    as_array: Callable[[Any], Any] = np.asarray,
) -> tuple[list[Any], dict[int, int]]:
    """The results as arrays, and the sizes that they bind. ``as_array`` makes an array of what is none.

    Axis k of result i must have ``shapes[i][k]`` elements, or, where ``fresh[i][k]`` is not negative, as many as every
    other axis of that number. Raises `RoutineResultError` where dtype or shape are others than declared.
    """
    found: dict[int, int] = {}
    arrays = []
    for result, dtype, shape, numbers in zip(results, dtypes, shapes, fresh, strict=True):
        array = as_array(result)
        fits = array.dtype == dtype.numpy and array.ndim == len(shape)
        if fits:
            for size, wanted, number in zip(array.shape, shape, numbers, strict=True):
                fits = fits and size == (wanted if number < 0 else found.setdefault(number, size))
        if not fits:
            sizes = [str(s) if n < 0 else str(found.get(n, "?")) for s, n in zip(shape, numbers, strict=True)]
            expected = f"an array of dtype {dtype.numpy} and shape ({', '.join(sizes)}{',' * (len(sizes) == 1)})"
            raise RoutineResultError(f"{name} returned {_described(result)}, expected {expected}")
        arrays.append(array)
    return arrays, found


def _described(result: Any) -> str:
    if hasattr(result, "dtype") and not isinstance(result, np.generic):
        return f"an array of dtype {result.dtype} and shape {result.shape}"
    if isinstance(result, np.generic | int | float | complex):
        return f"the number {result!r} of type {type(result).__name__}"
    return "None" if result is None else f"an object of type {type(result).__name__}"


def argument_of(array: np.ndarray[Any, Any], kind: int | str, *, copied: bool = False) -> Any:
    """What a routine gets for an operand: an array, or for the kinds ``numpy`` and ``python`` the number in it."""
    if kind == "python":
        return array.item()
    return array[()] if kind == "numpy" else array.copy() if copied else array
