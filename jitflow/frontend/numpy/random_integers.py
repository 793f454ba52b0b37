"""Whole numbers that NumPy's generators draw, and what is made of them: choices, permutations, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError, UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import array_operand, as_value, dtype_argument, normalized_axis, refuse
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.control.explicit import fori_loop
from jitflow.frontend.numpy.calling import require_output
from jitflow.frontend.numpy.draw_calls import (
    REQUIRED,
    Dims,
    bound,
    call_method,
    common_shape,
    drawn,
    give,
    require,
    size_argument,
    sizes,
)
from jitflow.frontend.numpy.shuffled_lists import is_list, put_in_order
from jitflow.frontend.numpy.weighted_draws import weighted_counts, weighted_positions
from jitflow.frontend.python.builtin_functions import traced_len
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, F64, I64, U64, DType
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.runtime.calls.calls_out import shuffled
from jitflow.runtime.generators.draws import are_native, shuffles_from_the_end

__all__ = ["METHODS", "NEW_METHODS", "OLD_METHODS"]


def integers(
    generator: Any, low: Any, high: Any, size: Any, dtype: Any, *, closed: bool = False, method: str = "integers",
) -> Any:  # fmt: skip
    """Whole numbers from ``low`` on, below ``high`` or up to it."""
    wanted = dtype_argument(dtype)
    if wanted.kind not in "biu":
        raise UserTypeError(f"Unsupported dtype {wanted.numpy!r} for {method}")
    first, last = (0, low) if high is None else (low, high)
    is_python = size is None and dtype in (bool, int)
    if type(first) is int and type(last) is int and are_native():
        base, span = _known_span(first, last, closed, wanted)
    else:
        found = [values.as_scalar(as_value(item)) for item in (first, last)]
        if any(map(values.rank, found)) or wanted == U64 or not are_native():
            return _integers_out(generator, (first, last), size, closed, method, wanted, is_python)
        start, end = (values.cast(value, I64) for value in found)
        base, span = _span(start, end, closed, wanted)
    unsigned = BOOL if wanted == BOOL else dtype_argument(f"u{wanted.itemsize}")
    way = "bounded" if generator.is_new else "masked"
    name = f"{way}_{'bool' if wanted == BOOL else unsigned.numpy.name}"
    value = drawn(generator, name, [values.cast(base, unsigned), values.cast(span, unsigned)], size_argument(size))
    if isinstance(value.type, Tensor):
        return give(values.as_array(values.cast(value, wanted)))
    value = values.cast(value, wanted)
    return give(value) if is_python else tracers.wrap(value)


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype == BOOL:
        return 0, 1
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _bounds_error(closed: bool, from_zero: bool) -> str:
    if from_zero:
        return f"high {'<' if closed else '<='} 0"
    return f"low {'>' if closed else '>='} high"


def _span(start: Value, end: Value, closed: bool, wanted: DType) -> tuple[Value, Value]:
    """The smallest number, and how many more there are, behind the checks of numbers that the run knows."""
    lowest, highest = _limits(wanted)
    name = wanted.numpy.name

    def within(relation: str, value: Value, limit: int) -> Value:
        return emit(relation, value, values.constant(limit, I64))

    if lowest > -(1 << 63):
        require(within("greater_equal", start, lowest), f"low is out of bounds for {name}")
    if highest < (1 << 63) - 1:
        require(within("less_equal", end, highest + (not closed)), f"high is out of bounds for {name}")
    ordered = emit("less_equal" if closed else "less", start, end)
    from_zero = within("equal", start, 0)
    require(emit("logical_or", ordered, emit("logical_not", from_zero)), _bounds_error(closed, True))
    require(emit("logical_or", ordered, from_zero), _bounds_error(closed, False))
    span = emit("subtract", values.cast(end, U64), values.cast(start, U64))
    if not closed:
        span = emit("subtract", span, values.constant(1, U64))
    return values.cast(start, U64), span


def _known_span(start: int, end: int, closed: bool, wanted: DType) -> tuple[Value, Value]:
    """The same of numbers that are known now."""
    top, (lowest, highest) = end if closed else end - 1, _limits(wanted)
    if start < lowest:
        raise UserValueError(f"low is out of bounds for {wanted.numpy.name}")
    if top > highest:
        raise UserValueError(f"high is out of bounds for {wanted.numpy.name}")
    if start > top:
        raise UserValueError(_bounds_error(closed, start == 0))
    return values.constant(start % (1 << 64), U64), values.constant(top - start, U64)


def _integers_out(
    generator: Any, bounds: tuple[Any, Any], size: Any, closed: bool, method: str, wanted: DType, is_python: bool
) -> Any:
    """The generator's own method: bounds that are arrays are drawn within one by one."""
    found = [as_value(item) for item in bounds]
    dims = common_shape(found, size)
    kind: Type = Scalar(wanted, weak=is_python) if dims is None else Tensor(wanted, dims)
    options: dict[str, Any] = {"endpoint": closed} if generator.is_new else {}
    options |= {"size": None if size is None else sizes(dims or ()), "dtype": wanted.numpy}
    (value,) = call_method(generator, method, [kind], *map(tracers.wrap, found), **options)
    return tracers.wrap(value, owned=True)


