"""Gradients of random straight-line programs; ``pytest -m stress`` checks thousands."""

from __future__ import annotations

import pytest

from tests.gradients.random_programs import PassedOver
from tests.gradients.straight_programs import check_both_modes

PARTS, EACH = 4, 15


def run_seeds(seeds: range) -> None:
    """Check the programs of many seeds, and report all whose gradient is wrong."""
    problems, checked = [], 0
    for seed in seeds:
        try:
            check_both_modes(seed)
            checked += 1
        except PassedOver:
            continue
        except Exception as problem:
            problems.append(f"seed {seed}: {type(problem).__name__}: {problem}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert checked >= len(seeds) // 5


@pytest.mark.parametrize("part", range(PARTS))
def test_both_modes(part: int) -> None:
    run_seeds(range(1000 * part, 1000 * part + EACH))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_programs(part: int) -> None:
    run_seeds(range(100_000 + 1000 * part, 100_100 + 1000 * part))
