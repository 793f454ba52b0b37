"""Imports inside of programs, those that fail among them."""

from __future__ import annotations

import json
import sys
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


def test_modules_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        later = sys.modules.get("no_module_of_anybody")
        if later is not None:
            return later.of(x)
        try:
            return sys.modules["no_module_of_anybody"].of(x)
        except KeyError as error:
            return sys.modules.get("numpy").abs(x), str(error), "numpy" in sys.modules, "no_such" in sys.modules

    compiled = jitflow.function(program)
    assert_same(compiled(-X), program(-X))
    module = ModuleType("no_module_of_anybody")
    module.of = lambda x: x * 5  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert_same(compiled(X), X * 5)
    monkeypatch.setitem(sys.modules, module.__name__, None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'of'"):
        compiled(X)
    monkeypatch.delitem(sys.modules, module.__name__)
    assert_same(compiled(-X), program(-X))
    with pytest.raises(jitflow.UserError, match=r"sys\.modules is not known to be pure"):
        jitflow.function(lambda: len(sys.modules))()


def test_a_module_is_one_thing_by_all_its_names() -> None:
    def program(one: Any, other: Any) -> Any:
        import json as inner

        import numpy

        named = {one: 1, numpy: 2, other: 3, inner: 4}
        asked = one in (json, np), sys.modules["numpy"] is one, one is other, one != other
        return numpy is np, one is np, one == np, inner is json, other is inner, other == json, len(named), asked

    assert jitflow.function(program)(np, json) == program(np, json)
