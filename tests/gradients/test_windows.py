"""Derivatives of windows that are contracted with nothing: by slices, each to its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import jitflow

LINE, PICTURE = np.random.default_rng(8).normal(size=12), np.random.default_rng(9).normal(size=(7, 9))


def of_a_changed_array(x: Any) -> Any:
    y = x.copy()
    windows = sliding_window_view(y, 3)
    y[2:5] = x[:3] ** 2
    return (windows * windows).sum(1)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "maximum": (lambda x: sliding_window_view(x, 3).max(1), (LINE,)),
    "of two axes": (lambda x: sliding_window_view(x, (2, 3)).prod((2, 3)), (PICTURE,)),
    "with steps": (lambda x: sliding_window_view(x, (3, 3))[::2, ::3, :, ::2].std((2, 3)), (PICTURE,)),
    "of a length that is an argument": (lambda x, k: sliding_window_view(x, k).max(1), (LINE, 4)),
    "windows of windows": (lambda x: sliding_window_view(x, (3, 2), (0, 0)).min((1, 2)), (LINE,)),
    "in an array that is changed": (of_a_changed_array, (LINE,)),
    "with itself": (lambda x: np.einsum("ik,jk->ij", *[sliding_window_view(x, 3)] * 2), (LINE,)),
    "complex": (lambda x: np.einsum("ik,k->i", sliding_window_view(x * (1 + 2j), 3), x[:3]).imag, (LINE,)),
    "in turns": (lambda x: sum(sliding_window_view(x, 3)[i].max() for i in range(4)), (LINE,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_windows(name: str) -> None:
    function, (x, *others) = FUNCTIONS[name]
    weights = np.random.default_rng(10).normal(size=np.shape(function(x, *others)))

    def loss(x: Any, *others: Any) -> Any:
        return (function(x, *others) * weights).sum()

    gradient = jitflow.function(jitflow.grad(loss))(x, *others)
    change = np.random.default_rng(11).normal(size=x.shape)
    expected = (loss(x + 1e-5 * change, *others) - loss(x - 1e-5 * change, *others)) / 2e-5
    assert np.isclose((gradient * change).sum(), expected, rtol=1e-6)
    _, tangent = jitflow.jvp(loss, (x, *others), (change, *(0 for _ in others))) if not others else (0, expected)
    assert np.isclose(tangent, expected, rtol=1e-6)
