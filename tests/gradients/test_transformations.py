"""`grad` and its kin: structures, nesting, rules of one's own, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_programs import central_differences

X = np.array([0.1, 0.2, 0.3, 0.5])
A = np.arange(8.0).reshape(2, 4) / 10


def test_the_value_is_pythons_number_where_it_may_be_an_int_or_a_float() -> None:
    def total(x: Any) -> Any:
        found = 0
        for item in x:
            found = found + float(item) ** 2
        return found

    assert [type(jitflow.value_and_grad(total)(x)[0]) for x in (X, X[:0])] == [float, float]


def test_none_in_a_structure_stays_none() -> None:
    def loss(layers: Any, x: Any) -> Any:
        for layer in layers:
            x = x @ layer["w"] if layer["b"] is None else x @ layer["w"] + layer["b"]
        return (x**2).sum()

    layers = [{"w": A.T.copy(), "b": None}, {"w": A[:, :3].copy(), "b": np.ones(3)}]
    (first, second), by_x = jitflow.grad(loss, argnums=(0, 1))(layers, X)
    assert first["b"] is None
    np.testing.assert_allclose(by_x, central_differences(lambda x: loss(layers, x), X), rtol=1e-5)
    ones = [{"w": np.ones((4, 2)), "b": None}, {"w": np.ones((2, 3)), "b": np.ones(3)}]
    change = jitflow.jvp(lambda layers: loss(layers, X), (layers,), (ones,))[1]
    assert np.isclose(change, sum(part.sum() for part in (first["w"], second["w"], second["b"])))
    assert jitflow.vjp(lambda layers: loss(layers, X), layers)[1](1.0)[0][0]["b"] is None


def test_structures_and_several_arguments() -> None:
    def loss(parameters: Any, x: Any, scale: float) -> Any:
        return ((x @ parameters["w"] + parameters["b"][0]) ** 2).sum() * scale

    parameters = {"w": A.T.copy(), "b": [np.ones(2)]}
    value, (by_parameters, by_scale) = jitflow.value_and_grad(loss, argnums=(0, 2))(parameters, X[None], 2.0)
    residual = X[None] @ A.T + 1
    assert np.isclose(value, 2 * (residual**2).sum())
    np.testing.assert_allclose(by_parameters["w"], 4 * X[:, None] * residual)
    np.testing.assert_allclose(by_parameters["b"][0], 4 * residual[0])
    assert np.isclose(by_scale, (residual**2).sum())
    assert type(by_scale) is float


def test_what_else_a_function_returns_is_handed_through() -> None:
    def loss(x: Any) -> Any:
        return (x * x).sum(), {"half": x / 2, "name": "square"}

    gradient, rest = jitflow.grad(loss, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    np.testing.assert_array_equal(rest["half"], X / 2)
    assert rest["name"] == "square"
    (_, rest), _ = jitflow.value_and_grad(loss, has_aux=True)(X)
    np.testing.assert_array_equal(rest["half"], X / 2)


def test_gradients_inside_compiled_functions() -> None:
    cube = jitflow.grad(lambda x: (x**3).sum())

    @jitflow.function
    def program(x: Any) -> Any:
        total = np.zeros_like(x)
        for i in range(3):
            total += cube(x * i) + jitflow.grad(lambda y, i=i: (y**2).sum() * i)(x)
        return total

    np.testing.assert_allclose(program(X), sum(3 * (X * i) ** 2 + 2 * X * i for i in range(3)))


def test_keyword_arguments_and_defaults() -> None:
    def loss(x: Any, k: float = 2.0, *, c: float = 1.0) -> Any:
        return x.sum() * k * c

    gradient = jitflow.grad(loss)
    for found, expected in ((gradient(X), 2), (gradient(X, 3.0), 3), (gradient(X, c=5.0), 10)):
        np.testing.assert_array_equal(found, np.full(4, expected))
    with pytest.raises(TypeError, match="positional"):
        gradient(X, 1.0, 2.0, 3.0)


def test_variables() -> None:
    w, b = jitflow.Variable(A.T), jitflow.Variable(np.zeros(2))

    def loss(x: Any) -> Any:
        return ((x @ w + b) ** 2).sum()

    @jitflow.function
    def step(x: Any, rate: float, steps: int) -> Any:
        before = loss(x)
        for _ in range(steps):
            _, gradients = jitflow.value_and_grad(loss, variables={"w": w, "b": b})(x)
            w[...] -= rate * gradients["w"]
            b[...] -= rate * gradients["b"]
        return before

    weights, bias, x = w.numpy().copy(), b.numpy().copy(), np.arange(12.0).reshape(3, 4) / 10
    expected = ((x @ weights + bias) ** 2).sum()
    assert np.isclose(step(x, 0.1, 4), expected)
    for _ in range(4):
        residual = 2 * (x @ weights + bias)
        weights, bias = weights - 0.1 * x.T @ residual, bias - 0.1 * residual.sum(0)
    np.testing.assert_allclose(w.numpy(), weights)
    np.testing.assert_allclose(b.numpy(), bias)


def test_vjp() -> None:
    value, pull = jitflow.vjp(lambda x, k: (np.sin(A @ x) * k, x.sum()), X, 2.0)
    np.testing.assert_allclose(value[0], 2 * np.sin(A @ X))
    by_x, by_k = pull((np.ones(2), 3.0))
    np.testing.assert_allclose(by_x, 2 * np.cos(A @ X) @ A + 3)
    assert np.isclose(by_k, np.sin(A @ X).sum())


def test_jacobian_and_hessian() -> None:
    np.testing.assert_allclose(jitflow.jacobian(lambda x: np.sin(A @ x))(X), np.cos(A @ X)[:, None] * A)
    by_row, by_x = jitflow.jacobian(lambda a, x: a @ x, argnums=(0, 1))(A, X)
    assert by_row.shape == (2, 2, 4)
    np.testing.assert_array_equal(by_x, A)
    np.testing.assert_allclose(jitflow.hessian(lambda x: (x**3).sum() + x[0] * x[1])(X),
                               np.diag(6 * X) + np.eye(4)[[1, 0, 2, 3]] * np.array([1, 1, 0, 0]))  # fmt: skip
    (product,) = jitflow.hvp(lambda x: (x**3).sum(), (X,), (A[1],))
    np.testing.assert_allclose(product, 6 * X * A[1])


def test_the_result_may_have_a_size_that_the_function_finds() -> None:
    """Cotangents have a size of their own, which was compared where nobody knew that of the result."""

    def squares(x):
        return x[x > 0] ** 2

    x = np.array([1.0, -2.0, 3.0])
    _, pullback = jitflow.vjp(squares, x)
    assert np.array_equal(pullback(np.array([1.0, 10.0]))[0], [2.0, 0.0, 60.0])
    assert np.array_equal(jitflow.jacobian(squares)(x), [[2.0, 0.0, 0.0], [0.0, 0.0, 6.0]])
    assert jitflow.jacobian(squares)(-np.ones(2)).shape == (0, 2)
    with pytest.raises(ValueError, match=r"\(3,\) .* \(2,\)"):
        pullback(np.ones(3))


def test_the_jacobian_of_a_number_whose_type_the_program_decides() -> None:
    def until(x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            if x[i] > 2:
                break
            total += x[i] ** 2
        return total

    for x in (X, np.full(3, 9.0)):
        np.testing.assert_allclose(jitflow.jacobian(until)(x), jitflow.grad(until)(x))


def test_gradients_of_gradients_of_loops() -> None:
    def program(x: Any) -> Any:
        s = x[0]
        for i in range(4):
            s = np.sin(s) * x[i] + s
        return s

    def norm(x: Any) -> Any:
        return (jitflow.grad(program)(x) ** 2).sum()

    np.testing.assert_allclose(jitflow.grad(norm)(X), central_differences(norm, X), rtol=1e-6, atol=1e-9)


def test_a_gradient_of_ones_own() -> None:
    @jitflow.custom_gradient
    def clipped(x: Any) -> Any:
        return np.clip(x, -0.25, 0.25), lambda dy: dy * 2

    @jitflow.custom_gradient
    def product(x: Any, y: Any) -> Any:
        return x * y, lambda dz: (dz * 10, None)

    np.testing.assert_array_equal(clipped(X), np.clip(X, -0.25, 0.25))
    np.testing.assert_allclose(jitflow.grad(lambda x: (clipped(x) * x).sum())(X), np.clip(X, -0.25, 0.25) + 2 * X)
    np.testing.assert_array_equal(jitflow.grad(lambda x: product(x, x).sum())(X), np.full(4, 10.0))
    np.testing.assert_array_equal(jitflow.function(lambda x: clipped(x))(X), np.clip(X, -0.25, 0.25))


def test_stopped_gradients() -> None:
    np.testing.assert_array_equal(jitflow.grad(lambda x: (jitflow.stop_gradient(x) * x).sum())(X), X)
    np.testing.assert_array_equal(jitflow.stop_gradient(X), X)


def test_checkpoints() -> None:
    weights = jitflow.Variable(A[1])

    def deep(x: Any, layer: Any) -> Any:
        h, k = x, x * x

        @jitflow.checkpoint
        def captures(h: Any) -> Any:
            return np.sin(h) * k

        for _ in range(5):
            h = captures(layer(h))
        return h.sum()

    @jitflow.checkpoint
    def layer(h: Any) -> Any:
        return np.tanh(h * weights) + weights

    def loss(x: Any) -> Any:
        return deep(x, layer)

    def plain(x: Any, w: Any) -> Any:
        h = x
        for _ in range(5):
            h = np.sin(np.tanh(h * w) + w) * (x * x)
        return h.sum()

    value, (by_x, by_weights) = jitflow.value_and_grad(loss, argnums=0, variables=weights)(X)
    expected, (wanted_x, wanted_weights) = jitflow.value_and_grad(plain, argnums=(0, 1))(X, A[1])
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(by_x, wanted_x, rtol=1e-13)
    np.testing.assert_allclose(by_weights, wanted_weights, rtol=1e-13)


def test_new_sizes_compile_nothing() -> None:
    gradient = jitflow.grad(lambda x: (np.sin(x[1:]) * x[:-1]).sum())
    for size in range(2, 40):
        x = np.linspace(0, 1, size)
        expected = np.zeros(size)
        expected[1:] += np.cos(x[1:]) * x[:-1]
        expected[:-1] += np.sin(x[1:])
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-14)
    assert gradient.cache_info().misses == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jitflow.grad(lambda x: x)(X), TypeError, "not one real number"),
        (lambda: jitflow.grad(lambda x: x.sum())(np.arange(3)), TypeError, "no float or complex"),
        (lambda: jitflow.grad(lambda x: x.sum(), argnums=3)(X), ValueError, "argnums names argument 3"),
        (lambda: jitflow.grad(lambda x, y: x.sum(), argnums=(1, -1))(X, X), ValueError, "names argument 1 twice"),
        (lambda: jitflow.grad(lambda x: x.sum(), has_aux=True)(X), TypeError, "pair"),
        (lambda: jitflow.grad(lambda: 1.0, variables=[1.0])(), TypeError, "no variable"),
        (lambda: jitflow.grad(lambda x: jitflow.custom_gradient(lambda x: x)(x).sum())(X), TypeError, "return a pair"),
        (lambda: jitflow.jacobian(lambda x: "no")(X), TypeError, "Jacobian"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("turns", [0, 1, 2, 7, 50])
def test_loops_in_segments(turns: int) -> None:
    def loss(x: Any, n: int, checkpoint: bool) -> Any:
        return jitflow.fori_loop(0, n, lambda i, h: np.sin(h) * 1.1 + h * 0.1 * i, x, checkpoint=checkpoint).sum()

    kept, again = (
        jitflow.value_and_grad(jitflow.function(loss, static="checkpoint"))(X, turns, c) for c in (False, True)
    )
    np.testing.assert_allclose(again[0], kept[0], rtol=1e-14)
    np.testing.assert_allclose(again[1], kept[1], rtol=1e-13)


def test_gradients_where_everything_else_runs_as_python() -> None:
    program = """
