"""Arguments that functions of NumPy take by rules of their own, in whole programs: results, arguments and errors.

Fractions for sizes and positions, ``out=`` of another dtype, ``copy=False``, numbers for arrays, None.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

LINE = np.array([-2.25, np.nan, np.inf, -np.inf, 77.35])
BOTH = np.array([1 + 2j, complex(np.nan, np.inf), complex(-np.inf, np.nan), 3, complex(2, np.nan)])
TABLE = np.arange(12.0).reshape(3, 4)
WHOLE = np.arange(5, dtype=np.int32)


def ranges(a, b, c):
    return np.arange(a, b, c), np.arange(a, b, c, dtype=np.int8)


def triangles(x, k):
    return np.tril(x, k), np.triu(x, k), np.tril_indices(3, k), np.triu_indices(3, k, 4), np.tri(3, 4, k)


def triangles_of(n, m):
    return np.tri(n, m), np.tril_indices(n), np.triu_indices(n, 1)


def diagonals(k):
    return np.eye(3, k=k)


def rounded(x, digits, out):
    return np.round(x, digits, out=out), out


def written_to(name, x, out, *more):
    getattr(np, name)(x, *more, out=out)
    return out


def in_place_product(x, y):
    x @= y
    return x


def chosen(x, size):
    np.random.seed(3)
    generator = np.random.default_rng(3)
    return np.random.choice(x, size), generator.choice(x, size), generator.integers(5, 10, size, np.int8)


def polynomials(x, c):
    kinds = (polynomial.polyval, chebyshev.chebval, legendre.legval, hermite.hermval, hermite_e.hermeval)
    sums = polynomial.polyder(c), polynomial.polyint(c, 2, k=[1, 2]), polynomial.polyvander(x, 2)
    return [value(x, c) for value in kinds], sums, laguerre.lagval(x, c), polynomial.polyvalfromroots(x, c)


def more_than_memory_counts(n):
    return np.ones((n, n, n), np.float32).astype(np.float64) if n > 1 else np.full((1 << 56, 64), 1)


def more_than_memory_counts_by_a_size(x):
    return np.zeros((x.shape[0], 1 << 62))


def without_nan(x, filler, copy):
    y = np.nan_to_num(x, copy=copy, nan=filler, posinf=2.5)
    y[0] = 9
    return y, np.nan_to_num(x[1:3])


def parts_of_one_number(x, z):
    x.real[...] = 5
    x.imag[...] = x.real + 1
    np.copyto(x.real, 7, where=x.imag > 5)
    y = np.array(z)
    y.imag = 3
    return y, np.nan_to_num(z), np.nan_to_num(x, copy=False)


def shown(x, dtype):
    y = np.array(x, dtype, copy=None)
    y[0] = 9
    np.asarray(x, copy=False)[1] = 7
    return np.array(x, dtype, copy=False)


def parts(x, marks, axis):
    return np.array_split(x, marks, axis=axis), np.split(x, marks, axis=axis)


def positions(x, k):
    found = np.argpartition(x, k)
    return np.partition(x, k), np.take(x, found[k])


def of_one_element(x):
    return np.argsort(x), np.argpartition(x, 0), np.argsort(x, axis=None)


def taken(x, k):
    return np.take(x, k)


def repeated(x, k):
    return np.repeat(x, k)


def placed(x, mask, numbers):
    np.place(x, mask, numbers)
    return x


def dropped(x, k):
    return np.delete(x, k)


def inside(x, k):
    return k in x, k not in x, [k in row for row in (x, x + 1)]


def of_none(x, flag):
    y = x if flag else None
    return np.array_equal(x, y), np.iscomplexobj(y), np.where(y if y is None else True, 2, 3)


def buffer(x, dtype, count, offset):
    return np.frombuffer(x, dtype, count, offset)


def buffer_shows(x):
    np.frombuffer(x, x.dtype)[1] = 9
    return np.frombuffer(b"\x01\x02\x03\x04", np.int16)


def flat_element(x, k):
    return x.flat[k]


def pairs(a, b):
    return [(x + y, x * 2) for x, y in np.nditer((a, b))]


CALLS = {
    ranges: [
        *[(kind(0), kind(5), kind(1)) for kind in (np.int8, np.uint64, np.float32, int, float, bool, np.array)],
        (np.uint8(5), np.uint8(1), 1), (np.int8(-100), np.int8(100), 1), (np.bool_(1), np.bool_(1), 1),
        (np.float32(0), np.float32(0.3), np.float32(0.1)), (-0.5, 5, 1), (0.5, 3, 0.5), (5, -3.5, -1.7),
        (0, 5, 0), (0, 5, 0.0), (np.int64(0), np.int64(5), np.int64(0)), (5, 0, -2), (0, -5, np.inf),
    ],
    triangles: [(TABLE, k) for k in (1, -1, 0.5, 1.5, -1.5, np.float32(0.5), True)],
    triangles_of: [(3, 4), (-2, 3), (3, -2), (2.5, 3.0), (3, None)],
    diagonals: [(1,), (1.0,)],
    rounded: [
        *[(LINE[[0, 4]].astype(kind), digits, np.zeros(2, into))
          for kind, into in (("f4", "f8"), ("f8", "f4"), ("f4", "i4"), ("f4", "c16"), ("i4", "f4"))
          for digits in (1, 0, -1)],
        (WHOLE, 1, np.zeros(5, np.uint8)), (WHOLE, 1, np.zeros(4)), (WHOLE, 1, 3.0),
    ],
    written_to: [
        *[(name, TABLE, np.zeros(shape), 0) for name in ("sum", "std", "ptp", "median", "nanstd", "any")
          for shape in ((4,), (3, 4), (1, 4), (2, 3, 4))],
        *[(name, TABLE, np.zeros(shape, kind), 0) for name in ("argmax", "nanargmin")
          for shape, kind in (((4,), int), ((4,), "i1"), ((4,), float), ((1, 4), int), ((3, 4), int))],
        *[("take", TABLE, np.zeros(2, kind), [0, 5]) for kind in ("f4", "i4", complex)],
        *[(name, TABLE[:1], np.zeros(shape, kind), TABLE.T) for name in ("matmul", "dot")
          for shape, kind in (((1, 3), float), ((2, 3), float), ((1, 3), complex), ((4, 1, 3), float), ((1, 3), int))],
        ("concatenate", (TABLE, TABLE), np.zeros((1, 6, 4))), ("trace", TABLE, np.zeros((1,))),
        ("nanmedian", TABLE, np.zeros(4, int), 0), ("clip", TABLE, np.zeros((3, 4), int), 0.5, 2.5),
        ("dot", TABLE[0], np.zeros(()), TABLE[1]), ("nanstd", TABLE, np.zeros(4, int), 0),
    ],
    in_place_product: [(TABLE[:, :3], np.eye(3)), (TABLE[0], TABLE[0]), (TABLE[:, :3], np.ones(3)), (TABLE, TABLE)],
    chosen: [(TABLE[0], ()), (TABLE[0], None), (4, ())],
    polynomials: [(TABLE[0], TABLE[1]), (TABLE, [1.5, 2.0]), (2.5, TABLE[1])],
    more_than_memory_counts: [(1 << 22,), (1,)],
    more_than_memory_counts_by_a_size: [(LINE,)],
    without_nan: [
        *[(x, filler, copy) for x in (LINE, LINE.astype("f4"), BOTH)
          for filler in (0.5, WHOLE) for copy in (True, False)],
        (WHOLE, 0, False), (WHOLE, 0, True), ([1.0, 2.0, 3.0], 0, False),
    ],
    parts_of_one_number: [(np.array(1 + 2j), complex(-np.inf, np.nan)), (np.array(1 + 2j), np.complex64(np.nan))],
    shown: [(WHOLE, np.int32), (WHOLE, None), (WHOLE, np.int64), ([1, 2], None)],
    parts: [
        (TABLE, 2, 1), (TABLE, 3, 0), (TABLE, 3, 1), (TABLE, [1, -1], 1), (TABLE, [], 1), (TABLE, np.array([1, 3]), 1),
        (TABLE, [np.int64(1), 2], 1), (WHOLE, [1], -3), (WHOLE, 0, 0), (TABLE, -1, 0),
        (np.arange(40), list(range(20)), 0),
    ],
    positions: [
        (np.arange(9)[::-1], 4), (np.arange(9)[::-1], [0, 4]), (np.arange(20)[::-1], list(range(20))),
        (np.arange(9)[::-1], (-1, 2)), (np.arange(3), 3), (np.arange(9)[::-1], np.array([1, 3])),
    ],
    of_one_element: [(4,), (np.float32(2),), (np.array(3),)],
    taken: [(WHOLE, k) for k in (1.7, [1.7, 2], (True,), np.float64(1.7), np.array([1.7]))],
    repeated: [(WHOLE, k) for k in (1.7, True, [1.0, 2.0, 0.0, 1.0, 1.9], np.float32(2), np.array([1.0]))],
    placed: [
        (WHOLE, WHOLE > 1, [7.5, 8]), (WHOLE, [1, 0, 2, 0, 1], 3), (TABLE, TABLE.ravel() > 3, TABLE + 1),
        (WHOLE, [True], 3), (WHOLE, WHOLE > 1, np.zeros(0)), (WHOLE, WHOLE > 9, np.zeros(0)),
        ([1, 2], [True, False], 3),
    ],
    dropped: [(WHOLE, k) for k in (list(range(1, 4)), [2], [], range(0), [True, False] * 2 + [True])]
    + [(np.arange(40), list(range(20))), ([1, 2, 3], [1, 2])],
    inside: [(WHOLE, 3), (WHOLE, 5), (TABLE, 2.5)],
    of_none: [(1.5, False), (1j, True)],
    buffer: [
        (WHOLE, "i2", -1, 0), (WHOLE, "i4", -1, 8), (WHOLE, "i2", 3, 2), (WHOLE, "i8", 1, 3), (WHOLE, "i8", -1, 0),
        (WHOLE, "i4", 9, 0), (WHOLE, "i4", -1, 24), (WHOLE, "i4", -1, -4), (WHOLE, "i4", 0, 20), (TABLE, "c16", -1, 16),
        (TABLE.T, "f8", -1, 0),
    ],
    buffer_shows: [(WHOLE,)],
    flat_element: [(np.array(42), 0), (np.array(42), -1), (TABLE, 5)],
    pairs: [(WHOLE, WHOLE), (WHOLE[:2], TABLE[:, :2]), (np.float32(2), 3.0), (np.arange(3.0)[:, None], np.arange(2))],
}  # fmt: skip


@pytest.mark.parametrize("program", CALLS, ids=lambda program: program.__name__)
def test_programs(program):
    assert_does_what_python_does(program, CALLS[program])


def test_a_buffer_of_something_else_is_refused():
    with pytest.raises(NotImplementedError, match="pass the array"):
        jitflow.function(buffer)(bytearray(8), "i4", -1, 0)
