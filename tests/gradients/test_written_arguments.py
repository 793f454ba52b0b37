"""What is differentiated by is a value: the function may write to it, and nobody outside sees that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

Program = Callable[[Any], Any]
X = np.array([1.0, 2.0, 3.0])


def replaces(x: Any) -> Any:
    x[0] = x[1] * x[2]
    x += 1.0
    return x * x


def replaces_an_item(parts: Any) -> Any:
    parts["a"][0] = parts["b"] * 2
    parts["a"] = parts["a"] * parts["a"]
    return parts["a"]


EXPECTED = np.array([[0.0, 42.0, 28.0], [0.0, 6.0, 0.0], [0.0, 0.0, 8.0]])


def test_every_transformation_leaves_the_argument_as_it_was() -> None:
    x, ones = X.copy(), np.ones(3)
    value, pull = jitflow.vjp(replaces, x)
    np.testing.assert_allclose(value, [49.0, 9.0, 16.0])
    np.testing.assert_allclose(pull(ones)[0], EXPECTED.sum(0))
    np.testing.assert_allclose(jitflow.jacobian(replaces)(x), EXPECTED)
    np.testing.assert_allclose(jitflow.jvp(replaces, (x,), (ones,))[1], EXPECTED.sum(1))
    np.testing.assert_allclose(jitflow.grad(lambda x: replaces(x).sum())(x), EXPECTED.sum(0))
    second = np.array([[0, 0, 0], [0, 20.0, 26], [0, 26, 10]])
    np.testing.assert_allclose(jitflow.hessian(lambda x: replaces(x).sum())(x), second)
    np.testing.assert_allclose(jitflow.hvp(lambda x: replaces(x).sum(), (x,), (ones,))[0], second.sum(1))
    np.testing.assert_array_equal(x, X)


def test_arrays_in_dicts_stay_as_they_were() -> None:
    parts = {"a": np.array([1.0, 2.0]), "b": 3.0}
    value, pull = jitflow.vjp(replaces_an_item, parts)
    found = pull(np.ones(2))[0]
    np.testing.assert_allclose(value, [36.0, 4.0])
    np.testing.assert_allclose(found["a"], [0.0, 4.0])
    np.testing.assert_allclose(found["b"], 24.0)
    np.testing.assert_allclose(jitflow.jacobian(replaces_an_item)(parts)["b"], [24.0, 0.0])
    assert parts["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_taken_back_later_is_at_the_values_of_the_call(compiled: bool) -> None:
    def program(x: Any) -> Any:
        parts = [x, x * 2]
        value, pull = jitflow.vjp(lambda parts: parts[0] * parts[1], parts)
        x[0] = 10.0
        parts[1][:] = 0.0
        return value, pull(np.ones(3)), pull(np.zeros(3)), x

    x = X.copy()
    value, (found,), _, left = (jitflow.function(program) if compiled else program)(x)
    np.testing.assert_allclose(value, 2 * X * X)
    np.testing.assert_allclose(found[0], 2 * X)
    np.testing.assert_allclose(found[1], X)
    assert left is x
    assert x.tolist() == [10.0, 2.0, 3.0]


def test_within_a_compiled_function_the_array_stays_as_it_was() -> None:
    @jitflow.function
    def program(x: Any) -> Any:
        h = x * 1.0
        value, pull = jitflow.vjp(replaces, h)
        return value, pull(np.ones(3))[0], jitflow.jacobian(replaces)(h), h

    value, found, whole, h = program(X)
    np.testing.assert_allclose(value, [49.0, 9.0, 16.0])
    np.testing.assert_allclose(found, EXPECTED.sum(0))
    np.testing.assert_allclose(whole, EXPECTED)
    np.testing.assert_array_equal(h, X)


def test_a_checkpoint_writes_as_the_function_does() -> None:
    def loss(x: Any, body: Program) -> Any:
        h = x * 1.0
        y = body(h)
        return (y * h).sum()

    recomputed = jitflow.checkpoint(replaces)
    assert jitflow.function(lambda x: loss(x, recomputed))(X) == loss(X, replaces)
    np.testing.assert_allclose(
        jitflow.grad(lambda x: loss(x, recomputed))(X), jitflow.grad(lambda x: loss(x, replaces))(X), rtol=1e-13
    )
    x = X.copy()
    jitflow.function(lambda x: recomputed(x))(x)
    np.testing.assert_array_equal(x, [7.0, 3.0, 4.0])


def test_what_could_not_be_seen_is_refused() -> None:
    both = jitflow.checkpoint(lambda a, b: replaces(a) + b)
    with pytest.raises(NotImplementedError, match="another one shows"):
        jitflow.function(lambda x: both(x, x))(X.copy())
    own = jitflow.custom_gradient(lambda x: (replaces(x), lambda dy: dy))
    with pytest.raises(NotImplementedError, match="gradient of its own that writes to its argument"):
        jitflow.function(lambda x: own(x))(X.copy())
