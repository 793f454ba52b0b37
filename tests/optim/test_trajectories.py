"""A hundred steps of each optimiser, beside plain NumPy, and beside `torch.optim` where that is to be had."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import optim
from tests.optim import references

STEPS = 100
RANDOM = np.random.default_rng(11)
START = RANDOM.normal(size=(4, 3))
TARGET = RANDOM.normal(size=(4, 3))
NOISE = RANDOM.normal(size=(STEPS, 4, 3))

CASES: list[tuple[str, dict[str, Any], Any, dict[str, Any], str, dict[str, Any]]] = [
    ("SGD", {}, references.sgd, {}, "SGD", {}),
    ("SGD", {"learning_rate": 0.1, "weight_decay": 0.01}, references.sgd, {"rate": 0.1, "weight_decay": 0.01},
     "SGD", {"lr": 0.1, "weight_decay": 0.01}),
    ("Momentum", {}, references.momentum, {}, "SGD", {"momentum": 0.9}),
    ("Momentum", {"nesterov": True, "weight_decay": 0.1}, references.momentum, {"nesterov": True, "weight_decay": 0.1},
     "SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adagrad", {}, references.adagrad, {}, "Adagrad", {"initial_accumulator_value": 0.1}),
    ("Adagrad", {"decay": 0.1, "weight_decay": 0.1, "first_sum": 0.0}, references.adagrad,
     {"decay": 0.1, "weight_decay": 0.1, "first_sum": 0.0}, "Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {}, references.adadelta, {}, "Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}, references.adadelta, {"rho": 0.5, "weight_decay": 0.1},
     "Adadelta", {"rho": 0.5, "weight_decay": 0.1}),
    ("RMSProp", {}, references.rmsprop, {}, "RMSprop", {}),
    ("RMSProp", {"momentum": 0.5, "centred": True}, references.rmsprop, {"momentum": 0.5, "centred": True},
     "RMSprop", {"momentum": 0.5, "centered": True}),
    ("RMSProp", {"centred": True, "weight_decay": 0.1}, references.rmsprop, {"centred": True, "weight_decay": 0.1},
     "RMSprop", {"centered": True, "weight_decay": 0.1}),
    ("Adam", {}, references.adam, {}, "Adam", {}),
    ("Adam", {"learning_rate": 0.1, "beta1": 0.5, "beta2": 0.9, "weight_decay": 0.1}, references.adam,
     {"rate": 0.1, "beta1": 0.5, "beta2": 0.9, "weight_decay": 0.1}, "Adam",
     {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1}),
    ("AdamW", {}, references.adam, {"decoupled": True, "weight_decay": 0.01}, "AdamW", {}),
    ("AdamW", {"weight_decay": 0.0}, references.adam, {}, "AdamW", {"weight_decay": 0.0}),
]  # fmt: skip
NAMES = [f"{name} {' '.join(options)}".strip() for name, options, *_ in CASES]


def gradient(w: Any, step: int) -> Any:
    return w - TARGET + 0.3 * NOISE[step]


def ours(optimiser: Any, dtype: Any = np.float64) -> list[Any]:
    w = jitflow.Variable(START.astype(dtype))

    @jitflow.function
    def step(noise: Any, target: Any) -> None:
        optimiser.apply([w - target + noise], [w])

    found = []
    for noise in NOISE:
        step((0.3 * noise).astype(dtype), TARGET.astype(dtype))
        found.append(w.numpy())
    assert step.cache_info().misses == 1
    assert optimiser.steps.numpy() == STEPS
    return found


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_as_plain_numpy(case: Any) -> None:
    name, options, reference, reference_options, *_ = case
    expected = references.trajectory(reference(START, **reference_options), gradient, STEPS)
    np.testing.assert_allclose(ours(getattr(optim, name)(**options)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_in_single_precision(case: Any) -> None:
    name, options, reference, reference_options, *_ = case
    expected = references.trajectory(reference(START, **reference_options), gradient, STEPS)
    found = ours(getattr(optim, name)(**options), np.float32)
    assert found[-1].dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_as_torch(case: Any) -> None:
    torch = pytest.importorskip("torch")
    name, options, _, _, torch_name, torch_options = case
    w = torch.nn.Parameter(torch.tensor(START))
    theirs = getattr(torch.optim, torch_name)([w], **torch_options)
    expected = []
    for step in range(STEPS):
        w.grad = torch.tensor(gradient(w.detach().numpy(), step))
        theirs.step()
        expected.append(w.detach().numpy().copy())
    np.testing.assert_allclose(ours(getattr(optim, name)(**options)), expected, rtol=1e-12, atol=1e-13)
