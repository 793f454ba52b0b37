"""Arrays of one element that loops carry: they broadcast, as long as they have one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def grows(s, n):
    a, b, c = np.arange(n), s[0:1], s[1:2]
    for _ in range(10):
        a, b, c = a * 3 + b, c + a, b + 1
    return a, b, c


def doubles(x, n):
    total = np.zeros((1, 1))
    while total.shape[0] < n:
        total = np.concatenate([total, total + x])
    return total * np.arange(3.0)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(("program", "array"), [(grows, np.arange(4)), (doubles, np.ones((1, 1)))])
def test_sizes_that_start_as_one(program: Any, array: Any, n: int) -> None:
    found, expected = jitflow.function(program)(array, n), program(array, n)
    for one, other in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
        assert_same(one, other)
