"""Random programs with statements, on variables: Python's results and updates, or, where they raise, no update."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.quiet import quiet
from tests.truth.whole.arguments import made
from tests.truth.whole.check import _REFUSALS, _same, define
from tests.truth.whole.programs import program_of
from tests.variables.test_gallery import with_arrays


@pytest.fixture(scope="module", autouse=True)
def entry() -> None:
    """One entry is enough here."""


def _run(function: Any, arguments: dict[str, Any]) -> tuple[Any, BaseException | None]:
    with quiet():
        try:
            return function(*arguments.values()), None
        except (Exception, jitflow.CompilerBug) as error:
            return None, error


def check(seed: int, length: int = 3) -> int:
    """Compare every call of a program; returns how many raised when they ran."""
    text, calls = program_of(seed, length)
    plain, compiled = define(text.source), jitflow.function(define(text.source))
    raised = 0
    for call in calls:
        arguments = made(call, text.parameters)
        if any(np.may_share_memory(one, other) for one, other in combinations(_arrays(arguments), 2)):
            continue  # variables do not
        before = {name: np.array(value) for name, value in arguments.items() if _may_be_variable(value)}
        ours = {name: jitflow.Variable(value) if name in before else value for name, value in arguments.items()}
        expected, wanted = _run(plain, arguments)
        found, got = _run(compiled, ours)
        if isinstance(got, UserNotImplementedError) or any(words in str(got) for words in _REFUSALS):
            continue
        problem = f"seed {seed}, length {length}, {call}:\n{text.source}\nPython: {wanted!r}\ncompiled: {got!r}"
        assert (wanted is None) == (got is None), problem
        if wanted is None:
            _same(with_arrays(found), expected, problem)
        raised += wanted is not None
        for name, value in before.items():
            _same(np.array(ours[name]), arguments[name] if wanted is None else value, f"{name} of {problem}")
    return raised


def _arrays(arguments: dict[str, Any]) -> list[Any]:
    return [value for value in arguments.values() if isinstance(value, np.ndarray)]


def _may_be_variable(value: Any) -> bool:
    return type(value) is np.ndarray and value.base is None and value.flags.writeable and value.flags.c_contiguous


@pytest.mark.parametrize("part", range(3))
def test_programs(part: int) -> None:
    for seed in range(500 + 1000 * part, 500 + 1000 * part + 4):
        check(seed)


def test_some_raise() -> None:
    assert sum(check(seed) for seed in range(7000, 7012)) >= 1


@pytest.mark.stress
@pytest.mark.parametrize("part", range(40))
def test_more_programs(part: int) -> None:
    first = 200_000 + 1000 * part
    for seed in range(first, first + 60):
        check(seed)
    for seed in range(first + 500, first + 520):
        check(seed, length=5)
