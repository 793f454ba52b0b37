"""What optimisers share: steps in compiled functions and outside, rates, clipping, memory, checkpoints, mistakes."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import optim
from jitflow.errors import UserTypeError, UserValueError

RANDOM = np.random.default_rng(12)
ALL = [optim.SGD, optim.Momentum, optim.Adagrad, optim.Adadelta, optim.RMSProp, optim.Adam, optim.AdamW]
ROOT = Path(__file__).parents[2]


def variables(*shapes: tuple[int, ...]) -> list[Any]:
    return [jitflow.Variable(RANDOM.normal(size=shape).astype(np.float32)) for shape in shapes]


# -- minimize ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_minimize_returns_the_loss_and_makes_it_smaller(kind: Any) -> None:
    (w,) = variables((3, 2))
    optimiser = kind(0.05)

    @jitflow.function
    def step(target: Any) -> Any:
        return optimiser.minimize(lambda: ((w - target) ** 2).sum(), [w])

    target = np.ones((3, 2), np.float32)
    before = ((w.numpy() - target) ** 2).sum()
    losses = [step(target) for _ in range(50)]
    np.testing.assert_allclose(losses[0], before, rtol=1e-5)
    assert losses[-1] < losses[0]
    assert step.cache_info().misses == 1


def test_minimize_with_more_results() -> None:
    (w,) = variables((3,))
    optimiser = optim.SGD(0.5)

    @jitflow.function
    def step() -> Any:
        return optimiser.minimize(lambda: ((w * w).sum(), w + 1), [w], has_aux=True)

    before = w.numpy()
    loss, more = step()
    np.testing.assert_allclose(loss, (before**2).sum(), rtol=1e-6)
    np.testing.assert_array_equal(more, before + 1)
    np.testing.assert_allclose(w.numpy(), 0, atol=1e-7)


def test_outside_of_compiled_functions_a_step_is_compiled_once() -> None:
    weights = {"w": variables((3, 2))[0], "b": variables((2,))[0]}
    optimiser = optim.Adam(0.1)

    def error(x: Any, y: Any) -> Any:
        return ((x @ weights["w"] + weights["b"] - y) ** 2).mean()

    x = RANDOM.normal(size=(20, 3)).astype(np.float32)
    y = x @ np.ones((3, 2), np.float32)
    losses = [optimiser.minimize(error, weights, x[:rows], y[:rows]) for rows in (20, 10, 15) * 30]
    assert losses[-1] < 0.1 * losses[0]
    assert optimiser._compiled["minimize"].cache_info().misses == 1
    before = weights["b"].numpy()
    optimiser.apply({"w": np.zeros((3, 2), np.float32), "b": np.ones(2, np.float32)}, weights)
    assert (weights["b"].numpy() < before).all()


# -- memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_ten_parameters_are_a_handful_of_kernels(kind: Any) -> None:
    """One for each parameter, which reads and writes each element once, and one for the numbers."""
    weights = variables(*[(size, 3) for size in range(2, 12)])
    optimiser = kind()

    @jitflow.function
    def step(gradients: Any) -> None:
        optimiser.apply(gradients, weights)

    text = step.ir([w.numpy() for w in weights], stage="fused")
    assert 10 <= text.count(" = fusion ") <= 11
    assert " = copy " not in "\n".join(line for line in text.splitlines() if line.startswith("  %"))


def test_optimisers_and_models_do_not_mix() -> None:
    """The compiled code of one optimiser and model is not used for others of the same kinds."""

    @jitflow.function
    def step(optimiser: Any, weights: Any) -> None:
        optimiser.apply([np.float32(1)], weights)

    first, second = optim.Momentum(1.0), optim.Momentum(1.0)
    a, b = [jitflow.Variable(np.float32(0))], [jitflow.Variable(np.float32(0))]
    for optimiser, weights in [(first, a), (first, b), (second, b), (first, a), (second, b)]:
        step(optimiser, weights)
    # 1 + 1.9 by the first; 1 by the first, and 1 + 1.9 by the second
    np.testing.assert_allclose([a[0].numpy(), b[0].numpy()], [-2.9, -3.9], rtol=1e-6)


def test_one_optimiser_for_several_groups() -> None:
    a, b = variables((2,), (3,))
    optimiser = optim.Adam()

    @jitflow.function
    def step_a() -> None:
        optimiser.apply([np.ones(2, np.float32)], [a])

    @jitflow.function
    def step_both() -> None:
        optimiser.apply({"b": np.ones(3, np.float32), "a": np.ones(2, np.float32)}, {"b": b, "a": a})

    step_a()
    step_both()
    step_a()
    assert [slot.shape for slot in optimiser.slots["mean"]] == [(2,), (3,)]
    assert optimiser.steps.numpy() == 3
    assert step_a.cache_info().misses == step_both.cache_info().misses == 1


def test_an_optimiser_of_the_users_own() -> None:
    class Signs(optim.Optimiser):
        slot_names = ("last",)

        def __init__(self, learning_rate: float, share: float) -> None:
            super().__init__(learning_rate)
            self.share = share

        def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
            (last,) = slots
            last[...] = self.share * last + (1 - self.share) * gradient
            variable -= rate * np.sign(last)

    (w,) = variables((3,))
    optimiser, before = Signs(0.5, 0.9), w.numpy()
    optimiser.apply([np.array([1, -1, 0], np.float32)], [w])
    np.testing.assert_allclose(w.numpy() - before, [-0.5, 0.5, 0], rtol=1e-6)


# -- rates ------------------------------------------------------------------------------------------------


def test_the_rate_is_a_variable() -> None:
    w = jitflow.Variable(0.0)
    optimiser = optim.SGD(1.0)

    @jitflow.function
    def step() -> None:
        optimiser.apply([np.float64(1)], [w])

    step()
    optimiser.learning_rate.assign(10.0)
    step()
    optimiser.learning_rate = 100.0
    step()
    assert w.numpy() == -111
    optimiser.clip_value = 0.5  # is off, and then is not
    step()
    assert w.numpy() == -161
    assert step.cache_info().misses == 2


SCHEDULES: list[tuple[Any, Any]] = [
    (optim.ExponentialDecay(0.1, 0.5, every=3), lambda step: 0.1 * 0.5 ** (step / 3)),
    (optim.StepDecay(0.1, 4), lambda step: 0.1 * 0.1 ** (step // 4)),
    (optim.PiecewiseConstant([3, 6], [1.0, 0.5, 0.1]), lambda step: 1.0 if step < 3 else 0.5 if step < 6 else 0.1),
    (optim.PolynomialDecay(1.0, 8, end=0.2), lambda step: 1 - 0.1 * step if step < 8 else 0.2),
    (optim.PolynomialDecay(1.0, 8, power=2), lambda step: (1 - step / 8) ** 2 if step < 8 else 0.0),
    (optim.CosineDecay(2.0, 8), lambda step: 1 + math.cos(math.pi * step / 8) if step < 8 else 0.0),
    (optim.WarmUp(0.4, 4), lambda step: min(0.1 * (step + 1), 0.4)),
    (optim.WarmUp(optim.StepDecay(1.0, 5), 2), lambda step: [0.5, 1.0][min(step, 1)] * 0.1 ** (step // 5)),
    (lambda step: 1 / (1 + step), lambda step: 1 / (1 + step)),
]


@pytest.mark.parametrize("number", range(len(SCHEDULES)))
def test_schedules(number: int) -> None:
    schedule, expected = SCHEDULES[number]
    w = jitflow.Variable(0.0)
    optimiser = optim.SGD(schedule)

    @jitflow.function
    def step() -> None:
        optimiser.apply([np.float64(1)], [w])

    for count in range(10):
        before = w.numpy()
        step()
        np.testing.assert_allclose(before - w.numpy(), expected(count), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(optimiser.learning_rate.numpy(), expected(count), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(schedule(count), expected(count), rtol=1e-12, atol=1e-12)
    assert step.cache_info().misses == 1


def test_schedules_refuse_no_steps() -> None:
    with pytest.raises(UserValueError, match="expected a positive number of steps, got 0"):
        optim.CosineDecay(1.0, 0)
    with pytest.raises(UserValueError, match="one rate more than steps"):
        optim.PiecewiseConstant([3], [1.0])


# -- clipping ---------------------------------------------------------------------------------------------


def test_clipping() -> None:
    gradients = {"a": np.array([3.0, -4.0]), "b": (np.array([12.0]), np.float64(np.nan))}
    clipped = optim.clip_by_value(gradients, 3.5)
    np.testing.assert_array_equal(clipped["a"], [3, -3.5])
    np.testing.assert_array_equal(clipped["b"][1], np.nan)
    gradients["b"] = (np.array([12.0]), np.float64(0))
    assert optim.global_norm(gradients) == 13
    scaled = optim.clip_by_global_norm(gradients, 6.5)
    np.testing.assert_allclose(scaled["a"], [1.5, -2], rtol=1e-6)
    np.testing.assert_allclose(scaled["b"][0], 6, rtol=1e-6)
    np.testing.assert_array_equal(optim.clip_by_global_norm(gradients, 20)["a"], gradients["a"])


@pytest.mark.parametrize(("options", "expected"), [
    ({"clip_value": 1.0}, [-1, 1]), ({"clip_norm": 1.0}, [-0.6, 0.8]), ({"clip_norm": 100.0}, [-3, 4]),
    ({"clip_value": 3.0, "clip_norm": 3.0}, [-3 / math.sqrt(2), 3 / math.sqrt(2)]),
])  # fmt: skip
def test_optimisers_clip(options: dict[str, float], expected: list[float]) -> None:
    w = jitflow.Variable(np.zeros(2))
    optim.SGD(1.0, **options).apply([np.array([3.0, -4.0])], [w])
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)


# -- checkpoints and copies -------------------------------------------------------------------------------


def train(optimiser: Any, weights: list[Any], steps: int) -> list[Any]:
    for step in range(steps):
        optimiser.apply([w.numpy() * np.float32(step + 1) for w in weights], weights)
    return [w.numpy() for w in weights]


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_new_optimiser_goes_on_from_a_checkpoint(kind: Any, tmp_path: Path) -> None:
    weights, optimiser = variables((3,), (2, 2)), kind(0.1)
    train(optimiser, weights, 3)
    jitflow.save(tmp_path / "x", {"weights": weights, "optimiser": optimiser})
    expected = train(optimiser, weights, 3)
    fresh, new = variables((3,), (2, 2)), kind(99.0)
    restored = jitflow.restore(tmp_path / "x", {"weights": fresh, "optimiser": new})
    slots = ["mean.0", "mean.1", "square.0", "square.1"] if kind is optim.Adam else []
    assert restored.names == (
        "weights.0", "weights.1", "optimiser.learning_rate", "optimiser.steps",
        *(f"optimiser.slots.{slot}" for slot in slots),
    )  # fmt: skip
    for found, wanted in zip(train(new, fresh, 3), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_slots_of_a_checkpoint_are_for_variables_in_its_order(tmp_path: Path) -> None:
    optimiser, new = optim.Adam(), optim.Adam()
    train(optimiser, variables((3,), (2, 2)), 1)
    jitflow.save(tmp_path / "x", optimiser)
    jitflow.restore(tmp_path / "x", new)
    with pytest.raises(UserValueError, match=r"the slot mean\.0 that was restored is float32 of shape \(3,\)"):
        train(new, variables((2, 2), (3,)), 1)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies(duplicate: Any) -> None:
    weights, optimiser = variables((3,)), optim.Adam(0.1)
    train(optimiser, weights, 2)
    other_weights, other = duplicate((weights, optimiser))
    np.testing.assert_array_equal(train(other, other_weights, 2), train(optimiser, weights, 2))
    assert len(other.slots["mean"]) == 1


def test_as_plain_python() -> None:
    program = """
