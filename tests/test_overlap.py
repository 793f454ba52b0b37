"""Arguments that share memory, one of which is written to: NumPy's answer, by a specialisation of their own."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow


def shift(u, v):
    v[1:] = u[:-1] + 1
    v[0] += u[2]
    return u.sum()


PAIRS = [
    (slice(0, 8), slice(10, 18)),
    (slice(0, 8), slice(2, 10)),
    (slice(2, 10), slice(0, 8)),
    (slice(0, 8), slice(0, 8)),
    (slice(0, 8), slice(8, 16)),
    (slice(None, None, -1), slice(None)),
    (slice(0, 16, 2), slice(1, 17, 2)),
    (slice(3, 3), slice(0, 8)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_overlap(one: slice, other: slice):
    function = jitflow.function(shift)
    for pair in ((one, other), *PAIRS[:3]):
        found, expected = np.arange(20.0), np.arange(20.0)
        views = [array[part] for array in (found, expected) for part in pair]
        if len(views[0]) < 3:
            continue
        assert function(*views[:2]) == shift(*views[2:])
        assert np.array_equal(found, expected)


def test_few_compilations():
    function = jitflow.function(shift)
    base = np.arange(100.0)
    for start in range(30):
        function(base[start : start + 8], base[40:48])
    assert function.cache_info().misses == 1
    for start in range(36, 48):
        function(base[start : start + 8], base[40:48])
    assert function.cache_info().misses == 2
