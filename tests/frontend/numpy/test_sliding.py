"""Windows that slide along arrays."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import jitflow
from tests.compare import ELEMENTARY, assert_same
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import sample

LINE, MATRIX = sample("f8", 9), sample("f4", 4, 5)


def test_windows() -> None:
    check_compiled(lambda x: (sliding_window_view(x, 3), sliding_window_view(x, (3,)).max(-1)), LINE)
    check_compiled(lambda x: sliding_window_view(x, 4).std(axis=1), LINE, tolerance=ELEMENTARY)
    check_compiled(lambda x, k: sliding_window_view(x, k).max(1), LINE, 2)
    for window, axis in (((2, 3), None), (2, 0), (2, -1), ((2, 2), (0, 0)), ((1, 5), (0, 1)), ((2,), 1)):
        check_compiled(lambda x: sliding_window_view(x, window, axis), MATRIX)
    for window, axis in ((6, 0), (2, None), ((2, 2), 0), (2, 3)):
        check_compiled(lambda x: sliding_window_view(x, window, axis), MATRIX)


def test_a_write_to_the_array_shows_in_its_windows() -> None:
    def reads_before(x):
        windows = sliding_window_view(x, 3)
        total = windows.max(1)
        x[0] = 9.0
        return total, x

    def reads_after(x):
        windows = sliding_window_view(x, 3)
        x[0] = 9.0
        return windows.max(1)

    for function in (reads_before, reads_after):
        assert_same(jitflow.function(function)(LINE.copy()), function(LINE.copy()))
    check_compiled(lambda x: sliding_window_view(x, 2).__setitem__(0, 1.0), np.ones(4))
