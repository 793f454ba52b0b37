"""Kernels that compute the same are lowered once, and what a kernel's place in the program decides keeps them apart."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY, EXACT, REDUCTION, assert_same


def kernels(function: Any) -> list[str]:
    """The kernels that were compiled of a function, each as often as it is launched."""
    from jitflow.compilation.compiler import lower
    from jitflow.ir.core import walk

    (host,) = lower(function._asked((), {}, "kernels"))
    return [op.attributes["kernel"] for op in walk(host.region) if op.name == "launch"]


def layer(x: Any, w: Any, b: Any) -> Any:
    return np.tanh(x @ w + b)


def test_equal_layers_have_one_kernel() -> None:
    def program(x: Any, weights: Any) -> Any:
        for w, b in weights:
            x = layer(x, w, b)
        return x

    rng = np.random.default_rng(0)
    weights = [(rng.normal(size=(8, 8)), rng.normal(size=8)) for _ in range(5)]
    compiled, x = jitflow.function(program), rng.normal(size=(4, 8))
    assert_same(compiled(x, weights), program(x, weights), REDUCTION)
    assert kernels(compiled) == 5 * ["kernel_0"]  # though sizes have other names in each


def test_results_that_lie_otherwise_have_other_kernels() -> None:
    """One result is written over what it is made of, one goes to a part of an array, one to memory of its own."""

    def program(x: Any, y: Any) -> Any:
        parts = np.empty((2, *x.shape))
        parts[0] = np.exp(x) * y
        parts[1, ::-1] = np.exp(x) * y
        z = np.exp(y) * x
        y[:] = np.exp(x) * y
        return parts, z

    def arguments() -> tuple[Any, ...]:
        rng = np.random.default_rng(1)
        return rng.normal(size=(5, 7)), rng.normal(size=(5, 7))

    ours, theirs = arguments(), arguments()
    assert_same(jitflow.function(program)(*ours), program(*theirs), ELEMENTARY)
    assert_same(ours, theirs, ELEMENTARY)


def test_a_failure_names_its_own_line() -> None:
    def program(x: Any, i: Any, j: Any) -> Any:
        first = x[i] * 2.0
        second = x[j] * 2.0
        return first, second

    compiled, x, fine = jitflow.function(program), np.arange(5.0), np.array([0, 1])
    compiled(x, fine, fine)
    for wrong, line in (((fine + 9, fine), "first ="), ((fine, fine + 9), "second =")):
        with pytest.raises(IndexError) as raised:
            compiled(x, *wrong)
        innermost = raised.traceback[-1]
        assert line in str(innermost.statement)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_products_of_one_step(dtype: str) -> None:
    """They are multiplications, but for a zero: NumPy adds to 0."""
    numbers = np.array([0.0, -0.0, 1.5, -2.0, 3.0, 0.5])
    x, y = numbers.astype(dtype)[:, None], numbers[::-1].copy().astype(dtype)[None]
    compiled = jitflow.function(lambda x, y: (x @ y, x[None] @ y[None], (x @ y) + 1))
    with np.errstate(all="ignore"):
        assert_same(compiled(x, y), (x @ y, x[None] @ y[None], (x @ y) + x.dtype.type(1)), EXACT)


def test_products_of_one_step_of_what_is_no_number() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    with np.errstate(all="ignore"):
        expected = x[:, None] @ x[None]
    assert_same(jitflow.function(lambda x: x[:, None] @ x[None])(x), expected)


def test_a_product_of_more_dimensions_owns_its_memory() -> None:
    x, w = np.ones((20, 30, 40)), np.ones((40, 50))
    compiled = jitflow.function(lambda x, w: x @ w)
    result = compiled(x, w)
    assert result.base is None
    assert_same(result, x @ w)
    assert len(kernels(compiled)) == 1


@pytest.mark.parametrize("program", [lambda x: x[::-1].sum(), lambda x: (x[::2] * x[::-2]).sum(), lambda x: x.T.max()])
def test_reductions_of_what_lies_apart_go_by_vectors(program: Any) -> None:
    compiled, x = jitflow.function(program), np.random.default_rng(2).normal(size=(400,))
    assert_same(compiled(x), program(x), REDUCTION)
    from jitflow.compilation.compiler import lower

    compilation = compiled._asked((), {}, "kernels")
    lower(compilation)
    assert compilation.lowered is not None
    (scheduled,) = compilation.lowered.scheduled.values()
    assert "in lanes" in scheduled.text("kernel")


def test_views_that_lie_alike_share_where_a_position_is() -> None:
    """A stencil's seven reads were seven sums for each row, which cost more than short rows."""

    def program(a: Any) -> Any:
        middle = a[1:-1, 1:-1]
        return middle + a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]

    compiled, a = jitflow.function(program), np.arange(42.0).reshape(6, 7)
    assert_same(compiled(a), program(a), EXACT)
    for kernel in re.findall(r"^kernel .*?^}", compiled.ir(a, stage="kernels"), re.DOTALL | re.MULTILINE):
        assert kernel.count(" = multiply ") == 4  # rows and columns, of the argument and of the result
