"""Random programs: NumPy, the compiled code, the interpreter and every pass agree.

``pytest -m stress tests/truth`` runs many more, from other seeds. A failure prints a script that shows it; the number
in its name is what `Generator` was seeded with, so that ``check_compiled(program_of(seed))`` repeats it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import seed as hypothesis_seed

from tests.truth.programs import Generator, Program, programs
from tests.truth.run import Refused, check_compiled, check_interpreted

PARTS = 16
COMPILED, INTERPRETED = 8, 10
"""Programs of each part that go through the compiler, and through the interpreter and the passes alone."""

Check = Callable[[Program], None]


def program_of(seed: int, statements: int = 6, *, captured: bool = False) -> Program:
    """The program of a seed."""
    source = random.Random(seed)
    return Generator(source.randrange, statements, captured=captured).program()


def run_seeds(check: Check, seeds: range, statements: int = 6, *, captured: bool = False) -> None:
    """Check the programs of many seeds, and report all that failed; few may be refused."""
    problems, refused = [], 0
    for seed in seeds:
        program = program_of(seed, statements, captured=captured)
        try:
            check(program)
        except (Refused, MemoryError):
            refused += 1
        except Exception as error:
            problems.append(f"seed {seed}: {type(error).__name__}: {error}\n{program.script()}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert refused <= 1 + len(seeds) // 20


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled(part: int) -> None:
    run_seeds(check_compiled, range(1000 * part, 1000 * part + COMPILED))


def test_captured_numbers() -> None:
    """Numbers outside of the function change between the calls."""
    run_seeds(check_compiled, range(12), captured=True)


@pytest.mark.parametrize("part", range(PARTS))
def test_interpreted(part: int) -> None:
    run_seeds(check_interpreted, range(1000 * part + 500, 1000 * part + 500 + INTERPRETED))


@pytest.mark.parametrize(("check", "examples"), [(check_compiled, 10), (check_interpreted, 25)])
def test_found_by_hypothesis(check: Check, examples: int) -> None:
    """The same programs, drawn by Hypothesis, which makes the smallest one of what it finds (in minutes)."""

    @hypothesis_seed(int(os.environ.get("TRUTH_SEED", "1")))
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
              phases=(Phase.generate, Phase.shrink))  # fmt: skip
    @given(programs())
    def run(program: Program) -> None:
        note(program.script())
        try:
            check(program)
        except Refused:
            return

    run()


@pytest.mark.stress
@pytest.mark.parametrize("part", range(64))
def test_many_more(part: int) -> None:
    first = 1_000_000 + 10_000 * part
    run_seeds(check_compiled, range(first, first + 150), statements=10)
    run_seeds(check_compiled, range(first + 200, first + 220), captured=True)
    run_seeds(check_interpreted, range(first + 5000, first + 5600), statements=10)
