"""What becomes of a number that is put into an array of another dtype. NumPy has three ways.

- A *cast* (`values.cast`) is C's: bits are dropped, and nan becomes some integer. Arrays are cast, those of rank 0 too.
- An *object* is what ``np.asarray(number, dtype)`` makes of it: a Python number goes through ``int()`` or ``float()``
  and must fit, and errs as Python does; a NumPy scalar is an array and is cast.
- An *element* is what a single place in memory gets: ``a[i] = x``, ``a[...] = x``, ``a.fill(x)``, an item of a list
  for ``np.array``, ``initial=``. It differs from an object in that signed integers ask NumPy scalars for ``int()`` as
  well, while unsigned ones cast them.

What ufuncs do with their operands is promotion's business (`promotion.convert`).
"""

from __future__ import annotations

import warnings

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import PYTHON_DTYPES, Operand, numpy_says
from jitflow.frontend.arrays.promotion import check_range
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.python_numbers import check_finite
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, F64, I64, DType
from jitflow.ir.types import Tensor

__all__ = ["as_element", "as_object", "require_cast"]


def as_object(operand: Operand, dtype: DType) -> Value:
    """What ``np.asarray(operand, dtype)`` holds."""
    if not isinstance(operand, Value):
        converted = numpy_says(np.asarray, operand, dtype.numpy)
        return values.constant(converted.item() if dtype.name != "bf16" else float(converted), dtype)
    return _through_python(operand, dtype) if values.is_weak(operand) else values.cast(operand, dtype)


def as_element(operand: Operand, dtype: DType) -> Value:
    """What one element of an array holds when it is set to a number. Raises, as NumPy does, for arrays with axes."""
    if not isinstance(operand, Value) or values.is_weak(operand):
        return as_object(operand, dtype)
    if isinstance(operand.type, Tensor):
        return values.cast(_only_element(operand, dtype), dtype)
    return _through_python(operand, dtype) if dtype.kind == "i" else values.cast(operand, dtype)


def require_cast(operand: Operand, dtype: DType, casting: str) -> None:
    """Raise TypeError unless ``casting`` lets an operand be cast; a Python int may become any number."""
    if isinstance(operand, Value):
        own, weak = values.dtype_of_value(operand), values.is_weak(operand)
        kind = "array data" if values.rank(operand) else "scalar"
    else:
        own, weak, kind = PYTHON_DTYPES[type(operand)], True, "scalar"
    is_python_int = weak and own == I64 and dtype != BOOL
    if not is_python_int and not np.can_cast(own.numpy, dtype.numpy, casting):  # type: ignore[arg-type]
        raise UserTypeError(
            f"Cannot cast {kind} from {own.numpy!r} to {dtype.numpy!r} according to the rule '{casting}'"
        )


def _only_element(array: Value, dtype: DType) -> Value:
    if not values.rank(array):
        return values.as_scalar(array)
    if not all(map(broadcasting.is_one, values.dims(array))):
        numpy_says(_store_array, (2,) * values.rank(array), dtype)
    numpy_says(_store_array, (1,) * values.rank(array), dtype)
    return values.as_scalar(values.reshape(array, (), assumed=True))


def _store_array(shape: tuple[int, ...], dtype: DType) -> None:
    """Ask NumPy whether an array may be one element, and what it says if not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.zeros(1, dtype.numpy)[0] = np.ones(shape)


def _through_python(number: Value, dtype: DType) -> Value:
    """A number by way of Python's ``bool()``, ``int()``, ``float()`` or ``complex()``."""
    own = values.dtype_of_value(number)
    if own.is_complex and values.is_weak(number) and dtype.kind in "iuf":
        name, wanted = ("int", ", a bytes-like object or") if dtype.is_integer else ("float", " or")
        raise UserTypeError(f"{name}() argument must be a string{wanted} a real number, not 'complex'")
    if not dtype.is_integer or own == BOOL:
        return values.cast(number, dtype)
    if own.is_complex:  # NumPy's complex scalars drop the imaginary part
        number, own = emit("real", number), own.real
    if own.is_float:
        _check_float(number, dtype)
    else:
        check_range(number, dtype)
    return values.cast(number, dtype)


def _check_float(number: Value, dtype: DType) -> None:
    """Raise, when the program runs, what ``int()`` or the dtype has to say of a float that does not fit."""
    limits = np.iinfo(dtype.numpy)
    wide = values.cast(number, F64)

    def between(lowest: int, highest: int) -> Value:
        """Whether the float without its fraction is no less and no more."""
        exact = lowest - 1 if lowest - 1 == int(float(lowest - 1)) else lowest
        test = "greater" if exact < lowest else "greater_equal"
        enough = emit(test, wide, values.constant(float(exact), F64))
        return emit("logical_and", enough, emit("less", wide, values.constant(float(highest + 1), F64)))

    def explain() -> None:
        check_finite(wide)
        words = np.iinfo(np.int64)
        fits = between(int(words.min), max(int(words.max), int(limits.max)))
        values.check(fits, OverflowError, "Python int too large to convert to C long")
        message = f"Python integer {{}} out of bounds for {dtype.numpy}"
        values.check(values.constant(False, BOOL), OverflowError, message, values.cast(wide, I64))

    values.unless(between(int(limits.min), int(limits.max)), explain)
