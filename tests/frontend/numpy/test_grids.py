"""Objects of NumPy whose index says what to make, and arrays that are known while tracing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import ELEMENTARY
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import sample

MATRIX, LINE = sample("f8", 3, 5), sample("f4", 6)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.mgrid[0 : x.shape[0], 0 : x.shape[1]], MATRIX),
        f(lambda x: np.mgrid[1 : x.shape[0] : 2, -1:4], MATRIX),
        f(lambda x: np.mgrid[: x.shape[0]], MATRIX),
        f(lambda x: np.mgrid[0:1:5j, 0 : x.shape[0]], MATRIX),
        f(lambda x, a: np.mgrid[0:a:5j, -a:a:3j], MATRIX, 2.5),
        f(lambda x, a: np.mgrid[0:a:0.5], MATRIX, 2.5),
        f(lambda x, n: np.mgrid[0:n, 1:3], MATRIX, 4),
        f(lambda x, a: np.mgrid[0:a:7j], MATRIX, 2.5),
        f(lambda x: np.ogrid[0 : x.shape[0], 0 : x.shape[1]], MATRIX),
        f(lambda x, a: np.ogrid[0:a:5j, 0 : x.shape[0]], MATRIX, 2.0),
        f(lambda x: sum(np.ogrid[0 : x.shape[0], 0 : x.shape[1]]) * x, MATRIX),
        f(lambda x: np.r_[x, 0, 1.5, x], LINE),
        f(lambda x: np.r_[0 : x.shape[0], x], LINE),
        f(lambda x, a: np.r_[a, x, 0:1:4j], LINE, np.float64(3)),
        f(lambda x: np.r_[x, x], MATRIX),
        f(lambda x: np.c_[x, x * 2], LINE),
        f(lambda x: np.c_[x, x[:, 0], np.ones(x.shape[0])], MATRIX),
        f(lambda x: x[np.s_[1:, ::2]], MATRIX),
    ],
)
def test_grids(program: Any, arguments: tuple[Any, ...]):
    check_compiled(program, *arguments)


def test_a_string_in_an_index_is_refused():
    with pytest.raises(UserNotImplementedError, match="string in the index"):
        jitflow.function(lambda x: np.r_["0,2", x])(LINE)


def _window(x: Any) -> Any:
    window = np.hanning(512)
    again = np.hanning(512)
    changed = np.linspace(0, 1, 512)
    first = changed * x
    changed[0] = 7
    return x * window + again, first, x * changed, np.linspace(0, 1, 100)


def test_arrays_that_are_known_while_tracing():
    x = np.random.default_rng(0).normal(size=512)
    compiled = jitflow.function(_window)
    for _ in range(3):
        found = compiled(x)
        for item, expected in zip(found, _window(x), strict=True):
            np.testing.assert_allclose(item, expected, rtol=1e-15)
        found[3][:] = -1  # the caller's own, not the constant of the code
    assert compiled.cache_info().misses == 1
    assert str(compiled.ir(x)).count("computed_") >= 3
    check_compiled(lambda x: np.tril_indices(40)[0].sum() + x, LINE, tolerance=ELEMENTARY)
