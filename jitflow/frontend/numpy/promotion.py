"""NEP 50 promotion, asked of NumPy itself.

A ufunc's dtypes come from ``ufunc.resolve_dtypes`` and everybody else's from ``np.result_type``, with Python's ``int``,
``float`` and ``complex`` standing for weak numbers. So a NumPy that promotes differently changes the answers here
without a line of ours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.operands import Operand, number_constant, numpy_says
from jitflow.ir.core import Value
from jitflow.ir.dtypes import DTYPES, DType, dtype_of
from jitflow.ir.types import Scalar

__all__ = ["convert", "convert_object", "convert_wrapping", "promoted", "result_dtype", "ufunc_dtypes"]

_WEAK = {"i": int, "f": float, "c": complex}
_SAMPLE: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}
Placeholder = Any
"""A NumPy dtype, or ``int``, ``float`` or ``complex`` for a weak number."""


def placeholder(operand: Operand) -> Placeholder:
    """What stands for an operand when NumPy is asked about promotion. A Python bool promotes as a NumPy one."""
    if isinstance(operand, Value):
        dtype = values.dtype_of_value(operand)
        return _WEAK.get(dtype.kind, dtype.numpy) if values.is_weak(operand) else dtype.numpy
    return np.dtype(np.bool_) if isinstance(operand, bool) else type(operand)


@lru_cache(maxsize=4096)
def _resolve(ufunc: np.ufunc, inputs: tuple[Placeholder, ...], signature: Any, casting: Any, reduction: bool) -> Any:
    outputs = (None,) * ufunc.nout
    given: tuple[Any, ...] = (None, *inputs, None) if reduction else (*inputs, *outputs)
    extra = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes(given, casting=casting, reduction=reduction, **extra)


def ufunc_dtypes(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    signature: Any = None,
    casting: str = "same_kind",
    reduction: bool = False,
) -> tuple[DType, ...]:
    """The dtypes of a ufunc's loop for these operands: inputs, then outputs. Raises TypeError as NumPy does."""
    inputs = tuple(placeholder(operand) for operand in operands)
    if all(isinstance(item, type) for item in inputs):  # Python numbers alone are arrays of their own dtypes
        inputs = tuple(np.dtype(item) for item in inputs)
    found = numpy_says(_resolve, ufunc, inputs, signature, casting, reduction)
    known = tuple(dtype_of(dtype) for dtype in found)
    if any(dtype is None for dtype in known):
        names = ", ".join(str(dtype) for dtype in found)
        raise UserTypeError(f"{ufunc.__name__} computes in {names} here, which is not supported")
    return tuple(dtype for dtype in known if dtype is not None)


@lru_cache(maxsize=4096)
def _result_type(placeholders: tuple[Placeholder, ...]) -> np.dtype[Any]:
    return np.result_type(*(_SAMPLE.get(item, item) for item in placeholders))


def result_dtype(*operands: Operand | DType) -> DType:
    """``np.result_type`` of operands and dtypes, Python numbers being weak."""
    items = tuple(item.numpy if isinstance(item, DType) else placeholder(item) for item in operands)
    found = dtype_of(numpy_says(_result_type, items))
    assert found is not None
    return found


def promoted(*operands: Operand) -> tuple[Value, ...]:
    """All operands converted to their common dtype."""
    dtype = result_dtype(*operands)
    return tuple(convert(operand, dtype) for operand in operands)


def convert(operand: Operand, dtype: DType) -> Value:
    """An operand in the dtype that promotion chose for it.

    A Python integer must fit in an integer dtype: NumPy raises OverflowError, at once for a number that is known and
    through a check at run time for one that is not.
    """
    if not isinstance(operand, Value):
        return number_constant(operand, dtype)
    if values.is_weak(operand) and dtype.is_integer and values.dtype_of_value(operand).name == "i64":
        check_range(operand, dtype)
    return values.cast(operand, dtype)


def convert_object(value: Value, dtype: DType) -> Value:
    """What ``np.asarray`` makes of a value: a Python number goes through ``int()`` or ``float()``, and so errs."""
    if not values.is_weak(value) or dtype.kind in "bc":
        return values.cast(value, dtype)
    own = values.dtype_of_value(value)
    if own.is_complex:
        name, wanted = ("int", ", a bytes-like object or") if dtype.is_integer else ("float", " or")
        raise UserTypeError(f"{name}() argument must be a string{wanted} a real number, not 'complex'")
    if own.is_float and dtype.is_integer:
        check_is_int(value)
        value = values.emit("cast", value, dtype=DTYPES["i64"], weak=True)
    return convert(value, dtype)


def check_is_int(number: Value) -> None:
    """Raise what Python's ``int()`` raises at run time for a float that is no number, or too large for 64 bits."""
    for test, error, message in (
        ("isnan", ValueError, "cannot convert float NaN to integer"),
        ("isinf", OverflowError, "cannot convert float infinity to integer"),
    ):
        values.check(values.emit("logical_not", values.emit(test, number)), error, message)
    size = values.emit("absolute", values.cast(number, DTYPES["f64"]))
    fits = values.emit("less", size, values.constant(2.0**63, DTYPES["f64"]))
    values.check(fits, OverflowError, "Python int too large to convert to C long")


def convert_wrapping(operand: Operand, dtype: DType) -> Value:
    """`convert` for the few functions that do not mind: a Python integer out of range wraps around."""
    if isinstance(operand, Value):
        return values.cast(operand, dtype)
    with np.errstate(all="ignore"):
        return number_constant(np.asarray(operand).astype(dtype.numpy).item(), dtype)


def check_range(number: Value, dtype: DType) -> None:
    """Raise OverflowError at run time unless a Python integer fits in ``dtype``."""
    if dtype.name == "i64":
        return
    limits = np.iinfo(dtype.numpy)
    wide = values.cast(number, DTYPES["i64"])
    fits = values.emit("greater_equal", wide, values.constant_like(int(limits.min), wide))
    if dtype.name != "u64":
        below = values.emit("less_equal", wide, values.constant_like(int(limits.max), wide))
        fits = values.emit("logical_and", fits, below)
    values.check(fits, OverflowError, f"Python integer {{}} out of bounds for {dtype.numpy}", wide)


def is_python_integer(operand: Operand) -> bool:
    """Whether the operand is a Python int, known or not: what can be out of an integer dtype's range."""
    if isinstance(operand, Value):
        weak = values.is_weak(operand)
        return weak and (not isinstance(operand.type, Scalar) or operand.type.dtype.name == "i64")
    return type(operand) is int
