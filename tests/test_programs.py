"""The gallery, compiled: each program gives what Python gives, result and mutated arguments alike."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest

from tests.compare import EXACT, ITERATED, REDUCTION, assert_all_same, assert_same
from tests.gallery import FOLDER, PROGRAMS, compiled, example, plain

# What the arithmetic of a program allows: see `tests.compare`.
EXACT_PROGRAMS = """
    ackermann adi bicg burgers cavity_flow cholesky coin_change collatz collatz_memo common_subsequence
    convex_hull crc16 cubic_spline dijkstra epidemic fdtd_2d fibonacci_memo flood_fill floyd_warshall
    gauss_jordan gray_scott hanoi heat_1d heat_2d heat_3d histogram_of_words horizontal_diffusion
    huffman insertion_sort integer_clip jacobi_1d jacobi_2d knapsack levenshtein levinson life lu
    max_pooling maze median_filter merge_sort needleman_wunsch nussinov pair_with_sum percolation
    pi_by_chance polynomial_bank queens queens_by_rows quicksort radial_histogram rising_subsequence rk4
    rule_30 seidel_2d shallow_water sieve sliding_maximum smith_waterman sobel spanning_tree sparse_life
    sudoku syr2k syrk topological_order union_find vertical_advection viterbi wave_1d wave_2d wave_3d
""".split()
REDUCTION_PROGRAMS = """
    adaptive_simpson arc_distance atax azimuthal_integration bilateral_filter black_scholes bootstrap
    brownian_bridge convolution correlation covariance deriche doitgen fir_filter gemver gesummv hidden_markov
    ising kmeans lenet mvt recursive_fft resnet_block scattering_self_energies softmax_attention spmv
    stockham_fft symm trace_loop triangular_solve trmm
""".split()
ITERATED_PROGRAMS = """
    adaptive_ode binomial_option bisection channel_flow conjugate_gradients contour_integral durbin
    gaussian_mixture gibbs_sampler gillespie gram_schmidt kalman logistic_regression lstm mandelbrot_masked
    mandelbrot_shrinking matrix_exponential mlp monte_carlo_option nbody nelder_mead newton newton_fractal
    pagerank particle_swarm perceptron power_iteration qr_algorithm random_walk ray_marching simulated_annealing
    waiting_line
""".split()

TOLERANCES = {
    **dict.fromkeys(EXACT_PROGRAMS, EXACT),
    **dict.fromkeys(REDUCTION_PROGRAMS, REDUCTION),
    **dict.fromkeys(ITERATED_PROGRAMS, ITERATED),
}


def assert_runs_alike(name: str, arguments: tuple[Any, ...], function: Any = None) -> None:
    """Run a program, compiled anew as ``function``, on two copies of its arguments, and compare what came of them."""
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    found, expected = (function or compiled(name))(*ours), plain(name)(*theirs)
    assert_same(found, expected, TOLERANCES[name])
    assert_all_same(ours, theirs, TOLERANCES[name])


def test_every_program_is_tested() -> None:
    assert sorted(TOLERANCES) == PROGRAMS


def test_the_index_names_every_program() -> None:
    index = (FOLDER / "README.md").read_text()
    assert [name for name in PROGRAMS if f"({name}.py)" not in index] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_gives_what_python_gives(name: str) -> None:
    assert_runs_alike(name, example(name))
    assert_runs_alike(name, example(name, seed=1))


@pytest.mark.stress
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_as_a_script(name: str) -> None:
    command = [sys.executable, "-W", "error", FOLDER / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
