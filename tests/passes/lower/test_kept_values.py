"""Values that a sweep keeps in the memory of a result are read before that result takes their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

RANDOM = np.random.default_rng(7)
ARRAYS = {
    "line": RANDOM.normal(size=100), "long line": RANDOM.normal(size=3000), "matrix": RANDOM.normal(size=(40, 50)),
    "Fortran matrix": np.asfortranarray(RANDOM.normal(size=(33, 20))), "cube": RANDOM.normal(size=(3, 20, 4)),
    "short rows": RANDOM.normal(size=(50, 3)), "long columns": RANDOM.normal(size=(2500, 5)),
}  # fmt: skip


def whole(x: Any) -> Any:
    share = np.exp(x)
    share = share / share.sum()
    return share, share.var()


def first_axis(x: Any) -> Any:
    share = np.exp(x)
    share = share / share.sum(axis=0)
    return share, share.var(axis=0), share.max(axis=0)


def last_axis(x: Any) -> Any:
    share = np.exp(x - x.max(axis=-1, keepdims=True))
    share = share / share.sum(axis=-1, keepdims=True)
    return share, share.std(axis=-1), share.mean(axis=-1)


def two_results(x: Any) -> Any:
    waves = np.sin(x)
    first, second = waves - waves.mean(axis=0), waves * waves.sum(axis=0)
    return first, second, first.var(axis=0), second.var(axis=0)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("program", [whole, first_axis, last_axis, two_results])
def test_a_variance_beside_what_it_is_of(program: Callable[..., Any], name: str) -> None:
    x = ARRAYS[name]
    for found, expected in zip(jitflow.function(program)(x), program(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-16)
