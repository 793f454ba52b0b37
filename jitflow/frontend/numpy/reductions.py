"""Reductions: one engine for ``ufunc.reduce`` and for the functions that are one, and running accumulations.

The engine follows NumPy's order: promote, put the identity where ``where=`` is false, fold, combine with ``initial=``,
keep the axes, store into ``out=``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.casts import as_element
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_value,
    converted_axes,
    converted_axis,
    dtype_argument,
    folded_axes,
    kept_axes,
    new,
    normalized_axis,
    numpy_says,
    operand,
    refuse,
)
from jitflow.frontend.arrays.promotion import ufunc_dtypes
from jitflow.frontend.numpy import ufunc_methods
from jitflow.frontend.numpy.calling import as_result, as_running, compute, output_dtype, where_mask, write_back
from jitflow.frontend.numpy.complex_extremes import first_choices, first_unknown
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, I64, DType
from jitflow.ir.ops.reduction import NO_IDENTITY
from jitflow.records import dataclass

__all__ = ["ABSENT", "FUNCTIONS", "accumulate", "fold", "keep_axes", "reduce_ufunc", "reduce_value", "reduction_axes"]

ABSENT: Any = np._NoValue
"""What NumPy's signatures have where an argument is left out and None would mean something."""


@dataclass(frozen=True)
class Fold:
    """A ufunc's reduction: the IR op, the one for bools if that differs, and the identity (None: there is none)."""

    op: str
    identity: Any = None
    of_bools: str = ""

    def op_for(self, dtype: DType) -> str:
        return self.of_bools if dtype == BOOL and self.of_bools else self.op


_FOLDS: Mapping[np.ufunc, Fold] = MappingProxyType(
    {
        np.add: Fold("reduce_add", 0, "reduce_logical_or"),
        np.multiply: Fold("reduce_multiply", 1, "reduce_logical_and"),
        np.maximum: Fold("reduce_maximum"),
        np.minimum: Fold("reduce_minimum"),
        np.fmax: Fold("reduce_fmax"),
        np.fmin: Fold("reduce_fmin"),
        np.logical_and: Fold("reduce_logical_and", True),
        np.logical_or: Fold("reduce_logical_or", False),
        np.logical_xor: Fold("reduce_logical_xor", False),
        np.bitwise_and: Fold("reduce_bitwise_and", -1, "reduce_logical_and"),
        np.bitwise_or: Fold("reduce_bitwise_or", 0, "reduce_logical_or"),
        np.bitwise_xor: Fold("reduce_bitwise_xor", 0, "reduce_logical_xor"),
    }
)

_ACCUMULATIONS: Mapping[np.ufunc, str] = MappingProxyType(
    {
        np.add: "accumulate_add",
        np.multiply: "accumulate_multiply",
        np.maximum: "accumulate_maximum",
        np.minimum: "accumulate_minimum",
    }
)


def reduction_axes(axis: Any, rank: int, *, strict: bool = False) -> tuple[int, ...]:
    """The axes that a reduction folds, in increasing order.

    On a 0-d array the axes 0 and -1 mean none, unless the function is ``strict`` about it, as ``mean`` is.
    """
    return tuple(sorted(converted_axes(axis, rank) if strict else folded_axes(axis, rank)))


def keep_axes(result: Value, source: tuple[Dim, ...], axes: tuple[int, ...]) -> Value:
    """A reduction's result with its axes back, of size 1."""
    return values.reshape(result, tuple(1 if axis in axes else dim for axis, dim in enumerate(source)))


def fold(name: str, value: Value, axes: tuple[int, ...], *, may_be_empty: bool = False) -> Value:
    """The IR reduction ``name``; no op where there is nothing to fold. Rank-0 results are scalars."""
    if not axes:
        return values.as_scalar(value)
    if not may_be_empty and name.removeprefix("reduce_") in NO_IDENTITY:
        _require_elements(name.removeprefix("reduce_"), product([values.dims(value)[axis] for axis in axes]))
    return emit(name, value, axes=axes)


def _require_elements(name: str, folded: Dim) -> None:
    """Where the order of errors says so: the largest element of nothing is a mistake."""
    if isinstance(folded, int) and folded > 0:
        return
    message = (
        f"attempt to get {name} of an empty sequence"
        if name.startswith("arg")
        else f"zero-size array to reduction operation {name} which has no identity"
    )
    values.check(emit("greater", values.size(folded), values.size(0)), ValueError, message)


