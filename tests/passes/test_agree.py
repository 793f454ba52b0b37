"""`agree` beside the passes that follow it: two arguments that meet become one kernel."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.passes.pipeline import run_passes

BEFORE = """\
func @before(%x: f32[n], %y: f32[k]) {
  %0: f32[k] = multiply %y, %y
  %1: index[n] = size {dim=n}
  %2: index[k] = size {dim=k}
  %3: bool = equal %1, %2
  check %3, %1, %2 {error="ValueError", message="operands could not be broadcast together with shapes ({},) ({},) "}
  %4: f32[n] = broadcast %y {axes=[0], dims=[n], assumed=true}
  %5: f32[n] = add %x, %4
  %6: f32 = reduce_add %0 {axes=[0]}
  %7: f32[k] = exp %y
  yield %5, %6, %7
}
"""

AFTER = """\
func @before(%x: f32[n], %y: f32[k]) {
  %0: f32[k] = multiply %y, %y
  %1: index[n] = size {dim=n}
  %2: index[k] = size {dim=k}
  %3: bool = equal %1, %2
  check %3, %1, %2 {error="ValueError", message="operands could not be broadcast together with shapes ({},) ({},) "}
  %4: f32[n] = broadcast %y {dims=[n], axes=[0], assumed=true}
  %5: f32[n] = add %x, %4
  %6: f32[n] = broadcast %0 {dims=[n], axes=[0], assumed=true}
  %7: f32 = reduce_add %6 {axes=[0]}
  %8: f32[n] = exp %4
  yield %5, %7, %8
}
"""


def test_before_and_after() -> None:
    function = run_passes(parse(BEFORE), ("agree", "simplify", "cse", "dce"))
    assert print_function(function).strip() == AFTER.strip()


def test_a_number_stands_for_the_names_that_are_equal_to_it() -> None:
    """By the guard, and by a check; what was computed of them before it is seen with that number as well."""
    text = """func @meet(%x: f32[n], %y: f32[k]) where n == 20 {
  %0: f32[k] = exp %y
  %1: index[k] = size {dim=k}
  %2: index[20] = size {dim=20}
  %3: bool = equal %1, %2
  check %3, %1 {error="ValueError", message="{}"}
  %4: f32[n] = exp %x
  %5: f32 = reduce_add %0 {axes=[0]}
  yield %4, %5
}
"""
    function = run_passes(parse(text), ("agree",))
    assert [str(op.operands[0].type) for op in function.region.body if op.name in ("exp", "reduce_add")] == [
        "f32[k]", "f32[20]", "f32[20]",
    ]  # fmt: skip


def test_the_norm_of_known_shape_beside_variables_has_the_bits_that_it_has_alone() -> None:
    weights, optimiser = jitflow.Variable(np.zeros((20, 32), np.float32)), jitflow.optim.Adam(clip_norm=1.0)

    def square(x):
        return (x.reshape(20, 32) ** 2).sum()

    def step(x):
        optimiser.apply(x.reshape(20, 32), weights)
        return square(x)

    alone, beside = jitflow.function(square), jitflow.function(step)
    random = np.random.default_rng(1)
    for _ in range(40):
        x = np.exp(3 * random.standard_normal(640)).astype(np.float32)
        assert alone(x).tobytes() == beside(x).tobytes()


def test_arguments_that_meet_share_a_kernel() -> None:
    @jitflow.function
    def products(x, y):
        return (x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1), y[1:]

    x = np.arange(12.0).reshape(3, 4)
    for ours, numpy in zip(products(x, x + 1), products.__wrapped__(x, x + 1), strict=True):
        np.testing.assert_array_equal(ours, numpy)
    assert products.ir(x, x, stage="fused").count("= fusion") == 1
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        products(x, x[:2])


@pytest.mark.parametrize("last", [1, 2])
def test_a_view_that_is_returned_of_an_array_whose_sizes_got_other_names(last: int) -> None:
    @jitflow.function
    def flat_and_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        made = x * 2.0
        made[0, :, :] *= 2.0
        return made.reshape(-1), y @ made

    x, y = np.arange(8.0 * last).reshape(2, 4, last), np.arange(4.0)
    expected = x * 2.0
    expected[0] *= 2.0
    flat, product = flat_and_product(x, y)
    np.testing.assert_array_equal(flat, expected.reshape(-1))
    np.testing.assert_allclose(product, y @ expected)
