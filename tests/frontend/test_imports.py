"""Imports inside of programs, those that fail among them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same

X = np.arange(3.0)


def a_module_that_there_is_not(x: Any) -> Any:
    try:
        import no_module_of_anybody  # type: ignore[import-not-found]
    except ImportError:
        return x + 1
    return no_module_of_anybody.of(x)


def a_part_of_a_module_that_there_is_not(x: Any) -> Any:
    try:
        import no_module_of_anybody.inner as inner  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        inner = None
    return x if inner is None else inner.of(x)


def a_name_that_a_module_lacks(x: Any) -> Any:
    try:
        from numpy import nothing_like_that  # type: ignore[attr-defined]
    except ImportError as error:
        return x * 2, str(error)
    return nothing_like_that(x)


def one_that_succeeds(x: Any) -> Any:
    try:
        from numpy.linalg import norm
    except ImportError:
        return x
    return norm(x)


@pytest.mark.parametrize("program", [
    a_module_that_there_is_not, a_part_of_a_module_that_there_is_not, a_name_that_a_module_lacks, one_that_succeeds,
])  # fmt: skip
def test_the_program_catches_what_an_import_raises(program: Any) -> None:
    assert_same(jitflow.function(program)(X), program(X))


def test_a_module_that_comes_later_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = jitflow.function(a_module_that_there_is_not)
    assert_same(compiled(X), X + 1)
    module = ModuleType("no_module_of_anybody")
    module.of = lambda x: x * 5  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    assert_same(compiled(X), X * 5)


def test_what_nobody_catches_is_what_python_raises() -> None:
    def program(x: Any) -> Any:
        import no_module_of_anybody

        return no_module_of_anybody.of(x)

    with pytest.raises(ModuleNotFoundError, match="No module named 'no_module_of_anybody'"):
        jitflow.function(program)(X)
