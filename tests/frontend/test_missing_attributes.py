"""Attributes that there are not: Python's own error, whoever is asked, by an attribute or by `getattr`."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.grown import grown_dict, grown_list, grown_text

MAKERS: list[Callable[[int], Any]] = [
    grown_list,
    grown_dict,
    grown_text,
    lambda n: n,
    lambda n: n * 1.5,
    lambda n: n if n > 2 else n * 1.5,
    lambda n: len(np.ones(n)),
    lambda n: np.float32(n),
    lambda n: np.ones(n),
    lambda n: f"{n}",
    lambda n: (1, n),
    lambda n: None,
    lambda n: range(n),
    lambda n: np.random.default_rng(n),
    lambda n: ValueError(n),
    lambda n: int,
]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", ["nope", "__nope__"])
def test_attributes_that_there_are_not(maker: Callable[[int], Any], name: str) -> None:
    if name == "nope":
        programs = [lambda n: maker(n).nope, lambda n: getattr(maker(n), name)]
    else:
        programs = [lambda n: maker(n).__nope__, lambda n: getattr(maker(n), name)]
    for program in programs:
        with pytest.raises(AttributeError, match=f"object( 'int')? has no attribute '{name}'"):
            jitflow.function(program)(5)
    assert jitflow.function(lambda n: (hasattr(maker(n), name), getattr(maker(n), name, 3)))(5) == (False, 3)


@pytest.mark.parametrize("thing", [3, 2.5, True, np.float32(2), np.ones((2, 3))], ids=repr)
def test_what_stands_for_a_thing_has_what_its_class_has(thing: Any) -> None:
    def asked(x: Any) -> Any:
        names = ["dtype", "shape", "value", "_value", "is_python_number", "__array__", "__array_namespace__", "real"]
        things = x, int, float, bool, np.shape(x)
        found = [hasattr(one, name) for one in things for name in names]
        return found, getattr(int, "dtype", 4), getattr(x, "value", 5)

    assert jitflow.function(asked)(thing) == asked(thing)


class Thing:
    value = 2.0


MODULE = types.ModuleType("module")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda x, thing: thing.nope, "has no attribute 'nope'"),
        (lambda x, thing: x.nope, "'numpy.ndarray' object has no attribute 'nope'"),
        (lambda x, thing: [].nope, "'list' object has no attribute 'nope'"),  # type: ignore[attr-defined]
        (lambda x, thing: np.nope, "module 'numpy' has no attribute 'nope'"),
        (lambda x, thing: MODULE.nope, "has no attribute 'nope'"),
        (lambda x, thing: nope, "name 'nope' is not defined"),  # type: ignore[name-defined]  # noqa: F821
        (lambda x, thing: x.sum(axis=3), "axis 3 is out of bounds"),
    ],
)
def test_on_a_path_it_is_raised_where_the_program_comes_to_it(asked: Any, message: str) -> None:
    @jitflow.function
    def program(x: Any, thing: Any) -> Any:
        if x[0] > 1:
            return asked(x, thing)
        return x[0] * thing.value

    assert program(np.arange(3.0), Thing()) == 0
    with pytest.raises((AttributeError, NameError, np.exceptions.AxisError), match=message):
        program(np.arange(3.0) + 2, Thing())


def test_a_member_that_a_module_gets_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    @jitflow.function
    def program(x: Any) -> Any:
        return np.nope if x > 1 else x  # type: ignore[attr-defined]

    assert program(1.0) == 1
    with pytest.raises(AttributeError):
        program(2.0)
    monkeypatch.setattr(np, "nope", 5.0, raising=False)
    assert program(2.0) == 5
