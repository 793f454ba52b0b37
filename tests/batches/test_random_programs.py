"""Random programs for many examples at once; ``pytest -m stress`` checks thousands."""

from __future__ import annotations

import pytest

from tests.batches.random_programs import check_statements, check_straight
from tests.gradients.random_programs import run_seeds

PARTS, EACH = 4, 3


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_with_statements(part: int) -> None:
    run_seeds(check_statements, range(1000 * part, 1000 * part + EACH))


@pytest.mark.parametrize("part", range(PARTS))
def test_straight_programs(part: int) -> None:
    run_seeds(check_straight, range(1000 * part, 1000 * part + 2 * EACH))


@pytest.mark.parametrize("seed", [6, 35, 493])
def test_what_was_wrong_once(seed: int) -> None:
    check_statements(seed)


@pytest.mark.stress
@pytest.mark.parametrize("part", range(50))
def test_more_programs(part: int) -> None:
    run_seeds(check_statements, range(100_000 + 1000 * part, 100_060 + 1000 * part))
    run_seeds(check_straight, range(100_000 + 1000 * part, 100_060 + 1000 * part))
