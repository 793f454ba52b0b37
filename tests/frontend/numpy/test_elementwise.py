"""Functions of elements that are not ufuncs, conversions, differences and polynomials, against NumPy."""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.frontend.numpy.oracle import KINDS, check, check_sizes, sample, special


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


MATRIX, LINE, WHOLE, COMPLEX = sample("f4", 3, 4), sample("f8", 5), sample("i4", 3, 4), sample("c8", 3)
POINT = np.asarray(2.5, np.float32)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.where(x > 0, x, 0), MATRIX),
        f(lambda x: np.where(x > 0, x, 0.5), WHOLE),
        f(lambda x, y: np.where(x, y[:, None], -1), WHOLE[0], LINE),
        f(lambda x, y: np.where(x > 0, x, y), MATRIX, LINE),
        f(lambda x: np.where(x > 0, x, np.float64(1)), MATRIX),
        f(lambda x: np.where(x[0, 0] > 0, 1, 2), MATRIX),
        f(lambda x: np.where(x > 0, 300, np.uint8(1)), MATRIX),
        f(lambda x: np.where(x > 0, True, 1), MATRIX),
        f(lambda x: np.clip(x, -1, 2), MATRIX),
        f(lambda x: np.clip(x, -1, 2.5), WHOLE),
        f(lambda x: np.clip(x, None, 2), MATRIX),
        f(lambda x: np.clip(x, 0, None), MATRIX),
        f(lambda x: np.clip(x, None, None), MATRIX),
        f(lambda x: np.clip(x, min=0), MATRIX),
        f(lambda x: np.clip(x, -5, 300), sample("u1", 4)),
        f(lambda x, a, b: np.clip(x, a, b), WHOLE, -3, 4),
        f(lambda x: x.clip(0), MATRIX),
        f(lambda x: x.clip(max=1.5), MATRIX),
        f(lambda x: np.clip(x, x[0], 1), MATRIX),
        f(lambda x: np.clip(x, -1, 1), POINT),
        f(lambda x: np.clip(x, -1, 1, out=np.zeros_like(x)), MATRIX),
        f(lambda x: np.clip(x, 1), MATRIX),
        f(lambda x: np.clip(x, np.nan, 1), special("f4")),
        f(lambda x: np.select([x > 1, x > 0], [x, 2 * x], -1), MATRIX),
        f(lambda x: np.select([x > 1], [1], 0.5), WHOLE),
        f(lambda x: np.select([x], [1]), WHOLE),
        f(lambda x: np.select([x > 1], [1, 2]), WHOLE),
        f(lambda x: np.select([], []), WHOLE),
        f(lambda x: np.real(x), COMPLEX),
        f(lambda x: np.imag(x), COMPLEX),
        f(lambda x: x.real + x.imag, COMPLEX),
        f(lambda x: x.real - x.imag, MATRIX),
        f(lambda x: np.imag(x), WHOLE),
        f(lambda x: (x[0].real, x[0].imag), COMPLEX),
        f(lambda x: np.angle(x), COMPLEX),
        f(lambda x: np.angle(x, deg=True), COMPLEX),
        f(lambda x: np.angle(x), MATRIX),
        f(lambda x: np.angle(x), WHOLE),
        f(lambda x: np.isreal(x), COMPLEX),
        f(lambda x: np.iscomplex(x * x.real), COMPLEX),
        f(lambda x: np.iscomplex(x), MATRIX),
        f(lambda x: np.isreal(x), MATRIX),
        f(lambda x: np.conj(x) * x.conj() * x.conjugate(), COMPLEX),
        f(lambda x: np.nan_to_num(x), special("f4")),
        f(lambda x: np.nan_to_num(x, nan=1.5, posinf=2, neginf=-2), special("f8")),
        f(lambda x: np.nan_to_num(x), WHOLE),
        f(lambda x: np.nan_to_num(x, copy="1"), WHOLE),
        f(lambda x: np.nan_to_num(x), np.array([1 + 1j * np.nan, np.inf - 2j])),
        f(lambda x: np.nan_to_num(x), POINT),
        f(lambda n: (np.nan_to_num(n), np.round(n), np.round(n, 2), np.imag(n), np.isreal(n)), 5),
        f(lambda n: (np.real(n), np.imag(n)), True),
        f(lambda x: np.isposinf(x), special("f4")),
        f(lambda x: np.isneginf(x), special("f4")),
        f(lambda x: np.isposinf(x), WHOLE),
        f(lambda x: np.fix(x), MATRIX),
        f(lambda x: np.fix(x), WHOLE),
        f(lambda x: np.sinc(x), LINE),
        f(lambda x: np.sinc(np.trunc(x)), MATRIX),
        f(lambda x: np.sinc(x), WHOLE),
        f(lambda x, y: np.isclose(x, y), LINE, LINE + 1e-9),
        f(lambda x: np.isclose(x, x, equal_nan=True), special("f8")),
        f(lambda x: np.isclose(x, x), special("f4")),
        f(lambda x: np.isclose(x, 1), WHOLE),
        f(lambda x: np.isclose(1, x, rtol=0.5, atol=x), LINE),
        f(lambda x: np.isclose(x[0], x[1]), LINE),
        f(lambda x: np.isclose(x, 2, atol=0, rtol=0.4999999999999999), np.float32(1)),
        f(lambda x, r: np.isclose(x, 2.0, atol=0, rtol=r), np.array(1, "f4"), 0.4999999999999999),
        f(lambda x: np.allclose(x, x + 1e-12), LINE),
        f(lambda x, y: np.allclose(x, y), LINE, LINE + 1),
        f(lambda x: np.array_equal(x, x), LINE),
        f(lambda x, y: np.array_equal(x, y), LINE, LINE[:4]),
        f(lambda x, y: np.array_equal(x, y), LINE, MATRIX),
        f(lambda x: np.array_equal(x, x, equal_nan=True), special("f4")),
        f(lambda x: np.array_equal(x, x), special("f4")),
        f(lambda x: np.array_equiv(x, x[:1]), MATRIX),
        f(lambda x, y: np.array_equiv(x, y), LINE, LINE[:1]),
        f(lambda x, y: np.array_equiv(x, y), LINE, LINE[:3]),
        f(lambda x: np.array_equiv(x, x[1:]), LINE),
    ],
)
def test_functions(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
@pytest.mark.parametrize("kind", KINDS)
def test_round(kind: str, decimals: int):
    array = sample(kind, 5) * (np.ones((), kind) if kind in ("?", "f2") else np.ones((), kind) * 7)
    check(lambda x: np.round(x, decimals), array, message=False)
    check(lambda x: x.round(decimals), array, message=False)
    check(lambda x: np.around(x, decimals), array[0], message=False)
    check(lambda x: np.round(x, decimals), np.asarray(array[0]), message=False)


@pytest.mark.parametrize("target", [*KINDS, ml_dtypes.bfloat16])
def test_astype(target: Any):
    for source in KINDS:
        array = np.abs(sample(source, 4)) if np.dtype(target).kind == "u" else sample(source, 4)
        check(lambda x: x.astype(target), array)
        check(lambda x: np.astype(x, target), array)
        check(lambda x: x[0].astype(target), array)
        check(lambda x: x.astype(target), np.asarray(array[0]))
        if target is not ml_dtypes.bfloat16:
            check(lambda x: x.astype(target, casting="safe"), array)
            check(lambda x: x.astype(target, casting="same_kind", copy=False), array)


def test_attributes():
    for array in (MATRIX, WHOLE, np.asarray(1.5), np.float32(2)):
        check(lambda x: (x.shape, x.ndim, x.dtype, x.itemsize), array)
    check_sizes(lambda x: x.reshape(x.size), lambda n: (sample("f4", n, 3),))
    check(lambda x: (np.shape(x), np.ndim(x), np.ndim(3)), WHOLE[:1, :1])
    check(lambda x: x * x.size + x.nbytes + np.size(x) + np.size(x, 0), MATRIX)
    check(lambda x: x.copy() + np.copy(x), MATRIX)


def test_writing_functions():
    def program(x: Any) -> Any:
        result = np.zeros_like(x)
        result.fill(3)
        np.copyto(result, x, where=x > 0)
        return result

    check(program, MATRIX)
    check(lambda x: np.copyto(np.zeros_like(x, dtype=int), x), MATRIX, message=False)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.diff(x), LINE),
        f(lambda x: np.diff(x, 2, axis=0), MATRIX),
        f(lambda x: np.diff(x, 0), LINE),
        f(lambda x: np.diff(x, prepend=0, append=[1, 2]), LINE),
        f(lambda x: np.diff(x, axis=0, prepend=x[:1]), MATRIX),
        f(lambda x: np.diff(x > 0), LINE),
        f(lambda x: np.diff(x, -1), LINE),
        f(lambda x: np.diff(x), POINT),
        f(lambda x: np.diff(x, axis=2), MATRIX),
        f(lambda x: np.ediff1d(x), MATRIX),
        f(lambda x: np.ediff1d(x, to_begin=0, to_end=[1, 2]), LINE),
        f(lambda x: np.ediff1d(x, to_end=0.5), WHOLE),
        f(lambda x: np.trapezoid(x), LINE),
        f(lambda x: np.trapezoid(x, dx=0.5, axis=0), MATRIX),
        f(lambda x: np.trapezoid(x, x), LINE),
        f(lambda x: np.trapezoid(x, x[0]), MATRIX),
        f(lambda x: np.trapezoid(x, x, axis=0), MATRIX),
        f(lambda x: np.gradient(x), LINE),
        f(lambda x: np.gradient(x), MATRIX),
        f(lambda x: np.gradient(x, 0.5, axis=1), MATRIX),
        f(lambda x: np.gradient(x, 0.5, 2), MATRIX),
        f(lambda x: np.gradient(x, edge_order=2), LINE),
        f(lambda x: np.gradient(x), WHOLE),
        f(lambda x: np.gradient(x, np.array([0, 1, 3, 4, 8.0])), LINE),
        f(lambda x: np.gradient(x, np.array([0, 1, 3, 4, 8]), edge_order=2), LINE),
        f(lambda x: np.gradient(x, 1, 2, 3), LINE),
        f(lambda x: np.gradient(x, edge_order=3), LINE),
        f(lambda x: np.gradient(x), LINE[:1]),
        f(lambda x: np.gradient(x, [0, 1, 3, 4, 8]), LINE),
        f(lambda x: np.gradient(x > 0), LINE),
        f(lambda x: np.polyval([1, 2, 3.5], x), MATRIX),
        f(lambda x: np.polyval([1, 2, 3], x), WHOLE),
        f(lambda x, a: np.polyval([a, 2], x), LINE, 1.5),
        f(lambda p, x: np.polyval(p, x), LINE[:1], LINE),
        f(lambda p, x: np.polyval(p, x), LINE[:3], LINE),
        f(lambda x: np.polyval([], x), LINE),
    ],
)
def test_differences(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


def test_differences_of_many_sizes():
    check_sizes(lambda x: np.diff(x), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.trapezoid(x), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.gradient(x), lambda n: (sample("f4", n + 2),), (3, 2, 8))


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_the_order_of_complex_scalars(compare: Any):
    """With a nan in a part it is another one than that of arrays, unless NumPy takes the scalars for arrays."""
    parts = (0.0, 1.0, np.nan)
    numbers = [complex(real, imaginary) for real in parts for imaginary in parts]
    for a in numbers:
        for b in numbers:
            for left, right in (
                (np.complex128(a), np.complex128(b)),
                (np.complex64(a), b),
                (a, np.complex64(b)),
                (np.float64(a.real), np.complex64(b)),
                (np.complex128(a), np.float64(b.real)),
                (np.array([a]), np.complex128(b)),
            ):
                check(compare, left, right)


@pytest.mark.parametrize("operand", [2, 2.5, np.float32(2), np.array(2.0), np.array([1.0, np.nan])], ids=repr)
def test_no_number_is_none(operand: Any):
    check(lambda x: (x == None, x != None, None == x), operand)  # noqa: E711, SIM300
