"""Sums of products that become matrix products.

A vector of an example times a matrix is a product of elements and a sum, which fuse. All examples of the vector are
the rows of a matrix; where the other matrix is the same for all of them, this is one product of two matrices.

    %0: f64[m, k] = broadcast %x                            %y: f64[n, m] = matmul %xs, %w
    %1: f64[m, k] = multiply %0, (transpose %w)      ->
    %y: f64[m] = reduce_add %1 {axes=[1]}
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.batching.examples import Examples
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank

__all__ = ["product_of_matrices"]

_DTYPES = ("f32", "f64", "c64", "c128")
_EXAMPLE = -1
"""The label of the axis of the examples; the others are the axes of the product of elements."""

Labels = tuple[int | None, ...]


@dataclass(frozen=True)
class _Factor:
    """An array, with the axis of the product that each of its axes is; None for one that repeats."""

    value: Value
    labels: Labels


def product_of_matrices(e: Examples, op: Op) -> Value | None:
    """All examples of a sum, if they are a product of two matrices; None if not."""
    multiplied = e.producers.get(op.operands[0])
    if multiplied is None or multiplied.name != "multiply" or dtype_of(op.result).name not in _DTYPES:
        return None
    dims = dims_of(multiplied.result.type)
    left, right = (_factor(e, operand, tuple(range(rank(operand)))) for operand in multiplied.operands)
    if (left.value in e.varying) == (right.value in e.varying):
        return None
    if right.value in e.varying:
        left, right = right, left
    if left.value not in e.made:
        return None
    left = _Factor(e.made[left.value], (_EXAMPLE, *left.labels))
    summed = op.attributes["axes"]
    kept = (_EXAMPLE, *(axis for axis in range(len(dims)) if axis not in summed))
    sizes = {_EXAMPLE: e.count, **dict(enumerate(dims))}
    return _multiplied(e.m, left, right, tuple(summed), kept, sizes)


def _factor(e: Examples, value: Value, axes: tuple[int, ...]) -> _Factor:
    """What a factor shows, behind transposes and repetitions."""
    labels: Labels = axes
    while isinstance(value.type, Tensor) and (op := e.producers.get(value)) is not None:
        operand = op.operands[0] if op.operands else None
        if op.name == "transpose":
            inverse = dict(zip(op.attributes["axes"], labels, strict=True))
            labels = tuple(inverse[axis] for axis in range(len(inverse)))
        elif op.name == "broadcast" and operand is not None and isinstance(operand.type, Tensor):
            wanted = op.attributes["dims"]
            labels = tuple(
                labels[axis] if dim == wanted[axis] or dim != 1 else None  # which may be a size by another name
                for axis, dim in zip(op.attributes["axes"], dims_of(operand.type), strict=True)
            )
        elif op.name == "reshape" and operand is not None and isinstance(operand.type, Tensor):
            own = [dim for dim in dims_of(operand.type) if dim != 1]
            if own != [dim for dim in dims_of(value.type) if dim != 1]:
                break
            rest = iter(label for label, dim in zip(labels, dims_of(value.type), strict=True) if dim != 1)
            labels = tuple(None if dim == 1 else next(rest) for dim in dims_of(operand.type))
        else:
            break
        assert operand is not None
        value = operand
    return _Factor(value, labels)


def _multiplied(
    m: Notation, left: _Factor, right: _Factor, summed: tuple[int, ...], kept: tuple[int, ...], sizes: dict[int, Dim]
) -> Value | None:
    shared = [label for label in left.labels if label is not None and label in right.labels]
    batch = [label for label in shared if label in kept]
    rows = [label for label in left.labels if label is not None and label not in shared]
    columns = [label for label in right.labels if label is not None and label not in shared]
    if {label for label in shared if label not in kept} != set(summed) or not columns:
        return None
    if set(batch + rows + columns) != set(kept):
        return None

    def matrix(factor: _Factor, *groups: list[int]) -> Value:
        order = [label for group in (batch, *groups) for label in group]
        places = [factor.labels.index(label) for label in order]
        places += [axis for axis in range(len(factor.labels)) if factor.labels[axis] is None]
        own = zip(factor.labels, dims_of(factor.value.type), strict=True)
        value = m.named(factor.value, tuple(dim if label is None else sizes[label] for label, dim in own))
        value = m("transpose", value, axes=tuple(places))
        dims = (*(sizes[label] for label in batch), *(product([sizes[label] for label in group]) for group in groups))
        return m("reshape", value, dims=dims, assumed=True)

    found = m("matmul", matrix(left, rows, list(summed)), matrix(right, list(summed), columns))
    order = [*batch, *rows, *columns]
    found = m("reshape", found, dims=tuple(sizes[label] for label in order), assumed=True)
    return m("transpose", found, axes=tuple(order.index(label) for label in kept))
