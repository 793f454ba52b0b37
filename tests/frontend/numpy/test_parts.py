"""Real and imaginary parts of arrays that the program has let go of are arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_compiled


def _in_turns(x: Any, count: Any) -> Any:
    u = x * 1.0
    for _ in range(count):
        u += 0.5
        u = np.real((1 + 2j) * u)
    return u


def _on_one_path(x: Any, count: Any) -> Any:
    z = x + 2j * x
    real, imag = z.real, z.imag
    del z
    if count > 2:
        real = x.copy()
    real[0] += 1
    imag[1] -= 1
    return real.copy(), imag


def _at_places(x: Any, count: Any) -> Any:
    real = (x + 2j * x).real
    real[[0, 2]] = count
    np.add.at(real, [0, 0], 1)
    real[::-1].sort()
    return real


def _still_held(x: Any, count: Any) -> Any:
    def parts() -> Any:
        z = x + 2j * x
        return z.real, z.imag, z

    real, imag, z = parts()
    real[0] = count
    held = [z]
    del z
    for place in range(count):
        imag[place] = 7
    return real.copy(), imag.copy(), held[0].copy()


def _shown_before(x: Any, count: Any) -> Any:
    z = x + 2j * x
    real = z.real
    for _ in range(count):
        z = z * 2
    real[0] = 50
    return real.copy(), z


@pytest.mark.parametrize("program", [_in_turns, _on_one_path, _at_places, _still_held, _shown_before])
@pytest.mark.parametrize("count", [0, 3])
def test_parts(program: Any, count: int) -> None:
    check_compiled(program, np.arange(1.0, 6.0), count)
