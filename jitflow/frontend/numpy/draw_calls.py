"""What draws from NumPy's generators have in common: arguments, shapes, and the ops of a draw or of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import new, shape_argument
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.draws import DRAWS
from jitflow.ir.dtypes import F64, DType
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.runtime.calls.calls_out import draw_by
from jitflow.runtime.generators.draws import are_native, legacy_is_native

__all__ = ["REQUIRED", "Dims", "bound", "call_method", "common_shape", "drawn", "give", "native_draw",
           "no_draws_in_batch", "require", "result_type", "size_argument", "sizes"]  # fmt: skip

Dims = tuple[Dim, ...]
REQUIRED = object()
"""Stands for the default of an argument that has none."""


def bound(name: str, signature: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method by name. Raises Python's TypeError for others than the signature has."""
    if len(args) > len(signature):
        raise UserTypeError(f"{name}() takes at most {len(signature)} positional arguments ({len(args)} given)")
    given = dict(zip(signature, args, strict=False))
    for key, item in kwargs.items():
        if key not in signature:
            raise UserTypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if key in given:
            raise UserTypeError(f"{name}() got multiple values for keyword argument '{key}'")
        given[key] = item
    for key, default in signature.items():
        if given.setdefault(key, default) is REQUIRED:
            raise UserTypeError(f"{name}() missing required argument '{key}'")
    return given


def size_argument(size: Any) -> Dims | None:
    """The dims that ``size=`` asks for; None for a number."""
    return None if size is None else shape_argument(size)


def common_shape(parameters: Sequence[Value], size: Any) -> Dims | None:
    """The dims of a draw: those that ``size`` says, to which the parameters broadcast, or those of the parameters."""
    shapes = [values.dims(parameter) for parameter in parameters]
    wanted = size_argument(size)
    if wanted is None and not any(shapes):
        return None
    common = () if wanted is None else wanted
    first = 0 if wanted is None else 1
    for number, shape in enumerate(shapes, first):
        if shape:
            common = broadcasting.common_dims([common, shape], _MISMATCH.format(number))
    if wanted is None or common == wanted:
        return common
    if len(common) != len(wanted):
        raise UserValueError(
            _TOO_SMALL.replace("{shape}", "{}").format(*map(broadcasting.shape_text, (wanted, common)))
        )
    for dim, asked in zip(common, wanted, strict=True):
        broadcasting.require_equal(asked, dim, _TOO_SMALL, [wanted, common])
    return wanted


_TOO_SMALL = "Output size {shape} is not compatible with broadcast dimensions of inputs {shape}."

_MISMATCH = (
    "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 with shape {{tuple}} "
    "and arg {} with shape {{tuple}}."
)


def sizes(dims: Dims) -> tuple[Any, ...]:
    """Dims as a call out is given them."""
    return tuple(map(tracers.size_of, dims))


# -- ops


def require(condition: Value, message: str) -> None:
    """Raise ValueError when the program runs unless a condition holds, everywhere in an array."""
    holds = tracers.lift(np.all(tracers.wrap(condition))) if values.rank(condition) else condition
    values.check(values.as_strong(holds), ValueError, message)


def give(value: Value) -> Any:
    """What the program gets: a new array, or Python's number."""
    if isinstance(value.type, Tensor):
        return new(value)
    dtype = values.dtype_of_value(value)
    return tracers.wrap(emit("cast", value, dtype=F64 if dtype.is_float else dtype, weak=True))


def drawn(generator: Any, method: str, parameters: Sequence[Value], dims: Dims | None) -> Value:
    """The op of a draw, with its parameters over the dims."""
    given = [values.as_strong(parameter) for parameter in parameters]
    if dims is None:
        return emit("draw", generator.address, *given, method=method)
    spread = [broadcasting.broadcast_to(one, dims) if values.rank(one) else one for one in given]
    return emit("draw", generator.address, *spread, method=method, dims=dims)


def no_draws_in_batch() -> UserNotImplementedError:
    """The error for what draws one number after the other where there is no order."""
    return UserNotImplementedError(
        "jitflow.vmap of a function that draws from a generator of NumPy's or Python's",
        mend="draw from a jitflow.random.Generator, of which each example gets numbers of its own; or draw an array "
        "before, and map over it",
    )


def result_type(dtype: DType, dims: Dims | None) -> Type:
    """The type of what a method of a generator gives."""
    return Scalar(dtype, weak=True) if dims is None else Tensor(dtype, dims)


def call_method(generator: Any, name: str, types: Sequence[Type], *args: Any, **kwargs: Any) -> tuple[Value, ...]:
    """Call the generator's own method when the program comes here."""
    trace = current_trace()
    if trace.is_batched:
        raise no_draws_in_batch()

    return call_out(trace, partial(draw_by, name), name, (generator.handle, *args), kwargs, types)


def native_draw(generator: Any, name: str) -> str:
    """The row of the draw by which compiled code does what a method does; empty where it calls the method."""
    row = name if generator.is_new else f"legacy_{name}"
    if row not in DRAWS:
        return ""
    is_native = are_native() if generator.is_new else legacy_is_native(row)
    return row if is_native else ""
