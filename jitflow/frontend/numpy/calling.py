"""How a ufunc is called: promotion, broadcasting, the loop, and then ``out=`` and ``where=``.

The methods ``reduce`` and ``accumulate`` are those of `reductions`; ``outer`` is a call on reshaped operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import USER_ERRORS, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import (
    Operand,
    array_operand,
    as_value,
    dtype_argument,
    new,
    numpy_says,
    operand,
    refuse,
)
from jitflow.frontend.arrays.promotion import convert, is_python_integer, ufunc_dtypes
from jitflow.frontend.numpy.ufuncs import loop_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, I64, DType, dtype_of

__all__ = [
    "NOT_REDUCED",
    "as_result",
    "as_running",
    "call_ufunc",
    "compute",
    "in_arrays",
    "outer",
    "output_dtype",
    "require_reduced",
    "require_shape",
    "store_out",
    "write_back",
]

_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})


def call_ufunc(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    """``ufunc(*inputs, ...)`` on tracers: a tracer, or a tuple of them for a ufunc with several results."""
    if len(inputs) > ufunc.nin and out is None:
        inputs, out = inputs[: ufunc.nin], inputs[ufunc.nin :]
    if len(inputs) != ufunc.nin:
        takes = f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nargs} positional arguments"
        raise UserTypeError(f"{takes} but {len(inputs)} were given")
    outputs = _outputs(ufunc, out)
    loop = _signature(ufunc, dtype, signature if signature is not None else sig)
    operands = tuple(operand(item) for item in inputs)
    if out is not None:  # before the shapes are looked at, as NumPy does
        for dtype, output in zip(ufunc_dtypes(ufunc, operands, loop, casting)[ufunc.nin :], outputs, strict=True):
            if isinstance(output, tracers.ArrayTracer):
                _check_output_cast(dtype, dtype_argument(output.dtype), casting, ufunc.__name__)
    if where is not True and current_trace().exact:
        operands = _used(operands, where_mask(where))
    shapes = [values.dims(output.value) for output in outputs if isinstance(output, tracers.ArrayTracer)]
    shape = shapes[0] if len(shapes) == 1 else None
    results = compute(ufunc, operands, signature=loop, casting=casting, output=shape)
    mask = None if where is True else where_mask(where)
    finished = tuple(
        _finish(ufunc, result, output, mask, casting) for result, output in zip(results, outputs, strict=True)
    )
    return finished[0] if ufunc.nout == 1 else finished


def compute(
    ufunc: np.ufunc, operands: tuple[Operand, ...], *, signature: Any = None, casting: str = "same_kind",
    output: tuple[Dim, ...] | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    """The results of a ufunc as values, to be stored in an ``output`` of such dims. Rank-0 results are scalars."""
    known = _shortcut(ufunc, operands) if signature is None else None
    if known is not None:
        return known
    dtypes = ufunc_dtypes(ufunc, operands, signature, casting)
    converted = [convert(item, dtype) for item, dtype in zip(operands, dtypes, strict=False)]
    aligned, _ = broadcasting.align([values.as_scalar(item) for item in converted], output)
    found = loop_of(ufunc)(*aligned)
    return found if isinstance(found, tuple) else (found,)


def store_out(result: Value, out: Any, casting: str = "same_kind", name: str = "") -> Any:
    """Make the array ``out`` be ``result``, cast to its dtype, and return it."""
    if not isinstance(out, tracers.ArrayTracer):
        if isinstance(out, np.ndarray):
            raise refuse("out= that is not an array made in the compiled function", "leave out= away")
        raise UserTypeError("out=... is only allowed as a keyword argument." if out is ... else
                            "return arrays must be of ArrayType")  # fmt: skip
    wanted = dtype_argument(out.dtype)
    require_output(out, "assignment destination" if name == "copyto" else "output array")
    _check_output_cast(values.dtype_of_value(result), wanted, casting, name)
    target, source = values.dims(out.value), values.dims(result)
    if len(source) > len(target):
        raise UserValueError(broadcasting.with_shapes(broadcasting.NO_ROOM, [target, source]))
    _require_no_repetition(target, source, broadcasting.common_dims([source, target]))
    return out.assign(values.as_array(broadcasting.broadcast_to(values.cast(result, wanted), target)))


def require_output(out: Any, what: str = "output array") -> None:
    """Raise NumPy's error of ``what`` if the program may not write to the array ``out``."""
    if isinstance(out, tracers.ArrayTracer):
        current_trace().storage.require_writeable(out.value, what)


def require_shape(result: Value, out: Any, ranks: str, sizes: str, error: type[Exception] = ValueError) -> None:
    """Raise NumPy's error, now or at run time, where ``out`` has not the shape of a result that is not broadcast."""
    if not isinstance(out, tracers.ArrayTracer):
        return  # as `store_out` says
    target, source = values.dims(out.value), values.dims(result)
    if len(target) != len(source):
        raise USER_ERRORS[error](ranks)
    for dim, other in zip(target, source, strict=True):
        broadcasting.require_equal(dim, other, sizes, error=error)


