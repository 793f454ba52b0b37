"""Lists and texts of the running program by slices whose bounds and steps it knows alone, searched and repeated."""

from __future__ import annotations

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does

CALLS = [
    (6, 0, 4, 2), (6, 4, 0, -1), (6, 5, None, -2), (0, 0, 3, 1), (7, -3, -1, 1), (5, None, None, -1), (5, 1, 9, 3),
    (6, 0, 4, 0), (np.int64(6), np.int64(1), np.int64(5), np.int64(2)),
]  # fmt: skip


def squares(count):
    found = []
    for k in range(count):
        found.append(k * k)
    return found


def taken(count, start, stop, step):
    items = squares(count)
    return items[start:stop:step], items[start:stop], items[::step], items[start:], items[:stop:step], items[::-1]


def stored(count, start, stop, step):
    items = squares(count)
    items[start:stop:step] = [9] * len(items[start:stop:step])
    return items


def stored_two(count, start, stop, step):
    items = squares(count)
    items[start:stop:step] = [7, 8]
    return items


def deleted(count, start, stop, step):
    items = squares(count)
    del items[start:stop:step]
    return items


def searched(count, start, stop, step):
    items = squares(count)
    return items.index(4, 0), items.index(4, start or 0, stop or 3)


def repeated(count, start, stop, step):
    items, known = squares(count), [0, 1]
    others = items, known
    items *= step
    known *= count
    return items, known, others, others[0] is items, others[1] is known


def of_text(count, start, stop, step):
    text = str(count * 123456789)
    return text[start:stop:step], text[::step], text[start:], text[:stop]


@pytest.mark.parametrize("program", [taken, stored, stored_two, deleted, searched, repeated, of_text])
def test_they_are_python_s(program):
    assert_does_what_python_does(program, CALLS)
