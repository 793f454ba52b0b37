"""Reductions and running accumulations along axes.

``reduce_F`` folds the axes in ``axes`` with F and drops them; over all axes it gives a NumPy scalar. The order of
folding is free within NumPy's accuracy; it is fixed for one machine, dtype and shape. None of them fails: of no
elements, those for which NumPy knows no identity give a number that gives way to all others, or position 0; where that
is a mistake, a ``check`` stands before. ``accumulate_F`` keeps every partial result along ``axis``, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.ir.dtypes import I64
from jitflow.ir.records import Attributes, OpDef, TypeRuleError
from jitflow.ir.types import Scalar, Tensor, Type

__all__ = ["NO_IDENTITY", "REDUCTION_OPS"]

NO_IDENTITY = frozenset({"maximum", "minimum", "fmax", "fmin", "argmax", "argmin"})
"""Reductions of which NumPy raises ValueError on no elements."""


def _axes_type(name: str, operand: Type, axes: tuple[int, ...]) -> Tensor:
    if not isinstance(operand, Tensor):
        raise TypeRuleError(f"{name}: expected a tensor, got {operand}")
    if list(axes) != sorted(set(axes)) or any(not 0 <= axis < operand.rank for axis in axes):
        raise TypeRuleError(f"{name}: expected increasing axes below {operand.rank}, got {list(axes)}")
    return operand


def _require_kind(name: str, operand: Tensor, kinds: str) -> None:
    if operand.dtype.kind not in kinds:
        raise TypeRuleError(f"{name}: expected a dtype of kind {'/'.join(kinds)}, got {operand.dtype.name}")


def _reduced(operand: Tensor, axes: tuple[int, ...]) -> Tensor | Scalar:
    dims = tuple(dim for axis, dim in enumerate(operand.dims) if axis not in axes)
    return Tensor(operand.dtype, dims) if dims else Scalar(operand.dtype)


def _reduce_rule(name: str, kinds: str) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    def infer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        axes = attributes["axes"]
        operand = _axes_type(name, operands[0], axes)
        _require_kind(name, operand, kinds)
        reduced = _reduced(operand, axes)
        if name in ("reduce_argmax", "reduce_argmin"):
            reduced = Tensor(I64, reduced.dims) if isinstance(reduced, Tensor) else Scalar(I64)
        return (reduced,)

    return infer


def _accumulate_rule(name: str, kinds: str) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    def infer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        operand = _axes_type(name, operands[0], (attributes["axis"],))
        _require_kind(name, operand, kinds)
        return (operand,)

    return infer


def _m2(operand: Any, axes: tuple[int, ...]) -> Any:
    wide = np.asarray(operand, dtype=np.float64)
    if wide.size == 0:
        return wide.sum(axis=axes).astype(np.asarray(operand).dtype)
    centred = wide - wide.mean(axis=axes, keepdims=True)
    return (centred * centred).sum(axis=axes).astype(np.asarray(operand).dtype)


def _arg(function: Callable[..., Any], operand: Any, axes: tuple[int, ...]) -> Any:
    kept = [axis for axis in range(operand.ndim) if axis not in axes]
    moved = np.transpose(operand, kept + list(axes))
    folded = int(np.prod([operand.shape[axis] for axis in axes], dtype=np.int64))
    return function(moved.reshape(*(operand.shape[axis] for axis in kept), folded), axis=-1)


def _reduce(name: str, kinds: str, evaluate: Callable[[Any, tuple[int, ...]], Any], doc: str) -> OpDef:
    function = name.removeprefix("reduce_")

    def run(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
        with np.errstate(all="ignore"):
            if function in NO_IDENTITY and not all(operands[0].shape[axis] for axis in attributes["axes"]):
                return _of_nothing(types[0], np.delete(operands[0].shape, attributes["axes"]), function)
            return evaluate(operands[0], attributes["axes"])

    return OpDef(name, doc, "tensor", 1, _reduce_rule(name, kinds), run, (), frozenset({"reduction"}), ("axes",))


def _of_nothing(type: Type, shape: Any, function: str) -> Any:
    """What is folded of no elements: the number that gives way to all others."""
    assert isinstance(type, Scalar | Tensor)
    dtype, lowest = type.dtype, function in ("maximum", "fmax")
    if function.startswith("arg"):
        filler: Any = 0
    elif dtype.kind == "b":
        filler = not lowest
    elif dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        filler = limits.min if lowest else limits.max
    elif function.startswith("f"):
        filler = np.nan
    else:
        filler = -np.inf if lowest else np.inf
        filler = complex(filler, filler) if dtype.is_complex else filler
    return np.full(tuple(int(size) for size in shape), filler, dtype.numpy)[()]


def _ufunc(ufunc: np.ufunc) -> Callable[[Any, tuple[int, ...]], Any]:
    return lambda operand, axes: ufunc.reduce(operand, axis=axes, dtype=np.asarray(operand).dtype)


def _accumulate(name: str, kinds: str, ufunc: np.ufunc, doc: str) -> OpDef:
    def run(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
        with np.errstate(all="ignore"):
            return ufunc.accumulate(operands[0], axis=attributes["axis"], dtype=operands[0].dtype)

    return OpDef(name, doc, "tensor", 1, _accumulate_rule(name, kinds), run, (), frozenset({"accumulation"}), ("axis",))


REDUCTION_OPS = [
    _reduce("reduce_add", "iufc", _ufunc(np.add), "sum"),
    _reduce("reduce_multiply", "iufc", _ufunc(np.multiply), "product"),
    _reduce("reduce_maximum", "biufc", _ufunc(np.maximum), "largest; nan if any is nan"),
    _reduce("reduce_minimum", "biufc", _ufunc(np.minimum), "smallest; nan if any is nan"),
    _reduce("reduce_fmax", "biuf", _ufunc(np.fmax), "largest number, nan passed over"),
    _reduce("reduce_fmin", "biuf", _ufunc(np.fmin), "smallest number, nan passed over"),
    _reduce("reduce_logical_and", "b", _ufunc(np.logical_and), "all"),
    _reduce("reduce_logical_or", "b", _ufunc(np.logical_or), "any"),
    _reduce("reduce_logical_xor", "b", _ufunc(np.logical_xor), "parity"),
    _reduce("reduce_bitwise_and", "biu", _ufunc(np.bitwise_and), "bits set in all"),
    _reduce("reduce_bitwise_or", "biu", _ufunc(np.bitwise_or), "bits set in any"),
    _reduce("reduce_bitwise_xor", "biu", _ufunc(np.bitwise_xor), "bits set an odd number of times"),
    _reduce("reduce_m2", "f", _m2, "sum of squared deviations from the mean (Chan, Golub and LeVeque 1983)"),
    _reduce("reduce_argmax", "biuf", lambda a, axes: _arg(np.argmax, a, axes), "C-order index of the first largest"),
    _reduce("reduce_argmin", "biuf", lambda a, axes: _arg(np.argmin, a, axes), "C-order index of the first smallest"),
    _accumulate("accumulate_add", "iufc", np.add, "running sum"),
    _accumulate("accumulate_multiply", "iufc", np.multiply, "running product"),
    _accumulate("accumulate_maximum", "biufc", np.maximum, "running maximum"),
    _accumulate("accumulate_minimum", "biufc", np.minimum, "running minimum"),
]
