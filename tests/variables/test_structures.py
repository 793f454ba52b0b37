"""Variables in structures: `jitflow.variables`, and dicts whose keys are variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jitflow


def variable(value: float = 0.0, **options: Any) -> jitflow.Variable:
    return jitflow.Variable(np.full(2, value), **options)


@dataclass
class Layer:
    w: jitflow.Variable = field(default_factory=variable)
    b: jitflow.Variable = field(default_factory=lambda: variable(trainable=False))
    name: str = "layer"


class Model:
    def __init__(self, layers: int) -> None:
        self.layers = [Layer() for _ in range(layers)]
        self.head = {"first": variable(), "again": self.layers[0].w, "size": 3}
        self.itself = self
        self.function = np.sin
        self.array = np.ones(3)


def test_outside():
    model = Model(2)
    first, second = model.layers
    everything = [first.w, first.b, second.w, second.b, model.head["first"]]
    assert jitflow.variables(model) == everything or all(
        one is other for one, other in zip(jitflow.variables(model), everything, strict=True)
    )
    assert [w.trainable for w in jitflow.variables(model, trainable=False)] == [False, False]
    assert len(jitflow.variables(model, trainable=True)) == 3
    assert jitflow.variables([1, "a", None]) == []


def test_in_compiled_functions():
    @jitflow.function
    def step(model, others, x):
        mine = jitflow.variables((model, others), trainable=True)
        for w in mine:
            w += x
        return len(mine)

    model, other = Model(2), variable()
    for turn in range(1, 3):
        assert step(model, {"other": other}, 1.0) == 4
        for w in (*jitflow.variables(model, trainable=True), other):
            assert np.array_equal(w.numpy(), [turn] * 2)
    assert step.cache_info().misses == 1
    model.layers.append(Layer())
    assert step(model, {"other": other}, 1.0) == 5
    model.more = variable()
    assert step(model, {"other": other}, 1.0) == 6
    assert np.array_equal(model.more.numpy(), [1, 1])
    assert step(Model(2), {"other": other}, 1.0) == 4
    assert step.cache_info().misses == 3


def test_of_what_the_program_makes():
    w, v = variable(1), variable(2)

    @jitflow.function
    def names():
        pair = {"w": w, "others": [v, w]}
        return len(jitflow.variables(pair)), jitflow.variables(pair)[1] is v

    assert names() == (2, True)


def test_keys():
    w, v = variable(1), variable(2)
    slots = {w: variable(10), v: variable(20)}

    @jitflow.function
    def step(which):
        for key, slot in slots.items():
            slot += key
        slots[which] -= 1
        return slots[w].sum()

    assert step(w) == 20
    assert step(v) == 22
    assert np.array_equal(slots[v].numpy(), [23, 23])
    slots[w] = variable(0)
    assert step(v) == 2


def test_what_is_known_of_a_variable_is_a_constant():
    variables = [variable(name=f"w{number}", trainable=number % 2 == 0) for number in range(4)]

    @jitflow.function
    def step():
        for w in [w for w in variables if w.trainable]:
            w += 1
        return [w.name for w in variables]

    assert step() == ["w0", "w1", "w2", "w3"]
    assert [w[0] for w in variables] == [1, 0, 1, 0]
    variables[1] = variable(name="other")
    assert step()[1] == "other"
    assert [w[0] for w in variables] == [2, 1, 2, 0]


def test_another_key_of_the_same_value():
    first, second = jitflow.Variable(1.0), jitflow.Variable(1.0)
    slots = {first: jitflow.Variable(10.0)}

    @jitflow.function
    def step():
        for key in slots:
            key += 1
        return [slot.numpy() for slot in slots.values()]

    step()
    slots[second] = slots.pop(first)
    first.assign(1.0)
    step()
    assert (float(first), float(second)) == (1, 2)
