"""L-BFGS, compiled as one program, beside plain NumPy and torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import optim
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from tests.optim import references

START = np.array([-1.2, 1.0, 0.7, 1.4])


def rosenbrock(w: Any) -> Any:
    return ((1 - w[:-1]) ** 2 + 10 * (w[1:] - w[:-1] ** 2) ** 2).sum()


def loss_and_gradient(w: Any) -> tuple[Any, Any]:
    bend = w[1:] - w[:-1] ** 2
    g = np.zeros_like(w)
    g[:-1] = -2 * (1 - w[:-1]) - 40 * w[:-1] * bend
    g[1:] += 20 * bend
    return rosenbrock(w), g


@pytest.mark.parametrize("options", [{}, {"history": 3, "iterations": 7}, {"rate": 0.5, "iterations": 1}])
def test_as_plain_numpy(options: dict[str, Any]) -> None:
    w = jitflow.Variable(START)
    ours = {"learning_rate" if name == "rate" else name: value for name, value in options.items()}
    optimiser = optim.LBFGS(**ours)

    @jitflow.function
    def step() -> Any:
        return optimiser.minimize(lambda: rosenbrock(w), [w])

    for loss, expected in references.lbfgs(loss_and_gradient, START, calls=4, **options):
        np.testing.assert_allclose(step(), loss, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
    assert step.cache_info().misses == 1


def test_as_torch() -> None:
    torch = pytest.importorskip("torch")
    w = torch.nn.Parameter(torch.tensor(START))
    theirs, ours = torch.optim.LBFGS([w]), jitflow.Variable(START)
    optimiser = optim.LBFGS()

    def closure() -> Any:
        theirs.zero_grad()
        loss = rosenbrock(w)
        loss.backward()
        return loss

    for _ in range(4):
        loss = theirs.step(closure).item()
        np.testing.assert_allclose(optimiser.minimize(rosenbrock, ours, ours), loss, rtol=1e-5, atol=1e-12)
        np.testing.assert_allclose(ours.numpy(), w.detach().numpy(), rtol=1e-5)


def test_several_variables_of_several_shapes() -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(20, 6))
    a, b = jitflow.Variable(np.zeros((2, 2))), jitflow.Variable(np.zeros(2))
    optimiser = optim.LBFGS()

    def loss(target: Any) -> Any:
        return ((matrix @ np.concatenate([a.ravel(), b]) - target) ** 2).sum()

    target = random.normal(size=20)
    for _ in range(3):
        optimiser.minimize(loss, {"a": a, "b": [b]}, target)
    expected = np.linalg.lstsq(matrix, target)[0]
    np.testing.assert_allclose(np.concatenate([a.numpy().ravel(), b.numpy()]), expected, rtol=1e-4)


def test_single_precision() -> None:
    w = jitflow.Variable(START.astype(np.float32))
    optimiser = optim.LBFGS()
    for _ in range(5):
        optimiser.minimize(rosenbrock, w, w)
    np.testing.assert_allclose(w.numpy(), 1, atol=1e-2)
    assert optimiser.slots["direction"][0].dtype == np.float32


def test_checkpoints(tmp_path: Path) -> None:
    w, optimiser = jitflow.Variable(START), optim.LBFGS(history=5)
    optimiser.minimize(rosenbrock, w, w)
    jitflow.save(tmp_path / "x", [w, optimiser])
    optimiser.minimize(rosenbrock, w, w)
    other, new = jitflow.Variable(np.zeros(4)), optim.LBFGS(history=5)
    jitflow.restore(tmp_path / "x", [other, new])
    new.minimize(rosenbrock, other, other)
    np.testing.assert_array_equal(other.numpy(), w.numpy())


def test_mistakes() -> None:
    w, v = jitflow.Variable(START), jitflow.Variable(START)
    optimiser = optim.LBFGS()
    optimiser.minimize(rosenbrock, w, w)
    with pytest.raises(UserValueError, match="LBFGS is called with other variables than before"):
        optimiser.minimize(rosenbrock, v, v)
    with pytest.raises(UserNotImplementedError, match="LBFGS evaluates the loss itself"):
        optimiser.apply([START], [w])
    with pytest.raises(UserNotImplementedError, match="no use for further results"):
        optimiser.minimize(rosenbrock, w, w, has_aux=True)
    with pytest.raises(UserTypeError, match="needs variables of one dtype"):
        optim.LBFGS().minimize(rosenbrock, [w, jitflow.Variable(np.float32(1))], w)
    with pytest.raises(UserValueError, match="expected positive numbers"):
        optim.LBFGS(history=0)
