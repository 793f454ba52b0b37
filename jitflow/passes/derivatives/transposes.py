"""The reverse rules of ops that are not elementwise, or whose operands are treated each in its own way.

A rule takes the cotangents of an op's results, None where a result does not matter, and gives for each operand what
arrives there: a cotangent, None, or a `Part`, which knows how to add itself to the cotangent of a larger array without
making one as large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank

__all__ = ["LINEAR", "TRANSPOSES", "Arriving", "Part", "Transpose"]


@dataclass(frozen=True, eq=False)
class Part:
    """What arrives at some elements of an operand: ``add_to(m, place)`` adds it to storage of the operand's type."""

    add_to: Callable[[Notation, Value], None]


Arriving = Value | Part | None
Transpose = Callable[[Notation, Op, Sequence[Value | None]], Sequence[Arriving]]

LINEAR = frozenset(
    "reshape transpose slice broadcast diagonal concatenate reduce_add accumulate_add cast copy conjugate real imag "
    "load gather".split()
)
"""Ops whose tangent is the same op of the tangents of their operands (of the first, for ``gather``)."""


def _given(cotangents: Sequence[Value | None]) -> Value:
    (cotangent,) = cotangents
    assert cotangent is not None
    return cotangent


def _reshape(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    dims = dims_of(op.operands[0].type)
    return (m("reshape", _given(cotangents), dims=dims, **_assumed(op)),)


def _assumed(op: Op) -> dict[str, bool]:
    return {"assumed": True} if op.attributes.get("assumed") else {}


def _transpose(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    axes = op.attributes["axes"]
    return (m("transpose", _given(cotangents), axes=tuple(axes.index(axis) for axis in range(len(axes)))),)


def _broadcast(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    source, dims, axes = dims_of(op.operands[0].type), op.attributes["dims"], op.attributes["axes"]
    cotangent = _given(cotangents)
    kept = {axis for axis, dim in zip(axes, source, strict=True) if dim == dims[axis] or dim != 1}
    repeated = tuple(axis for axis in range(len(dims)) if axis not in kept)
    if repeated:
        cotangent = m("reduce_add", cotangent, axes=repeated)
    if rank(cotangent) != len(source):
        return (m("reshape", cotangent, dims=source, assumed=True),)
    return (m.named(cotangent, source),)


def _part(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    """Views that show a part of the elements: `slice`, `diagonal`."""
    cotangent = _given(cotangents)

    def add_to(m: Notation, place: Value) -> None:
        m.increase(m(op.name, place, **dict(op.attributes)), cotangent)

    return (Part(add_to),)


def _gather(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    cotangent, (_, *indices) = _given(cotangents), op.operands

    def add_to(m: Notation, place: Value) -> None:
        m.add("scatter", place, *indices, cotangent, axis=op.attributes["axis"], combine="add")

    return (Part(add_to), *(None for _ in indices))


def _concatenate(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    cotangent, axis = _given(cotangents), op.attributes["axis"]
    parts: list[Arriving] = []
    start = 0 * dims_of(op.result.type)[axis]
    for operand in op.operands:
        dims = dims_of(operand.type)
        starts = tuple(start if number == axis else 0 for number in range(len(dims)))
        parts.append(m("slice", cotangent, starts=starts, sizes=dims, steps=(1,) * len(dims)))
        start = start + dims[axis]
    return parts


def _spread(m: Notation, cotangent: Value, op: Op) -> Value:
    """A cotangent of a reduction's result, repeated along the axes that it folded."""
    dims, axes = dims_of(op.operands[0].type), op.attributes["axes"]
    return m("broadcast", cotangent, dims=dims, axes=tuple(axis for axis in range(len(dims)) if axis not in axes))


def _reduce_add(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    return (_spread(m, _given(cotangents), op),)


def _matmul(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    (left, right), cotangent = op.operands, _given(cotangents)
    return m("matmul", cotangent, _adjoint(m, right)), m("matmul", _adjoint(m, left), cotangent)


def _adjoint(m: Notation, matrix: Value) -> Value:
    """The conjugate transpose of the last two axes."""
    axes = (*range(rank(matrix) - 2), rank(matrix) - 1, rank(matrix) - 2)
    transposed = m("transpose", matrix, axes=axes)
    return m("conjugate", transposed) if dtype_of(matrix).is_complex else transposed


def _cast(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    return (m.cast(_given(cotangents), dtype_of(op.operands[0])),)


def _select(m: Notation, op: Op, cotangents: Sequence[Value | None]) -> Sequence[Arriving]:
    condition, cotangent = op.operands[0], _given(cotangents)
    if rank(condition) and not rank(cotangent):
        cotangent = m("broadcast", cotangent, dims=dims_of(condition.type), axes=())
    zero = m.number(0, dtype_of(cotangent))
    return None, m("select", condition, cotangent, zero), m("select", condition, zero, cotangent)


TRANSPOSES: dict[str, Transpose] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _part,
    "diagonal": _part,
    "gather": _gather,
    "concatenate": _concatenate,
    "reduce_add": _reduce_add,
    "matmul": _matmul,
    "cast": _cast,
    "select": _select,
}
