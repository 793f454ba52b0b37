"""From what a program passes to IR values, and from IR values to tracers."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from jitflow.errors import CompilerBug, UserNotImplementedError, UserOverflowError, UserTypeError
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.frontend.tracers.base import Tracer, located
from jitflow.frontend.tracers.scalar import NumberTracer, ScalarTracer
from jitflow.frontend.tracers.size import SizeTracer, size_of
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType, dtype_of
from jitflow.ir.types import Index, Scalar, Tensor
from jitflow.remote import Remote

__all__ = ["constant", "element_type", "known_key", "lift", "type_of", "wrap"]

LARGEST_LITERAL = 64
"""Elements of an array built while tracing that may become a constant in the code."""


def wrap(value: Value, *, owned: bool | None = None) -> Any:
    """The tracer of an IR value.

    ``owned`` says that the program holds this array alone: a new array, not a view. By default that is so unless the
    value is a parameter or came from a view op. A copy, whose value may be its operand's, says True.
    """
    kind = value.type
    if isinstance(kind, Tensor):
        trace = current_trace()
        storage = trace.storage
        if not owned:
            storage.show(value)
        else:
            storage.hold(value)
        return ArrayTracer(value, trace, owned=storage.is_new_array(value) if owned is None else owned)
    if isinstance(kind, Scalar):
        return NumberTracer(value) if kind.weak else ScalarTracer(value)
    if isinstance(kind, Index) and kind.dim is not None:
        return size_of(kind.dim)
    raise CompilerBug(f"no tracer stands for a value of type {kind}", pass_name="trace")


def lift(operand: Any) -> Value:
    """The IR value of an operand: a tracer, an array, a Python number or a NumPy scalar.

    Arrays built while tracing become constants if they have up to `LARGEST_LITERAL` elements, else inputs.
    Raises `UserTypeError` for anything else.
    """
    if isinstance(operand, Tracer):
        return operand.value
    kind = type(operand)
    if kind is bool:
        return constant(operand, Scalar(BOOL, True))
    if kind is int:
        if not -(1 << 63) <= operand < 1 << 63:
            raise located(
                UserOverflowError("Python int too large to convert to C long", found=_int_text(operand),
                                  mend="Python ints are 64 bits wide in compiled code; use a float")
            )  # fmt: skip
        return constant(operand, Scalar(I64, True))
    if kind is float:
        return constant(operand, Scalar(F64, True))
    if kind is complex:
        return constant(operand, Scalar(C128, True))
    if isinstance(operand, np.generic):
        return constant(operand.item(), Scalar(element_type(operand.dtype)))
    if kind is np.ndarray:
        return _literal(operand)
    if isinstance(operand, int):  # an IntEnum
        return lift(int(operand))
    if isinstance(operand, list | tuple):
        return _literal_sequence(operand)
    if isinstance(operand, Remote):
        return cast(Value, operand[...].value)
    raise located(
        UserTypeError(
            f"expected an array or a number, got {article(kind.__name__)}",
            mend="convert it with np.asarray outside the compiled function",
        )
    )


def _int_text(number: int) -> str:
    """An int in a message; Python refuses to write those of thousands of digits."""
    return str(number) if number.bit_length() < 512 else f"an int of {number.bit_length()} bits"


def constant(number: Any, kind: Scalar | Tensor) -> Value:
    """A constant of the IR: a number, or nested tuples of numbers for a tensor."""
    return current_trace().make("constant", value=number, type=kind)


def type_of(operand: Any) -> Tensor | Scalar:
    """The type that `lift` would give, without recording a constant."""
    if isinstance(operand, SizeTracer):
        return Scalar(I64, True)
    if isinstance(operand, ArrayTracer):
        return operand.type
    if isinstance(operand, ScalarTracer):
        return operand.type
    if isinstance(operand, Tracer):
        type_ = operand.value.type
        assert isinstance(type_, Tensor | Scalar)
        return type_
    if isinstance(operand, np.generic):
        return Scalar(element_type(operand.dtype))
    if type(operand) is np.ndarray:
        return Tensor(element_type(operand.dtype), operand.shape)
    for python_type, dtype in ((bool, BOOL), (int, I64), (float, F64), (complex, C128)):
        if isinstance(operand, python_type):
            return Scalar(dtype, True)
    type_ = lift(operand).type
    assert isinstance(type_, Tensor | Scalar)
    return type_


def known_key(key: Any) -> Any:
    """A key of a dict with the numbers in it known, each of its own type. Raises where only the run knows one."""
    if type(key) in (tuple, frozenset):
        return type(key)(map(known_key, key))
    if not isinstance(key, Tracer):
        return key
    hash(key)  # raises, or asks for the number
    number: Any = key
    return number.__class__(int(number))


def element_type(dtype: np.dtype[Any]) -> DType:
    """The element type of a NumPy dtype. Raises `UserTypeError` where jitflow has none."""
    found = dtype_of(dtype)
    if found is None:
        raise located(
            UserTypeError(
                f"arrays of dtype {dtype} are not compiled",
                expected="bool, integers, floats up to 64 bits and complex numbers, in native byte order",
                mend="convert the array with .astype(...) before the call",
            )
        )
    return found


def _literal(array: np.ndarray[Any, Any]) -> Value:
    dtype = element_type(array.dtype)
    capture = current_trace().capture
    if array.size > LARGEST_LITERAL and capture is not None:
        return current_trace().make("copy", capture(array))
    if array.size > LARGEST_LITERAL:
        raise located(
            UserNotImplementedError(
                f"an array of {array.size} elements was computed while tracing",
                found=f"an array of shape {array.shape} that depends on no traced value",
                expected=f"at most {LARGEST_LITERAL} elements, which become constants of the code",
                mend="compute it before the call and pass it as an argument, or keep it in a global variable",
            )
        )
    return constant(_tuples(array.tolist()), Tensor(dtype, array.shape))


def _literal_sequence(items: list[Any] | tuple[Any, ...]) -> Value:
    if any(isinstance(item, Tracer | list | tuple) for item in items):
        return cast(Value, surface.array_of(items))
    array = np.asarray(items)
    if array.dtype.kind not in "biufc":
        found = f"{article(type(items).__name__)} of dtype {array.dtype}"
        raise located(UserTypeError("expected numbers", found=found, mend="make arrays of numbers alone"))
    return _literal(array)


def _tuples(items: Any) -> Any:
    return tuple(_tuples(item) for item in items) if isinstance(items, list) else items


def article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
