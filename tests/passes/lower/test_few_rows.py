"""Blocks of few rows, which go over all columns of a part: every element is there, and none beside them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.passes.lower.matrices import integers

ROWS, STEPS, COLUMNS = (2, 3, 4, 5, 9), (1, 600), (2, 15, 16, 17, 31, 33, 48, 63, 64, 65, 80, 97, 129, 200)


@jitflow.function
def into(out: Any, left: Any, right: Any) -> None:
    out[1:-1, 3:-3] = left @ right


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_all_ways_of_few_rows(dtype: str) -> None:
    random = np.random.default_rng(0)
    for rows, steps, columns in product(ROWS, STEPS, COLUMNS):
        left, right = integers(random, rows, steps, dtype=dtype), integers(random, steps, columns, dtype=dtype)
        out = np.full((rows + 2, columns + 6), 7, dtype)
        expected = out.copy()
        expected[1:-1, 3:-3] = left @ right
        into(out, left, right)
        assert np.array_equal(out, expected), (rows, steps, columns)
