"""Numbers that are put into arrays of another dtype, compared with NumPy: what they become, and what is raised."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import compare_errors

NUMBERS: list[list[Any]] = [  # of one type each, so that one compilation serves all
    [3, 300, -1],
    [2.5, 300.7, -1.5, float("nan"), float("inf"), 1e19],
    [2j],
    [np.float64(2.5), np.float64(300.7), np.float64(-1.5), np.float64("nan"), np.float64(1e19)],
    [np.int64(300), np.int64(-1)],
    [np.uint64(2**63), np.uint64(7)],
    [np.complex128(300 + 1j)],
    [np.array(300.7)],
    [np.array([300.0])],
]


def element(a, v):
    a[0] = v
    return a


def whole(a, v):
    a[...] = v
    return a


def looked_up(a, v):
    a[[1, 0]] = v
    return a


def masked(a, v):
    a[a == 0] = v
    return a


def filled(a, v):
    a.fill(v)
    return a


def listed(a, v):
    return np.array([[v, 1], [0, v]], a.dtype)


def assigned_list(a, v):
    a[:] = [v, 1]
    return a


def converted(a, v):
    return np.asarray(v, a.dtype), np.full(2, 7, a.dtype)


def full(a, v):
    return np.full(2, v, a.dtype)


def inserted(a, v):
    return np.insert(a, 1, v)


def put(a, v):
    a.put([1], v)
    return a


def putmask(a, v):
    np.putmask(a, np.array([True, False]), v)
    return a


def copied(a, v):
    np.copyto(a, v, where=np.array([True, False]))
    return a


def flat(a, v):
    a.flat[:] = v
    return a


def initial(a, v):
    return np.max(a, initial=v)


def added_at(a, v):
    np.add.at(a, np.array([0, 0]), v)
    return a


def subtracted_at(a, v):
    np.subtract.at(a, np.array([1, 1]), v)
    return a


STORES = [element, whole, looked_up, masked, filled, listed, assigned_list, converted, full, inserted, put, putmask,
          copied, flat, initial, added_at, subtracted_at]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i1", "u8", "i8", "f4"])
@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__)
def test_stores(store: Any, dtype: str):
    compiled = jitflow.function(store)
    for numbers in NUMBERS[(STORES.index(store) + ord(dtype[0])) % 3 :: 3]:
        for number in numbers:
            _compare(compiled, store, np.zeros(2, dtype), number)


def _compare(compiled: Any, program: Any, *arguments: Any) -> None:
    expected, found = (_outcome(function, arguments) for function in (program, compiled))
    if isinstance(expected, Exception):
        compare_errors(found, expected, "inhomogeneous" not in str(expected))
        return
    assert not isinstance(found, Exception), f"{arguments}: expected {expected!r}, got {found!r}"
    assert_same(found, expected)


def _outcome(function: Any, arguments: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*(item.copy() if isinstance(item, np.ndarray) else item for item in arguments))
    except Exception as error:
        return error


def bounded(a, v):
    return np.clip(a, 0, v), a.clip(v), np.clip(a, v, v)


def selected(a, v):
    return np.select([a > 0, a < 1], [a, v], 0)


def by_default(a, v):
    return np.select([a > 0], [a], v)


def padded(a, v):
    return np.pad(a, 1, constant_values=v), np.pad(a, 1, constant_values=(v, 0))


def chosen(a, v):
    return np.choose(np.array([0, 1]), [v, a])


@pytest.mark.parametrize("dtype", ["i1", "u8"])
@pytest.mark.parametrize("program", [bounded, selected, by_default, padded, chosen], ids=lambda item: item.__name__)
def test_bounds_beyond_the_dtype(program: Any, dtype: str):
    compiled = jitflow.function(program)
    for number in (300, -1, 2**40, -(2**40), np.int64(300), np.float64(2.5)):
        _compare(compiled, program, np.array([1, 2], dtype), number)


# -- repeated values ------------------------------------------------------------------------------------------


def few_values(a, v):
    b = a.copy()
    np.put(a, [2, 0, 1], v)
    b.flat[:] = v
    c = b.copy()
    c.flat = v
    np.putmask(b, b > 0, v)
    return a, b, c


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
def test_values_are_repeated(size: int):
    check_compiled(few_values, np.arange(3), np.arange(size) + 5)


# -- reductions into an array -------------------------------------------------------------------------------------


def sums(a, o, b):
    return np.sum(a, axis=0, out=o), np.cumsum(a, axis=0, out=b)


def largest(a, o, b):
    return np.max(a, axis=0, out=o), np.multiply.accumulate(a, axis=(1,), out=b)


def means(a, o, b):
    return np.mean(a, axis=0, out=o)


def differences(a, o, b):
    return np.subtract.reduce(a, out=o), np.subtract.accumulate(a, out=b)


def others(a, o, b):
    return np.sum(a, axis=0, dtype="f4", out=o), np.add.reduceat(a, [0, 1], out=b)


@pytest.mark.parametrize("program", [sums, largest, means, differences, others], ids=lambda item: item.__name__)
@pytest.mark.parametrize("into", ["u1", "f8"])
def test_outputs_of_another_dtype(program: Any, into: str):
    compiled = jitflow.function(program)
    for own in ("i8", "f4"):
        array = np.array([[200.6, 0.3], [100.7, 77.9]]).astype(own)
        _compare(compiled, program, array, np.zeros(2, into), np.zeros((2, 2), into))


# -- Python's integers ------------------------------------------------------------------------------------------


def compared(v, w):
    return v < w, v <= w, v == w, v > w, v >= w


def test_integers_beside_floats():
    compiled = jitflow.function(compared)
    for integer in (2**53 + 1, 2**63 - 1, 2**63 - 513, -(2**63)):
        for number in (2.0**53, 2.0**63, 2.0**63 - 1024, -(2.0**63), 1e19, float("nan")):
            _compare(compiled, compared, integer, number)
            _compare(compiled, compared, number, integer)


def unsigned(v):
    return v <= np.uint64(2**63 - 1), v == np.uint64(2**63), np.uint64(2**63 + 5) > v, v < 2**63 - 1


@pytest.mark.parametrize("number", [3, 2**63 - 1, 2**63, 2**64 - 1])
def test_large_unsigned_integers(number: int):
    check_compiled(unsigned, np.uint64(number))


def indexed(x, v):
    return x[v]


def sliced(x, v):
    return x[v:], x[:v], x[v::-1]


@pytest.mark.parametrize("number", [2, 2**63, 2**64 - 1])
def test_unsigned_integers_as_positions(number: int):
    check_compiled(sliced, np.arange(4), np.uint64(number))
    check_compiled(indexed, np.arange(4), np.uint64(number))


def whole_number(v):
    return int(v)


@pytest.mark.parametrize("number", [np.uint64(2**63), 1e19, -1e19, 2.0**63, np.array(2**63, "u8")])
def test_integers_that_do_not_fit(number: Any):
    with pytest.raises(OverflowError, match="does not fit into a 64-bit int"):
        jitflow.function(whole_number)(number)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -(2.0**63), np.complex128(2 + 1j), np.array(2j)])
def test_integers(number: Any):
    _compare(jitflow.function(whole_number), whole_number, number)


def added_to_many_digits(v):
    return v + 10**5000


def test_integers_of_many_digits():
    with pytest.raises(OverflowError, match="an int of 16610 bits"):
        jitflow.function(added_to_many_digits)(3)