def reduce_ufunc(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Any:
    """``ufunc.reduce``."""
    keep = kept_axes(keepdims)
    result = reduce_value(ufunc, array_operand(array), axis, dtype, keep, initial, where, output_dtype(out))
    return as_result(result, out, ufunc.__name__)


def reduce_value(
    ufunc: np.ufunc,
    value: Value,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = ABSENT,
    where: Any = True,
    into: DType | None = None,
) -> Value:
    """`reduce_ufunc` on a value, for an array of the dtype ``into``."""
    rule = _FOLDS.get(ufunc)
    if rule is None and initial is ABSENT and where is True:
        loop = dtype if into is None else _reduction_dtype(ufunc, value, dtype, into).numpy
        return ufunc_methods.reduce(ufunc, value, axis, loop, keepdims)
    if rule is None:
        raise refuse(f"{ufunc.__name__}.reduce with initial= or where=", "leave these out, or write the loop")
    loop = _reduction_dtype(ufunc, value, dtype, into)
    if ufunc in (np.fmax, np.fmin) and loop.is_complex:
        raise refuse(f"{ufunc.__name__}.reduce of complex numbers", "reduce the real and imaginary parts")
    axes = reduction_axes(axis, values.rank(value))
    source, value = value, values.cast(value, loop)
    start = None if initial is ABSENT or initial is None else as_element(operand(initial), loop)
    begins = rule.identity is not None and initial is not None  # where there is nothing
    if rule.identity is None and start is not None:
        start = ufunc_methods.begun_in(start, start, (), into)
    elif rule.identity is None:
        value = ufunc_methods.begun_in(value, source, axes, into)
    if where is not True:
        value = _masked(ufunc, value, where, _identity(rule, loop) if begins else start)
    if rule.identity is not None and not begins and axes:
        _require_elements(ufunc.__name__, product([values.dims(value)[axis] for axis in axes]))
    result = _folded(ufunc, rule, values.as_array(value), axes, start)
    return keep_axes(result, values.dims(value), axes) if keepdims and values.rank(value) else result


def _identity(rule: Fold, dtype: DType) -> Value:
    """The identity in a dtype; that of ``bitwise_and`` has all bits set."""
    if dtype == BOOL:
        return values.constant(bool(rule.identity), BOOL)
    if dtype.kind == "u" and rule.identity < 0:
        return values.constant(int(np.iinfo(dtype.numpy).max), dtype)
    return values.constant(rule.identity, dtype)


def _folded(ufunc: np.ufunc, rule: Fold, value: Value, axes: tuple[int, ...], start: Value | None) -> Value:
    """The reduction, combined with ``start``: then it is no error that there is nothing to fold."""
    dtype = values.dtype_of_value(value)
    name = rule.op_for(dtype)
    if start is None:
        found = fold(name, value, axes)
        return first_unknown(found, value, axes) if dtype.is_complex and ufunc in (np.maximum, np.minimum) else found
    if ufunc in (np.fmax, np.fmin):
        if dtype.is_float:
            worst = values.constant_like(-np.inf if ufunc is np.fmax else np.inf, value)
            value = values.as_array(values.select(emit("isnan", value), worst, value))
        name = "reduce_maximum" if ufunc is np.fmax else "reduce_minimum"
    result = fold(name, value, axes, may_be_empty=True)
    return values.cast(compute(ufunc, (start, result))[0], dtype)


def _reduction_dtype(ufunc: np.ufunc, value: Value, dtype: Any, into: DType | None = None) -> DType:
    """The dtype in which a ufunc folds; NumPy says that small integers are summed in 64 bits."""
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        known = dtype if dtype is None else dtype_argument(dtype).numpy
        numpy_says(ufunc.reduce, np.ones(1, values.dtype_of_value(value).numpy), dtype=known)
        return BOOL
    if dtype is not None:
        signature = (dtype_argument(dtype).numpy, None, None)
        return ufunc_dtypes(ufunc, (value,), signature, "unsafe", reduction=True)[-1]
    return ufunc_dtypes(ufunc, (value,), casting="unsafe", reduction=True, into=into)[-1]


def _masked(ufunc: np.ufunc, value: Value, where: Any, filler: Value | None) -> Value:
    if filler is None:
        raise UserValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, "
            "so to use a where mask one has to specify 'initial'"
        )
    mask = where_mask(where)
    _require_no_wider(values.dims(mask), values.dims(value))
    (mask, value), _ = broadcasting.align([mask, value])
    return values.select(mask, value, filler)


def _require_no_wider(mask: tuple[Dim, ...], source: tuple[Dim, ...]) -> None:
    """A mask broadcasts to the array that is reduced, never the other way round."""
    if len(mask) > len(source):
        raise UserValueError("input operand has more dimensions than allowed by the axis remapping")
    differs = "operands could not be broadcast together with remapped shapes [original->remapped]: {shapes} "
    lines = list(zip(source[::-1], mask[::-1], strict=False))
    widened = [
        axis for axis, (dim, own) in enumerate(lines)
        if dim != own and broadcasting.repeats(dim, own) and not broadcasting.is_one(own)
    ]  # fmt: skip
    if widened:
        met = list(source)
        for axis in widened:
            met[-1 - axis] = mask[-1 - axis]
        raise UserValueError(
            f"non-broadcastable operand with shape {broadcasting.shape_text(source)} "
            f"doesn't match the broadcast shape {broadcasting.shape_text(tuple(met))}"
        )
    broadcasting.require_fit(mask, source, differs, (source, mask))


