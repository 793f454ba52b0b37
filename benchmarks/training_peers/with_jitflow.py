"""The models as a user of jitflow writes them: NumPy, variables, and a Python loop over time.

For classifiers and networks the mode is the device on which all of it lies, if that is not the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow
from jitflow import nn
from jitflow.machines.hardware import HOME
from jitflow.runtime.native.cuda import gpu

from ..training_cases import LEARNING_RATE, Case

Step = tuple[Callable[..., Any], tuple[Any, ...]]
"""A compiled function, and its arguments."""


def classifier(case: Case, mode: str) -> Callable[[], Any]:
    step, arguments = classifier_step(case, mode)
    return lambda: step(*arguments)


def classifier_step(case: Case, mode: str = "") -> Step:
    weights = _variables(case, mode)
    w1, b1, w2, b2 = weights

    def loss(x: Any, labels: Any) -> Any:
        hidden = nn.relu(x @ w1 + b1)
        return nn.cross_entropy(hidden @ w2 + b2, labels)

    return _adagrad(case, mode, loss, weights)


def network(case: Case, mode: str) -> Callable[[], Any]:
    weights = _variables(case, mode)
    layers = list(zip(weights[::2], weights[1::2], strict=True))

    def loss(x: Any, labels: Any) -> Any:
        for w, b in layers[:-1]:
            x = nn.relu(x @ w + b)
        w, b = layers[-1]
        return nn.cross_entropy(x @ w + b, labels)

    step, arguments = _adagrad(case, mode, loss, weights)
    return lambda: step(*arguments)


def _variables(case: Case, device: str) -> list[Any]:
    return [jitflow.Variable(weight, device=device or HOME) for weight in case.first_weights()]


def _adagrad(case: Case, device: str, loss: Callable[..., Any], weights: list[Any]) -> Step:
    optimiser = jitflow.optim.Adagrad(LEARNING_RATE)

    @jitflow.function(device=device or None)
    def step(x: Any, labels: Any) -> Any:
        return optimiser.minimize(loss, weights, x, labels)

    x, labels = case.inputs, case.targets
    if device:
        x, labels = gpu(device).put(x), gpu(device).put(labels)
    return step, (x, labels)


def lstm(case: Case, mode: str) -> Callable[[], Any]:
    step, arguments = lstm_step(case)

    def run() -> Any:
        value, gradients = step(*arguments)
        return (value, *gradients)

    return run


def lstm_step(case: Case) -> Step:
    w, u, b = variables = [jitflow.Variable(weight) for weight in case.first_weights()]

    def loss(x: Any, target: Any) -> Any:
        h = np.zeros_like(target)
        c = np.zeros_like(target)
        projected = x @ w + b
        for t in range(len(x)):
            z = projected[t] + h @ u
            i, f, g, o = z[:, :128], z[:, 128:256], z[:, 256:384], z[:, 384:]
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * np.tanh(g)
            h = nn.sigmoid(o) * np.tanh(c)
        return ((h - target) ** 2).mean()

    return jitflow.value_and_grad(loss, variables=variables), (case.inputs, case.targets)


def embedding(case: Case, mode: str) -> Callable[[], Any]:
    step, arguments = embedding_step(case)
    return lambda: step(*arguments)


def embedding_step(case: Case) -> Step:
    table, w = variables = [jitflow.Variable(weight) for weight in case.first_weights()]
    optimiser = jitflow.optim.SGD(LEARNING_RATE)

    def loss(ids: Any, target: Any) -> Any:
        return ((table[ids] @ w - target) ** 2).mean()

    @jitflow.function
    def step(ids: Any, target: Any) -> Any:
        return optimiser.minimize(loss, variables, ids, target)

    return step, (case.inputs, case.targets)
