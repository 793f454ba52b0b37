"""What NumPy's generators draw, while a program is traced: numbers and arrays of the distributions with a formula.

The parameters are checked as NumPy checks them, in front of the draw, with the words of the installed NumPy, which is
asked what it says to a parameter of that kind. Then the draw is an op (`jitflow.ir.draws`), or a call of the
generator's own method where no C function does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays import broadcasting, layouts
from jitflow.frontend.arrays.operands import as_value, dtype_argument, refuse, shape_argument
from jitflow.frontend.numpy.draw_calls import (
    REQUIRED,
    Dims,
    bound,
    call_method,
    common_shape,
    drawn,
    give,
    native_draw,
    require,
    result_type,
    sizes,
)
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import F32, F64, I64, DType, dtype_of
from jitflow.records import dataclass

__all__ = ["METHODS", "standard"]


# -- parameters


def _at_least_0(value: Value) -> Value:
    return _not(_and(emit("signbit", value), _not(emit("isnan", value))))


def _above_0(value: Value) -> Value:
    return _not(_compare("less_equal", value, 0.0))


def _between(low: str, high: str) -> Callable[[Value], Value]:
    return lambda value: _and(_compare(low, value, 0.0), _compare(high, value, 1.0))


def _above_1(value: Value) -> Value:
    return _compare("greater", value, 1.0)


def _not_too_large(value: Value) -> Value:
    return _not(_compare("greater", value, _largest_lam()))


@cache
def _largest_lam() -> float:
    """The largest mean of a Poisson distribution, as NumPy has it."""
    return float(np.random.Generator(np.random.MT19937(0))._poisson_lam_max)  # type: ignore[attr-defined]


def _compare(name: str, value: Value, number: float) -> Value:
    limit = values.constant(number, F64)
    return emit(name, value, values.fill(limit, values.dims(value)) if values.rank(value) else limit)


def _and(left: Value, right: Value) -> Value:
    return emit("logical_and", left, right)


def _not(value: Value) -> Value:
    return emit("logical_not", value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a distribution. ``rules`` are what must hold, each with a number for which it does not."""

    name: str
    default: Any = REQUIRED
    rules: tuple[tuple[Callable[[Value], Value], float], ...] = ()
    is_integer: bool = False


NON_NEGATIVE = ((_at_least_0, -1.0),)
POSITIVE = ((_above_0, -1.0),)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A method of NumPy's: the parameters in front of ``size``, and the dtype of what is drawn."""

    name: str
    parameters: tuple[Parameter, ...]
    result: DType = F64
    wrong: tuple[tuple[str, int, int, str], ...] = ()
    """Relations of two parameters that must not hold, and what NumPy says then."""

    @property
    def signature(self) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        return {**{one.name: one.default for one in self.parameters}, "size": None}


def _row(name: str, *parameters: Parameter, result: DType = F64) -> Distribution:
    return Distribution(name, parameters, result)


_LOC, _SCALE = Parameter("loc", 0.0), Parameter("scale", 1.0, NON_NEGATIVE)
_PROBABILITY = Parameter("p", REQUIRED, ((_between("greater", "less_equal"), -1.0),))

