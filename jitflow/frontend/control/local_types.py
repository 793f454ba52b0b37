"""What a local may be where paths of a program meet: one type for numbers and arrays of several.

Python numbers stay Python numbers among themselves; with anything else NumPy's promotion decides, as if the value of
one path met the value of the other in an operation. A number that meets an array becomes an array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType, dtype_of
from jitflow.ir.types import Container, Scalar, Tensor

__all__ = ["Kind", "closed", "converted", "join", "kind_of", "placeholder", "renamed"]

Kind = Scalar | Tensor
_WEAK_ORDER = (BOOL, I64, F64, C128)
_EXAMPLES: dict[DType, Any] = {BOOL: True, I64: 0, F64: 0.0, C128: 0j}


def kind_of(thing: Any) -> Kind | None:
    """The type of a number or array of the program, or of a type itself; None for everything else."""
    if type(thing) is tracers.Alternatives:
        return None
    if isinstance(thing, Scalar | Tensor):
        return thing
    if isinstance(thing, tracers.Tracer) or type(thing) in (bool, int, float, complex, np.ndarray):
        return tracers.type_of(thing)
    return tracers.type_of(thing) if isinstance(thing, np.generic) else None


def join(first: Kind, second: Kind, fresh: Callable[[], Dim]) -> Kind:
    """The type of a local that is of one type or the other. ``fresh`` makes a size for those that differ.

    Raises `UserTypeError` where there is none: arrays of different ranks.
    """
    if first == second:
        return first
    if isinstance(first, Container) or isinstance(second, Container):
        raise UserTypeError(
            "a container of one type on one path and something else on another",
            found=f"{first} and {second}",
            mend="use two names, or put items of one type into both",
        )
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return _join_numbers(first, second)
    dims = [kind.dims for kind in (first, second) if isinstance(kind, Tensor)]
    dtype = _promoted(first, second)
    if len(dims) == 1:
        return Tensor(dtype, dims[0]) if dims[0] else Scalar(dtype)
    if len(dims[0]) != len(dims[1]):
        raise UserTypeError(
            f"an array of {_axes(dims[0])} on one path and of {_axes(dims[1])} on another",
            found=f"{first} and {second}",
            mend="use two names, or give both arrays the same number of axes",
        )
    same_size = partial(current_trace().are_one_size, reason="arrays that take each other's place")
    return Tensor(dtype, tuple(one if same_size(one, other) else fresh() for one, other in zip(*dims, strict=True)))


def _axes(dims: tuple[Dim, ...]) -> str:
    return "1 axis" if len(dims) == 1 else f"{len(dims)} axes"


def _join_numbers(first: Scalar, second: Scalar) -> Scalar:
    if first.weak and second.weak:
        return Scalar(max(first.dtype, second.dtype, key=_WEAK_ORDER.index), True)
    return Scalar(_promoted(first, second))


def _promoted(*kinds: Kind) -> DType:
    samples = [_EXAMPLES[kind.dtype] if isinstance(kind, Scalar) and kind.weak else kind.dtype.numpy for kind in kinds]
    found = dtype_of(np.result_type(*samples))
    assert found is not None
    return found


def converted(thing: Any, kind: Kind) -> Value:
    """The value of a number or array as one of type ``kind``; sizes that ``kind`` leaves open stay what they are."""
    value = tracers.lift(thing)
    if isinstance(kind, Scalar):
        return as_weak(value, kind.dtype) if kind.weak else values.cast(values.as_scalar(value), kind.dtype)
    return renamed(values.as_array(values.cast(value, kind.dtype)), kind)


def renamed(value: Value, kind: Tensor) -> Value:
    """A value or place with the sizes of ``kind`` where they are other names of its own."""
    trace = current_trace()
    dims = tuple(
        wanted if trace.known(dim, "==", wanted) else dim
        for dim, wanted in zip(values.dims(value), kind.dims, strict=True)
    )
    if dims == values.dims(value):
        return value
    return values.emit("broadcast", value, dims=dims, axes=tuple(range(len(dims))), assumed=True)


def placeholder(trace: Trace, kind: Kind) -> Value:
    """Some value of a type, for a path on which the local is not bound: nobody reads it."""
    if isinstance(kind, Container):
        return trace.make("no_container", type=kind)
    number = trace.make("constant", value=_EXAMPLES[_own(kind.dtype)], type=Scalar(kind.dtype))
    if isinstance(kind, Scalar):
        return as_weak(number, kind.dtype) if kind.weak else number
    return values.fill(number, closed(trace, kind))


def closed(trace: Trace, kind: Tensor) -> tuple[Dim, ...]:
    """The sizes of a placeholder: 0 for those that are bound where the local is bound, and nowhere else."""
    visible = trace.is_visible_in(trace.scope)
    return tuple(dim if visible(dim) else 0 for dim in kind.dims)


def _own(dtype: DType) -> DType:
    return {"b": BOOL, "i": I64, "u": I64, "f": F64, "c": C128}[dtype.kind]
