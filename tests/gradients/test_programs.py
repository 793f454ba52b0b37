"""Gradients of whole programs, against central differences of plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.programs import PROGRAMS


def central_differences(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """The gradient of a real function, element by element."""
    x = np.asarray(x, np.float64)
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        ends = [function(end if x.ndim else float(end)) for end in (above, below)]
        gradient[place] = (ends[0] - ends[1]) / (2 * step)
    return gradient


@pytest.mark.parametrize(("function", "x"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_gradient_of_a_program(function: Callable[[Any], Any], x: Any) -> None:
    given = np.copy(x) if isinstance(x, np.ndarray) else x
    value, gradient = jitflow.value_and_grad(function)(given)
    np.testing.assert_array_equal(given, x)  # what is differentiated by is the function's own
    np.testing.assert_allclose(value, function(np.copy(x) if isinstance(x, np.ndarray) else x), rtol=1e-12)
    np.testing.assert_allclose(gradient, central_differences(function, x), rtol=2e-6, atol=1e-8)
    assert type(gradient) is type(x)
