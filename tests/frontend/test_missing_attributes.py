"""Attributes that there are not: Python's own error, whoever is asked, by an attribute or by `getattr`."""

from __future__ import annotations

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
