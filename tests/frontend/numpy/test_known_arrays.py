"""Arrays that NumPy computes of numbers which are known while tracing, and ranges in the place of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_compiled

PLACES = np.array([1, 2, 0])


def _indexed(places: Any, place: Any) -> Any:
    line, table = np.linspace(0, 1, 11), np.meshgrid([1, 2, 3], [4, 5, 6])[0]
    return line[places], line[:place], table[place], np.hanning(8)[place], np.triu_indices(3)[0][places]


def _written_in_turns(count: Any) -> Any:
    line = np.linspace(0, 1, 3)
    for _ in range(count):
        line[0] += 1.0
    return line


def _written_through_a_view(count: Any) -> Any:
    line = np.linspace(0, 1, 3)
    rest = line[1:]
    line *= count
    rest[0] = count
    return line


def _made_by_a_ufunc(count: Any) -> Any:
    roots = np.hypot([3, 4], [4, 3])
    for _ in range(count):
        roots[0] += 1.0
    return roots


def _from_bytes(places: Any) -> Any:
    letters = np.frombuffer(b"abcdef", np.uint8)
    return letters[places], letters[places[0]] + np.uint8(1)


def _writes_to_bytes(places: Any) -> Any:
    letters = np.frombuffer(b"abcdef", np.uint8)
    letters[0] = places[0]
    return letters


def _ranges(places: Any, count: Any) -> Any:
    line, table = np.zeros(5), np.arange(12).reshape(3, 4)
    line[range(3)] = 1
    line[range(count)] += 1
    line[range(1, count + 1, 2)] += 5
    rows = range(len(places))
    parts = table[range(3), range(3)], table[places, rows], table[range(count)], table[range(0)]
    return line, parts, np.array(range(count, -3, -1)), np.sum(range(count + 5)), np.array(range(0))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (_indexed, (PLACES, 2)),
        (_written_in_turns, (7,)),
        (_written_through_a_view, (3,)),
        (_made_by_a_ufunc, (5,)),
        (_from_bytes, (PLACES,)),
        (_writes_to_bytes, (PLACES,)),
        (_ranges, (PLACES, 2)),
        (lambda x: np.zeros(np.array([2, 3])) + x, (1.5,)),
        (lambda x: np.unique([3, 1, 1], return_counts=True), (1.5,)),
    ],
)
def test_they_are_arrays_of_the_program(program: Any, arguments: Any) -> None:
    check_compiled(program, *arguments)
