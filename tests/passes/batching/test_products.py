"""Which sums of products of an example become products of two matrices."""

from __future__ import annotations

import numpy as np
import pytest

from jitflow.ir.core import walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.pipeline import run_passes

_RANDOM = np.random.default_rng(0)

VECTOR_TIMES_MATRIX = """
  %1: f64[m, k] = transpose %w {axes=[1, 0]}
  %2: f64[m, k] = broadcast %x {dims=[m, k], axes=[1]}
  %3: f64[m, k] = multiply %2, %1
  %4: f64[m] = reduce_add %3 {axes=[1]}"""
MATRIX_TIMES_VECTOR = """
  %1: f64[1, k] = reshape %x {dims=[1, k]}
  %2: f64[k, k] = broadcast %1 {dims=[k, k], axes=[0, 1]}
  %3: f64[k, k] = multiply %v, %2
  %4: f64[k] = reduce_add %3 {axes=[1]}"""
BY_ANOTHER_NAME = """
  %0: f64[k, j] = broadcast %v {dims=[k, j], axes=[0, 1], assumed=true}
  %9: f64[j] = broadcast %x {dims=[j], axes=[0], assumed=true}
  %2: f64[k, j] = broadcast %9 {dims=[k, j], axes=[1]}
  %3: f64[k, j] = multiply %2, %0
  %4: f64[k] = reduce_add %3 {axes=[1]}"""
WITH_ITSELF = """
  %1: f64[k, k] = broadcast %x {dims=[k, k], axes=[1]}
  %2: f64[k, k] = broadcast %x {dims=[k, k], axes=[0]}
  %3: f64[k, k] = multiply %1, %2
  %4: f64[k] = reduce_add %3 {axes=[1]}"""
WEIGHTED_SUM = """
  %1: f64[k] = slice %w {starts=[0, 0], sizes=[k, 1], steps=[1, 1]}
  %2: f64[k] = reshape %1 {dims=[k]}
  %3: f64[k] = multiply %x, %2
  %4: f64 = reduce_add %3 {axes=[0]}""".replace("f64[k] = slice", "f64[k, 1] = slice")


@pytest.mark.parametrize(
    ("body", "result", "products"),
    [
        (VECTOR_TIMES_MATRIX, "f64[n, m]", 1),
        (MATRIX_TIMES_VECTOR, "f64[n, k]", 1),
        (BY_ANOTHER_NAME, "f64[n, k]", 1),
        (WITH_ITSELF, "f64[n, k]", 0),
        (WEIGHTED_SUM, "f64[n]", 0),
    ],
)
def test_products(body: str, result: str, products: int) -> None:
    function = parse(f"""func @f(%xs: f64[n, k], %w: f64[k, m], %v: f64[k, k], %u: f64[j]) {{
      %r: {result} = vmap %xs {{shared=0}} (%x: f64[k]) {{
        {body}
        yield %4
      }}
      yield %r
    }}""")
    after = run_passes(function, ("differentiate", "dce"))
    assert sum(op.name == "matmul" for op in walk(after.region)) == products
    arguments = [_RANDOM.normal(size=shape) for shape in ((4, 3), (3, 2), (3, 3), (3,))]
    for found, expected in zip(interpret(after, *arguments), interpret(function, *arguments), strict=True):
        np.testing.assert_allclose(found, expected)