import numpy as np, jitflow

@jitflow.function
def step(x):
    value, gradient = jitflow.value_and_grad(lambda y: (y * y).sum())(x)
    return value, gradient

print(type(step).__name__, *step(np.arange(3.0)))
"""
    environment = {**os.environ, "JITFLOW_DISABLE": "1"}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "function 5.0 [0. 2. 4.]\n"


def test_functions_that_would_be_others_each_time_are_refused() -> None:
    """A value and its derivative belong together: both of one draw, and of one state of a variable."""
    w, generator, scratch = jitflow.Variable(np.ones(4)), jitflow.random.Generator(1), np.zeros(4)

    def counts(x: Any) -> Any:
        w[...] += 1.0
        return x * w

    def draws(x: Any) -> Any:
        return x * generator.random(4)

    def fills(x: Any) -> Any:
        scratch[...] = 2 * x
        return scratch * x

    for function in (counts, draws):
        for ask in (
            lambda x, function=function: jitflow.vjp(function, x)[1](np.ones(4)),
            jitflow.jacobian(function),
            jitflow.function(lambda x, function=function: jitflow.vjp(function, x)[1](np.ones(4))),
        ):
            with pytest.raises(NotImplementedError, match="of a function that changes what it reads from outside"):
                ask(X)
    np.testing.assert_allclose(jitflow.vjp(fills, X)[1](np.ones(4))[0], 4 * X)
    np.testing.assert_allclose(jitflow.jacobian(fills)(X), np.diag(4 * X))
    before = w.numpy()
    product = jitflow.hvp(lambda x: (counts(x) * x).sum(), (X,), (np.ones(4),))
    np.testing.assert_allclose(product[0], 2 * (before + 1))
