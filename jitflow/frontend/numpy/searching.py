"""Where elements are: positions of what holds, places in a sorted array, and what is picked by a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import ArraySource, array_operand, as_value, converted_axis, new, numpy_says
from jitflow.frontend.control.branch import choose
from jitflow.frontend.numpy import selections, taking
from jitflow.frontend.numpy.calling import write_back
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.elementwise import where as choose_where
from jitflow.frontend.numpy.indexing import has_elements, unravelled
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.numpy.routines import Shape, fresh, new_results, split
from jitflow.frontend.numpy.shape import flat_value
from jitflow.frontend.numpy.taking import WRONG_SHAPE
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64

__all__ = ["FUNCTIONS", "compress_method", "nonzero", "searchsorted"]


# -- where a condition holds -----------------------------------------------------------------------------


def nonzero(a: Any) -> tuple[Any, ...]:
    value = array_operand(a)
    if not values.rank(value):
        numpy_says(np.nonzero, np.zeros(()))
    found = selections.positions(values.cast(value, BOOL))
    return tuple(map(new, unravelled(found, values.dims(value))))


def flatnonzero(a: Any) -> Any:
    return new(selections.positions(values.cast(flat_value(array_operand(a)), BOOL)))


def argwhere(a: Any) -> Any:
    value = array_operand(a)
    if not values.rank(value):
        found = selections.positions(values.cast(values.reshape(value, (1,)), BOOL))
        return new(values.fill(values.constant(0, I64), (*values.dims(found), 0)))
    found = selections.positions(values.cast(value, BOOL))
    return np.stack([new(index) for index in unravelled(found, values.dims(value))], axis=1)


def where(condition: Any, x: Any = ABSENT, y: Any = ABSENT, /) -> Any:
    """With one argument the positions where it holds, with three a choice."""
    return nonzero(condition) if x is ABSENT and y is ABSENT else choose_where(condition, x, y)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    flags, value = as_tracer(condition), array_operand(a)
    if flags.ndim != 1:
        raise UserValueError("condition must be a 1-d array")
    if axis is None:
        value, place = flat_value(value), 0
    else:
        place = converted_axis(axis, values.rank(value))
    found = selections.positions(values.cast(flags.value, BOOL))
    result = as_value(taking.take(new(value), new(found), place))
    return new(result) if out is None else write_back(result, out, WRONG_SHAPE)


def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


def extract(condition: Any, arr: Any) -> Any:
    return compress(np.ravel(as_tracer(condition)), np.ravel(as_tracer(arr)))


# -- places in a sorted array ------------------------------------------------------------------------------


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    given = None if sorter is None else array_operand(sorter)
    sought = array_operand(v)  # of a number as well: an array can be handed over again, a number is made anew
    array = array_operand(a)
    kind = split(array, sought, side=side).sampled(np.searchsorted).dtype
    return split(array, sought, sorter=given, side=side).new(np.searchsorted, [_like(sought)], kinds=[kind])


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    sought = array_operand(x)
    return new_results(np.digitize, [sought, array_operand(bins)], [_like(sought)], {"right": bool(right)})


def _like(value: Value) -> Shape:
    """The shape of a result for each element; a number's is a number."""
    return values.dims(value) or None


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    sought = as_value(x)
    if period is not None:
        found = _round_and_round(sought, array_operand(xp), array_operand(fp), pinned(period))
        if found is not None:
            return found
    arguments = split(sought, array_operand(xp), array_operand(fp), left=left, right=right, period=period)
    return arguments.new(np.interp, [_like(sought)])


def _round_and_round(points: Value, knots: Value, heights: Value, period: Any) -> Any:
    """Interpolation of what repeats, in NumPy's words, None if that is for the routine."""
    if type(period) not in (int, float) or not period or not values.rank(knots) == values.rank(heights) == 1:
        return None
    (own,), (other,) = values.dims(knots), values.dims(heights)
    broadcasting.require_equal(own, other, "fp and xp are not of the same length")
    period = abs(period)
    x, at = (astype(new(item), np.float64) % period for item in (points, knots))
    tops: Any = new(heights)
    order = np.argsort(at)
    at, tops = at[order], tops[order]
    at = np.concatenate([at[-1:] - period, at, at[:1] + period])
    return np.interp(x, at, np.concatenate([tops[-1:], tops, tops[:1]]))


# -- functions by cases ---------------------------------------------------------------------------------------


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function gets the elements where its condition holds, as in NumPy."""
    array = as_tracer(x)
    conditions = _conditions(array, condlist)
    if len(funclist) == len(conditions) + 1:
        otherwise = conditions[0]
        for condition in conditions[1:]:
            otherwise = np.logical_or(otherwise, condition)
        conditions.append(np.logical_not(otherwise))
    if len(funclist) != len(conditions):
        count = len(conditions)
        raise UserValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    result = np.zeros_like(array)
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            _put_computed(result, condition, function, array[condition], *args, **kw)
        else:
            result[condition] = function
    return result


def _put_computed(
    result: Any, condition: Any, function: Callable[..., Any], chosen: Any, *args: Any, **kw: Any
) -> None:
    """What a function makes of the elements that are chosen; it is not called if there are none."""

    def put() -> None:
        result[condition] = function(chosen, *args, **kw)

    choose(np.size(chosen) > 0, put, lambda: None, function, result)


def _conditions(array: Any, condlist: Any) -> list[Any]:
    condlist = as_tracer(condlist) if isinstance(condlist, ArraySource) else condlist
    several = isinstance(condlist, list | tuple) and (
        not array.ndim or isinstance(condlist[0], list | np.ndarray | tracers.ArrayTracer | ArraySource)
    )
    items = list(condlist) if several else [condlist]
    if not isinstance(condlist, list | tuple) and np.ndim(condlist) == array.ndim + 1:
        items = list(condlist)
    return [np.not_equal(as_tracer(item), False) for item in items]


# -- counting ---------------------------------------------------------------------------------------------------


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    if minlength is None:
        raise UserTypeError("use 0 instead of None for minlength")
    given = None if weights is None else array_operand(weights)
    x = np.zeros(0, np.int64) if isinstance(x, list | tuple) and not x else x
    counted = array_operand(x)
    if given is not None and values.rank(counted) == 1 and not has_elements(size := values.dims(counted)[0]):
        if broadcasting.bound_by_call(size) or size == 0:
            given = None  # as NumPy does
        else:
            some = emit("greater", values.size(size), values.size(0))
            values.check(some, UserNotImplementedError, "np.bincount with weights of nothing, found when it runs")
    arguments = split(counted, weights=given, minlength=minlength)
    return arguments.new(np.bincount, [(fresh("bins"),)])


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.nonzero: nonzero,
        np.flatnonzero: flatnonzero,
        np.argwhere: argwhere,
        np.where: where,
        np.compress: compress,
        np.extract: extract,
        np.searchsorted: searchsorted,
        np.digitize: digitize,
        np.interp: interp,
        np.piecewise: piecewise,
        np.bincount: bincount,
    }
)
