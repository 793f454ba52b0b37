"""How much memory programs take at most: within 1.15 of what the lives of their values ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compilation import compiler
from jitflow.ir.dims import maximum, symbol
from jitflow.ir.parser import parse
from jitflow.passes.lower import lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.passes.plan.peak import Peak, find_peak, least_bytes
from tests.gallery import compiled, example

SCRATCH = 256 << 10
"""Bytes that kernels may have of their own, which stay in the second cache: what is packed, and sums of bands."""
PROGRAMS = """
    adi burgers cavity_flow conjugate_gradients covariance deriche floyd_warshall gauss_jordan gray_scott
    heat_2d horizontal_diffusion ising kalman kmeans life lstm lu mandelbrot_shrinking matrix_exponential mlp nbody
    newton_fractal pagerank rk4 shallow_water sobel softmax_attention stockham_fft viterbi wave_2d
""".split()


def compilation_of(name: str) -> compiler.Compilation:
    function = compiled(name)
    found: compiler.Compilation = function._trace(function._bind(example(name, "large"), {}))
    compiler.lower(found)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_take_little_more_than_is_alive(name: str) -> None:
    made = compilation_of(name)
    (fused,), (buffers,), (host,) = made.fused, made.buffers, made.hosts
    sizes = dict(fused.attributes["hints"])
    least = least_bytes(fused, buffers, sizes)
    assert find_peak(host).at(sizes) <= 1.15 * least + SCRATCH


TURNS = parse("""func @f(%x: var f64[n], %y: f64[n], %steps: index[steps]) where n >= 0, steps >= 0 {
  %0: index = size {dim=0}
  %1: index = size {dim=1}
  for %0, %steps, %1 (%i: index[i]) {
    %2: f64[n] = load %x
    %3: f64[n] = accumulate_add %2 {axis=0}
    %4: f64[n] = accumulate_add %3 {axis=0}
    %5: f64[n] = accumulate_add %4 {axis=0}
    %6: f64[n] = add %5, %y
    store %x, %6
    yield
  }
  yield
}""")


def test_what_a_turn_needs_one_after_the_other_is_the_same_memory() -> None:
    lowered = lower(run_passes(TURNS, FUSION_PIPELINE))
    assert [op.name for op in lowered.host.region.ops].count("alloc") == 2
    assert find_peak(lowered.host) == Peak(16 * symbol("n"), True)


@pytest.mark.parametrize("part", [lambda x, i: x[i:], lambda x, i: x[: i + 1]], ids=["falling", "rising"])
def test_the_turn_that_needs_most_counts(part: Callable[[Any, Any], Any]) -> None:
    @jitflow.function
    def sums(x):
        total = 0.0
        for i in range(len(x)):
            total += np.cumsum(np.cumsum(part(x, i)))[-1]
        return total

    assert sums.explain(np.ones(9)).peak == Peak(maximum(16 * symbol("n"), 16), True)


def test_explain_tells_it() -> None:
    @jitflow.function
    def products(a, b):
        return (a @ b) @ b

    explained = products.explain(np.ones((64, 64)), np.ones((64, 64)))
    assert explained.peak.complete
    assert explained.peak.at({"n": 3, "m": 5, "p": 5}) == 240
    panels = explained.peak.at({"n": 1000, "m": 1000, "p": 1000}) - 16 * 1000 * 1000
    assert 0 < panels < 4 << 20, "what is packed of a large matrix stays in the second cache of each thread"
    assert "at most 65,536 bytes at a time for these sizes" in str(explained)


def test_sizes_that_a_function_gives_are_known() -> None:
    @jitflow.function
    def products(a, b, c, d):
        return a @ b @ c @ d

    explained = products.explain(*(np.ones(shape) for shape in ((40, 30), (30, 20), (20, 60), (60, 50))))
    assert explained.peak.complete
    sizes = dict.fromkeys(explained.sizes, 1000)
    assert 0 < explained.peak.at(sizes) - 16 * 1000 * 1000 < 4 << 20
