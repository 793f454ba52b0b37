"""Arrays that an inner loop reads and an outer one writes to are kept once for each turn of the outer one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_parts import numerical

A = np.random.default_rng(3).standard_normal((4, 4)) * 0.4


def deflated(a: Any) -> Any:
    a, total = a.copy(), 0.0
    for i in range(len(a)):
        v, k = np.ones(4), 0
        while k < 1 + i % 3:
            v = np.tanh(a @ v)
            k += 1
        a -= 0.3 * np.outer(v, v)
        total = total + (v * v).sum()
    return total


def written_inside(a: Any) -> Any:
    a, v = a.copy(), np.ones(4)
    for i in range(len(a)):
        k = 0
        while k < 1 + i % 3:
            v = np.tanh(a @ v)
            a[k] += v
            k += 1
        a *= 0.9
    return (v * v).sum()


def through_a_name_of_its_own(a: Any) -> Any:
    a, v = a.copy(), np.ones(4)
    for _ in range(len(a)):
        part = a[:, 1:]
        for _ in range(len(a) - 2):
            v[1:] = np.tanh(part[1:] @ v[1:])
        a[:] = a * a
    return (v * v).sum()


def swapped(a: Any) -> Any:
    a, b, v = a.copy(), a * 2, np.ones(4)
    for _ in range(len(a)):
        for _ in range(len(a) - 2):
            v = np.tanh(a @ v)
        b += np.outer(v, v)
        a, b = b, a
    return (v * v).sum() + a.sum()


def never_turning(a: Any) -> Any:
    a, v = a.copy(), np.ones(4)
    for i in range(len(a)):
        for _ in range(i - 1):
            v = np.tanh(a @ v)
        a *= 0.9
    return (v * v).sum()


PROGRAMS = (deflated, written_inside, through_a_name_of_its_own, swapped, never_turning)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_gradients_are_right(function: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(jitflow.grad(function)(A), numerical(function, A), 1e-6, 1e-8)


def kept_loads(function: Callable[[Any], Any]) -> list[str]:
    lines = str(jitflow.grad(function).explain(A)).splitlines()
    return [line.split("turn, ")[1] for line in lines if line.strip().startswith("load") and "kept" in line]


def test_what_is_kept() -> None:
    assert kept_loads(deflated) == ["kept in an array"]  # of the outer turns, not on a tape for all of those inside
    assert "kept on a tape" in kept_loads(written_inside)
