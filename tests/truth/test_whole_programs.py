"""Random programs with statements: branches, loops, stores through views, arguments that overlap, masks, helpers.

Python runs each and so does the compiled code, at several sizes; `check` compares all that can be seen. ``pytest -m
stress`` runs thousands. A failure names its seed, and ``python -m tests.truth.whole.reduce SEED [LENGTH]`` makes a
small program of it.
"""

from __future__ import annotations

import pytest

from tests.truth.whole.check import Refused, check
from tests.truth.whole.programs import program_of

PARTS, EACH = 5, 3
MOST_REFUSED = 0.15
"""Jitflow may say of so many programs that it does not compile them."""


def run_seeds(seeds: range, length: int = 3) -> None:
    """Check the programs of many seeds, and report all that failed."""
    problems, refused = [], 0
    for seed in seeds:
        text, calls = program_of(seed, length)
        try:
            check(text.source, text.parameters, calls)
        except Refused:
            refused += 1
        except Exception as problem:
            problems.append(f"seed {seed}, length {length}: {type(problem).__name__}: {problem}\n{text.source}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert refused <= 2 + len(seeds) * MOST_REFUSED


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    run_seeds(range(1000 * part, 1000 * part + EACH))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_programs(part: int) -> None:
    first = 100_000 + 1000 * part
    run_seeds(range(first, first + 60))
    run_seeds(range(first + 500, first + 520), length=5)
