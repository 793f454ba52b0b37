"""Reading at computed positions, and the checks that decide sizes at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.errors import exception_class
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import BOOL
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Index, Scalar, Tensor, Type, dims_of

__all__ = ["INDEXING_OPS", "axes_said"]


def _infer_gather(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    source, *indices = operands
    axis: int = attributes["axis"]
    if not isinstance(source, Tensor) or axis + len(indices) > source.rank:
        raise TypeRuleError(f"gather: expected a tensor of rank {axis + len(indices)} or more, got {source}")
    dims = next((dims_of(index) for index in indices if dims_of(index)), ())
    for index in indices:
        if not isinstance(index, Tensor | Scalar) or not index.dtype.is_integer or dims_of(index) not in ((), dims):
            raise TypeRuleError(f"gather: expected integer indices of one shape, got {index}")
    result = source.dims[:axis] + dims + source.dims[axis + len(indices) :]
    return (Tensor(source.dtype, result) if result else Scalar(source.dtype),)


def _gather(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    source, *indices = operands
    axis, mode = attributes["axis"], attributes.get("mode", "raise")
    if mode != "raise":
        sizes = source.shape[axis : axis + len(indices)]
        if 0 in sizes:  # no position can be brought into range: there is nothing to read
            found = np.broadcast_shapes(*map(np.shape, indices))
            return np.zeros(source.shape[:axis] + found + source.shape[axis + len(indices) :], source.dtype)
        fit = (lambda i, n: np.clip(i, 0, n - 1)) if mode == "clip" else np.mod
        indices = [fit(index, size) for index, size in zip(indices, sizes, strict=True)]
    return source[(slice(None),) * axis + tuple(indices)]


def axes_said(attributes: Attributes, count: int) -> Sequence[int]:
    """The ``count`` axes that a gather or scatter looks up, as its errors name them."""
    axis: int = attributes["axis"]
    said: Sequence[int] = attributes.get("said", range(axis, axis + count))
    return said


def _infer_broadcast_dims(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    if not all(isinstance(operand, Index) for operand in operands):
        raise TypeRuleError(f"broadcast_dims: expected sizes, got {', '.join(map(str, operands))}")
    return (Index(symbol(attributes["binds"])),)


def _broadcast_dims(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (size,) = np.broadcast_shapes(*((int(operand),) for operand in operands))
    return size


def _infer_check(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    condition = operands[0]
    if not isinstance(condition, Scalar) or condition.dtype != BOOL:
        raise TypeRuleError(f"check: expected a bool scalar, got {condition}")
    return ()


def _check(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    if not operands[0]:
        error = exception_class(attributes["error"])
        raise error(attributes["message"].format(*operands[1:]))
    return ()


INDEXING_OPS = [
    OpDef(
        "gather", "elements of operand 0 at integer positions on the axes from ``axis`` on, one index operand an axis; "
        "negative positions count from the end. ``mode``: ``raise`` (IndexError out of range), ``clip``, ``wrap``. "
        "``said``: the axes that an error names instead",
        "tensor", None, _infer_gather, _gather,
        lambda attributes: (Effect("check"),) if attributes.get("mode", "raise") == "raise" else (),
        frozenset({"gather"}), ("axis", "mode", "said"),
    ),
    OpDef(
        "broadcast_dims", "the size at which sizes meet: their common value, 1 giving way; ValueError where they "
        "differ. Binds the size ``binds``", "any", None, _infer_broadcast_dims, _broadcast_dims, (Effect("check"),),
        frozenset(), ("binds", "message"),
    ),
    OpDef(
        "check", "raises ``error`` with ``message`` (formatted with the other operands) unless the condition holds",
        "any", None, _infer_check, _check, (Effect("check"),), frozenset(), ("error", "message", "literal"),
    ),
]  # fmt: skip
