"""The plan of buffers: what it says of small functions, and that it is asked and not decided anew."""

from __future__ import annotations

import dataclasses

import pytest

from jitflow.ir.parser import parse
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.passes.plan.planner import plan_buffers
from jitflow.passes.plan.text import plan_text

TAKEN = """func @f(%x: f64[n], %u: var f64[n]) where n >= 1 {
  %0: f64[n] = add %x, %x
  %1: var f64[n] = variable %0
  %2: f64 = constant {value=1.0, type=<f64>}
  %3: place f64[1] = slice %1 {starts=[0], sizes=[1], steps=[1]}
  store %3, %2
  %4: f64[n] = load %u
  %5: f64[n] = multiply %4, %x
  store %u, %5
  %6: f64[n] = load %1
  yield %6
}"""
SHOWN = """func @f(%u: var f64[n]) where n >= 2 {
  %0: f64[n] = load %u
  %1: f64[n - 1] = slice %0 {starts=[1], sizes=[n - 1], steps=[1]}
  %2: f64[n - 1] = negative %1
  %3: place f64[n - 1] = slice %u {starts=[0], sizes=[n - 1], steps=[1]}
  store %3, %2
  yield
}"""
REPLACED = """func @f(%x: f64[n]) {
  %0: f64[n] = accumulate_add %x {axis=0}
  %1: f64[n] = negative %0
  yield %1
}"""
VIEWS = """func @f(%c: bool, %u: var f64[n], %x: f64[n, n]) where n >= 2 {
  %0: f64[n, n] = exp %x
  %1: var f64[n, n] = variable %0
  %2: place f64[n, n] = transpose %1 {axes=[1, 0]}
  %3: f64[n] = reduce_add %x {axes=[0]}
  %4: var f64[n] = variable %3
  %5: place f64[n] = if %c () {
    yield %u
  } () {
    yield %4
  }
  %6: f64 = constant {value=1.0, type=<f64>}
  %7: f64[n] = broadcast %6 {dims=[n], axes=[]}
  yield %1, %2, %5, %7
}"""
APART = """func @f(%u: var f64[n], %k: index[k]) where k >= 0, n >= 2*k {
  %0: f64[n] = load %u
  %1: f64[k] = slice %0 {starts=[k - 1], sizes=[k], steps=[-1]}
  %2: f64[k] = negative %1
  %3: place f64[k] = slice %u {starts=[n - k], sizes=[k], steps=[1]}
  store %3, %2
  yield
}"""
PLANS = {
    TAKEN: """plan of @f
  cpu:0  8*n bytes, argument 0: %x
  cpu:0  8*n bytes, argument 1: %u, %0
  cpu:0  8*n bytes, from kernel_0 to the end: %1, %7, %9, %10
  %2 is written for store by its kernel
""",
    SHOWN: """plan of @f
  cpu:0  8*n bytes, argument 0: %u, %0, %1
  cpu:0  8*n - 8 bytes, from kernel_0 to store: %2
""",
    APART: """plan of @f
  cpu:0  8*n bytes, argument 0: %u, %0, %1
  %2 is written for store by its kernel
""",
    REPLACED: """plan of @f
  cpu:0  8*n bytes, argument 0: %x
  cpu:0  8*n bytes, from accumulate_add to the end: %0, %1
""",
    VIEWS: """plan of @f
  cpu:0  8*n bytes, argument 1: %u
  cpu:0  8*n*n bytes, argument 2: %x
  cpu:0  8*n*n bytes, from kernel_0 to the end: %0, %5, %6
  cpu:0  8*n bytes, from kernel_0 to the end: %1, %7
  cpu:0  8*n bytes, from if to the end: %8
  cpu:0  8*n bytes, from kernel_1 to the end: %9
  %6 comes out as a view of result 0
  %8 comes out as a view of argument 1 or result 4
""",
}
"""A variable takes the memory of its value over; a kernel reads what it would replace, or what lies apart from that, as
a fact says; one replaces what it reads; results show each other, and what only the run knows."""


@pytest.mark.parametrize("text", PLANS)
def test_what_the_plan_says(text: str) -> None:
    fused = run_passes(parse(text), FUSION_PIPELINE)
    assert plan_text(fused, plan_buffers(fused)) == PLANS[text]


def test_a_version_for_short_sizes_has_a_plan_too() -> None:
    function = parse("""func @f(%x: f64[n, m]) with {hints=[["n", 50], ["m", 3]]} {
  %0: f64[n] = reduce_add %x {axes=[1]}
  yield %0
}""")
    fused = run_passes(function, FUSION_PIPELINE)
    _, _, short = plan_text(fused, plan_buffers(fused, "cpu:1")).partition("\nfor m = 3: plan of @f\n")
    assert (
        short
        == """  cpu:1  24*n bytes, argument 0: %x
  cpu:1  8*n bytes, from kernel_0 to the end: %0
"""
    )


def test_the_plan_is_frozen() -> None:
    plan = plan_buffers(run_passes(parse(TAKEN), FUSION_PIPELINE))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.blocks = {}  # type: ignore[misc]
