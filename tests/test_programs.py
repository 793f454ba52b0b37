"""The gallery, compiled: each program gives what Python gives, result and mutated arguments alike.

A program that cannot be compiled yet stands in `NOT_YET`; its test is expected to fail, and the suite says so on the
day it passes.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compare import ELEMENTARY, EXACT, ITERATED, REDUCTION, assert_all_same, assert_same
from tests.gallery import FOLDER, PROGRAMS, compiled, example, plain

NOT_YET = frozenset(
    """
    adi burgers cavity_flow channel_flow fdtd_2d gray_scott heat_1d heat_2d heat_3d horizontal_diffusion jacobi_1d
    jacobi_2d life seidel_2d shallow_water vertical_advection wave_1d wave_2d wave_3d
    """.split()
)

EXACT_PROGRAMS = """
    adi burgers cavity_flow fdtd_2d gray_scott heat_1d heat_2d heat_3d horizontal_diffusion jacobi_1d jacobi_2d life
    seidel_2d shallow_water sobel vertical_advection wave_1d wave_2d wave_3d
""".split()
ELEMENTARY_PROGRAMS: list[str] = []
REDUCTION_PROGRAMS: list[str] = []
ITERATED_PROGRAMS = "channel_flow".split()

TOLERANCES = {
    **dict.fromkeys(EXACT_PROGRAMS, EXACT),
    **dict.fromkeys(ELEMENTARY_PROGRAMS, ELEMENTARY),
    **dict.fromkeys(REDUCTION_PROGRAMS, REDUCTION),
    **dict.fromkeys(ITERATED_PROGRAMS, ITERATED),
}

RANDOM = np.random.default_rng(7)
ANY_SIZE: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "adi": lambda n: (RANDOM.random((n, n)), 1.0, 0.01, n % 3),
    "heat_1d": lambda n: (RANDOM.random(n), 0.2, n % 5),
    "heat_2d": lambda n: (RANDOM.random((n, 2 * n)), 0.1, n % 4),
    "wave_3d": lambda n: (RANDOM.random((n % 7 + 2, n % 5 + 2, n)), 0.3, 2),
}
"""Arguments of any size for some programs: their dims stay above one, which would be another specialisation."""


def programs(names: list[str]) -> list[Any]:
    marks = {name: [pytest.mark.xfail(strict=True)] if name in NOT_YET else [] for name in names}
    return [pytest.param(name, marks=marks[name]) for name in names]


def assert_runs_alike(name: str, arguments: tuple[Any, ...]) -> None:
    """Run a program on two copies of its arguments, and compare what came of them."""
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    found, expected = compiled(name)(*ours), plain(name)(*theirs)
    assert_same(found, expected, TOLERANCES[name])
    assert_all_same(ours, theirs, TOLERANCES[name])


def test_every_program_is_tested() -> None:
    assert sorted(TOLERANCES) == PROGRAMS
    assert set(PROGRAMS) >= NOT_YET
    assert len(TOLERANCES) == sum(
        map(len, (EXACT_PROGRAMS, ELEMENTARY_PROGRAMS, REDUCTION_PROGRAMS, ITERATED_PROGRAMS))
    )


def test_the_index_names_every_program() -> None:
    index = (FOLDER / "README.md").read_text()
    assert [name for name in PROGRAMS if f"({name}.py)" not in index] == []


@pytest.mark.parametrize("name", programs(PROGRAMS))
def test_it_gives_what_python_gives(name: str) -> None:
    assert_runs_alike(name, example(name))
    assert_runs_alike(name, example(name, seed=1))


@pytest.mark.parametrize("name", programs(sorted(ANY_SIZE)))
def test_a_hundred_sizes_are_one_compilation(name: str) -> None:
    assert_runs_alike(name, ANY_SIZE[name](2))
    misses = compiled(name).cache_info().misses
    for size in range(3, 102):
        assert_runs_alike(name, ANY_SIZE[name](size))
    assert compiled(name).cache_info().misses == misses


@pytest.mark.stress
@pytest.mark.parametrize("name", programs(PROGRAMS))
def test_it_runs_as_a_script(name: str) -> None:
    command = [sys.executable, "-W", "error", FOLDER / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
