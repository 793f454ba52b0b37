"""Simplification rules about shape: views of views, views that show everything, reductions over what repeats."""

from __future__ import annotations

from typing import Any

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Tensor, Type, dims_of
from jitflow.passes.rules.rewrite import Replacement, Rewriter, Rule

__all__ = ["SHAPE_RULES"]

_VIEWS = ("reshape", "transpose", "slice", "broadcast", "diagonal")
_IDEMPOTENT = (
    "reduce_maximum", "reduce_minimum", "reduce_fmax", "reduce_fmin",
    "reduce_logical_and", "reduce_logical_or", "reduce_bitwise_and", "reduce_bitwise_or",
)  # fmt: skip


def _dims(kind: Type) -> tuple[Dim, ...]:
    return kind.dims if isinstance(kind, Tensor) else ()


def _view_of_everything(op: Op, rewriter: Rewriter) -> Replacement:
    """A view that shows all elements where they are is its operand."""
    (operand,) = op.operands
    if operand.type != op.result.type:
        return None
    if op.name == "transpose":
        everything = list(op.attributes["axes"]) == sorted(op.attributes["axes"])
    elif op.name == "slice":
        everything = not any(op.attributes["starts"]) and all(step == 1 for step in op.attributes["steps"])
    else:
        everything = op.name in ("reshape", "broadcast")
    return operand if everything else None


def _assumed(*ops: Op) -> dict[str, Any]:
    return {"assumed": True} if any(op.attributes.get("assumed") for op in ops) else {}


def _transpose_transpose(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "transpose")
    if inner is None:
        return None
    axes = tuple(inner.attributes["axes"][axis] for axis in op.attributes["axes"])
    return rewriter.make("transpose", inner.operands[0], axes=axes)


def _reshape_reshape(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "reshape")
    if inner is None or not isinstance(op.result.type, Tensor):
        return None  # a place that is reshaped twice need not have one stride for both
    return rewriter.make("reshape", inner.operands[0], dims=op.attributes["dims"], **_assumed(op, inner))


def _slice_slice(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "slice")
    if inner is None:
        return None
    both = zip(inner.attributes["starts"], inner.attributes["steps"], op.attributes["starts"], strict=True)
    starts = tuple(start + step * further for start, step, further in both)
    steps = tuple(a * b for a, b in zip(inner.attributes["steps"], op.attributes["steps"], strict=True))
    return rewriter.make("slice", inner.operands[0], starts=starts, sizes=op.attributes["sizes"], steps=steps)


def _broadcast_broadcast(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "broadcast")
    if inner is None:
        return None
    axes = tuple(op.attributes["axes"][axis] for axis in inner.attributes["axes"])
    return rewriter.make(
        "broadcast", inner.operands[0], dims=op.attributes["dims"], axes=axes, **_assumed(op, inner)
    )  # fmt: skip


def _broadcast_expanded(op: Op, rewriter: Rewriter) -> Replacement:
    """A reshape that only inserts axes of size 1 is what a broadcast does by itself."""
    inner = rewriter.producer(op.operands[0], "reshape")
    if inner is None or inner.attributes.get("assumed"):
        return None
    source, target = _dims(inner.operands[0].type), inner.attributes["dims"]
    axes: list[int] = []
    for axis, dim in enumerate(target):
        if len(axes) < len(source) and source[len(axes)] == dim:
            axes.append(axis)
        elif dim != 1:
            return None
    if len(axes) != len(source) or len(source) == len(target):
        return None
    placed = tuple(op.attributes["axes"][axis] for axis in axes)
    return rewriter.make("broadcast", inner.operands[0], dims=op.attributes["dims"], axes=placed, **_assumed(op))


def _view_of_number(op: Op, rewriter: Rewriter) -> Replacement:
    """Whatever is seen of an array of one number is that number."""
    inner = rewriter.producer(op.operands[0], "broadcast")
    if inner is None or _dims(inner.operands[0].type) or not isinstance(op.result.type, Tensor):
        return None
    if op.name == "broadcast":
        return None  # a broadcast of a broadcast is one anyhow
    return rewriter.make("broadcast", inner.operands[0], dims=op.result.type.dims, axes=())


def _transpose_broadcast(op: Op, rewriter: Rewriter) -> Replacement:
    """Transposing new axes only: the broadcast puts its operand's axes, in their order, elsewhere."""
    inner = rewriter.producer(op.operands[0], "broadcast")
    if inner is None or not isinstance(op.result.type, Tensor):
        return None
    position = {axis: place for place, axis in enumerate(op.attributes["axes"])}
    axes = tuple(position[axis] for axis in inner.attributes["axes"])
    if list(axes) != sorted(axes):
        return None
    return rewriter.make("broadcast", inner.operands[0], dims=op.result.type.dims, axes=axes, **_assumed(inner))


def _starts_at_zero(op: Op) -> bool:
    """Whether NumPy starts from 0.0 here, which turns a sum of -0.0 into 0.0."""
    kind = op.operands[0].type
    return op.name == "reduce_add" and isinstance(kind, Tensor) and kind.dtype.kind in "fc"


def _reduce_nothing(op: Op, rewriter: Rewriter) -> Replacement:
    """A reduction over no axes is its operand; argmax counts and m2 squares, so not these."""
    return op.operands[0] if not op.attributes["axes"] and not _starts_at_zero(op) else None


