"""Numbers of arguments that Python or NumPy needs: the specialisation is one for what was asked for."""

from __future__ import annotations

import math
import warnings
from collections import deque

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

X = np.arange(12.0).reshape(3, 4)


def axes(x, axis, n):
    return x.sum(axis), np.max(x, axis=n % 2), np.cumsum(x, -1 - n % 2), np.moveaxis(x, axis, n % 2).shape


def as_numpy_writes_it(x, order, offset):
    return np.linalg.norm(x, ord=order), np.diag(x, offset), np.cross(x[:, :3], x[:, 1:], axis=offset - offset + 1)


def pythons_own(x, n, flag):
    table = {n: x * n, "kept": np.sum(x, keepdims=flag and n > 0)}
    return (x,) * n, "ab" * (n - 1), tuple(table.items())


def asked_again(x, axis, keep):
    a, total = x * 2, x.sum(axis)
    if axis and a.ndim > 1:
        shape = list(a.shape)
        shape[axis] = 1
        total.shape = shape
    window = deque([1.0, 2.0, 3.0], maxlen=keep)
    for item in x.ravel():
        window.append(item)
    return a / total, window, window.maxlen, deque(x[0], keep)


def how_many_axes(x, n, k):
    cube, lengths = x[0, :1].repeat(2**n).reshape([2] * n), [1] * n
    lengths[k] = 2
    return cube.sum(axis=k), np.zeros(n * [k]), np.arange(2.0).reshape(lengths) * cube


def as_many_as_qubits(x):
    states = x.ravel()[:8].repeat(len(x))
    n = int(np.log2(len(states)))
    return states.reshape([2] * n).sum(axis=n - 2), states.reshape((2,) * round(math.log2(states.size))).T


def in_a_helper(x, n):
    def turned(k):
        return np.rot90(x, k)

    return turned(n) + turned(n + 2), [turned(k).shape for k in range(2)]


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (axes, [(X, 0, 0), (X, 1, 3), (X, -1, 2), (X, 2, 0)]),
        (as_numpy_writes_it, [(X, 1, 0), (X, 2, 1), (X, np.inf, -1)]),
        (pythons_own, [(X, 1, True), (X, 2, False), (X, 0, True)]),
        (asked_again, [(X, 0, 3), (X, 1, 2), (X + 1, -1, 0)]),
        (how_many_axes, [(X, 3, 1), (X, 2, 0), (X, 1, 0)]),
        (as_many_as_qubits, [(X[:2],), (X.repeat(2, axis=0)[:4],), (X[:2] + 1,)]),
        (in_a_helper, [(X, 0), (X, 1), (X, 5)]),
    ],
)
def test_what_python_asks_for_is_pinned(program, calls):
    assert_does_what_python_does(program, calls)


def test_the_specialisation_is_on_the_number_that_was_asked_for():
    @jitflow.function
    def along(x, n):
        return x.sum(axis=n % 2) * n

    for n in range(6):
        np.testing.assert_array_equal(along(X, n), X.sum(axis=n % 2) * n)
    assert along.cache_info().misses == 2
    assert "n % 2: equals 1" in str(along.explain(X, 5))


def test_what_the_run_can_choose_is_not_pinned():
    @jitflow.function
    def chosen(x, n):
        buffers = [x, -x, x * 2]
        found = [k for k in range(5) if k > n]
        return buffers[n % 3], [0.0] * n, np.zeros(n), np.float64(n), found, x[n % 3]

    for n in (2, 3, 4):
        chosen(X, n)
    assert chosen.cache_info().misses == 1


def test_many_values_are_said_once():
    @jitflow.function
    def text(n):
        return ("a",) * n

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(2, 13):
            assert text(n) == ("a",) * n
    assert [warning.category for warning in caught] == [jitflow.CompilationWarning]
    assert "text is compiled anew for each value of n" in str(caught[0].message)


def test_what_a_loop_changes_is_refused():
    @jitflow.function
    def turning(x, n):
        found = 0.0
        k = 0
        for i in range(n):
            found += x.sum(axis=k)[0]
            k = (k + i) % 2
        return found

    with pytest.raises(jitflow.UserError):
        turning(X[:3, :3], 1000)


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return int(self.size)


def of_another_kind(x, thing, flags):
    return (x, x * 2, x * 3)[len(thing)], np.zeros(len(thing)), [x.sum(axis=int(flag)) for flag in flags]


def test_a_number_of_another_kind_is_asked_for():
    calls = [(X, Sized(size), [1.0 * axis, 1.0 - axis]) for size, axis in ((2.0, 1), (1.5, 0), (1, 1), (True, 0))]
    assert_does_what_python_does(of_another_kind, calls)


def test_numbers_of_one_name_are_several():
    """Globals of two modules, say, of which Python asks the same."""
    text = "def along(x):\n    return x.sum(axis=N % 2)\n"
    spaces = [{"N": 0}, {"N": 1}]
    for space in spaces:
        exec(text, space)
    one, other = (space["along"] for space in spaces)

    @jitflow.function
    def both(x):
        return one(x), other(x)

    for numbers in ((0, 1), (1, 1), (1, 0), (2, 2)):
        for space, number in zip(spaces, numbers, strict=True):
            space["N"] = number
        for found, expected in zip(both(X), (X.sum(numbers[0] % 2), X.sum(numbers[1] % 2)), strict=True):
            np.testing.assert_array_equal(found, expected)


def of_numpys_numbers(x, n):
    return (
        x.sum(axis=n),
        round(2.567, n),
        np.expand_dims(x[0], n),
        np.diff(x, n=n + 1),
        (1, 2.5)[n],
        np.split(x[0], n + 1),
    )


def repeated(x, n):
    items = list(range(int(n) + 1))
    return [0] * n, n * (1, n), "ab" * n, items * n, [0.5] * (n + np.arange(3).max())


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int16])
def test_numpys_integers_are_pinned_as_pythons_are(kind):
    assert_does_what_python_does(of_numpys_numbers, [(X, kind(1)), (X, kind(0))])


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool, np.float64, float])
def test_numpys_integers_repeat_sequences(kind):
    assert_does_what_python_does(repeated, [(X, kind(1)), (X, kind(0))])


def sliced_along(x, axis, n):
    index = [slice(None)] * x.ndim
    index[axis] = slice(1, n)
    return x[tuple(index)]


def test_where_a_slice_is_stored_is_pinned():
    compiled, x = jitflow.function(sliced_along), np.arange(64.0).reshape(2, 4, 2, 4)
    for axis, n in ((0, 2), (1, 3), (-1, 3), (1, 2), (np.int64(3), 4)):
        np.testing.assert_array_equal(compiled(x, axis, n), sliced_along(x, axis, n))
    with pytest.raises(IndexError):
        compiled(x, 4, 2)
