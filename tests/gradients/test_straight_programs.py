"""Gradients of random straight-line programs; ``pytest -m stress`` checks thousands."""

from __future__ import annotations

import pytest

from tests.gradients.random_programs import run_seeds
from tests.gradients.straight_programs import check_both_modes

PARTS, EACH = 4, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_both_modes(part: int) -> None:
    run_seeds(check_both_modes, range(1000 * part, 1000 * part + EACH))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_programs(part: int) -> None:
    run_seeds(check_both_modes, range(100_000 + 1000 * part, 100_100 + 1000 * part))
