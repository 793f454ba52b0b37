"""Gradients by dataclasses and named tuples, with and without methods."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitflow

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((5, 3))


@dataclass
class Parameters:
    weights: Any
    bias: float
    others: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Layer:
    weights: Any
    bias: Any

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.weights + self.bias)

    def penalty(self) -> Any:
        return (self.squares * 0.1).sum()

    @property
    def squares(self) -> Any:
        return self.weights**2


@dataclass(frozen=True)
class Scaled(Layer):
    scale: float = 2.0

    def __call__(self, x: Any) -> Any:
        return self.scale * super().__call__(x)


@dataclass
class Network:
    layers: list[Any]
    output: Any

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x @ self.output


class Pair(NamedTuple):
    parts: list[Any]
    named: dict[str, Any]


def by_hand(function: Any, value: Any, step: float = 1e-6) -> Any:
    value = np.asarray(value, float)
    found = np.zeros_like(value)
    for place in np.ndindex(value.shape):
        above, below = value.copy(), value.copy()
        above[place] += step
        below[place] -= step
        found[place] = (function(above) - function(below)) / (2 * step)
    return found


def loss_of_parameters(p: Parameters, x: Any) -> Any:
    return np.sum(np.tanh(x @ p.weights + p.bias) ** 2) * p.others["k"].prod()


def test_fields() -> None:
    p = Parameters(RANDOM.standard_normal(3), 0.3, {"k": np.array([1.5, 2.0])})
    value, found = jitflow.value_and_grad(loss_of_parameters)(p, X)
    assert type(found) is Parameters
    assert value == pytest.approx(float(loss_of_parameters(p, X)))
    for name in ("weights", "bias"):
        expected = by_hand(
            lambda v, name=name: loss_of_parameters(dataclasses.replace(p, **{name: v}), X), getattr(p, name)
        )
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6, atol=1e-8)
    assert type(found.bias) is float
    np.testing.assert_allclose(found.others["k"], value / p.others["k"], rtol=1e-9)


def loss_of_network(network: Network, x: Any) -> Any:
    return np.sum(network(x) ** 2) + network.layers[0].penalty()


def network() -> Network:
    first = Layer(RANDOM.standard_normal((3, 4)), RANDOM.standard_normal(4))
    return Network([first, Scaled(RANDOM.standard_normal((4, 2)), np.zeros(2), 1.5)], np.array([1.0, -0.5]))


def test_methods_see_the_fields() -> None:
    model = network()
    found = jitflow.grad(loss_of_network)(model, X)
    assert type(found) is Network
    assert [type(layer) for layer in found.layers] == [Layer, Scaled]
    for number, name in ((0, "weights"), (0, "bias"), (1, "weights"), (1, "scale")):

        def loss(value: Any, number: int = number, name: str = name) -> Any:
            layers = list(model.layers)
            layers[number] = dataclasses.replace(layers[number], **{name: value})
            return loss_of_network(Network(layers, model.output), X)

        expected = by_hand(loss, getattr(model.layers[number], name))
        np.testing.assert_allclose(getattr(found.layers[number], name), expected, rtol=1e-5, atol=1e-7)


def test_inside_of_a_compiled_function() -> None:
    model = network()

    @jitflow.function
    def step(model: Network, x: Any) -> Any:
        gradient = jitflow.grad(loss_of_network)(model, x)
        return model.output - 0.1 * gradient.output, gradient

    output, gradient = step(model, X)
    np.testing.assert_allclose(output, model.output - 0.1 * jitflow.grad(loss_of_network)(model, X).output)
    assert type(gradient) is Network


def test_other_transformations() -> None:
    p = Parameters(RANDOM.standard_normal(3), 0.3, {"k": np.array([1.5, 2.0])})
    gradient = jitflow.grad(loss_of_parameters)(p, X)
    direction = Parameters(np.ones(3), 1.0, {"k": np.ones(2)})
    value, change = jitflow.jvp(lambda p: loss_of_parameters(p, X), (p,), (direction,))
    assert change == pytest.approx(gradient.weights.sum() + gradient.bias + gradient.others["k"].sum())
    same, pull = jitflow.vjp(lambda p: loss_of_parameters(p, X), p)
    assert same == value
    np.testing.assert_allclose(pull(2.0)[0].weights, 2 * gradient.weights)
    twice = jitflow.hvp(lambda p: loss_of_parameters(p, X), (p,), (direction,))[0]
    assert type(twice) is Parameters


def test_named_tuples_of_containers() -> None:
    pair = Pair([np.ones(2), 2.0], {"k": np.array([3.0])})
    found = jitflow.grad(lambda p: np.sum(p.parts[0] ** 2) * p.parts[1] * p.named["k"][0])(pair)
    assert type(found) is Pair
    assert found.parts[1] == 6.0
    np.testing.assert_array_equal(found.parts[0], [12.0, 12.0])


def test_variables_in_records() -> None:
    held = Parameters(jitflow.Variable(np.ones(3)), jitflow.Variable(0.5), {})

    def loss(x: Any) -> Any:
        return np.sum((x @ held.weights + held.bias) ** 2)

    first = jitflow.grad(loss, variables=held)(X)
    assert type(first) is Parameters
    np.testing.assert_allclose(first.weights, 2 * X.T @ (X.sum(axis=1) + 0.5))
    held.weights = jitflow.Variable(np.zeros(3))
    np.testing.assert_allclose(jitflow.grad(loss, variables=held)(X).weights, 2 * X.T @ np.full(5, 0.5))


def test_refusals() -> None:
    @dataclass
    class Cached:
        weights: Any

        @functools.cached_property
        def total(self) -> Any:
            return self.weights.sum()

    with pytest.raises(NotImplementedError, match="the cached property 'total'"):
        jitflow.grad(lambda p: p.total)(Cached(np.ones(2)))
    with pytest.raises(TypeError, match="a gradient by something that is no float"):
        jitflow.grad(lambda p: p.weights * 2.0)(Parameters(1.0, 3))
