"""Boolean masks in an index: what they select, computing on it, and writing it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY, assert_same
from tests.frontend.interpreted import interpreted
from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import compare_errors, outcome

X = np.random.default_rng(3).normal(size=(5, 4))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[x > 0],
        lambda x: x[x > 100],
        lambda x: x[x > 0] * 2 + 1,
        lambda x: (x[x > 0] ** 2).sum(),
        lambda x: np.sqrt(x[x > 0]).mean(),
        lambda x: x[x > 0].max(),
        lambda x: x[x > 0].shape[0],
        lambda x: len(x[x > 0]),
        lambda x: x[x[:, 0] > 0],
        lambda x: x[x[:, 0] > 0].sum(axis=0),
        lambda x: x[[True, False, True, False, True]],
        lambda x: x[np.array([True, False, True, False, True])][:, 1],
        lambda x: x[x > 0][:2],
        lambda x: x[x > 0] + x[x < 1][0],
        lambda x: np.concatenate([x[x > 0], x[x < 0]]),
        lambda x: (x > 0)[x > 0].all(),
        lambda x: x[x > 0].astype(np.float32),
    ],
)
def test_selections(program: Any):
    assert_same(interpreted(program)(X), program(X), ELEMENTARY)


def powers(z, c):
    mask = np.abs(z) < 1
    z[mask] = z[mask] ** 2 + c[mask]
    z[z > 0.7] -= 1
    z[z < -1] = np.arange(np.sum(z < -1)) * 1.0
    return z[mask].sum()


def test_writing_back():
    c = np.random.default_rng(4).normal(size=X.shape)
    for scale in (1.0, 0.0, 9.0):
        found, expected = X * scale, X * scale
        assert_same(interpreted(powers)(found, c), powers(expected, c), ELEMENTARY)
        assert_same(found, expected)


def shrunk(x, y, z):
    """The three arrays come from masks of their own, so their sizes have three names."""
    x, y, z = x[x > 0], y[y > 0], z[z > 0]
    mask = x > y
    return x[mask], y[mask], z[mask], x[~mask].sum(), np.flatnonzero(mask)


def test_one_mask_is_looked_through_once():
    arrays = [np.array(numbers) for numbers in ([1.0, 5, -2, 3], [2.0, -1, 4, 1], [-7.0, 6, 2, 9])]
    assert_same(interpreted(shrunk)(*arrays), shrunk(*arrays))
    text = jitflow.function(shrunk).ir(*arrays, stage="traced")
    assert text.count(" = for ") == 4  # the arrays, and the mask that they share


def test_masks_that_do_not_fit():
    with pytest.raises(IndexError, match="boolean index did not match"):
        interpreted(lambda x, m: x[m])(X, np.ones((4, 4), bool))
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment"):
        interpreted(lambda x: x.__setitem__(x > 0, np.zeros(3)))(X.copy())


def stored(x, m, v):
    x[m] = v
    return x


@pytest.mark.parametrize("of_mask", [(5,), (5, 1), (5, 2)], ids=str)
def test_rows_are_written_where_a_mask_is_true(of_mask: tuple[int, ...]):
    mask = np.zeros(of_mask, bool)
    mask[[0, 2, 4], 0 if mask.ndim > 1 else ...] = True
    shapes = [(3, 4), (3, 1), (1, 4), (1, 1, 3, 4), (4,), (2, 4), (3, 5), (5,), (0, 4), (2, 3, 4), (3, 2, 4)]
    for shape in shapes:
        value = np.arange(float(np.prod(shape))).reshape(shape)
        for array in (np.zeros((*of_mask, 4)), np.zeros((5, 2, 4))):
            expected = outcome(lambda array=array, value=value: stored(array.copy(), mask, value))
            found = outcome(lambda array=array, value=value: interpreted(stored)(array.copy(), mask, value))
            if isinstance(expected, Exception):
                compare_errors(found, expected, message=False)
            else:
                assert_same(found, expected)


def test_one_found_value_is_written_wherever_a_mask_is_true():
    program = interpreted(lambda x, m, y: stored(x, m, y[y > 3]))
    for numbers in ([1.0, 4.0], [4.0, 5.0], [1.0, 2.0]):
        arguments = np.zeros(3), np.array([True, False, True]), np.array(numbers)
        expected = outcome(lambda given=arguments: stored(given[0].copy(), given[1], given[2][given[2] > 3]))
        found = outcome(lambda given=arguments: program(given[0].copy(), *given[1:]))
        if isinstance(expected, Exception):
            compare_errors(found, expected, message=True)
        else:
            assert_same(found, expected)


def written(x, c):
    x[c] += 5
    x[..., c] = x.sum() if x.ndim else 2
    return x


FLAGS = (True, np.bool_(False), np.array(True), np.array(False), np.zeros(0, bool), np.array([True, False, True]))


@pytest.mark.parametrize("flag", FLAGS, ids=repr)
@pytest.mark.parametrize("shape", [(3,), (3, 2), (), (0,)], ids=str)
def test_masks_of_no_axes_and_of_no_elements(flag: Any, shape: tuple[int, ...]):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    for program in (lambda x, c: x[c], lambda x, c: x[c, 0:1], lambda x, c: x[c, c], lambda x, c: x[None, c], written):
        expected = outcome(lambda program=program: program(array.copy(), flag))
        found = outcome(lambda program=program: interpreted(program)(array.copy(), flag))
        if isinstance(expected, Exception):
            compare_errors(found, expected, message=True)
        else:
            assert_same(found, expected)


@pytest.mark.parametrize("number", [2.0, -2.0])
def test_elements_of_a_single_number(number: float):
    check_both(lambda x: (np.extract(x > 0, x), x[x > 0], np.compress([True], x), x[True] * 2), np.array(number))
    check_both(lambda x: x[x.sum() > 1], np.array([number, 1.0]))
