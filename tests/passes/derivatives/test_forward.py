"""Forward mode through storage, branches and loops, against differences and against reverse mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.passes import runner
from tests.gradients.programs import newton, recurrence
from tests.passes.derivatives.numerical import close, interpreted_gradient
from tests.sampled import sampled

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.random((4, 4))


def heat(u: Any) -> Any:
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def swap(u: Any, n: int = 4) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        v[1:] = u[:-1] * 2
        u, v = v, u
    return u


def recurrent(x: Any, h: Any) -> Any:
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ WEIGHTS + h)
    return h


def cholesky(a: Any) -> Any:
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return low


def last_turn(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(len(x)):
        y = x * i
    return y


def branches(x: Any) -> Any:
    y = x * 2
    if y[0] > 0:
        y = y * x
        if y[1] > 100:
            y = x
    else:
        y[1:] = np.exp(x[1:])
    return y


def chosen_place(x: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    c = a if x[0] > 0 else b
    c[1:] += 3 * x[:-1]
    return a * b


def scattered(x: Any) -> Any:
    y = np.zeros(6)
    y[np.array([0, 2, 2, 5, 0])] = x**2
    np.add.at(y, np.array([1, 1, 2, 3, 4]), np.sin(x))
    return y * y


def masked(x: Any) -> Any:
    y = x.copy()
    y[y > 0.5] *= 3
    y[y < -1] = 0
    return np.log(np.abs(y[y != 0])).sum() + y


def shrinking(x: Any) -> Any:
    total = 0.0
    while len(x) > 1:
        x = x[1:] * x[:-1]
        total = total + x.sum()
    return total


def early_stop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] ** 2
        if total > 1.5:
            break
    else:
        total = total * 2
    return total


VECTOR = RANDOM.normal(size=5)
PROGRAMS: dict[str, tuple[Any, ...]] = {
    "newton": (newton, 2.7),
    "recurrence": (recurrence, VECTOR),
    "heat": (heat, VECTOR),
    "swap": (swap, VECTOR),
    "recurrent": (recurrent, RANDOM.random((5, 4)), RANDOM.random(4)),
    "cholesky": (cholesky, WEIGHTS @ WEIGHTS.T + 4 * np.eye(4)),
    "last_turn": (last_turn, VECTOR),
    "branches": (branches, VECTOR),
    "other branches": (branches, -VECTOR),
    "chosen_place": (chosen_place, VECTOR),
    "scattered": (scattered, VECTOR),
    "masked": (masked, VECTOR * 2),
    "shrinking": (shrinking, VECTOR),
    "early_stop": (early_stop, VECTOR),
}


def differences(function: Any, arguments: Any, tangents: Any, step: float = 1e-6) -> Any:
    def run(way: int) -> Any:
        moved = [argument + way * step * tangent for argument, tangent in zip(arguments, tangents, strict=True)]
        return np.asarray(function(*moved))

    return (run(1) - run(-1)) / (2 * step)


def directions(arguments: Any) -> Any:
    random = np.random.default_rng(2)
    return tuple(0.7 if isinstance(item, float) else random.normal(size=item.shape) for item in arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, *arguments = PROGRAMS[name]
    tangents = directions(arguments)
    before = [np.copy(argument) for argument in arguments]
    value, change = jitflow.jvp(function, arguments, tangents)
    assert all(np.array_equal(a, b) for a, b in zip(before, arguments, strict=True))
    assert close(change, differences(function, arguments, tangents), 6)
    assert close(value, function(*[np.copy(item) if np.ndim(item) else item for item in arguments]), 12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_twice(name: str) -> None:
    """The tangent of the tangent, against differences of tangents."""
    function, *arguments = PROGRAMS[name]
    tangents = directions(arguments)

    def slope(*arguments: Any) -> Any:
        return jitflow.jvp(function, arguments, tangents)[1]

    _, change = jitflow.jvp(slope, arguments, tangents)
    assert close(change, differences(slope, arguments, tangents), 5)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("chosen_place",)])
def test_against_reverse_mode(name: str) -> None:
    function, *arguments = PROGRAMS[name]
    tangents = directions(arguments)
    _, change = jitflow.jvp(function, arguments, tangents)
    gradients = jitflow.grad(lambda *given: np.sum(function(*given)), argnums=tuple(range(len(arguments))))(*arguments)
    total = sum(np.sum(gradient * tangent) for gradient, tangent in zip(gradients, tangents, strict=True))
    assert np.sum(change) == pytest.approx(total, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", sampled(PROGRAMS, 2))
def test_hessians(name: str) -> None:
    """Times a vector: reverse over reverse, forward over reverse and reverse over forward agree."""
    function, *arguments = PROGRAMS[name]
    point, direction = arguments[0], directions(arguments)[0]

    def loss(x: Any) -> Any:
        return np.sum(np.sin(function(x, *arguments[1:])))

    def slope(x: Any) -> Any:
        return jitflow.grad(loss)(x)

    _, expected = jitflow.jvp(slope, (point,), (direction,))
    assert close(interpreted_gradient(lambda x: np.sum(slope(x) * direction), point), expected, 8)
    assert close(interpreted_gradient(lambda x: jitflow.jvp(loss, (x,), (direction,))[1], point), expected, 8)
    assert close(expected, differences(slope, (point,), (direction,)), 5)


def test_structures() -> None:
    point = {"w": np.ones((2, 3)), "b": [np.zeros(3), 2.0]}
    change = {"w": np.full((2, 3), 0.5), "b": [np.ones(3), 1.0]}

    def layer(p: Any, x: Any) -> Any:
        return {"y": x @ p["w"] + p["b"][0], "scale": (p["b"][1] ** 2,)}

    value, slope = jitflow.jvp(layer, (point, np.ones((4, 2))), (change, np.zeros((4, 2))))
    assert np.allclose([value["y"], slope["y"]], 2)
    assert value["scale"] == slope["scale"] == (4.0,)


def test_with_something_beside() -> None:
    value, change, aux = jitflow.jvp(lambda x: (x * x, {"twice": 2 * x, "n": 3}), (3.0,), (1.0,), has_aux=True)
    assert (value, change, aux) == (9.0, 6.0, {"twice": 6.0, "n": 3})


def test_inside_a_compiled_function() -> None:
    @jitflow.function
    def f(x: Any, n: int) -> Any:
        total = 0.0
        for _ in range(n):
            _, change = jitflow.jvp(lambda x: np.sin(x) * total, (x,), (1.0,))
            total = total + change + 1
        return total

    def plain(x: float, n: int) -> float:
        total = 0.0
        for _ in range(n):
            total = total + np.cos(x) * total + 1
        return total

    assert f(0.3, 5) == pytest.approx(plain(0.3, 5))


def test_integers_have_no_tangent() -> None:
    value, change = jitflow.jvp(lambda x: (x.astype(int), x * 2), (np.array([1.5, 2.5]),), (np.ones(2),))
    assert value[0].dtype == change[0].dtype == np.int64
    assert not change[0].any()
    assert (change[1] == 2).all()


def test_hessian_times_vector() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x**3) + np.prod(x)

    x, v = VECTOR + 2, np.arange(5.0)
    forward_over_reverse = jitflow.jvp(jitflow.grad(f), (x,), (v,))[1]
    reverse_over_forward = jitflow.grad(lambda x: jitflow.jvp(f, (x,), (v,))[1])(x)
    reverse_over_reverse = jitflow.grad(lambda x: np.sum(jitflow.grad(f)(x) * v))(x)
    assert close(forward_over_reverse, reverse_over_forward, 10)
    assert close(forward_over_reverse, reverse_over_reverse, 10)


@pytest.mark.parametrize(
    ("tangent", "message"),
    [
        (np.ones(4), "expected a tangent of the shape of its argument"),
        (np.ones((3, 1)), "expected a tangent of the shape of its argument"),
        ((np.ones(3), np.ones(3)), "a tangent has another structure than its argument"),
        (np.ones(3) * 1j, "a tangent that its argument cannot change by"),
    ],
)
def test_tangents_that_do_not_fit(tangent: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        jitflow.jvp(lambda x: x * 2, (np.ones(3),), (tangent,))


def test_through_checkpoints() -> None:
    @jitflow.checkpoint
    def layer(x: Any) -> Any:
        return np.sin(x) * x

    _, change = jitflow.jvp(lambda x: layer(layer(x)) * 2, (0.7,), (1.0,))
    assert change == pytest.approx(jitflow.grad(lambda x: layer(layer(x)) * 2)(0.7), rel=1e-12)


def test_gradients_of_their_own() -> None:
    """What the rule says of cotangents says what becomes of tangents."""

    @jitflow.custom_gradient
    def clipped(x: Any) -> Any:
        return np.clip(x, -1, 1), lambda cotangent: 3 * cotangent

    assert jitflow.jvp(lambda x: clipped(x) ** 2, (0.5,), (1.0,)) == (0.25, 3.0)
    assert jitflow.jvp(lambda x: clipped(jitflow.stop_gradient(x)) * x, (0.5,), (1.0,)) == (0.25, 0.5)

    @jitflow.custom_gradient
    def product(x: Any, w: Any) -> Any:
        inner = np.cos(x @ w)
        return (np.sin(x @ w), inner.sum()), lambda dy, ds: (2 * (dy * inner) @ w.T + ds, None)

    x, w, change = np.ones((2, 3)), np.full((3, 4), 0.2), np.arange(6.0).reshape(2, 3)
    _, (first, second) = jitflow.jvp(lambda x: product(x, w), (x,), (change,))
    np.testing.assert_allclose(first, 2 * np.cos(x @ w) * (change @ w), rtol=1e-12)
    np.testing.assert_allclose(second, change.sum(), rtol=1e-12)


def test_gradients_of_their_own_in_loops_and_once_more() -> None:
    @jitflow.custom_gradient
    def cube(x: Any) -> Any:
        return x**3, lambda cotangent: cotangent * 3 * x**2

    def program(x: Any) -> Any:
        total = x
        for turn in range(10):
            if turn % 2:
                total = total + cube(total) * 0.01
        return total

    def plain(x: Any) -> Any:
        total = x
        for turn in range(10):
            if turn % 2:
                total = total + total**3 * 0.01
        return total

    for x in (0.7, np.array([0.3, -1.2])):
        for ours, theirs in zip(jitflow.jvp(program, (x,), (x,)), jitflow.jvp(plain, (x,), (x,)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)

    def slope(function: Any) -> Any:
        return lambda x: jitflow.jvp(function, (x,), (1.0,))[1]

    assert jitflow.grad(slope(program))(0.7) == pytest.approx(jitflow.grad(slope(plain))(0.7), rel=1e-12)
    assert slope(slope(program))(0.7) == pytest.approx(slope(slope(plain))(0.7), rel=1e-12)


def test_variables() -> None:
    """What is written to a variable on the way is read with its tangent."""
    w = jitflow.Variable(np.array([1.0, 2.0, 3.0]))

    def f(x: Any) -> Any:
        w[...] += x * x
        return w * x

    value, change = jitflow.jvp(f, (np.ones(3),), (np.array([1.0, 0.0, 2.0]),))
    assert value.tolist() == w.numpy().tolist() == [2.0, 3.0, 4.0]
    assert change.tolist() == [4.0, 0.0, 12.0]


def test_calls_again_compile_nothing() -> None:
    from jitflow.transforms.gradients import _compiled, _push

    def f(x: Any) -> Any:
        return x * x

    for x in (1.0, 2.0, 3.0):
        assert jitflow.jvp(f, (x,), (1.0,)) == (x * x, 2 * x)
    assert _compiled(f, _push).cache_info().misses == 1


def test_no_nan_from_a_change_of_nothing() -> None:
    _, change = jitflow.jvp(lambda x: np.sqrt(x) + np.log(x), (np.array([0.0, 4.0]),), (np.array([0.0, 1.0]),))
    assert change.tolist() == [0.0, 0.5]
    assert jitflow.grad(lambda x: np.sum(np.sqrt(x) * np.array([0.0, 1.0])))(np.array([0.0, 4.0])).tolist() == [0, 0.25]


def test_sizes_of_the_run_are_bound_before_tangents_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tangent was given the size's outer name in front of what binds that."""
    monkeypatch.setattr(runner, "CONFIG", replace(runner.CONFIG, verify=True))
    x = np.array([1.0, -2.0, 3.0])
    value, change = jitflow.jvp(lambda x: x[x > 0] ** 2, (x,), (np.ones(3),))
    assert value.tolist() == [1.0, 9.0]
    assert change.tolist() == [2.0, 6.0]
