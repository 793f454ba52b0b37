"""Results that span some of the loops only are stored outside of the others, whichever value comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

A, B = np.random.default_rng(1).normal(size=20), np.random.default_rng(2).normal(size=(20, 7))


def across_a_transposed_sum(a: Any, b: Any) -> Any:
    steps = 2 * np.arange(7.0) + 1
    return steps, b * steps + (steps[:, None] * a).T


def beside_a_sum_of_columns(a: Any, b: Any) -> Any:
    waves = np.cos(np.arange(7.0))
    return waves, b * waves + (waves[:, None] * a).T, b.sum(axis=0)


def of_rows_and_of_columns(a: Any, b: Any) -> Any:
    columns, rows = np.sin(b[0]), np.cos(a)
    return columns, rows, b * columns + (columns[:, None] * rows).T, (b.T * rows).T


@pytest.mark.parametrize("program", [across_a_transposed_sum, beside_a_sum_of_columns, of_rows_and_of_columns])
def test_results_of_fewer_axes(program: Callable[..., Any]) -> None:
    for found, expected in zip(jitflow.function(program)(A, B), program(A, B), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
