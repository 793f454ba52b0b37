"""The gallery, compiled: each program gives what Python gives, result and mutated arguments alike.

A program that cannot be compiled yet stands in `NOT_YET`, one that is compiled anew for some sizes in
`NOT_YET_AT_ANY_SIZE`; its test is expected to fail, and the suite says so on the day it passes.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compare import EXACT, ITERATED, REDUCTION, assert_all_same, assert_same
from tests.gallery import FOLDER, PROGRAMS, compiled, example, plain

NOT_YET = frozenset(
    """
    fir_filter lstm mandelbrot_shrinking sieve
    """.split()
)

NOT_YET_AT_ANY_SIZE = frozenset("adi jacobi_1d".split())

# What the arithmetic of a program allows: see `tests.compare`.
EXACT_PROGRAMS = """
    adi bicg burgers cavity_flow cholesky collatz crc16 fdtd_2d floyd_warshall gauss_jordan gray_scott heat_1d
    heat_2d heat_3d horizontal_diffusion insertion_sort integer_clip jacobi_1d jacobi_2d knapsack levenshtein
    levinson life lu max_pooling needleman_wunsch nussinov polynomial_bank radial_histogram rk4 seidel_2d
    shallow_water sieve smith_waterman sobel syr2k syrk vertical_advection viterbi wave_1d wave_2d wave_3d
""".split()
REDUCTION_PROGRAMS = """
    arc_distance atax azimuthal_integration bilateral_filter black_scholes convolution correlation covariance
    deriche doitgen fir_filter gemver gesummv ising kmeans lenet mvt resnet_block scattering_self_energies
    softmax_attention spmv stockham_fft symm trace_loop triangular_solve trmm
""".split()
ITERATED_PROGRAMS = """
    adaptive_ode binomial_option bisection channel_flow conjugate_gradients contour_integral durbin gram_schmidt
    kalman lstm mandelbrot_masked mandelbrot_shrinking matrix_exponential mlp monte_carlo_option nbody newton
    newton_fractal pagerank perceptron power_iteration random_walk ray_marching simulated_annealing
""".split()

TOLERANCES = {
    **dict.fromkeys(EXACT_PROGRAMS, EXACT),
    **dict.fromkeys(REDUCTION_PROGRAMS, REDUCTION),
    **dict.fromkeys(ITERATED_PROGRAMS, ITERATED),
}

RANDOM = np.random.default_rng(7)
ANY_SIZE: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "adi": lambda n: (RANDOM.random((n, n)), 1.0, 0.01, n % 3),
    "floyd_warshall": lambda n: (RANDOM.integers(1, 100, (n, n)),),
    "heat_1d": lambda n: (RANDOM.random(n), 0.2, n % 5),
    "heat_2d": lambda n: (RANDOM.random((n, 2 * n)), 0.1, n % 4),
    "insertion_sort": lambda n: (RANDOM.random(n),),
    "jacobi_1d": lambda n: (RANDOM.random(n), RANDOM.random(n), 3),
    "levenshtein": lambda n: (RANDOM.integers(0, 4, n, np.uint8), RANDOM.integers(0, 4, n // 2 + 2, np.uint8)),
    "lu": lambda n: (RANDOM.random((n, n)),),
    "seidel_2d": lambda n: (RANDOM.random((n, n // 4 + 2)), 2),
    "wave_3d": lambda n: (RANDOM.random((n % 7 + 2, n % 5 + 2, n)), 0.3, 2),
}
"""Arguments of any size for some programs: their dims stay above one, which would be another specialisation."""


def programs(names: list[str], failing: frozenset[str] = NOT_YET) -> list[Any]:
    marks = {name: [pytest.mark.xfail(strict=True)] if name in failing else [] for name in names}
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


def test_the_index_names_every_program() -> None:
    index = (FOLDER / "README.md").read_text()
    assert [name for name in PROGRAMS if f"({name}.py)" not in index] == []


@pytest.mark.parametrize("name", programs(PROGRAMS))
def test_it_gives_what_python_gives(name: str) -> None:
    assert_runs_alike(name, example(name))
    assert_runs_alike(name, example(name, seed=1))


@pytest.mark.parametrize("name", programs(sorted(ANY_SIZE), NOT_YET | NOT_YET_AT_ANY_SIZE))
def test_a_hundred_sizes_are_one_compilation(name: str) -> None:
    assert_runs_alike(name, ANY_SIZE[name](2))
    misses = compiled(name).cache_info().misses
    for size in range(3, 102):
        assert_runs_alike(name, ANY_SIZE[name](size))
        assert compiled(name).cache_info().misses == misses, f"compiled anew at size {size}"


@pytest.mark.stress
@pytest.mark.parametrize("name", programs(PROGRAMS))
def test_it_runs_as_a_script(name: str) -> None:
    command = [sys.executable, "-W", "error", FOLDER / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