def _integers(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"low": REQUIRED, "high": None, "size": None, "dtype": np.int64, "endpoint": False}
    given = bound("integers", signature, args, kwargs)
    return integers(generator, given["low"], given["high"], given["size"], given["dtype"],
                    closed=bool(given["endpoint"]))  # fmt: skip


def _randint(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("randint", {"low": REQUIRED, "high": None, "size": None, "dtype": int}, args, kwargs)
    return integers(generator, given["low"], given["high"], given["size"], given["dtype"], method="randint")


# -- draws from what the program has: choices, permutations, and distributions of several numbers


def _choice(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"a": REQUIRED, "size": None, "replace": True, "p": None}
    if generator.is_new:
        signature |= {"axis": 0, "shuffle": True}
    given = bound("choice", signature, args, kwargs)
    pool, size, axis = given["a"], given["size"], given.get("axis", 0)
    is_pool = _has_items(pool)
    if is_pool:
        array = tracers.wrap(array_operand(pool), owned=True) if not isinstance(pool, tracers.ArrayTracer) else pool
        if not generator.is_new and array.ndim != 1:
            raise UserValueError("a must be 1-dimensional")
        place = normalized_axis(axis, array.ndim)
        count = array.shape[place]
    else:
        count = pool
    dims, positions = size_argument(size), None
    if given["replace"] is True:
        if given["p"] is None:
            positions = _positions(generator, count, size, is_pool)
        else:
            _require_some(generator, count, is_pool)
            positions = weighted_positions(generator, count, given["p"], size)
    if positions is None:
        kind = Scalar(I64, weak=True) if dims is None else Tensor(I64, dims)
        options = {"shuffle": given["shuffle"]} if generator.is_new else {}
        size = None if dims is None else sizes(dims)
        replace = given["replace"]
        (value,) = call_method(generator, "choice", [kind], count, size, replace, given["p"], **options)
        positions = tracers.wrap(value, owned=True)
    found = np.take(array, positions, axis=place) if is_pool else positions
    return tracers.wrap(array_operand(found), owned=True) if dims == () else found


def _has_items(thing: Any) -> bool:
    """Whether NumPy takes it for what there is to choose from, and not for how much."""
    return isinstance(thing, tuple | range) or is_list(thing) or getattr(thing, "ndim", 0) > 0


def _positions(generator: Any, count: Any, size: Any, is_pool: bool) -> Any:
    """Positions in what there is to choose from, each as likely as any other."""
    number = _require_some(generator, count, is_pool)
    if generator.is_new:
        return integers(generator, 0, tracers.wrap(number), size, np.int64 if size is not None else int)
    return integers(generator, 0, tracers.wrap(number), size, int, method="randint")


def _require_some(generator: Any, count: Any, is_pool: bool) -> Value:
    """How much there is to choose from, which must be something."""
    number = values.cast(as_value(count), I64)
    if generator.is_new:
        message = "a cannot be empty" if is_pool else "a must be a positive integer"
    else:
        message = "'a' cannot be empty" if is_pool else "a must be greater than 0"
    enough = emit("greater", number, values.constant(0, I64))
    values.check(enough, ValueError, f"{message} unless no samples are taken")
    return number


def _permutation(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("permutation", {"x": REQUIRED, **({"axis": 0} if generator.is_new else {})}, args, kwargs)
    x, axis = given["x"], given.get("axis", 0)
    if not _has_items(x):
        if not values.dtype_of_value(as_value(x)).is_integer:
            if generator.is_new:
                normalized_axis(axis, 0)
            raise UserIndexError("x must be an integer or at least 1-dimensional")
        return _in_random_order(generator, surface.replacements[np.arange](x))
    value = array_operand(x)
    if values.rank(value) == 1:
        normalized_axis(axis, 1)
        return _in_random_order(generator, np.copy(tracers.wrap(value)))
    (found,) = call_method(generator, "permutation", [value.type], tracers.wrap(value), *[axis] * generator.is_new)
    return tracers.wrap(found, owned=True)


def _shuffle(generator: Any, *args: Any, **kwargs: Any) -> None:
    given = bound("shuffle", {"x": REQUIRED, **({"axis": 0} if generator.is_new else {})}, args, kwargs)
    x, axis = given["x"], given.get("axis", 0)
    if is_list(x) and axis == 0:
        places = surface.replacements[np.arange](traced_len(x))
        _shuffle(generator, places)
        put_in_order(x, places)
        return
    if not isinstance(x, tracers.ArrayTracer):
        raise refuse(f"a shuffle of a {type(x).__name__}", "shuffle an array: np.array(x)")
    require_output(x, "array")
    if x.ndim == 1:
        normalized_axis(axis, 1)
        _in_random_order(generator, x)
        return

    operands = (generator.handle, x, *[axis] * generator.is_new)
    (found,) = call_out(current_trace(), shuffled, "shuffle", operands, {}, [Tensor(*_of(x))])
    surface.set_item(x, ..., tracers.wrap(found, owned=True))


def _in_random_order(generator: Any, array: Any) -> Any:
    """The array, whose elements change places from the last one on, each with one in front of it or itself."""
    if not shuffles_from_the_end(generator.name):
        (found,) = call_method(generator, "permutation", [array.value.type], array)
        surface.set_item(array, ..., tracers.wrap(found, owned=True))
        return array
    method, last = "masked_uint64", array.shape[0] - 1

    def swap(turn: Any, carry: Any) -> Any:
        place = last - turn
        span = values.cast(values.as_strong(tracers.lift(place)), U64)
        other = tracers.wrap(values.cast(drawn(generator, method, [values.constant(0, U64), span], None), I64))
        kept = array[place]
        array[place] = array[other]
        array[other] = kept
        return carry

    fori_loop(0, last, swap, 0)
    return array


def _permuted(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("permuted", {"x": REQUIRED, "axis": None, "out": None}, args, kwargs)
    value = array_operand(given["x"])
    require_output(given["out"], "out")
    (found,) = call_method(generator, "permuted", [value.type], tracers.wrap(value), axis=given["axis"])
    made = tracers.wrap(found, owned=True)
    if given["out"] is None:
        return made
    surface.set_item(given["out"], ..., made)
    return given["out"]


def _of(array: Any) -> tuple[Any, Dims]:
    value = array.value
    return values.dtype_of_value(value), values.dims(value)


def _several(generator: Any, name: str, dtype: Any, outer: Dims | None, inner: Dims, *args: Any, **kwargs: Any) -> Any:
    """A call of a method that draws several numbers at a time."""
    (found,) = call_method(generator, name, [Tensor(dtype, (*(outer or ()), *inner))], *args, **kwargs)
    return tracers.wrap(found, owned=True)


def _given_size(size: Any) -> tuple[Dims | None, Any]:
    dims = size_argument(size)
    return dims, None if dims is None else sizes(dims)


def _multinomial(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("multinomial", {"n": REQUIRED, "pvals": REQUIRED, "size": None}, args, kwargs)
    count, chances = as_value(given["n"]), array_operand(given["pvals"])
    *outer, last = values.dims(chances)
    if values.rank(count) or outer:
        rows = values.slice_axes(chances, (0,) * (len(outer) + 1), (*outer, 1), (1,) * (len(outer) + 1))
        dims = common_shape([values.as_array(count), values.reshape(rows, tuple(outer))], given["size"])
        size = None if given["size"] is None else sizes(dims or ())
    else:
        dims, size = _given_size(given["size"])
        found = weighted_counts(generator, given["n"], given["pvals"], dims)
        if found is not None:
            return found
    return _several(generator, "multinomial", I64, dims, (last,), tracers.wrap(count), tracers.wrap(chances), size)


def _dirichlet(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("dirichlet", {"alpha": REQUIRED, "size": None}, args, kwargs)
    alpha, (dims, size) = array_operand(given["alpha"]), _given_size(given["size"])
    return _several(generator, "dirichlet", F64, dims, values.dims(alpha), tracers.wrap(alpha), size)


def _multivariate_normal(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"mean": REQUIRED, "cov": REQUIRED, "size": None, "check_valid": "warn", "tol": 1e-8}
    if generator.is_new:
        signature |= {"method": "svd"}
    given = bound("multivariate_normal", signature, args, kwargs)
    mean, cov = array_operand(given.pop("mean")), array_operand(given.pop("cov"))
    dims, size = _given_size(given.pop("size"))
    return _several(generator, "multivariate_normal", F64, dims, values.dims(mean), tracers.wrap(mean),
                    tracers.wrap(cov), size, **given)  # fmt: skip


def _multivariate_hypergeometric(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"colors": REQUIRED, "nsample": REQUIRED, "size": None, "method": "marginals"}
    given = bound("multivariate_hypergeometric", signature, args, kwargs)
    colors, (dims, size) = array_operand(given["colors"]), _given_size(given["size"])
    return _several(generator, "multivariate_hypergeometric", I64, dims, values.dims(colors), tracers.wrap(colors),
                    given["nsample"], size, method=given["method"])  # fmt: skip


METHODS: Mapping[str, Callable[..., Any]] = {
    "choice": _choice,
    "permutation": _permutation,
    "shuffle": _shuffle,
    "multinomial": _multinomial,
    "dirichlet": _dirichlet,
    "multivariate_normal": _multivariate_normal,
}
"""Of a `numpy.random.Generator` and of a `RandomState`."""

NEW_METHODS: Mapping[str, Callable[..., Any]] = {
    "integers": _integers,
    "permuted": _permuted,
    "multivariate_hypergeometric": _multivariate_hypergeometric,
}
OLD_METHODS: Mapping[str, Callable[..., Any]] = {"randint": _randint}
