"""The gradient of loops in loops is as long as their text: each loop has a forward and a reverse one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.truth.run import define


def _nest(depth: int) -> Any:
    lines = ["def program(x):", "    s = 0.5"]
    for level in range(depth):
        indent = "    " * (level + 1)
        lines += [f"{indent}for i{level} in range(len(x)):", f"{indent}    s = s + x[i{level}] * s"]
    lines += [f"{'    ' * (level + 1)}s = np.sin(s)" for level in range(depth, 0, -1)]
    return define("\n".join([*lines, "    return s", ""]))


def test_the_gradient_of_a_nest_is_as_long_as_its_text() -> None:
    x = np.array([0.1, 0.2])
    lengths = [len(jitflow.grad(_nest(depth)).ir(x, stage="gradient").splitlines()) for depth in (1, 2, 3)]
    assert lengths[2] - lengths[1] <= 1.1 * (lengths[1] - lengths[0])
    program = _nest(2)
    moved = [program(x + step * np.array([1.0, 2.0])) for step in (-1e-6, 1e-6)]
    np.testing.assert_allclose(jitflow.grad(program)(x) @ [1.0, 2.0], (moved[1] - moved[0]) / 2e-6, rtol=1e-7)


def test_arrays_that_share_a_number_alone_are_no_nest() -> None:
    special = pytest.importorskip("scipy.special")
    places = np.linspace(0, 1, 4)

    def improvement(x: Any) -> Any:
        near = np.exp(-0.5 * (places[:, None] - places) ** 2 / x[0] ** 2)
        at = np.exp(-0.5 * (0.3 - places) ** 2 / x[0] ** 2)
        spread = at @ np.linalg.solve(near, at)
        ahead = (at @ np.linalg.solve(near, x[:4])) / spread
        return spread * (ahead * special.ndtr(ahead))

    x = np.array([0.5, 2.0, -1.0, 0.3, 1.0])
    steps = np.eye(5) * 1e-6
    expected = [(improvement(x + step) - improvement(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(jitflow.grad(improvement)(x), expected, rtol=1e-5, atol=1e-7)