def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``."""
    name = _ACCUMULATIONS.get(ufunc)
    value, into = array_operand(array), output_dtype(out)
    axis = ufunc_methods.only_axis("accumulate", value, axis)
    if name is None:
        loop = dtype if into is None else _reduction_dtype(ufunc, value, dtype, into).numpy
        return as_running(ufunc_methods.accumulate(ufunc, value, axis, loop), out)
    loop = _reduction_dtype(ufunc, value, dtype, into)
    if loop == BOOL and ufunc in (np.add, np.multiply):
        name = _ACCUMULATIONS[np.maximum if ufunc is np.add else np.minimum]
    return as_running(emit(name, values.cast(value, loop), axis=axis), out)


# -- the functions that are a ufunc's reduction ----------------------------------------------------------


def sum_(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = ABSENT,
         where: Any = True) -> Any:  # fmt: skip
    return reduce_ufunc(np.add, a, axis, dtype, out, keepdims, initial, where)


def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = ABSENT,
         where: Any = True) -> Any:  # fmt: skip
    return reduce_ufunc(np.multiply, a, axis, dtype, out, keepdims, initial, where)


def max_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = ABSENT,
         where: Any = True) -> Any:  # fmt: skip
    return reduce_ufunc(np.maximum, a, axis, None, out, keepdims, initial, where)


def min_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = ABSENT,
         where: Any = True) -> Any:  # fmt: skip
    return reduce_ufunc(np.minimum, a, axis, None, out, keepdims, initial, where)


def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_ufunc(np.logical_and, a, axis, None, out, keepdims, ABSENT, where)


def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_ufunc(np.logical_or, a, axis, None, out, keepdims, ABSENT, where)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    flags = values.cast(values.cast(array_operand(a), BOOL), I64)
    return reduce_ufunc(np.add, flags, axis, None, None, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    value = array_operand(a)
    keep = kept_axes(keepdims)
    high = reduce_value(np.maximum, value, axis, None, keep, into=output_dtype(out))
    low = reduce_value(np.minimum, value, axis, None, keep)
    if out is None:
        return new(compute(np.subtract, (high, low))[0])
    held = as_result(high, out, "maximum")
    return np.subtract(held, new(low), out=held)


def _argument(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    value = array_operand(a)
    place = None if axis is None else converted_axis(axis, max(values.rank(value), 1))
    axes = (place,) if place is not None and values.rank(value) else reduction_axes(None, values.rank(value))
    if values.dtype_of_value(value).is_complex and axes:
        value = as_value(first_choices(name, tracers.wrap(value), axes))
    result = fold(name, value, axes) if axes else values.fill(values.constant(0, I64), values.dims(value))
    if keepdims and keepdims is not ABSENT:
        result = keep_axes(result, values.dims(value), axes)
    misfit = f"output array does not match result of np.{name.removeprefix('reduce_')}."
    return new(values.as_scalar(result)) if out is None else write_back(result, out, misfit)


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _argument("reduce_argmax", a, axis, out, keepdims)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _argument("reduce_argmin", a, axis, out, keepdims)


def _cumulative(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    value = array_operand(a)
    if axis is not None:
        axis = converted_axis(axis, max(values.rank(value), 1))
    if axis is None or values.rank(value) == 0:
        value, axis = values.reshape(value, (product(values.dims(value)),)), 0
    return accumulate(ufunc, value, axis, dtype, out)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulative(np.add, a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulative(np.multiply, a, axis, dtype, out)


def _cumulative_array_api(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> Any:
    value = array_operand(x)
    if values.rank(value) == 0:
        value = values.reshape(value, (1,))
    if axis is None:
        if values.rank(value) != 1:
            raise UserValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if not include_initial:
        return accumulate(ufunc, value, axis, dtype, out)
    running = as_value(accumulate(ufunc, value, axis, dtype))
    position = normalized_axis(axis, values.rank(value))
    first = list(values.dims(running))
    first[position] = 1
    start = values.fill(values.constant_like(0 if ufunc is np.add else 1, running), tuple(first))
    return as_running(emit("concatenate", start, running, axis=position), out)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                   include_initial: bool = False) -> Any:  # fmt: skip
    return _cumulative_array_api(np.add, x, axis, dtype, out, include_initial)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                    include_initial: bool = False) -> Any:  # fmt: skip
    return _cumulative_array_api(np.multiply, x, axis, dtype, out, include_initial)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.sum: sum_,
        np.prod: prod,
        np.max: max_,
        np.amax: max_,
        np.min: min_,
        np.amin: min_,
        np.all: all_,
        np.any: any_,
        np.count_nonzero: count_nonzero,
        np.ptp: ptp,
        np.argmax: argmax,
        np.argmin: argmin,
        np.cumsum: cumsum,
        np.cumprod: cumprod,
        np.cumulative_sum: cumulative_sum,
        np.cumulative_prod: cumulative_prod,
    }
)
