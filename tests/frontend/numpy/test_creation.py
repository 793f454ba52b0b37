"""Creation against NumPy, by way of whole functions: what does not dispatch is replaced where a function reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same
from tests.frontend.numpy.oracle import check_function, sample

MATRIX, LINE = sample("f4", 3, 4), sample("f8", 5)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.zeros(x.shape), MATRIX),
        f(lambda x: np.ones(x.shape[0], "i4"), MATRIX),
        f(lambda x: np.zeros((2, x.shape[1]), dtype=complex), MATRIX),
        f(lambda x: np.empty(x.shape) * 0, MATRIX),
        f(lambda x: np.full(x.shape, 7), MATRIX),
        f(lambda x: np.full((2, 4), x[0]), MATRIX),
        f(lambda x, n: np.full(x.shape, n), MATRIX, 2.5),
        f(lambda x: np.full(x.shape, 3, dtype="u1"), MATRIX),
        f(lambda x: np.full((2, 3), x[0]), MATRIX),
        f(lambda x: np.zeros(-1) + x, LINE),
        f(lambda x: np.zeros_like(x), MATRIX),
        f(lambda x: np.ones_like(x, dtype="i4"), MATRIX),
        f(lambda x: np.empty_like(x, shape=3) * 0, LINE),
        f(lambda x: np.full_like(x, 2.5), MATRIX),
        f(lambda x: np.full_like(x, x[0]), MATRIX),
        f(lambda x: np.zeros_like(x), np.asarray(3)),
        f(lambda x: np.zeros_like(x[0]), LINE),
        f(lambda x: np.arange(x.shape[0]), MATRIX),
        f(lambda x: np.arange(x), MATRIX),
        f(lambda x: np.arange(0, x), np.array([7])),
        f(lambda x: np.arange(x.shape[0], dtype="f4"), MATRIX),
        f(lambda x: np.arange(1, x.shape[0]) + 0 * x[0, 0], MATRIX),
        f(lambda x: np.arange(x.shape[1], 0, -1), MATRIX),
        f(lambda x: np.arange(0, x.shape[1], 3), MATRIX),
        f(lambda x: np.arange(-2.0, x.shape[1]), MATRIX),
        f(lambda x: np.arange(5) + x, LINE),
        f(lambda x: np.arange(0.5, 3, 0.5) + x, LINE),
        f(lambda x: np.arange(1, 2, 0.1, dtype="f4") + 0 * x[0], MATRIX[:, :1]),
        f(lambda x: np.arange(5, dtype="f2") * 0.1 + x, LINE),
        f(lambda x: np.arange(start=2, stop=7) + x, LINE),
        f(lambda x: np.arange(3, 1) + x[:0], LINE),
        f(lambda x: np.arange(x.shape[0], 2 * x.shape[0], dtype="f4"), LINE),
        f(lambda x: np.arange(0, x.shape[0], 0), LINE),
        f(lambda x, n: np.full(x.shape, n, dtype="u1"), LINE, 300),
        f(lambda x: np.full(x.shape, 300, dtype="u1"), LINE),
        f(lambda x: np.full(x.shape, 2.5, dtype="i4"), LINE),
        f(lambda x: np.linspace(0, 1, x.shape[0]), LINE),
        f(lambda x: np.linspace(x[0], x[1], 7), LINE),
        f(lambda x: np.linspace(x[0], 2, 7, endpoint=False), LINE),
        f(lambda x: np.linspace(x[0], x[1], 7, axis=1), MATRIX),
        f(lambda x: np.linspace(x[0], x[1], 5, retstep=True), LINE),
        f(lambda x: np.linspace(0, 10, x.shape[0], dtype=int), LINE),
        f(lambda x: np.linspace(x[0], x[0], 5), LINE),
        f(lambda x: np.linspace(x[0], 1, 1), LINE),
        f(lambda x: np.linspace(x[0], 1, 0), LINE),
        f(lambda x: np.linspace(x[0], 1, -1), LINE),
        f(lambda x: np.linspace(0, x[0, 0], 4), MATRIX),
        f(lambda x: np.logspace(0, x[0], 4), LINE),
        f(lambda x: np.logspace(x[0], 1, 4, base=2.0, dtype="f4"), LINE),
        f(lambda x: np.geomspace(np.abs(x[0]), 100, 5), LINE),
        f(lambda x: np.eye(x.shape[0], dtype=x.dtype), MATRIX),
        f(lambda x: np.eye(*x.shape, k=1), MATRIX),
        f(lambda x: np.eye(3, k=-1) + x[:, :3], MATRIX),
        f(lambda x: np.identity(x.shape[1]), MATRIX),
        f(lambda x: np.tri(x.shape[0]), MATRIX),
        f(lambda x: np.tri(3, 4, -1, dtype=bool) & (x > 0), MATRIX),
        f(lambda x: np.meshgrid(x[0], x[:, 0]), MATRIX),
        f(lambda x: np.meshgrid(x[0], x[:, 0], x[1], indexing="ij"), MATRIX),
        f(lambda x: np.meshgrid(x[0], x[:, 0], sparse=True), MATRIX),
        f(lambda x: np.meshgrid(x[0], 2, copy=False), MATRIX),
        f(lambda x: np.meshgrid(x), LINE),
        f(lambda x: np.meshgrid(x, indexing="k"), LINE),
        f(lambda x: np.indices(x.shape), MATRIX),
        f(lambda x: np.indices(x.shape[:0]), MATRIX),
        f(lambda x: np.indices(x.shape, dtype="f4", sparse=True), MATRIX),
        f(lambda x: np.fromfunction(lambda i, j: i * 2 + j, x.shape), MATRIX),
        f(lambda x: np.array(x), MATRIX),
        f(lambda x: np.array(x, dtype="f8", ndmin=3), MATRIX),
        f(lambda x: np.array([x, x]), MATRIX),
        f(lambda x: np.array([[x[0], 1], [2.5, x[1]]]), LINE),
        f(lambda x: np.array([x[0, 0], 1]), MATRIX),
        f(lambda x, n: np.array([n, 1]) + x[:1], LINE, 3),
        f(lambda x: np.array([x[0], 1 + 2j]), LINE),
        f(lambda x: np.array([x, [1, 2]]), LINE[:2]),
        f(lambda x: np.array(x[0]), LINE),
        f(lambda x: np.asarray(x), MATRIX),
        f(lambda x: np.asarray(x[0], dtype="i4"), LINE),
        f(lambda x: np.asarray([x[0], 2]), LINE),
        f(lambda x: np.asarray_chkfinite(x), LINE),
        f(lambda x: np.asarray_chkfinite(x, "f4"), LINE * 1e300),
        f(lambda x: np.asarray_chkfinite([x[0], np.nan]), LINE),
        f(lambda x: np.zeros((2, 3)).T.reshape(6, copy=False), LINE),
        f(lambda x: x.astype(None), MATRIX),
        f(lambda x: np.fromiter(x[0], None), MATRIX),
        f(lambda x: (np.ascontiguousarray(x[0]), np.asfortranarray(x[0]), np.asfortranarray(3)), LINE),
        f(lambda x: np.array([x, x], ndmax=2), LINE),
        f(lambda x: np.array([x, x], ndmax=1), LINE),
        f(lambda x: np.ascontiguousarray(x.T), MATRIX),
        f(lambda x: np.copy(x), LINE),
        f(lambda x: np.fft.fftfreq(x.shape[0]), LINE),
        f(lambda x: np.fft.fftfreq(x.shape[1], 0.5), MATRIX),
        f(lambda x: np.fft.rfftfreq(x.shape[0], d=0.1), LINE),
        f(lambda x: np.broadcast_shapes(x.shape, (3, 1)), MATRIX),
        f(lambda x: np.isscalar(x[0]) and not np.isscalar(x), LINE),
        f(lambda x: np.result_type(x, 3) == np.float32, MATRIX),
        f(lambda x, n: np.result_type(x, n), np.arange(3, dtype="i1"), 3),
        f(lambda x: (np.can_cast(x.dtype, "f8"), np.can_cast(x[0, 0], "i4")), MATRIX),
        f(lambda x: (np.iscomplexobj(x), np.isrealobj(x), np.iscomplexobj(x * 1j)), MATRIX),
        f(lambda x: np.common_type(x, x.astype("f8")), MATRIX),
    ],
)
def test_creation(program: Any, arguments: tuple[Any, ...]):
    check_function(program, *arguments)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.complex64, np.bool_, np.float64, np.uint16])
def test_scalar_types_convert(kind: Any):
    for argument in (LINE * 0 + 3, np.float32(2), 5, 2.5, np.asarray(1.5)):
        check_function(lambda x: kind(x), argument)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.arange(x.shape[0]) * 0.5,
        lambda x: np.arange(1, x.shape[0], 2),
        lambda x: np.arange(x.shape[0], -1, -2),
        lambda x: np.linspace(0, 1, x.shape[0]),
        lambda x: np.eye(x.shape[0]),
        lambda x: np.zeros_like(x) + np.ones(x.shape),
        lambda x: np.meshgrid(x, x),
    ],
)
def test_many_sizes(program: Any):
    for size in (5, 0, 1, 2, 8):
        check_function(program, sample("f4", size))


def test_a_captured_array():
    table = np.array([[1.0, 2, 3, 4]])
    check_function(lambda x: x * table, MATRIX)
    check_function(lambda x: x * [1, 2, 3, 4], MATRIX)
    check_function(lambda x: np.concatenate([x, table]), MATRIX)


@pytest.mark.parametrize(
    "program",
    [
        lambda n: np.linspace(0.0, 1.0, n),
        lambda n: np.linspace(np.array([1.0, 2.0]), 3, n),
        lambda n: np.linspace(0, 10, n, dtype=int),
        lambda n: np.linspace(1.5, 3, n, endpoint=False),
        lambda n: np.logspace(0.0, 1.0, n),
        lambda n: np.geomspace(1.0, 8.0, n),
        lambda n: np.arange(n, None),
        lambda n: np.arange(n, None, 2),
        lambda n: np.arange(5, n, -1, np.float32),
        lambda n: np.arange(0, n, None, "int8"),
        lambda n: np.arange(stop=n, start=2, step=-1),
        lambda n: np.arange(4, 0, n),
        lambda n: np.arange(None, n),
    ],
)
def test_lengths_that_the_run_decides(program: Any):
    for length in (2, 1, 0, -1):
        check_function(program, length)


def test_a_step_is_told_where_there_are_intervals():
    for length in (3, 2, 1, 0):
        check_function(lambda x: np.linspace(1, 3, x.shape[0], retstep=True), sample("f8", length))


def test_bounds_of_ranges_that_are_no_ordinary_numbers():
    for bound in (np.inf, -np.inf, np.nan, 0.0, 1e300):
        check_function(lambda step: np.arange(0, 5, step), bound)
        check_function(lambda step: np.arange(0, 5, step), np.float64(bound))
    check_function(lambda stop: np.arange(2**60, stop), 2**60 + 3)
    check_function(lambda start: np.geomspace(start, 1.0, 3), 0.0)


def test_what_is_made_is_no_view() -> None:
    def program(scalar, one):
        copied, filled = np.array(scalar), np.full(3, one, np.int16)
        copied *= 0.5
        filled[1] = 9
        return copied, filled

    theirs = np.array(1.75), np.array([3], np.uint64)
    ours = np.array(1.75), np.array([3], np.uint64)
    assert_all_same(jitflow.function(program)(*ours), program(*theirs))
    assert_all_same(ours, theirs)


@pytest.mark.parametrize("dtype", [float, np.float32, complex, bool])
def test_none_is_no_number(dtype: Any) -> None:
    def program(x, missing=None):
        made = np.zeros(4, dtype)
        made[1], made[2:] = None, [missing, x[1]]
        lists = np.array([None, x[0], 2], dtype), np.array([[None, 1], [x[1], None]], dtype)
        x[x > 2] = None
        x.fill(None) if x[0] > 7 else None
        return made, lists, np.asarray(missing, dtype), np.full(3, None, dtype), np.float64(None), x

    assert_all_same(jitflow.function(program)(np.arange(4.0)), program(np.arange(4.0)))


def test_none_is_no_integer() -> None:
    for program in (lambda x: np.array([x[0], None], int), lambda x: np.full(3, None, np.uint8)):
        check_function(program, np.arange(3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_new_arrays_lie_in_the_order_that_is_asked_for(order: Any) -> None:
    def program(x):
        copies = x.copy(order), np.array(x, order=order), np.copy(x, order), x.astype("f4", order), (x * 2).copy(order)
        filled = np.zeros(x.shape, order=order), np.full(x.shape, 2.5, order=order), np.ones_like(x, order=order)
        straight = np.ascontiguousarray if order == "C" else np.asfortranarray
        return (*copies, *filled, straight(x * 2), np.asarray(x, "f4", order), np.require(x * 2, None, [order]))

    compiled, deep = jitflow.function(program), np.arange(24.0).reshape(2, 3, 4)
    for x in (MATRIX, MATRIX.T, sample("f8", 6, 4)[::2], deep, np.asfortranarray(deep), deep.transpose(2, 0, 1)):
        for found, wanted in zip(compiled(x), program(x), strict=True):
            assert_all_same((found, found.strides), (wanted, wanted.strides))
