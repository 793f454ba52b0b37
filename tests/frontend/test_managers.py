"""``with`` statements around what may fail when the compiled code runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow


class Noting:
    """Notes in a list that it is entered and left."""

    def __init__(self, notes: list[Any]) -> None:
        self.notes = notes

    def __enter__(self) -> Noting:
        self.notes.append("in")
        return self

    def __exit__(self, *about: object) -> None:
        self.notes.append("out")


class Swallowing:
    def __enter__(self) -> int:
        return 5

    def __exit__(self, kind: Any, *about: object) -> bool:
        return kind is not None


def of_the_caller(x: Any, d: Any, notes: Any) -> Any:
    with Noting(notes):
        return x // d


def of_its_own(x: Any, d: Any, notes: Any) -> Any:
    mine: list[Any] = []
    with Noting(mine) as manager:
        x = x // d
    return x, mine, manager.notes is mine


def that_swallows(x: Any, d: Any, notes: Any) -> Any:
    with Swallowing() as five:
        x = x // d
    return x + five


def that_cannot_fail(x: Any, d: Any, notes: Any) -> Any:
    with Noting(notes), Swallowing() as five:
        x = x * d
    return x + five


def test_what_nobody_would_miss() -> None:
    compiled = jitflow.function(of_its_own)
    assert compiled(7, 2, []) == of_its_own(7, 2, [])
    with pytest.raises(ZeroDivisionError):
        compiled(7, 0, [])


def test_what_cannot_fail() -> None:
    for program in (jitflow.function(that_cannot_fail), that_cannot_fail):
        notes: list[Any] = []
        assert program(7, 0, notes) == 5
        assert notes == ["in", "out"]


@pytest.mark.parametrize(
    ("program", "why"), [(of_the_caller, "would store to what the caller sees"), (that_swallows, "might swallow it")]
)
def test_what_a_manager_would_see(program: Any, why: str) -> None:
    with pytest.raises(jitflow.UserError, match=f"may raise ZeroDivisionError .* where __exit__ {why}"):
        jitflow.function(program)(7, 2, [])
    np.testing.assert_equal(jitflow.function(program)(7.0, np.float64(2.0), []), program(7.0, np.float64(2.0), []))
