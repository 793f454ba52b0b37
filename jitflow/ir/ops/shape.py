"""Ops that make arrays or show the same elements in another shape.

View ops (trait ``view``) move no data by themselves: fusion folds them into the addresses of loads, and a view on an
argument that is returned is a view. The same rows act on places (``view ops on a var give places``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitflow.errors import CompilerBug
from jitflow.ir.dims import Dim, product
from jitflow.ir.records import Attributes, OpDef, TypeRuleError
from jitflow.ir.types import Index, Place, Scalar, Tensor, Type, Variable, dims_of

__all__ = ["SHAPE_OPS", "show_windows"]

_VIEW = frozenset({"view"})
_CREATION = frozenset({"creation"})


def _view(operand: Type, dims: tuple[Dim, ...], name: str) -> Type:
    if isinstance(operand, Variable | Place):
        return Place(operand.dtype, dims)
    if isinstance(operand, Tensor | Scalar):
        return Tensor(operand.dtype, dims)
    raise TypeRuleError(f"{name}: expected a tensor or a place, got {operand}")


def _infer_reshape(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dims = attributes["dims"]
    if product(dims_of(operands[0])) != product(dims) and not attributes.get("assumed"):
        raise TypeRuleError(f"reshape: expected as many elements as {operands[0]} has, got {list(dims)}")
    return (_view(operands[0], dims, "reshape"),)


def _infer_transpose(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dims, axes = dims_of(operands[0]), attributes["axes"]
    if sorted(axes) != list(range(len(dims))):
        raise TypeRuleError(f"transpose: expected a permutation of {len(dims)} axes, got {list(axes)}")
    return (_view(operands[0], tuple(dims[axis] for axis in axes), "transpose"),)


def _infer_slice(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    starts, sizes, steps = attributes["starts"], attributes["sizes"], attributes["steps"]
    if not len(starts) == len(sizes) == len(steps) == len(dims_of(operands[0])):
        raise TypeRuleError(f"slice: expected a start, size and step per axis of {operands[0]}")
    return (_view(operands[0], sizes, "slice"),)


def _infer_broadcast(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dims, axes = attributes["dims"], attributes["axes"]
    source = dims_of(operands[0])
    if len(axes) != len(source) or list(axes) != sorted(set(axes)):
        raise TypeRuleError(f"broadcast: expected an increasing target axis per axis of {operands[0]}, got {axes}")
    for axis, dim in zip(axes, source, strict=True):
        if dim not in (1, dims[axis]) and not attributes.get("assumed"):
            raise TypeRuleError(f"broadcast: expected size 1 or {dims[axis]} for axis {axis}, got {dim}")
    return (_view(operands[0], dims, "broadcast"),)


def _infer_diagonal(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dims, (first, second) = dims_of(operands[0]), attributes["axes"]
    kept = tuple(dim for axis, dim in enumerate(dims) if axis not in (first, second))
    return (_view(operands[0], (*kept, attributes["size"]), "diagonal"),)


def _infer_window(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dims, axes = list(dims_of(operands[0])), attributes["axes"]
    if len({len(attributes[name]) for name in ("axes", "counts", "sizes", "steps", "dilations")}) != 1:
        raise TypeRuleError("window: expected a count, size, step and dilation per axis")
    if len(set(axes)) != len(axes) or not set(axes) <= set(range(len(dims))):
        raise TypeRuleError(f"window: expected different axes of {operands[0]}, got {list(axes)}")
    for axis, count in zip(axes, attributes["counts"], strict=True):
        dims[axis] = count
    return (_view(operands[0], (*dims, *attributes["sizes"]), "window"),)


def _infer_concatenate(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    axis, first = attributes["axis"], operands[0]
    if not isinstance(first, Tensor):
        raise TypeRuleError(f"concatenate: expected tensors, got {first}")
    total: Dim = 0
    for operand in operands:
        if not isinstance(operand, Tensor) or operand.dtype != first.dtype or operand.rank != first.rank:
            raise TypeRuleError(f"concatenate: expected tensors like {first}, got {operand}")
        if operand.dims[:axis] + operand.dims[axis + 1 :] != first.dims[:axis] + first.dims[axis + 1 :]:
            raise TypeRuleError(f"concatenate: expected equal dims beside axis {axis}, got {first} and {operand}")
        total = total + operand.dims[axis]
    return (Tensor(first.dtype, (*first.dims[:axis], total, *first.dims[axis + 1 :])),)


def _infer_constant(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    type: Type = attributes["type"]
    return (type,)


def _infer_iota(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Tensor(attributes["dtype"], attributes["dims"]),)


def _infer_size(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Index(attributes["dim"]),)


# Evaluation gets attributes whose dims the interpreter has already turned into numbers.


def _slice(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (operand,) = operands
    index = []
    for start, size, step in zip(attributes["starts"], attributes["sizes"], attributes["steps"], strict=True):
        stop = start + size * step
        index.append(slice(0, 0) if size == 0 else slice(start, None if stop < 0 else stop, step))
    return operand[tuple(index)]


def _broadcast(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    operand = np.asarray(operands[0])
    if operand.shape == tuple(attributes["dims"]):  # the sizes have other names: what was writeable stays so
        return operand
    shape = [1] * len(attributes["dims"])
    for axis, size in zip(attributes["axes"], operand.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(operand.reshape(shape), attributes["dims"])


def _diagonal(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    first, second = attributes["axes"]
    diagonal = np.diagonal(operands[0], attributes["offset"], first, second)
    diagonal.flags.writeable = np.asarray(operands[0]).flags.writeable  # NumPy's own promise to come
    return diagonal


def show_windows(operand: Any, attributes: Attributes) -> Any:
    """Windows of an array, as a view that cannot be written through."""
    dims, strides, inner = list(operand.shape), list(operand.strides), []
    names = ("axes", "counts", "sizes", "steps", "dilations")
    for axis, count, size, step, dilation in zip(*(attributes[name] for name in names), strict=True):
        if count and size and (count - 1) * step + (size - 1) * dilation >= dims[axis]:
            raise CompilerBug(f"window: expected windows within {dims[axis]} elements, got {count} of {size}")
        dims[axis], strides[axis] = count, operand.strides[axis] * step
        inner.append((size, operand.strides[axis] * dilation))
    shape = (*dims, *(size for size, _ in inner))
    return as_strided(operand, shape, (*strides, *(stride for _, stride in inner)), writeable=False)


def _constant(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    type = attributes["type"]
    if isinstance(type, Index):
        return attributes["value"]
    found: Any = np.asarray(attributes["value"], dtype=type.dtype.numpy)
    return (found if found.size else found.reshape(dims_of(type)))[()]  # nested lists of nothing have lost their shape


def _iota(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    dims, axis = attributes["dims"], attributes["axis"]
    shape = [1] * len(dims)
    shape[axis] = dims[axis]
    line = np.arange(dims[axis], dtype=np.int64).reshape(shape)
    return np.broadcast_to(line, dims).astype(attributes["dtype"].numpy)


SHAPE_OPS = [
    OpDef(
        "reshape", "the same elements in C order with other dims. ``owned``: nothing else shows the operand, which was "
        "made for this array", "tensor", 1, _infer_reshape,
        lambda operands, attributes, types: np.reshape(operands[0], attributes["dims"]), (), _VIEW,
        ("dims", "assumed", "owned"),
    ),
    OpDef(
        "transpose", "axes in another order: result axis k is operand axis ``axes[k]``", "tensor", 1, _infer_transpose,
        lambda operands, attributes, types: np.transpose(operands[0], attributes["axes"]), (), _VIEW, ("axes",),
    ),
    OpDef(
        "slice", "along each axis ``sizes`` elements from ``starts`` in ``steps``; bounds are already clamped",
        "tensor", 1, _infer_slice, _slice, (), _VIEW, ("starts", "sizes", "steps"),
    ),
    OpDef(
        "broadcast", "operand axis k becomes axis ``axes[k]`` of ``dims``; size 1 and new axes repeat. ``assumed``: "
        "checked at run time", "tensor", 1, _infer_broadcast, _broadcast, (), _VIEW, ("dims", "axes", "assumed"),
    ),
    OpDef(
        "diagonal", "elements whose indices on two axes differ by ``offset``, as a new last axis of ``size``",
        "tensor", 1, _infer_diagonal, _diagonal, (), _VIEW, ("axes", "offset", "size"),
    ),
    OpDef(
        "window", "along each of ``axes`` so many windows (``counts``), ``steps`` apart: their elements, so many "
        "(``sizes``), ``dilations`` apart, are new last axes. Elements are shown several times, so nothing is stored "
        "through one", "tensor", 1, _infer_window,
        lambda operands, attributes, types: show_windows(operands[0], attributes), (), _VIEW,
        ("axes", "counts", "sizes", "steps", "dilations"),
    ),
    OpDef(
        "concatenate", "operands one after the other along ``axis``", "tensor", None, _infer_concatenate,
        lambda operands, attributes, types: np.concatenate(operands, attributes["axis"]), (), frozenset(), ("axis",),
    ),
    OpDef(
        "constant", "a number, or a small array given as nested tuples", "any", 0, _infer_constant, _constant, (),
        _CREATION, ("value", "type"),
    ),
    OpDef(
        "iota", "each element's index along ``axis``", "tensor", 0, _infer_iota, _iota, (), _CREATION,
        ("dtype", "dims", "axis"),
    ),
    OpDef(
        "size", "a dim as a value", "any", 0, _infer_size,
        lambda operands, attributes, types: attributes["dim"], (), _CREATION, ("dim",),
    ),
]  # fmt: skip
