"""Conversions between all real dtypes, against ``astype``, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow.ir.dtypes import DTYPES
from tests.expand.kernels import FLOATS, HALVES, INTEGERS, assert_same, run, samples

REAL = ("bool", *INTEGERS, *FLOATS, *HALVES)


def edges(source: str) -> Any:
    """Samples, and what lies at the limits of integers and of halves."""
    if source in INTEGERS and DTYPES[source].itemsize > 2:
        ties = [2**power + 2 ** (power - 8) + beside for power in range(24, 8 * DTYPES[source].itemsize - 1)
                for beside in (-1, 0, 1)]  # fmt: skip
        signs = (1, -1) if source.startswith("i") else (1,)
        return np.concatenate([samples(source), *(sign * np.array(ties, DTYPES[source].numpy) for sign in signs)])
    if source not in FLOATS:
        return samples(source)
    limits = [sign * 2.0**power for power in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    ties = 1 + np.arange(64) / 2048 + np.array([[0.0], [2.0**-30], [-(2.0**-30)]])
    small = ties * 2.0**-20
    near = np.concatenate([limits, ties.ravel(), small.ravel(), 65504 + np.arange(0, 40, 0.5)])
    near = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf)])
    return np.concatenate([samples(source), near.astype(DTYPES[source].numpy)])


@pytest.mark.parametrize("target", REAL)
@pytest.mark.parametrize("source", REAL)
def test_casts(source: str, target: str) -> None:
    a = edges(source)
    with np.errstate(all="ignore"):
        # One number at a time: for u32 out of range, NumPy's vector loops give something else.
        expected = np.array([number.astype(DTYPES[target].numpy) for number in a], DTYPES[target].numpy)
    if source == "bf16" and target in INTEGERS:
        a, expected = _in_range(a, expected, target)
    assert_same(run("cast", a, dtype=DTYPES[target]), expected, a)


def _in_range(a: Any, expected: Any, target: str) -> tuple[Any, Any]:
    limits = np.iinfo(DTYPES[target].numpy)
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64)
        inside = (wide > limits.min - 1.0) & (wide < limits.max + 1.0)
    return a[inside], expected[inside]