DISTRIBUTIONS: Mapping[str, Distribution] = {
    row.name: row
    for row in (
        _row("standard_cauchy"),
        _row("normal", _LOC, _SCALE),
        _row("laplace", _LOC, _SCALE),
        _row("gumbel", _LOC, _SCALE),
        _row("logistic", _LOC, _SCALE),
        _row("exponential", _SCALE),
        _row("rayleigh", _SCALE),
        _row("lognormal", Parameter("mean", 0.0), Parameter("sigma", 1.0, NON_NEGATIVE)),
        _row("gamma", Parameter("shape", REQUIRED, NON_NEGATIVE), _SCALE),
        _row("beta", Parameter("a", REQUIRED, POSITIVE), Parameter("b", REQUIRED, POSITIVE)),
        _row("f", Parameter("dfnum", REQUIRED, POSITIVE), Parameter("dfden", REQUIRED, POSITIVE)),
        _row("noncentral_f", Parameter("dfnum", REQUIRED, POSITIVE), Parameter("dfden", REQUIRED, POSITIVE),
             Parameter("nonc", REQUIRED, NON_NEGATIVE)),
        _row("chisquare", Parameter("df", REQUIRED, POSITIVE)),
        _row("noncentral_chisquare", Parameter("df", REQUIRED, POSITIVE), Parameter("nonc", REQUIRED, NON_NEGATIVE)),
        _row("standard_t", Parameter("df", REQUIRED, POSITIVE)),
        _row("vonmises", Parameter("mu"), Parameter("kappa", REQUIRED, NON_NEGATIVE)),
        _row("pareto", Parameter("a", REQUIRED, POSITIVE)),
        _row("weibull", Parameter("a", REQUIRED, NON_NEGATIVE)),
        _row("power", Parameter("a", REQUIRED, POSITIVE)),
        _row("wald", Parameter("mean", REQUIRED, POSITIVE), Parameter("scale", REQUIRED, POSITIVE)),
        _row("poisson", Parameter("lam", 1.0, (
            (lambda value: _compare("greater_equal", value, 0.0), -1.0), (_not_too_large, 1e30))), result=I64),
        _row("geometric", _PROBABILITY, result=I64),
        _row("logseries", Parameter("p", REQUIRED, ((_between("greater_equal", "less"), -1.0),)), result=I64),
        _row("zipf", Parameter("a", REQUIRED, ((_above_1, 0.0),)), result=I64),
        _row("binomial", Parameter("n", REQUIRED, NON_NEGATIVE, is_integer=True),
             Parameter("p", REQUIRED, ((_between("greater_equal", "less_equal"), -1.0),)), result=I64),
        Distribution("triangular", (Parameter("left"), Parameter("mode"), Parameter("right")), F64, (
            ("greater", 0, 1, "left > mode"), ("greater", 1, 2, "mode > right"), ("equal", 0, 2, "left == right"))),
        _row("negative_binomial", Parameter("n"), Parameter("p"), result=I64),
        _row("hypergeometric", Parameter("ngood", is_integer=True), Parameter("nbad", is_integer=True),
             Parameter("nsample", is_integer=True), result=I64),
    )
}  # fmt: skip


def _parameter(item: Any, dtype: DType) -> Value:
    """A parameter as a number or an array of a dtype, which is C's ``double`` most often."""
    value = values.as_scalar(as_value(item))
    if values.dtype_of_value(value).is_complex:
        raise UserTypeError("must be real number, not complex")
    return values.cast(value, dtype)


def _require(row: Distribution, position: int, value: Value, kind: type, is_array: bool) -> None:
    for rule, wrong in row.parameters[position].rules:
        as_float = values.cast(value, F64)
        message, of_nan = (_words(row, position, one, is_array, kind) for one in (wrong, np.nan))
        if of_nan not in ("", message):
            require(_not(emit("isnan", as_float)), of_nan)
        if message:
            require(rule(as_float), message)


@cache
def _words(row: Distribution, position: int, wrong: float, is_array: bool, kind: type) -> str:
    """What NumPy says to a parameter that is wrong; nothing if it takes it."""
    given: list[Any] = [0.5] * len(row.parameters)
    given[position] = [wrong] if is_array else wrong
    if row.parameters[position].is_integer:
        if np.isnan(wrong):
            return ""
        given[position] = [int(wrong)] if is_array else int(wrong)
    try:
        getattr(kind(np.random.MT19937(0)), row.name)(*given)
    except ValueError as error:
        return str(error)
    return ""


