"""Cotangents, tangents and gradients find what they belong to by keys and positions, or it is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

X = np.arange(3.0)


def weighted(d: Any) -> Any:
    return d["a"] + 10 * d["b"]


def product(x: Any, y: Any) -> Any:
    return (x * y).sum()


def test_cotangents_are_found_by_their_keys() -> None:
    _, pull = jitflow.vjp(lambda x: {"a": 2 * x, "b": x}, X)
    np.testing.assert_array_equal(pull({"b": np.ones(3), "a": np.zeros(3)})[0], np.ones(3))


def test_cotangents_may_be_in_lists_for_tuples() -> None:
    _, pull = jitflow.vjp(lambda x: (2 * x, x), X)
    np.testing.assert_array_equal(pull([np.ones(3), np.zeros(3)])[0], 2 * np.ones(3))


def test_tangents_are_found_by_their_keys() -> None:
    assert jitflow.jvp(weighted, ({"a": 1.0, "b": 2.0},), ({"b": 1.0, "a": 0.0},)) == (21.0, 10.0)


def test_what_a_rule_gives_is_found_by_its_keys() -> None:
    @jitflow.custom_gradient
    def ruled(d: Any) -> Any:
        return weighted(d), lambda dy: {"b": 20 * dy, "a": 2 * dy}

    assert jitflow.grad(ruled)({"a": 1.0, "b": 2.0}) == {"a": 2.0, "b": 20.0}


def test_a_rule_may_say_nothing_of_a_part() -> None:
    @jitflow.custom_gradient
    def ruled(d: Any) -> Any:
        return weighted(d), lambda dy: {"a": None, "b": dy}

    assert jitflow.grad(ruled)({"a": 1.0, "b": 2.0}) == {"a": 0.0, "b": 1.0}


def ruled_by(rule: Callable[..., Any]) -> Callable[..., Any]:
    @jitflow.custom_gradient
    def ruled(x: Any, y: Any) -> Any:
        return x * y, rule

    return jitflow.grad(lambda x: ruled(x, x).sum())


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "cotangent under another key": (
        lambda: jitflow.vjp(lambda x: {"a": x, "b": x}, X)[1]({"a": X, "c": X}), TypeError, "another structure"),
    "cotangent of another rank": (lambda: jitflow.vjp(product, X, X)[1](X), ValueError, "another shape"),
    "complex cotangent": (lambda: jitflow.vjp(product, X, X)[1](1j), TypeError, "does not fit"),
    "tangent under another key": (
        lambda: jitflow.jvp(weighted, ({"a": 1.0, "b": 2.0},), ({"a": 1.0, "c": 0.0},)), TypeError,
        "another structure"),
    "too many from a rule": (lambda: ruled_by(lambda d: (d, d, d))(X), TypeError, "at each argument"),
    "complex from a rule": (lambda: ruled_by(lambda d: (1j * d, d))(X), TypeError, "does not fit"),
    "text from a rule": (lambda: ruled_by(lambda d: (d, "a"))(X), TypeError, "does not fit"),
    "a rule of too many": (lambda: ruled_by(lambda d, e: (d, d))(X), TypeError, "missing a required argument: 'e'"),
    "too few arguments": (lambda: jitflow.jvp(product, (X,), (X,)), TypeError, "missing a required argument: 'y'"),
    "too few for vjp": (lambda: jitflow.vjp(product, X), TypeError, "missing a required argument: 'y'"),
    "checkpoint of too few": (
        lambda: jitflow.grad(lambda x: jitflow.checkpoint(product)(x))(X), TypeError, "missing a required argument"),
    "no function": (lambda: jitflow.grad(3)(X), TypeError, "expected a function"),
    "no function for vjp": (lambda: jitflow.vjp(3, X), TypeError, "expected a function"),
    "argnums that are text": (lambda: jitflow.grad(product, argnums="x"), TypeError, "argnums"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str) -> None:
    attempt, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        attempt()


class Chosen:
    """Reads from outside of a compiled function what is differentiated by."""

    both = (0, 1)
    second = 1
    listed: list[int]

    def __init__(self) -> None:
        self.listed = [1]


def test_argnums_may_come_from_outside_and_change() -> None:
    chosen = Chosen()

    @jitflow.function
    def gradients(x: Any, y: Any) -> Any:
        by_both = jitflow.grad(product, argnums=chosen.both)(x, y)
        by_second = jitflow.grad(product, argnums=chosen.second)(x, y)
        return by_both, by_second, jitflow.jacobian(product, argnums=chosen.listed)(x, y)

    (by_first, by_other), by_second, (by_listed,) = gradients(X, X + 1)
    for found, expected in [(by_first, X + 1), (by_other, X), (by_second, X), (by_listed, X)]:
        np.testing.assert_array_equal(found, expected)
    chosen.second = 0
    np.testing.assert_array_equal(gradients(X, X + 1)[1], X + 1)


def test_argnums_of_numpy() -> None:
    np.testing.assert_array_equal(jitflow.grad(product, argnums=np.int64(1))(X, X + 1), X)


@pytest.mark.parametrize(("gradients", "message"), [
    ({"a": np.float64(1.0), "c": np.float64(1.0)}, "nothing under the key 'b'"),
    ({"a": None, "b": np.float64(1.0)}, "a variable needs a gradient"),
])  # fmt: skip
def test_gradients_that_do_not_fit_the_variables(gradients: Any, message: str) -> None:
    variables = {"a": jitflow.Variable(1.0), "b": jitflow.Variable(2.0)}
    with pytest.raises((TypeError, ValueError), match=message):
        jitflow.optim.SGD(1.0).apply(gradients, variables)


def test_python_numbers_as_gradients() -> None:
    variables = {"a": jitflow.Variable(1.0), "b": jitflow.Variable(2.0)}
    jitflow.optim.SGD(1.0).apply({"b": 0.5, "a": 0.0}, variables)
    assert [float(variable) for variable in variables.values()] == [1.0, 1.5]


@pytest.mark.parametrize("optimiser", [jitflow.optim.SGD(0.1), jitflow.optim.LBFGS()])
def test_a_step_of_no_variables_is_a_mistake(optimiser: Any) -> None:
    with pytest.raises(ValueError, match="there are no variables to update"):
        optimiser.minimize(lambda: 1.0, [])


@pytest.mark.parametrize("optimiser", [jitflow.optim.SGD(0.1), jitflow.optim.LBFGS()])
def test_a_variable_that_is_there_twice_is_a_mistake(optimiser: Any) -> None:
    w = jitflow.Variable(X)
    with pytest.raises(ValueError, match="a variable is to be updated twice"):
        optimiser.minimize(lambda: (w**2).sum(), {"encoder": w, "decoder": w})


def test_mistakes_outside_of_compiled_functions_show_no_line_of_jitflow() -> None:
    with pytest.raises(jitflow.UserError) as raised:
        jitflow.grad(lambda x: (x, x))(X)
    assert raised.value.location is None