import numpy as np, jitflow
from jitflow import optim
w = jitflow.Variable(np.zeros(2))
optimiser = optim.Adam(0.1, clip_norm=1.0)
step = jitflow.function(lambda g: optimiser.apply([g], [w]))
step(np.array([3.0, -4.0])); step(np.array([3.0, -4.0]))
print(w.numpy().tolist())
"""
    found = [
        subprocess.run([sys.executable, "-c", program], env={"JITFLOW_DISABLE": disable}, cwd=ROOT, check=True,
                       capture_output=True, text=True).stdout
        for disable in ("0", "1")
    ]  # fmt: skip
    np.testing.assert_allclose(eval(found[0]), eval(found[1]), rtol=1e-14)


# -- mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gradients", "weights", "error", "message"),
    [
        ([np.ones(3)], [jitflow.Variable(np.ones(2))], UserValueError, "another shape than its variable"),
        ([np.ones(2)] * 2, [jitflow.Variable(np.ones(2))], UserValueError, "another structure than the variables"),
        ({"a": np.ones(2)}, [jitflow.Variable(np.ones(2))], UserValueError, "another structure than the variables"),
        ([np.ones(2)], [np.ones(2)], UserTypeError, "expected variables, or lists"),
        ([np.ones(2)], [jitflow.Variable(np.ones(2, np.int64))], UserTypeError, "int64 cannot be optimised"),
    ],
)
def test_what_does_not_fit(gradients: Any, weights: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        optim.Adam().apply(gradients, weights)
