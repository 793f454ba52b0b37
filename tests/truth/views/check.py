"""Runs a program about views with Python and compiled, and compares all that the caller can find out.

The exception, its class and its words; the forms and types of the results, whether they may be written to, how views of
arguments lie, and of which argument they are; which arrays among arguments and results are one object, and which share
memory; what all hold; and what all hold after an element of each result was written to, one result after the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.quiet import quiet
from tests.truth.run import Refused, define
from tests.truth.views.programs import Call, Program, arguments_of

__all__ = ["Refused", "Wrong", "check"]


class Wrong(AssertionError):
    """The compiled program did not do what Python does."""


def check(program: Program, calls: Sequence[Call]) -> None:
    """Compare each call, twice. Raises `Wrong`, or `Refused`."""
    plain, compiled = define(program.source), jitflow.function(define(program.source))
    for number, call in enumerate(calls):
        with quiet():
            wanted = _observed(plain, arguments_of(program, call))
            for _ in range(2):
                found = _observed(compiled, arguments_of(program, call))
                _compare(wanted, found, f"call {number} {call}")


def _observed(function: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    try:
        result, error = function(*arguments), None
    except (Exception, jitflow.CompilerBug) as problem:
        result, error = None, problem
    results = list(_arrays(result))
    every = [*_arrays(arguments[:2]), *results]
    shared = [[_share(one, other) for other in every] for one in every]
    seen: dict[str, Any] = {
        "error": error,
        "form": _form(result),
        "type": [(one.dtype.str, one.shape) for one in results],
        "values": list(map(_bytes, every)),
        "one": [[one is other for other in every] for one in every],
        "owner": [[_owner(one) is argument for argument in arguments[:2]] for one in results],
        "shared": shared,
    }
    for place, one in enumerate(results):
        if one.flags.writeable and one.size:
            one[tuple(size - 1 for size in one.shape)] = place + 7
            one[tuple(min(1, size - 1) for size in one.shape)] = place + 8
            seen[f"written {place}"] = list(map(_bytes, every))
    seen |= {
        "writeable": [one.flags.writeable for one in results],
        "layout": [_strides(one) for one, row in zip(results, shared[2:], strict=True) if any(row[:2])],
    }
    return seen


def _compare(wanted: dict[str, Any], found: dict[str, Any], call: str) -> None:
    expected, got = wanted["error"], found["error"]
    if isinstance(got, UserNotImplementedError):
        raise Refused(f"{type(got).__name__}: {got}") from got
    if _said(expected) != _said(got):
        raise Wrong(f"raised: {call}: expected {expected!r}, got {got!r}") from got
    for what, one in wanted.items():
        if what != "error" and found.get(what) != one:
            raise Wrong(f"{what}: {call}: expected\n  {one}, got\n  {found.get(what)}")


def _owner(array: Any) -> Any:
    """The array whose memory a view shows, by way of what NumPy puts in between."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _said(error: Exception | None) -> str:
    """The class of an exception, which of jitflow's is a base, and NumPy's words."""
    if error is None:
        return "nothing"
    kind = next(
        one for one in type(error).__mro__ if one.__module__ == "builtins" or one.__module__.startswith("numpy")
    )
    return f"{kind.__name__}: {error}".partition("\n")[0]


def _arrays(thing: Any) -> Iterator[Any]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from _arrays(part)
    elif isinstance(thing, dict):
        yield from _arrays([*thing.values()])
    elif dataclasses.is_dataclass(thing):
        yield from _arrays([getattr(thing, field.name) for field in dataclasses.fields(thing)])


def _form(thing: Any) -> Any:
    if isinstance(thing, np.ndarray):
        return "array"
    if isinstance(thing, dict):
        return {key: _form(part) for key, part in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(map(_form, thing))
    if dataclasses.is_dataclass(thing):
        return type(thing).__name__, [_form(getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    return repr(thing)


def _strides(array: Any) -> tuple[int, ...]:
    """How an array lies, as far as that says something."""
    return tuple(step for step, size in zip(array.strides, array.shape, strict=True) if size > 1) if array.size else ()


def _bytes(array: Any) -> bytes:
    return (array + array.dtype.type(0)).tobytes() if array.dtype.kind in "fc" else array.tobytes()


def _share(one: Any, other: Any) -> bool:
    return bool(np.shares_memory(one, other))
