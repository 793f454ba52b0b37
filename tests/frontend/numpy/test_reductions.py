"""Reductions over dtypes, axes, empty arrays and their options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compare import REDUCTION
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import KINDS, check, check_sizes, sample

PLAIN = [np.sum, np.prod, np.max, np.min, np.all, np.any, np.mean, np.var, np.std, np.count_nonzero, np.ptp, np.average,
         np.nansum, np.nanprod, np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nanstd]  # fmt: skip
ARGUMENTS = [np.argmax, np.argmin, np.nanargmax, np.nanargmin]
RUNNING = [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod]
FOLDS = [np.sum, np.prod, np.max, np.min]
MOMENTS = [np.mean, np.var, np.std]
KEEPING = [function for function in PLAIN if function is not np.average]
NAMES = {"ids": lambda item: getattr(item, "__name__", str(item))}


def with_nan(kind: str, *shape: int) -> Any:
    array = sample(kind, *shape)
    if array.dtype.kind in "fc" and array.size:
        array.flat[:: max(array.size // 3, 1)] = np.nan
    return array


@pytest.mark.parametrize("function", PLAIN + ARGUMENTS, **NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_dtypes(function: Any, kind: str):
    if function in (np.nanmax, np.nanmin) and kind in ("c8", "c16"):
        pytest.skip("complex numbers are refused")
    array = np.sign(sample(kind, 3, 4)) if function in (np.prod, np.nanprod) and kind != "?" else sample(kind, 3, 4)
    for axis in (None, 0, -1):
        check(lambda x: function(x, axis=axis), array)
    check(lambda x: function(x), array[0, 0])
    check(lambda x: function(x), np.asarray(array[0, 0]))


@pytest.mark.parametrize("function", [np.argmax, np.argmin], **NAMES)
def test_the_first_of_complex_numbers(function: Any):
    """They are compared by their real parts, then by the others; what is nan in one comes first."""
    least = complex(-np.inf, -np.inf)
    for items in ([3 + 1j, 3 + 2j, 1 - 1j, 1 - 2j], [1j, complex(1, np.nan), complex(np.nan, 1)], [least, least], []):
        check(lambda z: (function(z), function(z.reshape(1, -1), axis=1), function(z[:, None], axis=1, keepdims=True)),
              np.array(items, complex))  # fmt: skip


@pytest.mark.parametrize("function", PLAIN, **NAMES)
@pytest.mark.parametrize("axis", [(0, 1), (1, -1), (), (2, 0), (0,), 3, (0, 0), -4, (0, 3)], ids=str)
def test_axes(function: Any, axis: Any):
    check(lambda x: function(x, axis=axis), sample("f4", 2, 3, 4))


@pytest.mark.parametrize("axis", [[0], [0, 1], True, (True,), [True]], ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        np.sum, np.prod, np.mean, np.std, np.max, np.any, np.ptp, np.argmin, np.cumsum, np.nansum, np.nanmean,
        np.median, np.average, np.count_nonzero, np.logaddexp.reduce, np.expand_dims, np.flip,
    ],
)  # fmt: skip
def test_what_is_no_axis(function: Any, axis: Any):
    check(lambda x: function(x, axis=axis), np.ones((1, 1)), tolerance=REDUCTION)


@pytest.mark.parametrize("function", KEEPING, **NAMES)
def test_keepdims(function: Any):
    array = sample("f8", 2, 3, 4)
    for axis in (None, 1, (0, 2)):
        check(lambda x: function(x, axis=axis, keepdims=True), array)
    check(lambda x: function(x, keepdims=True), np.asarray(2.5))


@pytest.mark.parametrize("function", PLAIN + ARGUMENTS + RUNNING, **NAMES)
def test_sizes(function: Any):
    check_sizes(lambda x: function(x), lambda n: (sample("f8", n),))
    check_sizes(lambda x: function(x, axis=0), lambda n: (sample("f8", n, 3),))
    check_sizes(lambda x: function(x, axis=1), lambda n: (sample("f8", n, 3),))
    check_sizes(lambda x: function(x, axis=1), lambda n: (with_nan("f4", 3, n),))


@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std, np.cumsum, np.cumprod, np.nansum,
                                      np.nanmean], **NAMES)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16", np.float16, int, bool])
def test_dtype_argument(function: Any, dtype: Any):
    if function in (np.var, np.std) and np.dtype(dtype).kind not in "fc":
        pytest.skip("NumPy's deviations overflow in integers")
    for kind in ("f4", "i4"):
        check(lambda x: function(x, axis=0, dtype=dtype), np.sign(sample(kind, 3, 2)), message=False)


@pytest.mark.parametrize("function", [*FOLDS, np.nansum, np.nanprod, np.nanmax, np.nanmin], **NAMES)
def test_initial_and_where(function: Any):
    for kind in ("f4", "i4", "u1", "?"):
        array, mask = sample(kind, 3, 4), sample("?", 3, 4, seed=3)
        check(lambda x, m: function(x, where=m), array, mask)
        for initial in (1, np.float32(2)):
            check(lambda x: function(x, initial=initial), array, message=False)
            check(lambda x, m: function(x, axis=1, initial=initial, where=m), array, mask, message=False)
            check(lambda x, m: function(x, axis=1, initial=initial, where=m[0]), array, mask, message=False)
    check_sizes(lambda x: function(x, initial=1.5), lambda n: (sample("f8", n),))


@pytest.mark.parametrize("function", [*MOMENTS, np.all, np.any, np.nanmean, np.nanvar, np.nanstd], **NAMES)
def test_where(function: Any):
    for kind in ("f4", "i4", "c8"):
        array, mask = sample(kind, 3, 4), sample("?", 3, 4, seed=3)
        check(lambda x, m: function(x, where=m), array, mask)
        check(lambda x, m: function(x, axis=1, keepdims=True, where=m), array, mask)
        check(lambda x, m: function(x, axis=0, where=m[:, :1]), array, mask)
    check(lambda x: function(x, where=x), sample("f4", 3), message=False)


def test_deviations():
    array = sample("f8", 4, 3)
    for function in (np.var, np.std, np.nanvar, np.nanstd):
        for ddof in (1, 4, 5, 0.5):
            check(lambda x: function(x, axis=0, ddof=ddof), array)
        check(lambda x: function(x, axis=0, correction=1), array)
        check(lambda x: function(x, correction=1, ddof=1), array)
        check(lambda x: function(x, ddof=(0, True)), array)
        check(lambda x: function(x, ddof=[1]), array)
        check(lambda x: function(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), array)
    check(lambda x: np.var(x), np.array([1e8 + 1, 1e8 + 2, 1e8 + 4]))


@pytest.mark.parametrize("function", RUNNING, **NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_running(function: Any, kind: str):
    array = np.sign(with_nan(kind, 3, 4)) if kind != "?" else sample(kind, 3, 4)
    for axis in (None, 0, -1, 2):
        check(lambda x: function(x, axis=axis), array)
    check(lambda x: function(x), array[0, 0])
    check(lambda x: function(x, axis=0), np.asarray(array[0, 0]))


def test_running_of_the_array_api():
    array = sample("f4", 3, 4)
    for function in (np.cumulative_sum, np.cumulative_prod):
        check(lambda x: function(x, axis=1), array)
        check(lambda x: function(x, axis=0, include_initial=True), array)
        check(lambda x: function(x[0], dtype=np.float64), array)
        check(lambda x: function(x), array)
        check(lambda x: function(x), np.float32(3))


@pytest.mark.parametrize("function", ARGUMENTS, **NAMES)
def test_positions(function: Any):
    check(lambda x: function(x, axis=1, keepdims=True), sample("f4", 3, 4))
    check(lambda x: function(x, keepdims=True), sample("f4", 3, 4))
    check(lambda x: function(x), np.array([1, 3, 3, 1]))
    check(lambda x: function(x), np.array([np.nan, 1, np.nan]))
    check(lambda x: function(x, axis=0), np.array([[np.nan, 1], [np.nan, 2]]))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and,
                                   np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor],
                         **NAMES)  # fmt: skip
def test_reduce(ufunc: np.ufunc):
    for kind in ("?", "i4", "u1", "f4"):
        array = sample(kind, 3, 4)
        check(lambda x: ufunc.reduce(x), array)
        check(lambda x: ufunc.reduce(x, axis=(0, 1)), array)
        check(lambda x: ufunc.reduce(x, axis=None, keepdims=True), array)
        check(lambda x: ufunc.reduce(x), array[0, 0])
        check(lambda x: ufunc.reduce(x, axis=1), array[:, :0])
        check(lambda x: ufunc.reduce(x, initial=1, where=x != 0), array, message=False)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum], **NAMES)
def test_accumulate(ufunc: np.ufunc):
    for kind in ("?", "i4", "u1", "f4"):
        check(lambda x: ufunc.accumulate(x), sample(kind, 3, 4))
        check(lambda x: ufunc.accumulate(x, axis=-1), sample(kind, 3, 4))
        check(lambda x: ufunc.accumulate(x, axis=2), sample(kind, 3, 4))
        check(lambda x: ufunc.accumulate(x), sample(kind, 1)[0], message=False)


def test_out():
    def total(x: Any) -> Any:
        result = np.zeros_like(x[0])
        assert np.sum(x, axis=0, out=result) is result
        np.mean(x * 2, axis=0, out=result, where=x > 0)
        return result

    check(total, sample("f4", 3, 4))
    check(lambda x: np.max(x, axis=1, out=np.zeros_like(x[0, :2])), sample("f4", 3, 4), message=False)


@pytest.mark.parametrize("into", ["?", "u1", "i2", "u8", "f4"])
@pytest.mark.parametrize(
    "array", [np.array([[-2, 5], [3, 300], [-1, 7]], "i4"), np.array([[-2.5, 0]]), np.array([[2**64 - 1, 7]], "u8")]
)
def test_folds_begin_in_narrower_memory(array: Any, into: str):
    for axis in (None, 0, 1):
        for function in (np.max, np.min):
            check(lambda x: function(x, axis=axis, out=np.zeros_like(x.max(axis=axis), into)), array)


def test_methods():
    array = sample("f4", 3, 4)
    for name in "sum prod max min mean var std all any argmax argmin cumsum cumprod".split():
        check(lambda x: getattr(x, name)(), array)
        check(lambda x: getattr(x, name)(1), array)
        check(lambda x: getattr(x, name)(axis=0), array)
        check(lambda x: getattr(x[0, 0], name)(), array)


def test_weighted_averages():
    array, weights = sample("f4", 3, 4), np.arange(1, 5)
    check(lambda x, w: np.average(x, axis=1, weights=w), array, weights)
    check(lambda x, w: np.average(x, axis=1, weights=w, returned=True), array, weights)
    check(lambda x: np.average(x, weights=np.abs(x)), array)
    check(lambda x: np.average(x, returned=True), array)
    check(lambda x: np.average(x, axis=1, returned=True)[1].__iadd__(1), array)
    check(lambda x: np.average(x, axis=0, returned=True, keepdims=True), array)
    check(lambda x, w: np.average(x, axis=1, weights=w * 0), array, weights)
    check(lambda x, w: np.average(x, weights=w), array, weights)
    check(lambda x, w: np.average(x, axis=0, weights=w), array, weights)
    check(lambda x: np.average(x, axis=(1, 0), weights=np.abs(x.T)), array)


@pytest.mark.parametrize("function", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("kind", ["?", "u1", "f2", "f8", "c8"])
def test_the_dtype_of_a_variance(kind: str, function: Any):
    for dtype in ("?", "i4", "f4", "f8", "c16"):
        for axis in (None, 0):
            check(lambda x: function(x, axis=axis, dtype=dtype), sample(kind, 4, 3), tolerance=REDUCTION)


def test_covariance():
    for kind in ("f8", "f4", "i4", "c16"):
        array = sample(kind, 3, 6)
        check(lambda x: np.cov(x), array)
        check(lambda x: np.cov(x, rowvar=False, bias=True), array)
        check(lambda x: np.cov(x[0], x[1], ddof=0), array)
        check(lambda x: np.cov(x[0]), array)
        check(lambda x: np.corrcoef(x), array)
        check(lambda x: np.corrcoef(x[0], x[1]), array)
    check(lambda x: np.cov(x, aweights=np.arange(1, 7)), sample("f8", 3, 6))
    check(lambda x, y: np.cov(x, y, rowvar=False), sample("f8", 4, 1), sample("f8", 1, 4))
    check(lambda x: np.cov(x[1:]), sample("f8", 1, 4))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("kind", ["f2", "f4", "i4"])
def test_the_dtype_of_a_covariance(kind: str, dtype: str):
    for program in (
        lambda x: np.cov(x, dtype=dtype),
        lambda x: np.corrcoef(x, dtype=dtype),
        lambda x: np.cov(x, dtype=dtype, aweights=[1, 2, 3, 4]),
    ):
        check(program, sample(kind, 3, 4), tolerance=REDUCTION)


@pytest.mark.parametrize("function", [np.argmax, np.average, np.nanmax, np.mean, np.std, np.any, np.ptp, np.prod])
def test_keepdims_that_is_not_given(function: Any):
    check_compiled(
        lambda x, keepdims: function(x, keepdims=keepdims), sample("f4", 3, 4), np._NoValue, tolerance=REDUCTION
    )
    check(lambda x: np.diff(x, prepend=np._NoValue), sample("f4", 3, 4))
    check(lambda x: np.amax(x, 0, None, np._NoValue, np._NoValue), sample("f4", 3, 4))


@pytest.mark.parametrize("axis", [0, -1, 1, -2, (0,), (), None])
def test_axes_of_a_number(axis: Any):
    number = np.array(2.5)
    for function in (*FOLDS, *MOMENTS, np.squeeze, np.add.reduce, np.hypot.reduce, np.add.accumulate):
        check(lambda x, function=function: function(x, axis=axis), number)
    for function in MOMENTS:
        check(lambda x, holds, function=function: function(x, axis=axis, where=holds), number, np.array(True))


@pytest.mark.parametrize("array", [np.arange(3.0), np.zeros(0)], ids=["some", "none"])
def test_folds_that_begin_with_nothing(array: Any):
    for function in (*FOLDS, np.nansum, np.nanprod, np.logical_or.reduce, np.bitwise_or.reduce):
        given = array.astype(int) if function == np.bitwise_or.reduce else array
        check(lambda x, function=function: function(x, initial=None), given)
        check(lambda x, holds, function=function: function(x, where=holds, initial=None), given, given > 0)


def test_what_methods_and_ufuncs_do_not_take():
    line = np.arange(3.0)
    check(lambda x: x.var(correction=1), line)
    check(lambda x: x.std(ddof=1, correction=1), line)
    for dtype in (None, bool, int, np.float32):
        check(lambda x, dtype=dtype: np.logical_or.reduce(x, dtype=dtype), line)


@pytest.mark.parametrize("axis", [0, (0,), (1,), (0, 1), (), None, 2, np.int64(1)])
def test_the_axis_of_what_runs(axis: Any):
    for array in (np.arange(6.0).reshape(2, 3), np.arange(3.0)):
        for ufunc in (np.add, np.hypot):
            check(lambda x, ufunc=ufunc: ufunc.accumulate(x, axis=axis), array)
            check(lambda x, ufunc=ufunc: ufunc.reduceat(x, [0, 1], axis=axis), array)
    check_compiled(lambda x: np.sum(x, axis=np.int64(1)), np.arange(6.0).reshape(2, 3))