def write_back(result: Value, out: Any, message: str) -> Any:
    """`store_out` of functions that work on a copy of ``out`` in their own dtype, with an error for other shapes."""
    if isinstance(out, tracers.ArrayTracer):
        require_shape(result, out, message, message)
        own = values.dtype_of_value(result).numpy
        if not np.can_cast(out.dtype, own, "safe"):
            raise UserTypeError(f"Cannot cast array data from {out.dtype!r} to {own!r} according to the rule 'safe'")
    require_output(out, "WRITEBACKIFCOPY base")
    return store_out(result, out, "unsafe")


def output_dtype(out: Any) -> DType | None:
    """The dtype of an array to write to; None if there is none."""
    out = out[0] if isinstance(out, tuple) else out
    return dtype_argument(out.dtype) if isinstance(out, tracers.ArrayTracer) else None


def as_result(result: Value, out: Any, name: str = "add") -> Any:
    """The result of a reduction by ``name`` as a new array or in ``out``, into which NumPy casts whatever it is."""
    out = out[0] if isinstance(out, tuple) else out
    require_reduced(result, out, name)
    return new(result) if out is None else store_out(result, out, "unsafe")


def as_running(result: Value, out: Any) -> Any:
    """The same for the result of an accumulation."""
    out = out[0] if isinstance(out, tuple) else out
    message = "provided out is the wrong size for the accumulation."
    require_shape(result, out, message, message)
    return new(result) if out is None else store_out(result, out, "unsafe")


def require_reduced(result: Value, out: Any, name: str = "add") -> None:
    """Raise NumPy's error where ``out`` has not the shape of a reduction by ``name``."""
    if isinstance(out, tracers.ArrayTracer):
        found = f"Found {out.ndim} but expected {values.rank(result)}"
        ranks = f"output parameter for reduction operation {name} has the wrong number of dimensions: {found}"
        require_shape(result, out, ranks, NOT_REDUCED)


NOT_REDUCED = "operands could not be broadcast together: the output has not the shape of the reduction"


def _require_no_repetition(target: tuple[Dim, ...], source: tuple[Dim, ...], met: tuple[Dim, ...]) -> None:
    """Raise NumPy's error, now or at run time, where an output of size 1 would have to take in more."""
    known = current_trace().known
    for dim, other in zip(target, met, strict=True):
        if not known(dim, "==", other):
            template, sizes = broadcasting.message_shapes(broadcasting.NO_ROOM, [target, source])
            broadcasting.require_equal_sizes(dim, other, template, sizes)


def _check_output_cast(found: DType, wanted: DType, casting: str, name: str) -> None:
    if not np.can_cast(found.numpy, wanted.numpy, casting):  # type: ignore[arg-type]
        ufunc = getattr(np._core.umath, name, None)  # type: ignore[attr-defined]
        if isinstance(ufunc, np.ufunc):  # whose exception has a class of its own
            given = [np.ones((1, 1) if ufunc.signature else (), found.numpy)] * ufunc.nin
            out = np.empty_like(ufunc(*given), wanted.numpy)
            numpy_says(ufunc, *given, out=out, dtype=found.numpy, casting=casting)
        raise UserTypeError(
            f"Cannot cast ufunc '{name}' output from {found.numpy!r} to {wanted.numpy!r} with casting rule '{casting}'"
        )


def where_mask(where: Any) -> Value:
    """The ``where=`` operand: bools, or what NumPy first makes an array of bools of."""
    mask = as_value(where)
    if isinstance(where, list | tuple | int | float):
        return values.cast(mask, BOOL)
    if values.dtype_of_value(mask) != BOOL:
        found = values.dtype_of_value(mask).numpy
        raise UserTypeError(f"Cannot cast array data from {found!r} to dtype('bool') according to the rule 'safe'")
    return mask


def _used(operands: tuple[Operand, ...], mask: Value) -> tuple[Operand, ...]:
    """The operands with elements that are used in the place of those that the mask leaves out; with 1 if none is."""
    arrays = [item for item in operands if isinstance(item, Value) and values.dims(item)]
    aligned, dims = broadcasting.align([mask, *arrays])
    if not dims or not arrays:
        return operands
    flags, *wide = aligned
    flags = broadcasting.broadcast_to(flags, dims)
    axes = tuple(range(len(dims)))
    first, some = values.emit("reduce_argmax", flags, axes=axes), values.emit("reduce_logical_or", flags, axes=axes)
    replaced = []
    for item in wide:
        flat = values.reshape(values.emit("copy", item), (product(dims),), assumed=True)
        used = values.emit("gather", flat, first, axis=0, mode="clip")
        other = values.select(some, used, values.constant_like(1, item))
        replaced.append(values.select(flags, item, other))
    given = iter(replaced)
    return tuple(next(given) if isinstance(item, Value) and values.dims(item) else item for item in operands)


def outer(ufunc: np.ufunc, a: Any, b: Any, **keywords: Any) -> Any:
    """``ufunc.outer(a, b)``: every element of ``a`` with every element of ``b``."""
    if ufunc.nin != 2 or ufunc.signature is not None:
        raise UserValueError("outer product only supported for binary functions")
    left, right = array_operand(a), array_operand(b)
    left = values.reshape(left, values.dims(left) + (1,) * values.rank(right))
    return call_ufunc(ufunc, left, right, **keywords)


