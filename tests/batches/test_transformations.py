"""`vmap` under and over the other transformations, axes and structures, generators and models."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap
from tests.batches.programs import W, X, stacked
from tests.compare import ITERATED, assert_same


def loss(w: Any, x: Any) -> Any:
    return (np.tanh(x @ w) ** 2).sum()


def bent(x: Any) -> Any:
    return (np.sin(x) * x[::-1]).sum() * x[0]


def layer(x: Any) -> Any:
    return np.tanh(x @ W)


def test_gradients_of_batches_and_batches_of_gradients() -> None:
    each = stacked([grad(loss)(W, x) for x in X])
    assert_same(vmap(grad(loss), (None, 0))(W, X), each, ITERATED)
    assert_same(grad(lambda w: vmap(loss, (None, 0))(w, X).sum())(W), each.sum(0), ITERATED)
    both = stacked([value_and_grad(loss)(W, x) for x in X])
    assert_same(vmap(value_and_grad(loss), (None, 0))(W, X), both, ITERATED)


@pytest.mark.parametrize("of", [hessian, jacobian, grad])
def test_second_derivatives(of: Any) -> None:
    fun = layer if of is jacobian else bent
    assert_same(vmap(of(fun))(X), stacked([of(fun)(x) for x in X]), ITERATED)


def test_a_hessian_of_a_batch() -> None:
    found = hessian(lambda xs: vmap(bent)(xs).sum())(X)
    for number, x in enumerate(X):
        assert_same(found[number, :, number], hessian(bent)(x), ITERATED)


def test_changes_and_pullbacks() -> None:
    pairs = [*zip(X, X * 2, strict=True)]
    each = stacked([jvp(layer, (x,), (v,)) for x, v in pairs])
    assert_same(vmap(lambda x, v: jvp(layer, (x,), (v,)))(X, X * 2), each, ITERATED)
    assert_same(jvp(vmap(layer), (X,), (X * 2,)), each, ITERATED)
    assert_same(vmap(lambda x, v: hvp(bent, (x,), (v,)))(X, X), stacked([hvp(bent, (x,), (x,)) for x in X]), ITERATED)

    def pulled(x: Any, c: Any) -> Any:
        value, pull = vjp(layer, x)
        return value, pull(c)[0]

    c = X[:, :3]
    assert_same(vmap(pulled)(X, c), stacked([pulled(*one) for one in zip(X, c, strict=True)]), ITERATED)


@jitflow.custom_gradient
def clipped(x: Any) -> Any:
    return np.clip(x, -1, 1), lambda dy: dy * 3


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: clipped(x * 2).sum(),
        lambda x: jitflow.checkpoint(lambda y: np.tanh(y @ W).sum())(x * 2),
        lambda x: (jitflow.stop_gradient(x) * x).sum(),
    ],
)
def test_functions_with_a_say_in_their_gradient(fun: Any) -> None:
    each = stacked([grad(fun)(x) for x in X])
    assert_same(vmap(fun)(X), stacked([jitflow.function(fun)(x) for x in X]), ITERATED)
    assert_same(vmap(grad(fun))(X), each, ITERATED)
    assert_same(grad(lambda xs: vmap(fun)(xs).sum())(X), each, ITERATED)


# -- axes and structures


def test_axes_in_structures() -> None:
    def fun(x: Any, d: Any) -> Any:
        return x * d["a"], d["b"].sum() * x

    found = vmap(fun, in_axes=(1, {"a": None, "b": 1}), out_axes=(1, 0))(X.T.copy(), {"a": 2.0, "b": X.T.copy()})
    assert_same(found, (X.T * 2, X.sum(1)[:, None] * X), ITERATED)
    assert_same(vmap(lambda x: x, in_axes=-1, out_axes=-1)(X), X)
    shared = vmap(lambda x, w: (x.sum(), w * 2), in_axes=(0, None), out_axes=(0, None))(X, W)
    assert_same(shared, (X.sum(1), W * 2), ITERATED)


def test_keywords_are_mapped_along_their_first_axis() -> None:
    assert_same(vmap(lambda x, *, k: x * k)(X, k=X[:, 0]), X * X[:, :1])


def test_defaults_are_not_mapped() -> None:
    def scaled(x: Any, by: Any = 2.0, *, more: Any = 1.0) -> Any:
        return x * by + more

    by = X[:, 0]
    assert_same(vmap(scaled)(X), X * 2 + 1)
    assert_same(vmap(scaled)(X, by), X * X[:, :1] + 1)
    assert_same(vmap(scaled)(X, by=by, more=by), X * X[:, :1] + X[:, :1])
    assert_same(jitflow.function(lambda x: vmap(scaled)(x))(X), X * 2 + 1)
    assert_same(vmap(functools.partial(scaled, by=3.0))(X), X * 3 + 1)
    assert_same(vmap(lambda x, y: x * y, (0, None))(X, y=2.0), X * 2)
    assert_same(jitflow.function(lambda x: vmap(lambda x, y: x * y, (0, None))(x, y=2.0))(X), X * 2)


def test_what_is_none_stays_none() -> None:
    assert_same(vmap(lambda x: (x, None))(X), (X, None))


def test_compiled_functions_and_those_of_numpy() -> None:
    assert_same(vmap(jitflow.function(lambda x: x * 2))(X), X * 2)
    assert_same(vmap(np.negative)(X), -X)


def test_results_are_arrays_of_their_own() -> None:
    given = X.copy()
    found = vmap(lambda x: x)(given)
    found[...] = 0
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("fun", [lambda x: (x, x), lambda x: ((y := x * 2), y), lambda x: ((y := x[None] * 2), y.T)])
def test_results_are_apart_from_each_other(fun: Any) -> None:
    for batched in (vmap(fun), jitflow.function(lambda x: vmap(fun)(x))):
        one, other = batched(X)
        assert not np.shares_memory(one, other)


def test_a_way_that_is_not_taken_makes_no_array() -> None:
    def of_each(k: Any) -> Any:
        return np.zeros(k).sum() + k if k < 100 else -1.0

    assert_same(vmap(of_each)(np.array([3, 10**13])), np.array([3.0, -1.0]))


def test_in_a_loop_of_the_program() -> None:
    @jitflow.function
    def program(x: Any, turns: int) -> Any:
        for _ in range(turns):
            x = vmap(lambda row: row / (1 + np.abs(row).sum()))(x)
        return x

    expected = X
    for _ in range(3):
        expected = expected / (1 + np.abs(expected).sum(1, keepdims=True))
    assert_same(program(X, 3), expected, ITERATED)


def test_models() -> None:
    class Model:
        def __init__(self) -> None:
            self.w, self.b = jitflow.Variable(W), jitflow.Variable(np.zeros(3))

        def __call__(self, x: Any) -> Any:
            return np.tanh(x @ self.w + self.b)

    model = Model()
    assert_same(vmap(lambda x: model(x))(X), np.tanh(X @ W), ITERATED)
    by_w, by_b = vmap(lambda x: grad(lambda: model(x).sum(), variables=(model.w, model.b))())(X)
    slope = 1 - np.tanh(X @ W) ** 2
    assert_same(by_w, X[:, :, None] * slope[:, None], ITERATED)
    assert_same(by_b, slope, ITERATED)


# -- generators


def draws(generator: Any, x: Any) -> Any:
    total = 0.0
    while total < x[0]:
        total += generator.random()
    return x + generator.normal(size=4), total, generator.random()


@pytest.mark.parametrize("is_inside", [False, True])
def test_each_example_draws_from_a_child(is_inside: bool) -> None:
    generator, same = jitflow.random.Generator(5), jitflow.random.Generator(5)

    def batched(x: Any) -> Any:
        return vmap(lambda one: draws(generator, one))(x)

    found = jitflow.function(batched)(X) if is_inside else batched(X)
    children = same.spawn(len(X))
    expected = [draws(child, x) for child, x in zip(children, X, strict=True)]
    assert_same(found, stacked([(one, float(two), float(three)) for one, two, three in expected]), ITERATED)
    assert generator.random() == same.random()
    batched(X)
    assert generator.spawn(1)[0].random() != same.spawn(1)[0].random()


def test_children_of_children() -> None:
    generator, same = jitflow.random.Generator(5), jitflow.random.Generator(5)
    found = vmap(vmap(lambda x: x + generator.normal(size=4)))(np.stack([X, X]))
    expected = [[x + g.normal(size=4) for g, x in zip(child.spawn(len(X)), X, strict=True)] for child in same.spawn(2)]
    assert_same(found, stacked([stacked(one) for one in expected]), ITERATED)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1"])
def test_results_of_several_kinds_are_stacked_as_numpy_stacks_them(dtype: str) -> None:
    """Whether a loop turns at all decides that a sum is Python's 0 or a number of the array; data decide a branch."""

    def total(x: np.ndarray) -> object:
        found: object = 0
        for item in x:
            found = found + item  # type: ignore[operator]
        return found

    def signed(x: np.ndarray) -> object:
        return 2**40 + 1 if x.sum() < 0 else x[0]

    for examples in (np.ones((2, 3)), -np.ones((2, 3)), np.array([[1.0, 2.0], [-3.0, -4.0]]), np.ones((3, 0))):
        given = examples.astype(dtype)
        for program in (total, signed) if examples.size else (total,):
            expected, found = np.stack([program(x) for x in given]), jitflow.vmap(program)(given)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
