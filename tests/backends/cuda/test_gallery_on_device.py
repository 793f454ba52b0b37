"""The gallery on a GPU: each program gives what Python gives, and nothing of it stays on the host."""

from __future__ import annotations

from typing import Any

import pytest

import jitflow
from jitflow.backends.cuda import compile_to_cubin
from tests.backends.cuda.kernels import ARCHITECTURES, needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice, RealGpu
from tests.backends.cuda.stand_in import StandIn
from tests.gallery import PROGRAMS, compiled, example, plain
from tests.sampled import sampled
from tests.test_programs import assert_runs_alike

ON_THE_HOST = frozenset(
    """
    ackermann adaptive_simpson bootstrap brownian_bridge coin_change collatz_memo common_subsequence convex_hull
    dijkstra epidemic fibonacci_memo flood_fill gibbs_sampler gillespie hanoi histogram_of_words huffman maze
    merge_sort pair_with_sum particle_swarm pi_by_chance queens queens_by_rows quicksort recursive_fft
    rising_subsequence sliding_maximum spanning_tree sparse_life sudoku topological_order union_find
    waiting_line
    """.split()
)
"""Programs with Python's containers, recursion, or draws from NumPy's generators."""
PROGRAMS_ON_DEVICES = [name for name in PROGRAMS if name not in ON_THE_HOST]


@needs_nvrtc
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", sampled(PROGRAMS_ON_DEVICES, 20))
def test_it_gives_what_python_gives(name: str, gpu: Any) -> None:
    code = OnDevice(compiled(name), *example(name), gpu=gpu)
    assert_runs_alike(name, example(name), code)
    assert code.lost() == 0
    if gpu is RealGpu:
        return
    architecture = ARCHITECTURES[PROGRAMS.index(name) % len(ARCHITECTURES)]
    assert compile_to_cubin(code.source, architecture)


def test_nothing_stays_on_the_host() -> None:
    with StandIn().installed():
        for name in PROGRAMS_ON_DEVICES:
            plan = jitflow.function(plain(name), device="cuda:0").placement(*example(name))
            assert {(one.op, one.why) for one in plan.ops if one.device != "cuda:0"} == set(), name
