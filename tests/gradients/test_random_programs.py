"""Gradients of random programs with statements; ``pytest -m stress`` checks thousands."""

from __future__ import annotations

import pytest

from tests.gradients.random_programs import PassedOver, check_gradient

PARTS, EACH = 6, 10


def run_seeds(seeds: range, length: int = 3) -> None:
    """Check the programs of many seeds, and report all whose gradient is wrong."""
    problems, checked = [], 0
    for seed in seeds:
        try:
            check_gradient(seed, length)
            checked += 1
        except PassedOver:
            continue
        except Exception as problem:
            problems.append(f"seed {seed}, length {length}: {type(problem).__name__}: {problem}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert checked >= len(seeds) // 5


@pytest.mark.parametrize("part", range(PARTS))
def test_gradients(part: int) -> None:
    run_seeds(range(1000 * part, 1000 * part + EACH))


@pytest.mark.parametrize("seed", [20, 32, 117, 165, 218, 251])
def test_what_was_wrong_once(seed: int) -> None:
    try:
        check_gradient(seed)
    except PassedOver:
        pytest.skip("not compiled")


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_gradients(part: int) -> None:
    run_seeds(range(100_000 + 1000 * part, 100_060 + 1000 * part))
