"""The benchmark of matrix products compares the same work."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.products import GROUPS, Group, geometric_mean, measured


@pytest.mark.parametrize("follows", [False, True])
def test_a_row_for_each_shape(follows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.products.QUANTUM", 0.0)
    monkeypatch.setattr("benchmarks.products.ROUNDS", 1)
    group = Group(((3, 4, 5), (1, 2, 70)), 1.0, 1.0, follows=follows, turned=True)
    rows = list(measured("test", group, np.float32, 1e9))
    assert [(row["rows"], row["turned"]) for row in rows] == [(3, False), (3, True), (1, False), (1, True)]
    assert all({"jitflow", "numpy"} <= row["seconds"].keys() for row in rows)


def test_groups_have_limits() -> None:
    assert all(0 < group.least < group.mean for group in GROUPS.values())
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
