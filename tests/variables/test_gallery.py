"""The programs of the gallery with variables in the place of arrays: the same results, and the same updates."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same, assert_same
from tests.gallery import PROGRAMS, example, plain
from tests.sampled import sampled
from tests.test_programs import TOLERANCES


@pytest.fixture(scope="module", autouse=True)
def entry() -> None:
    """One entry is enough here."""


def with_variables(thing: Any) -> Any:
    """The structure with a variable for each array that can be one."""
    if type(thing) is np.ndarray:
        return jitflow.Variable(thing)
    if type(thing) in (tuple, list):
        return type(thing)(map(with_variables, thing))
    return thing


def with_arrays(thing: Any) -> Any:
    """The structure with what the variables hold."""
    if isinstance(thing, jitflow.Variable):
        return np.array(thing)
    if type(thing) in (tuple, list):
        return type(thing)(map(with_arrays, thing))
    return thing


@pytest.mark.parametrize("name", sampled(PROGRAMS, 4))
def test_it_gives_what_python_gives(name: str) -> None:
    arguments = example(name)
    ours, theirs = with_variables(arguments), copy.deepcopy(arguments)
    found = jitflow.function(plain(name))(*ours)
    assert_same(with_arrays(found), plain(name)(*theirs), TOLERANCES[name])
    assert_all_same(with_arrays(ours), theirs, TOLERANCES[name])