def _reduce_single(op: Op, rewriter: Rewriter) -> Replacement:
    """Folding one element gives that element."""
    (operand,) = op.operands
    dims, axes = _dims(operand.type), op.attributes["axes"]
    assert isinstance(operand.type, Tensor)
    if _starts_at_zero(op):
        return None
    if op.name == "reduce_multiply" and operand.type.dtype.is_complex:
        return None
    if not axes or any(dims[axis] != 1 for axis in axes):
        return None
    kept = tuple(dim for axis, dim in enumerate(dims) if axis not in axes)
    return rewriter.make("reshape", operand, dims=kept)


def _reduce_repeated(op: Op, rewriter: Rewriter) -> Replacement:
    """The largest of a number that is repeated is that number, if it occurs at all."""
    inner = rewriter.producer(op.operands[0], "broadcast")
    if inner is None:
        return None
    axes, dims = op.attributes["axes"], inner.attributes["dims"]
    if set(axes) & set(inner.attributes["axes"]) or not all(rewriter.holds(dims[axis] - 1) for axis in axes):
        return None
    kept = [axis for axis in range(len(dims)) if axis not in axes]
    placed = tuple(kept.index(axis) for axis in inner.attributes["axes"])
    source = inner.operands[0]
    target = tuple(dims[axis] for axis in kept)
    if not target or (isinstance(source.type, Tensor) and source.type.dims == target):
        return source
    return rewriter.make("broadcast", source, dims=target, axes=placed, **_assumed(inner))


def _concatenate_one(op: Op, rewriter: Rewriter) -> Replacement:
    return op.operands[0] if len(op.operands) == 1 else None


def _concatenate_empty(op: Op, rewriter: Rewriter) -> Replacement:
    axis = op.attributes["axis"]
    kept: list[Value] = [operand for operand in op.operands if dims_of(operand.type)[axis] != 0]
    if not kept or len(kept) == len(op.operands):
        return None
    return rewriter.make("concatenate", *kept, axis=axis)


def _matmul_of_columns(op: Op, rewriter: Rewriter) -> Replacement:
    """One step, which is added to 0. Of complex numbers ``multiply`` has other infinities, and bools are no sums."""
    kind, left, right = op.result.type, *op.operands
    assert isinstance(kind, Tensor)
    if _dims(left.type)[-1] != 1 or kind.dtype.kind not in "fiu" or "dtype" in op.attributes:
        return None
    *batch, rows, columns = kind.dims
    axes = range(len(batch))
    column = rewriter.make("reshape", left, dims=(*batch, rows))
    row = rewriter.make("reshape", right, dims=(*batch, columns))
    column = rewriter.make("broadcast", column, dims=kind.dims, axes=(*axes, len(batch)))
    row = rewriter.make("broadcast", row, dims=kind.dims, axes=(*axes, len(batch) + 1))
    product = rewriter.make("multiply", column, row)
    return rewriter.make("add", product, rewriter.number(0, kind)) if kind.dtype.kind == "f" else product


_REDUCTIONS = (*_IDEMPOTENT, "reduce_add", "reduce_multiply", "reduce_logical_xor", "reduce_bitwise_xor")

SHAPE_RULES = (
    Rule("view_of_everything", _VIEWS, "view(x) -> x if it shows all of x in place", _view_of_everything),
    Rule("transpose_transpose", ("transpose",), "transpose(transpose(x)) -> transpose(x)",
         _transpose_transpose, ("transpose",)),
    Rule("reshape_reshape", ("reshape",), "reshape(reshape(x)) -> reshape(x)", _reshape_reshape, ("reshape",)),
    Rule("slice_slice", ("slice",), "slice(slice(x)) -> slice(x)", _slice_slice, ("slice",)),
    Rule("broadcast_broadcast", ("broadcast",), "broadcast(broadcast(x)) -> broadcast(x)",
         _broadcast_broadcast, ("broadcast",)),
    Rule("broadcast_expanded", ("broadcast",), "broadcast(x[:, None]) -> broadcast(x)",
         _broadcast_expanded, ("reshape",)),
    Rule("view_of_number", _VIEWS, "view(broadcast(number)) -> broadcast(number)", _view_of_number, ("broadcast",)),
    Rule("transpose_broadcast", ("transpose",), "transpose(broadcast(x)) -> broadcast(x)",
         _transpose_broadcast, ("broadcast",)),
    Rule("reduce_nothing", _REDUCTIONS, "reduce(x, no axes) -> x", _reduce_nothing),
    Rule("reduce_single", _REDUCTIONS, "reduce(x, axes of size 1) -> reshape(x)", _reduce_single),
    Rule("reduce_repeated", _IDEMPOTENT, "maximum(broadcast(x)) -> x", _reduce_repeated, ("broadcast",)),
    Rule("matmul_of_columns", ("matmul",), "x[:, None] @ y[None, :] -> x[:, None] * y + 0", _matmul_of_columns),
    Rule("concatenate_one", ("concatenate",), "concatenate(x) -> x", _concatenate_one),
    Rule("concatenate_empty", ("concatenate",), "concatenate(x, empty) -> concatenate(x)", _concatenate_empty),
)  # fmt: skip