def _finish(ufunc: np.ufunc, result: Value, out: Any, mask: Value | None, casting: str) -> Any:
    if mask is not None:
        # Where the mask is false NumPy keeps what out= held, and leaves new memory as it is: any value will do.
        held = result
        if isinstance(out, tracers.ArrayTracer):
            held = out.value
            _check_output_cast(values.dtype_of_value(result), values.dtype_of_value(held), casting, ufunc.__name__)
        result, held = (values.cast(item, values.dtype_of_value(held)) for item in (result, held))
        (mask, result, held), _ = broadcasting.align([values.as_scalar(item) for item in (mask, result, held)])
        result = values.select(mask, result, held)
    return new(values.as_scalar(result)) if out is None else store_out(result, out, casting, ufunc.__name__)


def in_arrays(function: Any) -> Any:
    """What is called with ``out=...``: of a ufunc, numbers come as arrays. NumPy tells nobody of those dots."""
    if not isinstance(getattr(function, "__self__", function), np.ufunc):
        return function

    def call(*args: Any, **keywords: Any) -> Any:
        found = function(*args, **keywords)
        return tuple(map(_in_array, found)) if isinstance(found, tuple) else _in_array(found)

    return call


def _in_array(found: Any) -> Any:
    return tracers.wrap(values.as_array(found.value)) if isinstance(found, tracers.ScalarTracer) else found


def _outputs(ufunc: np.ufunc, out: Any) -> Sequence[Any]:
    if out is None:
        return (None,) * ufunc.nout
    outputs = out if isinstance(out, tuple) else (out,)
    if any(output is ... for output in outputs):
        raise UserTypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    if len(outputs) != ufunc.nout:
        raise UserValueError("The 'out' tuple must have exactly one entry per ufunc output")
    for output in outputs:
        require_output(output)
    return outputs


def _signature(ufunc: np.ufunc, dtype: Any, signature: Any) -> Any:
    """The loop that ``dtype=`` or ``signature=`` asks for, as `ufunc.resolve_dtypes` takes it."""
    if dtype is not None and signature is not None:
        raise UserTypeError("cannot specify both 'signature' and 'dtype'")
    if dtype is not None:
        return (None,) * ufunc.nin + (dtype_argument(dtype).numpy,) * ufunc.nout
    if isinstance(signature, str):
        inputs, _, results = signature.partition("->")
        return tuple(numpy_says(np.dtype, code) for code in inputs + results)
    if isinstance(signature, tuple):
        return tuple(None if item is None else dtype_argument(item).numpy for item in signature)
    return signature


def _shortcut(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[Value, ...] | None:
    """What NumPy decides before promotion: comparisons with Python integers, powers with simple exponents."""
    if ufunc in _COMPARISONS:
        return _compare_python_integer(ufunc, operands[0], operands[1])
    if ufunc is np.power:
        return _simple_power(operands[0], operands[1])
    return None


def _compare_python_integer(ufunc: np.ufunc, left: Operand, right: Operand) -> tuple[Value, ...] | None:
    """A comparison of an integer array with a Python integer is exact, even where that does not fit in the dtype."""
    for number, other in ((left, right), (right, left)):
        if not is_python_integer(number) or not isinstance(other, Value):
            continue
        dtype = values.dtype_of_value(other)
        if not dtype.is_integer or values.is_weak(other):
            continue
        if isinstance(number, Value):
            known_range = dtype.name in ("i64", "u64")
            wide = other if known_range else values.cast(other, I64)
            exact = values.cast(number, I64)
            return compute(ufunc, (exact, wide) if number is left else (wide, exact))
        if not _fits(number, dtype):
            zero, beyond = 0, 1 if number > 0 else -1  # type: ignore[operator]
            answer = bool(ufunc(beyond, zero) if number is left else ufunc(zero, beyond))
            flag = values.constant(answer, BOOL)
            return (values.fill(flag, values.dims(other)) if values.rank(other) else flag,)
    return None


def _fits(number: Any, dtype: DType) -> bool:
    limits = np.iinfo(dtype.numpy)
    return bool(limits.min <= number <= limits.max)


_POWERS = {-1: np.reciprocal, 0.5: np.sqrt, 1: np.positive, 2: np.square}


def _simple_power(base: Operand, exponent: Operand) -> tuple[Value, ...] | None:
    """The exponents that NumPy's loops replace by other ufuncs for floats and complex numbers."""
    if isinstance(exponent, Value) or not isinstance(base, Value) or exponent not in _POWERS:
        return None
    (dtype, *_) = ufunc_dtypes(np.power, (base, exponent))
    if dtype.kind not in "fc" and exponent != 2:
        return None
    if dtype_of(dtype.numpy) is None or not values.rank(base):
        return None
    return compute(_POWERS[exponent], (values.cast(base, dtype),))  # type: ignore[index]