def draw(row: Distribution, generator: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A number or an array of a distribution."""
    given = bound(row.name, row.signature, args, kwargs)
    kinds = [I64 if one.is_integer else F64 for one in row.parameters]
    found = [_parameter(given[one.name], kind) for one, kind in zip(row.parameters, kinds, strict=True)]
    dims = common_shape(found, given["size"])
    native = native_draw(generator, row.name)
    if not native:
        size = None if given["size"] is None else sizes(dims or ())
        (value,) = call_method(generator, row.name, [result_type(row.result, dims)], *map(tracers.wrap, found), size)
        return tracers.wrap(value, owned=True)
    is_array = any(map(values.rank, found))
    order = range(len(found))[:: -1 if row.name == "binomial" else 1]
    for position in order:
        _require(row, position, found[position], generator.kind, is_array)
    for relation, left, right, message in row.wrong:
        require(_not(emit(relation, *broadcasting.align([found[left], found[right]])[0])), message)
    return give(drawn(generator, native, [found[position] for position in order], dims))


def uniform(generator: Any, *args: Any, **kwargs: Any) -> Any:
    """Between two numbers, whose distance must be finite, and for the new generators not negative."""
    given = bound("uniform", {"low": 0.0, "high": 1.0, "size": None}, args, kwargs)
    low, high = (_parameter(given[name], F64) for name in ("low", "high"))
    dims = common_shape([low, high], given["size"])
    native = native_draw(generator, "uniform")
    if not native:
        size = None if given["size"] is None else sizes(dims or ())
        (value,) = call_method(generator, "uniform", [result_type(F64, dims)], *map(tracers.wrap, (low, high)), size)
        return tracers.wrap(value, owned=True)
    span = tracers.lift(tracers.wrap(high) - tracers.wrap(low))
    finite = emit("isfinite", span)
    holds = tracers.lift(np.all(tracers.wrap(finite))) if values.rank(finite) else finite
    is_new, is_array = generator.is_new, bool(values.rank(span))
    values.check(values.as_strong(holds), OverflowError, _says(OverflowError, is_new, is_array, 0.0, np.inf))
    if is_new:
        require(_at_least_0(span), _says(ValueError, is_new, is_array, 1.0, 0.0))
    return give(drawn(generator, native, [low, span], dims))


@cache
def _says(error: type[Exception], is_new: bool, is_array: bool, low: float, high: float) -> str:
    kind = np.random.Generator if is_new else np.random.RandomState
    try:
        kind(np.random.MT19937(0)).uniform([low] if is_array else low, high)
    except error as found:
        return str(found)
    return ""


def standard(method: str, name: str, generator: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A distribution that is drawn as float64 or float32, and into ``out``."""
    signature: dict[str, Any] = {"size": None}
    if generator.is_new:
        if name == "standard_gamma":
            signature = {"shape": REQUIRED, **signature}
        signature |= {"dtype": np.float64, **({"method": "zig"} if name == "standard_exponential" else {}), "out": None}
    elif name == "standard_gamma":
        signature = {"shape": REQUIRED, **signature}
    given = bound(name, signature, args, kwargs)
    out, dtype = given.get("out"), dtype_argument(given.get("dtype", np.float64))
    if dtype not in (F64, F32):
        raise UserTypeError(f"Unsupported dtype {dtype.numpy!r} for {name}")
    parameters = [_parameter(given["shape"], F64)] if "shape" in given else []
    dims = common_shape(parameters, given["size"] if out is None else _dims_of_out(out, given["size"], dtype))
    native = native_draw(generator, method if dtype == F64 else f"{method}_f")
    if given.get("method", "zig") != "zig" or not native:
        options: dict[str, Any] = {"dtype": dtype.numpy} if generator.is_new else {}
        options |= {key: given[key] for key in ("method",) if key in given}
        options |= {} if dims is None else {"size": sizes(dims)}
        kinds = [result_type(F64 if dims is None else dtype, dims)]
        (value,) = call_method(generator, name, kinds, *map(tracers.wrap, parameters), **options)
        return _in_out(value, out) if out is not None else tracers.wrap(value, owned=True)
    if parameters:
        row = Distribution(name, (Parameter("shape", REQUIRED, NON_NEGATIVE),))
        _require(row, 0, parameters[0], generator.kind, bool(values.rank(parameters[0])))
    value = drawn(generator, native, [values.cast(parameter, dtype) for parameter in parameters], dims)
    return give(value) if out is None else _in_out(value, out)


def _dims_of_out(out: Any, size: Any, dtype: DType) -> Dims:
    """The dims of an array that is drawn into."""
    if not isinstance(out, tracers.ArrayTracer):
        raise refuse("out= that is not an array of the compiled function", "leave out= away")
    if dtype_of(out.dtype) != dtype:
        raise UserTypeError(
            f"Supplied output array has the wrong type. Expected {dtype.numpy.name}, got {out.dtype.name}"
        )
    if not layouts.is_contiguous(out.value):
        raise refuse("out= of a draw that is not known to lie in C order", "assign instead: out[...] = ...")
    dims = values.dims(out.value)
    if size is not None and shape_argument(size) != dims:
        raise refuse("size= beside out= of a draw, which may differ from its shape", "leave size= away")
    return dims


def _in_out(value: Value, out: Any) -> Any:
    surface.set_item(out, ..., tracers.wrap(value, owned=True))
    return out


METHODS: Mapping[str, Callable[..., Any]] = {
    **{name: partial(draw, row) for name, row in DISTRIBUTIONS.items()},
    "random": partial(standard, "standard_uniform", "random"),
    **{name: partial(standard, name, name) for name in ("standard_normal", "standard_exponential", "standard_gamma")},
    "uniform": uniform,
}
"""By name, of a `numpy.random.Generator` and of a `RandomState`."""
