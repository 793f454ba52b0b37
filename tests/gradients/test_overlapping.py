"""What arrives at overlapping slices, as in the reverse of a stencil, is added up in one sweep: also in tiny arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_parts import numerical


def heat(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u**2).sum()


def weighted(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        u[2:-2] = 0.4 * u[2:-2] + 0.1 * u[:-4] - 0.3 * u[1:-3] + 2.0 * u[4:] - u[3:-1]
    return (u**2).sum()


def differences(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        flux = np.tanh(u[1:] - u[:-1])
        u[1:-1] += 0.1 * (flux[1:] - flux[:-1])
    return (u**3).sum()


def swapped(x: Any, steps: int) -> Any:
    now, then = x.copy(), np.zeros_like(x)
    for _ in range(steps):
        then[1:-1] = 1.5 * now[1:-1] - 0.4 * then[1:-1] + 0.3 * (now[2:] + now[:-2])
        now, then = then, now
    return (now**2).sum() + then.sum()


def windows(x: Any, steps: int) -> Any:
    total = 0.0
    for k in range(steps):
        window = x[k : k + 4]
        total += ((window[2:] + window[1:-1] - window[:-2]) ** 2).sum()
    return total


def straight(x: Any, steps: int) -> Any:
    return steps * ((x[2:] + x[1:-1] + x[:-2]) * x[1:-1]).sum()


def weighed(x: Any, weights: Any) -> Any:
    u = x.copy()
    for _ in range(len(x) - 8):
        u[1:-1] = u[2:] - 2.0 * u[:-2]
    return (u * weights).sum()


LINES = [heat, weighted, differences, swapped, windows, straight]


@pytest.mark.parametrize("size", [6, 9, 40])
@pytest.mark.parametrize("function", LINES)
def test_lines(function: Callable[[Any, int], Any], size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size) * 0.5
    expected = numerical(lambda x: function(x, 3), x)
    np.testing.assert_allclose(jitflow.grad(function)(x, 3), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("function", [heat, swapped, straight])
def test_no_more_elements_than_the_stencil_has(function: Callable[[Any, int], Any]) -> None:
    gradient = jitflow.grad(function)
    gradient(np.ones(40), 3)
    for size in (2, 3, 4):
        x = np.linspace(0.5, 1.0, size)
        np.testing.assert_allclose(gradient(x, 3), numerical(lambda x: function(x, 3), x), rtol=2e-6, atol=1e-7)
    assert gradient(np.ones(0), 3).shape == (0,)
    assert np.all(np.isfinite(gradient(np.ones(1), 3)))


def plate(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return (u**2).sum()


def plate_of_two_materials(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        along, across = u[2:, 1:-1] + u[:-2, 1:-1], u[1:-1, 2:] + u[1:-1, :-2]
        u[1:-1, 1:-1] += 0.1 * np.sin(along) + 0.3 * across
    return (u**2).sum()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 7), (7, 4), (12, 11)], ids=str)
@pytest.mark.parametrize("function", [plate, plate_of_two_materials])
def test_plates(function: Callable[[Any, int], Any], shape: tuple[int, int], order: Any) -> None:
    x = np.asarray(np.random.default_rng(3).standard_normal(shape) * 0.5, order=order)
    expected = numerical(lambda x: function(x, 2), x)
    np.testing.assert_allclose(jitflow.grad(function)(x, 2), expected, rtol=2e-6, atol=1e-7)


def test_what_is_infinite_stays_where_it_is() -> None:
    weights = np.ones(9)
    weights[4] = np.inf
    found = jitflow.grad(weighed)(np.ones(9), weights)
    np.testing.assert_array_equal(found, [-1, -2, -1, -np.inf, -1, np.inf, -1, 1, 2])


def test_second_order() -> None:
    x, direction = np.linspace(0.1, 0.9, 9), np.linspace(-1.0, 1.0, 9)
    for function in LINES:
        (found,) = jitflow.hvp(lambda x, function=function: function(x, 3), (x,), (direction,))
        moved, step = jitflow.grad(function), 1e-5 * direction
        np.testing.assert_allclose(found, (moved(x + step, 3) - moved(x - step, 3)) / 2e-5, rtol=1e-5, atol=1e-5)


def test_one_store_for_all_slices() -> None:
    text = jitflow.grad(plate).ir(np.ones((9, 9)), 2, stage="gradient")
    assert text[text.rindex("  for ") :].count("store ") == 3  # the middle, what is put between zeros, and the sum
    text = jitflow.grad(plate_of_two_materials).ir(np.ones((9, 9)), 2, stage="gradient")
    assert text[text.rindex("  for ") :].count("store ") == 4
