"""Where Python asks for an integer, a float, a complex number or NumPy's bool is a TypeError, whatever is indexed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.grown import grown_deque, grown_list, grown_text
from tests.truth.whole.same import assert_does_what_python_does

PROGRAMS: list[Callable[[int, Any], Any]] = [
    lambda n, k: grown_list(n)[k],
    lambda n, k: grown_list(n).pop(k),
    lambda n, k: grown_list(n).insert(k, 3),
    lambda n, k: grown_list(n).__setitem__(k, 3),
    lambda n, k: grown_deque(n)[k],
    lambda n, k: list(range(n))[k],
    lambda n, k: (grown_text(n).find("c", k), grown_text(n).find("c", 0, k)),
    lambda n, k: (grown_text(n).count("c", k), grown_text(n).startswith("b", k)),
    lambda n, k: grown_text(n).replace("b", "x", k),
    lambda n, k: (grown_text(n).split("c", k), grown_text(n).split(None, k)),
    lambda n, k: (grown_text(n).center(k), grown_text(n).zfill(k)),
    lambda n, k: list(enumerate(grown_list(n), k)),
    lambda n, k: np.expand_dims(np.ones(n), k),
    lambda n, k: np.ones((n, 2)).sum(axis=k),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_only_integers_are_integers(program: Callable[[int, Any], Any]) -> None:
    for wrong in (1.0, 1 + 0j, np.float64(1), np.True_):
        with pytest.raises(TypeError):
            jitflow.function(program)(6, wrong)
    with pytest.raises(TypeError):
        jitflow.function(lambda n: program(n, n / 2))(6)
    assert_does_what_python_does(program, [(6, 1), (6, np.int8(1)), (6, 0)])


def test_counts_of_what_functions_without_control_flow_get() -> None:
    for program in (
        lambda n: grown_list(n).count(3),
        lambda n: grown_text(n).count("c"),
        lambda n: list(range(n)).count(2),
    ):
        assert_does_what_python_does(program, [(5,), (2,)])


def test_arrays_in_order_have_an_axis() -> None:
    for function in (np.asfortranarray, np.ascontiguousarray):
        for thing in (np.array(3), 4.5, np.float32(2)):
            found, expected = jitflow.function(lambda x, function=function: function(x))(thing), function(thing)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert_does_what_python_does(lambda x: np.arange(6)[x], [(np.True_,), (np.False_,)])


ASKED: list[Callable[..., Any]] = [
    lambda x, k: np.sum(x, axis=0, keepdims=k),
    lambda x, k: np.mean(x, 0, keepdims=k),
    lambda x, k: np.argsort(x, axis=k),
    lambda x, k: np.sort(x, axis=k),
    lambda x, k: np.max(x, k),
    lambda x, k: np.linalg.norm(x, axis=k),
    lambda x, k: np.rot90(x, k),
    lambda x, k: np.rot90(x, axes=(0, k)),
    lambda x, k: np.split(x, k),
    lambda x, k: np.roll(x, k),
    lambda x, k: np.tile(x, k),
    lambda x, k: np.vander(x[0], k),
    lambda x, k: np.fft.fft(x, k),
    lambda x, k: np.fft.fftfreq(k),
    lambda x, k: np.tri(3, 3, k),
    lambda x, k: np.eye(3, k),
    lambda x, k: np.convolve(x[0], x[1], k),
    lambda x, k: x.item(k),
    lambda x, k: x.ravel(k),
]


@pytest.mark.parametrize("program", ASKED)
def test_what_is_no_integer_is_taken_as_numpy_takes_it(program: Callable[..., Any]) -> None:
    x = np.arange(12.0).reshape(3, 4)
    compiled = jitflow.function(static=("k",))(program)
    for asked in (True, np.True_, 1.0):
        outcomes = []
        for run in (program, compiled):
            try:
                outcomes.append(repr(run(x, asked)))
            except Exception as error:
                outcomes.append(f"{type(error).__name__}: {error}")
        assert outcomes[0] == outcomes[1]
