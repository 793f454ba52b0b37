"""How often the turns of loops are traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.frontend.control.rolling import Rolling


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first state or temporary of each turn that is traced."""
    seen: list[str] = []
    plain = Rolling._turn

    def noted(self: Rolling, *arguments: Any) -> Any:
        seen.append(min((*self.state, *self.temporaries)))
        return plain(self, *arguments)

    monkeypatch.setattr(Rolling, "_turn", noted)
    return seen


def test_what_is_made_a_variable_in_the_innermost_loop_sends_all_loops_once_more(turns: list[str]) -> None:
    @jitflow.function
    def eliminate(a: Any) -> Any:
        n = a.shape[0]
        for k in range(n):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
        return a

    a = np.random.default_rng(0).random((6, 6)) + 6 * np.eye(6)
    np.testing.assert_array_equal(eliminate(a.copy()), eliminate.__wrapped__(a.copy()))
    assert turns == ["i", "i", "j"] * 2


def test_memory_of_an_outer_loop_sends_the_inner_one_once_more(turns: list[str]) -> None:
    @jitflow.function
    def sums(a: Any) -> Any:
        total = np.zeros(a.shape[0])
        for i in range(a.shape[0]):
            row = np.zeros(3)
            for j in range(a.shape[1]):
                row[j % 3] += a[i, j]
            total[i] = row.max()
        return total

    a = np.random.default_rng(1).random((5, 7))
    np.testing.assert_array_equal(sums(a), sums.__wrapped__(a))
