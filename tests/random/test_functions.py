"""The elementary functions that draws are made of: at most two units in the last place from the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from jitflow.random import functions

SMALL = np.exp(np.linspace(-40, 5, 20_000))
WIDE = np.exp(np.linspace(-700, 700, 20_000))
INSIDE = np.linspace(-1, 1, 20_000)


@pytest.mark.parametrize(("ours", "wanted", "x"), [
    (functions.log, np.log, WIDE),
    (functions.log, np.log, 1 - SMALL[SMALL < 1]),
    (functions.exp, np.exp, np.linspace(-708, 709, 20_000)),
    (functions.log1p, np.log1p, -SMALL[SMALL < 1]),
    (functions.expm1, np.expm1, SMALL),
    (functions.sine_of_quarters, lambda t: np.sin(np.pi / 2 * t), INSIDE),
])  # fmt: skip
def test_accuracy(ours: Callable[[Any], Any], wanted: Callable[[Any], Any], x: Any) -> None:
    expected = wanted(x)
    assert np.max(np.abs(ours(x) - expected) / np.spacing(np.abs(expected))) <= 2


def test_log_gamma() -> None:
    x = 1 + np.exp(np.linspace(-20, 40, 20_000))
    expected = scipy.special.gammaln(x)
    assert np.max(np.abs(functions.log_gamma(x) - expected) / np.maximum(1, np.abs(expected))) < 1e-14


def test_exponentials_out_of_range() -> None:
    with np.errstate(all="ignore"):
        found = functions.exp(np.array([-800.0, -745.0, 709.7, 710.0, 1e300]))
    np.testing.assert_allclose(found, [0, 5e-324, 1.6549840276802644e308, np.inf, np.inf], rtol=1e-15)
