"""Gradients of random programs with statements; ``pytest -m stress`` checks thousands."""

from __future__ import annotations

import pytest

from tests.gradients.random_programs import PassedOver, check_gradient, run_seeds

PARTS, EACH = 6, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_gradients(part: int) -> None:
    run_seeds(check_gradient, range(1000 * part, 1000 * part + EACH))


@pytest.mark.parametrize("seed", [20, 32, 117, 165, 218, 251])
def test_what_was_wrong_once(seed: int) -> None:
    try:
        check_gradient(seed)
    except PassedOver:
        pytest.skip("not compiled")


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_gradients(part: int) -> None:
    run_seeds(check_gradient, range(100_000 + 1000 * part, 100_060 + 1000 * part))
