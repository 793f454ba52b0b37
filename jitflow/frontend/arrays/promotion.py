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
from jitflow.frontend.arrays.operands import Operand, number_constant, numpy_says
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dtypes import DType, dtype_of
from jitflow.ir.types import Scalar

__all__ = ["check_range", "convert", "convert_wrapping", "promoted", "result_dtype", "ufunc_dtypes"]

_WEAK = {"i": int, "f": float, "c": complex}
_SAMPLE: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}
I64_LIMITS = np.iinfo(np.int64)
Placeholder = Any
"""A NumPy dtype, or ``int``, ``float`` or ``complex`` for a weak number."""


def placeholder(operand: Operand) -> Placeholder:
    """What stands for an operand when NumPy is asked about promotion. A Python bool promotes as a NumPy one."""
    if isinstance(operand, Value):
        dtype = values.dtype_of_value(operand)
        return _WEAK.get(dtype.kind, dtype.numpy) if values.is_weak(operand) else dtype.numpy
    return np.dtype(np.bool_) if isinstance(operand, bool) else type(operand)


@lru_cache(maxsize=4096)
def _resolve(
    ufunc: np.ufunc, inputs: tuple[Placeholder, ...], signature: Any, casting: Any, reduction: bool, into: Placeholder
) -> Any:
    outputs = (None,) * ufunc.nout
    given: tuple[Any, ...] = (into, *inputs, None) if reduction else (*inputs, *outputs)
    extra = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes(given, casting=casting, reduction=reduction, **extra)


def ufunc_dtypes(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    signature: Any = None,
    casting: str = "same_kind",
    reduction: bool = False,
    into: DType | None = None,
) -> tuple[DType, ...]:
    """The dtypes of a ufunc's loop for these operands: inputs, then outputs. Raises TypeError as NumPy does.

    ``into``: the dtype of what a reduction has as ``out=``, in which NumPy looks for the loop as well.
    """
    inputs = tuple(placeholder(operand) for operand in operands)
    if all(isinstance(item, type) for item in inputs):  # Python numbers alone are arrays of their own dtypes
        inputs = tuple(np.dtype(item) for item in inputs)
    found = numpy_says(_resolve, ufunc, inputs, signature, casting, reduction, into and into.numpy)
    known = tuple(dtype_of(dtype) for dtype in found)
    if any(dtype is None for dtype in known):
        names = ", ".join(str(dtype) for dtype in found)
        raise UserTypeError(
            f"{ufunc.__name__} computes in {names} here, which is not supported", expected="dtypes of numbers"
        )
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


def convert_wrapping(operand: Operand, dtype: DType) -> Value:
    """`convert` for the few functions that do not mind: a Python integer out of range wraps around."""
    if isinstance(operand, Value):
        return values.cast(operand, dtype)
    with np.errstate(all="ignore"):
        return number_constant(np.asarray(operand).astype(dtype.numpy).item(), dtype)


def check_range(number: Value, dtype: DType) -> None:
    """Raise OverflowError at run time unless an integer fits in ``dtype``, as for a Python int of that value."""
    own = values.dtype_of_value(number)
    given, limits = np.iinfo(own.numpy), np.iinfo(dtype.numpy)
    strong = values.cast(number, own)
    if given.max > I64_LIMITS.max >= limits.max:
        small = values.emit("less_equal", strong, values.constant(int(I64_LIMITS.max), own))
        values.check(small, OverflowError, "Python int too large to convert to C long")
    tests = []
    if given.min < limits.min:
        tests.append(values.emit("greater_equal", strong, values.constant(int(limits.min), own)))
    if given.max > limits.max and limits.max != I64_LIMITS.max:
        tests.append(values.emit("less_equal", strong, values.constant(int(limits.max), own)))
    if tests:
        fits = tests[0] if len(tests) == 1 else values.emit("logical_and", *tests)
        values.check(fits, OverflowError, f"Python integer {{}} out of bounds for {dtype.numpy}", strong)


def is_python_integer(operand: Operand) -> bool:
    """Whether the operand is a Python int, known or not: what can be out of an integer dtype's range."""
    if isinstance(operand, Value):
        weak = values.is_weak(operand)
        return weak and (not isinstance(operand.type, Scalar) or operand.type.dtype.name == "i64")
    return type(operand) is int
