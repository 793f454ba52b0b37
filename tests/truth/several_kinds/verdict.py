"""What became of a program: does the compiled one do, in each call, all that Python does?

Compared are results, through tuples, lists and dicts: classes, dtypes, shapes, bits; which results are one object with
each other or with an argument, and which share memory; the arguments afterwards; the class of what was raised. Where
NumPy leaves the answer to the processor (a float that is cast to integers which cannot hold it, as it stands or between
the steps of a reduction), a call does not count.

Refused is what is said not to be compiled, and also a mistake that is found while tracing, though no call of Python's
came there: the user reads of it at its line, and what to do.
"""

from __future__ import annotations

import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import JitflowError, UserError, UserNotImplementedError
from tests.compare import assert_same
from tests.truth.run import define
from tests.truth.several_kinds.programs import Call, Program, arguments

__all__ = ["SECONDS", "Hang", "Verdict", "verdict"]

SECONDS = 20
"""How long one call may take, its compilation included."""
PYTHONS_SECONDS = 5
"""A call that Python takes longer for does not count: a range over a sum of large numbers."""

_OWN_WORDS = ("does not fit into a 64-bit int", "is None here")
"""Limits of compiled code that have their mend from the table of messages."""

_LEFT_OPEN = re.compile("encountered in (cast|reduce)$")
"""Warnings of a result that depends on the processor, or may."""


class Hang(BaseException):
    """The time is over. No program catches it."""


@dataclass(frozen=True)
class Verdict:
    """What is said of a program, or of one call."""

    kind: str
    """One of ``equal raised early refused wrong bug hang``. ``raised``: Python raises in each call, and so do we.
    ``early``: what Python raises in one call is said in another that does not come there."""
    text: str = ""
    mend: str = ""
    call: Call | None = None
    ran: bool = False
    """Whether Python ran without an error, in some call."""


@dataclass(frozen=True)
class _Outcome:
    result: Any
    error: BaseException | None
    given: tuple[Any, ...]
    undefined: bool = False


_RANK = ("raised", "equal", "early", "refused", "wrong", "bug", "hang")


def verdict(program: Program, calls: Sequence[Call]) -> Verdict:
    """Run all calls; the worst of what they give."""
    plain, compiled = define(program.source), jitflow.function(define(program.source))
    found = [_one_call(program, call, plain, compiled) for call in calls]
    raised = {one.text for one in found if one.kind == "raised"}
    found = [replace(one, kind="early") if one.kind == "refused" and one.text in raised else one for one in found]
    return replace(max(found, key=lambda one: _RANK.index(one.kind)), ran=any(one.ran for one in found))


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _one_call(program: Program, call: Call, plain: Any, compiled: Any) -> Verdict:
    try:
        with _alarm(PYTHONS_SECONDS):
            expected = _outcome(plain, arguments(program, call))
    except Hang:
        return Verdict("raised")
    if expected.undefined:
        return Verdict("raised")
    known = compiled.cache_info()
    try:
        with _alarm(SECONDS):
            found = _outcome(compiled, arguments(program, call))
    except Hang:
        return Verdict("hang", f"more than {SECONDS} seconds", call=call)
    got, wanted = found.error, expected.error
    while_tracing = compiled.cache_info() == known
    if isinstance(got, jitflow.CompilerBug) or (got is not None and not isinstance(got, Exception)):
        return Verdict("bug", f"{got}".partition("\n")[0], call=call, ran=wanted is None)
    if got is not None and (wanted is None or not isinstance(got, _python_class(wanted))):
        refusal = isinstance(got, UserNotImplementedError) or any(words in str(got) for words in _OWN_WORDS)
        if wanted is None and (while_tracing or refusal):
            return Verdict("refused", _message(got), got.mend if isinstance(got, UserError) else "", call, ran=True)
        if refusal or (while_tracing and isinstance(got, UserError)):
            return Verdict("raised", _message(wanted))  # what tracing tells comes before what an earlier line raises
    try:
        _compare(expected, found)
    except AssertionError as problem:
        return Verdict("wrong", str(problem), call=call, ran=wanted is None)
    return Verdict("raised", _message(wanted)) if wanted is not None else Verdict("equal", ran=True)


def _outcome(function: Any, given: tuple[Any, ...]) -> _Outcome:
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
        np.seterr(invalid="warn")
        warnings.simplefilter("always")
        try:
            result, error = function(*given), None
        except (Exception, jitflow.CompilerBug) as problem:
            result, error = None, problem
    undefined = any(_LEFT_OPEN.search(str(one.message)) for one in caught)
    return _Outcome(result, error, given, undefined)


def _compare(expected: _Outcome, found: _Outcome) -> None:
    wanted, got = expected.error, found.error
    assert got is None or wanted is not None, f"expected {expected.result!r}, got {_named(got)}"
    if wanted is not None:
        assert got is not None, f"expected {_named(wanted)}, got {found.result!r}"
        assert isinstance(got, _python_class(wanted)), f"expected {_named(wanted)}, got {_named(got)}"
    else:
        _same(found.result, expected.result, "the result")
        _same_objects(expected, found)
    for name, ours, theirs in zip("abcns", found.given, expected.given, strict=True):
        _same(ours, theirs, f"argument {name} afterwards{'' if wanted is None else f' ({_named(wanted)})'}")


def _same(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, list | tuple | dict):
        assert type(found) is type(wanted), f"{what}: expected {type(wanted)}, got {type(found)}"
        assert len(found) == len(wanted), f"{what}: expected {wanted!r}, got {found!r}"
        if isinstance(wanted, dict):
            assert list(found) == list(wanted), f"{what}: expected keys {list(wanted)}, got {list(found)}"
            found, wanted = list(found.values()), list(wanted.values())
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            _same(one, other, f"{what}[{place}]")
    elif wanted is None or isinstance(wanted, int):
        equal = type(found) is type(wanted) and found == wanted
        assert equal, f"{what}: expected {wanted!r} of {type(wanted)}, got {found!r} of {type(found)}"
    else:
        assert_same(found, wanted, what=what)


def _same_objects(expected: _Outcome, found: _Outcome) -> None:
    """What is one object, or one memory, among arguments and results."""
    wanted, got = _objects((expected.given, expected.result)), _objects((found.given, found.result))
    for (place, one), (other_place, other) in combinations(enumerate(wanted), 2):
        ours, theirs = got[place], got[other_place]
        what = f"objects {place} and {other_place}, {one!r} and {other!r}"
        if not isinstance(one, np.generic):
            assert (ours is theirs) == (one is other), f"{what} are one: expected {one is other}"
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            shared = np.shares_memory(one, other)
            assert np.shares_memory(ours, theirs) == shared, f"{what} share memory: expected {shared}"


def _objects(value: Any) -> list[Any]:
    """The arrays, lists and dicts in a value, in order."""
    if isinstance(value, tuple):
        return [item for part in value for item in _objects(part)]
    if isinstance(value, list | dict):
        return [value, *_objects(tuple(value.values() if isinstance(value, dict) else value))]
    return [value] if isinstance(value, np.ndarray) else []


def _python_class(error: BaseException) -> type[BaseException]:
    return next(kind for kind in type(error).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))


def _message(error: BaseException) -> str:
    return f"{_python_class(error).__name__}: {error}".partition("\n")[0]


def _named(error: BaseException | None) -> str:
    own = " (jitflow)" if isinstance(error, JitflowError) else ""
    return f"{type(error).__name__}{own}: {error}".partition("\n")[0]
