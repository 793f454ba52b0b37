"""Structures whose parts are objects with slots, circles and parts that several paths lead to; never stale."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow


class Layer:
    def __init__(self, *shape: int) -> None:
        self.w = jitflow.Variable(np.ones(shape))
        self.name, self.size, self.activation = "layer", 3, np.tanh
        self.moments = jitflow.Variable(np.zeros(shape), trainable=False)


class Slotted:
    __slots__ = ("__hidden", "inner", "unset", "w")

    def __init__(self) -> None:
        self.inner = Layer(4)
        self.w = self.inner.w
        self.__hidden = jitflow.Variable(np.ones(5))


class Model:
    def __init__(self) -> None:
        self.layers = [Layer(1), Layer(2)]
        self.heads = {"digits": (Layer(3), None), "table": np.zeros(9)}
        self.rest = Slotted()
        self.rng = jitflow.random.Generator(1)


def shapes(found: list[Any]) -> list[tuple[int, ...]]:
    return [one.shape for one in found]


def test_trainable_ones_and_others():
    model = Model()
    assert shapes(jitflow.variables(model, trainable=True)) == [(1,), (2,), (3,), (5,), (4,)]
    assert shapes(jitflow.variables(model, trainable=False)) == [(1,), (2,), (3,), (4,)]
    assert len(jitflow.variables(model, trainable=None)) == 9
    model.itself = model
    assert len(jitflow.variables(model, trainable=True)) == 5
    assert jitflow.variables({"no": ["variables", 3]}) == []


def test_in_compiled_functions():
    @jitflow.function
    def step(model: Any) -> Any:
        total = 0.0
        for w in jitflow.variables(model, trainable=True):
            w -= 0.5
            total = total + w.sum()
        return total

    model = Model()
    assert step(model) == 7.5
    assert step(model) == 0
    model.layers[0].w = jitflow.Variable(np.full(1, 100.0))
    assert step(model) == 99.5 - 7
    assert step(Model()) == 7.5
    assert step.cache_info().misses == 1
    model.layers.append(Layer(7))
    assert step(model) == 99 - 14 + 3.5
    model.more = Layer(2)
    assert step(model) == 98.5 - 21 + 0 + 1
    model.layers[0].w = jitflow.Variable(np.zeros(1), trainable=False)
    assert step(model) == -28 - 3.5 + 0
    assert step.cache_info().misses == 4


def test_circles_and_shared_parts():
    """Which objects are the same decides what is found, so another object in such a place compiles anew."""

    @jitflow.function
    def total(model: Any) -> Any:
        return sum(w.sum() for w in jitflow.variables(model, trainable=True))

    model = Model()
    model.itself, model.again = model, model.layers[0]
    assert total(model) == 15
    model.again = Layer(8)
    assert total(model) == 15 + 8
    model.itself = Model()
    assert total(model) == 15 + 8 + 15


def test_to_an_optimiser():
    model, optimiser = Model(), jitflow.optim.SGD(0.25)

    @jitflow.function
    def step() -> Any:
        weights = jitflow.variables(model, trainable=True)
        return optimiser.minimize(lambda: sum((w * w).sum() for w in weights), weights)

    assert step() == 15
    assert step() == 15 / 4
