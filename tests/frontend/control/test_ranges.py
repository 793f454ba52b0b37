"""Ranges whose steps only the running program knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def places(start: Any, stop: Any, step: Any) -> Any:
    found, count = np.zeros(40, np.int64), 0
    pace = step * 2 - step
    for place in range(start, stop, pace):
        found[count] = place
        count += 1
    return found[:count], count


def merged(a: Any) -> Any:
    source, target, width = a.copy(), np.empty_like(a), 1
    while width < len(a):
        for low in range(0, len(a), 2 * width):
            middle, high = min(low + width, len(a)), min(low + 2 * width, len(a))
            i, j = low, middle
            for place in range(low, high):
                if i < middle and (j >= high or source[i] <= source[j]):
                    target[place] = source[i]
                    i += 1
                else:
                    target[place] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    return source


def test_they_lead_up_or_down() -> None:
    compiled = jitflow.function(places)
    for bounds in ((0, 10, 3), (10, 0, -4), (0, 0, 1), (5, 1, 2), (1, 5, -1), (-5, 20, 7), (9, -9, -1), (0, 9, 9)):
        assert_same(compiled(*bounds), places(*bounds))
    with pytest.raises(ValueError, match=r"range\(\) arg 3 must not be zero"):
        compiled(0, 5, 0)


def test_a_sort_by_merging() -> None:
    compiled = jitflow.function(merged)
    for count in (0, 1, 2, 7, 33):
        a = np.random.default_rng(count).integers(0, 50, count)
        assert_same(compiled(a), np.sort(a))
