"""Cases of which the suite runs a sample, and ``pytest -m stress`` the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["in_turn", "sampled"]


def sampled(cases: Iterable[Any], every: int, first: int = 0) -> list[Any]:
    """The cases as parameters. One in ``every`` runs in the suite, from the ``first`` on, if its own marks allow it."""
    return [
        pytest.param(*values, id=given, marks=marks if at % every == first else (*marks, pytest.mark.stress))
        for at, (values, given, marks) in enumerate(map(_parts, cases))
    ]


def in_turn(cases: Iterable[Any], others: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each case with each of the others, of which one has its turn: a sample of every ``len(others)`` has all cases."""
    return [(case, others[(at + turn) % len(others)]) for at, case in enumerate(cases) for turn in range(len(others))]


def _parts(case: Any) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
    if hasattr(case, "values") and hasattr(case, "marks"):
        return tuple(case.values), case.id, tuple(case.marks)
    return (case if isinstance(case, tuple) else (case,)), None, ()
