"""Runs a random program with Python and compiled, and compares all that a user can see.

Results: classes, dtypes, shapes, values to the last bit (zeros of both signs are one: which of them is the extreme one
depends on the order). Where a bool of Python's meets one of NumPy's behind a decision, it is NumPy's. Arguments
afterwards, whether the call returned or raised. Exceptions: their class, and what the program says in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import UserError, UserNotImplementedError
from tests.compare import EXACT, assert_same
from tests.truth.quiet import quiet
from tests.truth.run import Refused, define
from tests.truth.whole.arguments import Call, made
from tests.truth.whole.kinds import Kind

__all__ = ["Refused", "Wrong", "check", "define"]

_REFUSALS = ("has no common type", "on one path and", "needs a size that is known only")


class Wrong(AssertionError):
    """The compiled program did not do what Python does."""


@dataclass(frozen=True)
class Outcome:
    result: Any
    error: BaseException | None
    arguments: Mapping[str, Any]


def check(source: str, parameters: Mapping[str, Kind], calls: Sequence[Call]) -> None:
    """Compare each call. Raises `Wrong`, or `Refused`."""
    plain, compiled = define(source), jitflow.function(define(source))
    for number, call in enumerate(calls):
        known = compiled.cache_info().currsize
        expected, found = _outcome(plain, call, parameters), _outcome(compiled, call, parameters)
        early = found.error is not None and compiled.cache_info().currsize == known
        try:
            _compare(expected, found, early)
        except AssertionError as problem:
            raise Wrong(f"call {number} {call}: {problem}") from found.error
        if found.error is None:
            before = compiled.cache_info().misses
            _compare(expected, _outcome(compiled, call, parameters))
            assert compiled.cache_info().misses == before, f"call {number} {call} compiled again"


def _outcome(function: Any, call: Call, parameters: Mapping[str, Kind]) -> Outcome:
    arguments = made(call, parameters)
    with quiet():
        try:
            return Outcome(function(*arguments.values()), None, arguments)
        except (Exception, jitflow.CompilerBug) as error:
            return Outcome(None, error, arguments)


def _compare(expected: Outcome, found: Outcome, early: bool = False) -> None:
    """``early``: the exception was raised while tracing, before anything was stored."""
    wanted, got = expected.error, found.error
    if early and wanted is not None and got is not None:
        return  # what tracing tells comes before what an earlier line raises
    if got is not None and (wanted is None or not isinstance(got, _python_class(wanted))):
        if isinstance(got, UserNotImplementedError) or (
            isinstance(got, UserError) and any(text in str(got) for text in _REFUSALS)
        ):
            raise Refused(f"{type(got).__name__}: {got}") from got
        raise Wrong(f"expected {wanted!r}, got {got!r}{_notes(got)}") from got
    if wanted is not None and got is None:
        raise Wrong(f"expected {wanted!r}, got {found.result!r}")
    if str(wanted).startswith("raised") and str(got).partition("\n")[0] != str(wanted):
        raise Wrong(f"expected {wanted!r}, got {got!r}")
    if wanted is None:
        _same(found.result, expected.result, "result")
    if early:
        return
    for name, value in expected.arguments.items():
        if isinstance(value, np.ndarray):
            when = f" when it raised {wanted!r}" if wanted is not None else ""
            _same(found.arguments[name], value, f"argument {name}{when}")
            if value.base is not None:
                _same(found.arguments[name].base, value.base, f"what argument {name} is a view of{when}")


def _same(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, bool) and isinstance(found, np.bool_):
        wanted = np.bool_(wanted)
    assert type(found) is type(wanted), f"{what}: expected {type(wanted)}, got {type(found)}"
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted), f"{what}: expected {len(wanted)} items, got {len(found)}"
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            _same(one, other, f"{what}[{place}]")
        return
    unsigned = isinstance(wanted, np.ndarray | np.floating) and wanted.dtype.kind == "f"
    try:
        assert_same(found + 0 if unsigned else found, wanted + 0 if unsigned else wanted, EXACT, what)
    except AssertionError as problem:
        raise Wrong(f"{problem}\n   expected {wanted!r}\n   got {found!r}") from None


def _python_class(error: BaseException) -> type[BaseException]:
    return next(kind for kind in type(error).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))


def _notes(error: BaseException) -> str:
    return "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
