"""Views that NumPy lets nobody write to, on paths and turns that the running program chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_same


def left_early(x: Any, n: Any) -> Any:
    for _ in range(n):
        x[0, 0] += 1
        if x[0, 0] > 2:
            return np.diagonal(x)
    return None


def new_and_left_early(x: Any, n: Any) -> Any:
    for _ in range(n):
        x[0, 0] += 1
        if x[0, 0] > 2:
            return np.broadcast_to(x[1] + 1, (2, 3))
    return None


def imaginary_or_two(x: Any, n: Any) -> Any:
    return x[1:].imag if n > 1 else np.imag(x)


def on_both(x: Any, n: Any) -> Any:
    found = x.diagonal() if n > 1 else np.diagonal(x.T)
    return found[1:]


def in_turns(x: Any, n: Any) -> Any:
    found = np.diagonal(x)
    for _ in range(n):
        found = np.broadcast_to(x[1], (3,))
    return found


def stored(x: Any, n: Any) -> Any:
    on_both(x, n)[0] = 7
    return x


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("program", [left_early, new_and_left_early, imaginary_or_two, on_both, in_turns, stored])
def test_what_is_read_only_on_all_paths_is_so_behind_them(program: Any, n: int) -> None:
    found, expected = [], []
    for function, results in ((jitflow.function(program), found), (program, expected)):
        x = np.arange(9.0).reshape(3, 3)
        try:
            results += [function(x, n), x]
            results += [] if results[0] is None else [results[0].flags.writeable, np.shares_memory(results[0], x)]
        except ValueError as error:
            results += [str(error), x]
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


def either(x: Any, n: Any) -> Any:
    return np.diagonal(x) if n > 1 else x[0]


def test_what_is_read_only_on_one_path_is_not_written_to() -> None:
    def write(x: Any, n: Any) -> None:
        either(x, n)[0] = 1

    with pytest.raises(UserNotImplementedError, match="read-only on one of the paths") as caught:
        jitflow.function(write)(np.ones((3, 3)), 5)
    assert "copy" in caught.value.mend
    assert not jitflow.function(either)(np.ones((3, 3)), 5).flags.writeable


def test_an_array_that_has_the_common_shape_stays_itself() -> None:
    x = np.ones((2, 3))
    first, second = jitflow.function(lambda x: np.broadcast_arrays(x, x[0]))(x)
    assert first is x
    assert np.shares_memory(second, x)


def test_all_arrays_that_have_the_common_shape_stay_themselves() -> None:
    x, y = np.ones((2, 3)), np.ones((2, 3))
    first, second = jitflow.function(lambda x, y: np.broadcast_arrays(x, y))(x, y)
    assert first is x
    assert second is y


def test_the_imaginary_part_of_a_real_array_without_axes_is_read_only() -> None:
    part = jitflow.function(lambda x: np.imag(x))
    assert not part(np.array(3)).flags.writeable
    assert part(np.array(3j)).flags.writeable
