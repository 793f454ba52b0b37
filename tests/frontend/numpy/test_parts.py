"""Real and imaginary parts of arrays that the program has let go of are arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
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


def _copied(x: Any, count: Any) -> Any:
    """A copy of a part was the part itself: what was written to it stood in the array, too."""
    z, line = x + 2j * x, np.zeros(5)
    real, imag, line[:] = z.real.copy(), np.array(z.imag), z.real
    z[1] = 9
    for place in range(count):
        copied = z.real.copy()
        copied[place] = real[place] = imag[place] = line[place] = 7
    return real, imag, line, z


def _in_order(x: Any, count: Any) -> Any:
    """NumPy copies what has gaps between its elements, of a part that is an array by now as well."""
    z = x + 2j * np.ones((2, 1))
    parts = [z.real, (x + 2j * x).real, np.conj(x + 0j).real]
    copies = [np.ravel(parts[0]), parts[1].ravel(), np.ascontiguousarray(parts[2]), np.ravel((x[:1] + 1j).imag)]
    for copied in copies:
        copied[:] = count
    shown = z.imag.reshape(-1)
    shown[3] = 7
    return copies, [part.copy() for part in parts], shown.copy(), z


@pytest.mark.parametrize(
    "program", [_in_turns, _on_one_path, _at_places, _still_held, _shown_before, _copied, _in_order]
)
@pytest.mark.parametrize("count", [0, 3])
def test_parts(program: Any, count: int) -> None:
    check_compiled(program, np.arange(1.0, 6.0), count)


def _of_a_view(x: Any) -> Any:
    z = x * 2
    r = z[1:].real
    r[0] = 50
    return z, r


def _of_an_array_that_is_returned(x: Any) -> Any:
    z = x * 2
    z.imag[1] = 7
    return z.real, z, z.imag[::-1], x.imag


def _of_an_argument(x: Any) -> Any:
    x[0] = 5
    return [x.real, {"a": x.imag, "b": x[1:].imag}, x.T.real], np.real(x)


def _made_alone(x: Any) -> Any:
    return (x * 2).real, np.fft.ifft(x)[1:].imag


def _that_nobody_writes_to(x: Any) -> Any:
    line = x.real
    return line.imag, np.broadcast_to(line, (2, 4)), np.broadcast_to(x[0], (2, 4)).T[1:], np.diagonal(np.outer(x, x))


def _arrays(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [result]
    return [array for item in (result.values() if isinstance(result, dict) else result) for array in _arrays(item)]


@pytest.mark.parametrize(
    "program", [_of_a_view, _of_an_array_that_is_returned, _of_an_argument, _made_alone, _that_nobody_writes_to]
)
def test_returned_parts_and_views(program: Any) -> None:
    """What they hold, who may write to them, and with which others they share memory."""
    argument, other = (np.arange(4.0) + 1j for _ in range(2))
    found = [argument, *_arrays(jitflow.function(program)(argument))]
    expected = [other, *_arrays(program(other))]
    assert_same(found, expected)
    assert [array.flags.writeable for array in found] == [array.flags.writeable for array in expected]
    pairs = [[np.shares_memory(one, two) for one in arrays for two in arrays] for arrays in (found, expected)]
    assert pairs[0] == pairs[1]
