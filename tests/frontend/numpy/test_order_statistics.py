"""Medians and quantiles against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import check, check_sizes, sample

MATRIX, CUBE, LINE = sample("f8", 4, 5), sample("f8", 3, 4, 2), sample("f8", 7)
WITH_NAN = np.where(sample("f8", 4, 5, seed=3) > 1, np.nan, MATRIX)
MEDIANS = [np.median, np.nanmedian]
QUANTILES = [np.percentile, np.quantile, np.nanpercentile, np.nanquantile]


def _applied(function: Any, *more: Any, **keywords: Any) -> Any:
    return lambda x: function(x, *more, **keywords)


@pytest.mark.parametrize("function", MEDIANS, ids=lambda function: function.__name__)
def test_medians(function: Any):
    for kind in ("?", "i4", "u1", "f2", "f4", "c8"):
        check(_applied(function), sample(kind, 5))
        check(_applied(function), sample(kind, 4, 3))
    for array in (MATRIX, WITH_NAN, LINE, LINE[:1], np.asarray(2.0), MATRIX[::2, ::-1], LINE[:0]):
        check(_applied(function), array)
    for axis in (0, 1, -1, (0, 1), (1, 2), [0, 2], 5, (0, 0)):
        check(_applied(function, axis), CUBE)
        check(_applied(function, axis=axis, keepdims=True), CUBE)
    check(_applied(function, keepdims=True), CUBE)
    check(lambda x: function(x, axis=0, out=np.zeros_like(x[0])), WITH_NAN)
    check_both(lambda x: function(x, axis=0) + 1, WITH_NAN)
    check_both(lambda x: function(x * 2), LINE)


@pytest.mark.parametrize("function", QUANTILES, ids=lambda function: function.__name__)
def test_quantiles(function: Any):
    whole = 100 if "percentile" in function.__name__ else 1
    for q in (0.25 * whole, 0, whole, [0.1 * whole, 0.5 * whole], [[0.5 * whole], [whole]], 2 * whole, -1):
        check(_applied(function, q), LINE)
        check(_applied(function, q, axis=1), MATRIX)
        check(_applied(function, q, axis=(0, 2), keepdims=True), CUBE)
    for method in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "inverted_cdf", "odd"):
        check(_applied(function, 0.3 * whole, method=method), WITH_NAN)
    for kind in ("i4", "f2", "f4", "?", "c8"):
        check(_applied(function, 0.5 * whole), sample(kind, 6))
    check(lambda x, q: function(x, q), LINE, 0.4 * whole)
    check(lambda x, q: function(x, q, axis=0), MATRIX, np.array([0.4, 0.6]) * whole)
    check(lambda x, w: function(x, 0.5 * whole, weights=w, method="inverted_cdf"), LINE, np.abs(LINE))
    check_both(lambda x, q: function(x, q, axis=1) * 2, MATRIX, np.array([0.4, 0.6]) * whole)
    check_both(lambda x, q: function(x, q), LINE, 2.0 * whole)


def test_many_sizes():
    check_sizes(lambda x: np.median(x, axis=1), lambda n: (sample("f8", 3, n),), (5, 2, 4, 9))
    check_sizes(lambda x: np.percentile(x, [25, 75]), lambda n: (sample("f8", n),), (5, 2, 4, 9))
