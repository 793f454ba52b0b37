"""The rules of ops that are not elementwise, or whose operands are treated each in its own way, for both modes.

Views and products are here, the rest in rooms of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives import accumulations, complex_numbers, draws, indexing, routines, windows
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.reductions import spread
from jitflow.passes.derivatives.rules import Arriving, Change, Part, Tangent, Transpose, given, total

__all__ = ["LINEAR", "TANGENTS", "TRANSPOSES"]

LINEAR = frozenset(
    "reshape transpose slice broadcast diagonal window concatenate reduce_add accumulate_add cast copy conjugate real "
    "imag load gather".split()
)
"""Ops whose tangent is the same op of the tangents of their operands (of the first, for ``gather``)."""


def _reshape(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    dims = dims_of(op.operands[0].type)
    return (m("reshape", given(cotangents), dims=dims, **_assumed(op)),)


def _assumed(op: Op) -> dict[str, bool]:
    return {"assumed": True} if op.attributes.get("assumed") else {}


def _transpose(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    axes = op.attributes["axes"]
    return (m("transpose", given(cotangents), axes=tuple(axes.index(axis) for axis in range(len(axes)))),)


def _broadcast(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    source, dims, axes = dims_of(op.operands[0].type), op.attributes["dims"], op.attributes["axes"]
    cotangent = given(cotangents)
    kept = {axis for axis, dim in zip(axes, source, strict=True) if dim == dims[axis] or dim != 1}
    repeated = tuple(axis for axis in range(len(dims)) if axis not in kept)
    if repeated:
        cotangent = m("reduce_add", cotangent, axes=repeated)
    if rank(cotangent) != len(source):
        return (m("reshape", cotangent, dims=source, assumed=True),)
    return (m.named(cotangent, source),)


def _part(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """Views that show a part of the elements: `slice`, `diagonal`."""
    cotangent = given(cotangents)

    def add_to(m: Notation, place: Value) -> None:
        m.increase(m(op.name, place, **dict(op.attributes)), cotangent)

    def put_in(m: Notation, place: Value) -> None:
        m.replace(m(op.name, place, **dict(op.attributes)), cotangent)

    return (Part(add_to, put_in),)


def _concatenate(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent, axis = given(cotangents), op.attributes["axis"]
    parts: list[Arriving] = []
    start = 0 * dims_of(op.result.type)[axis]
    for operand in op.operands:
        dims = dims_of(operand.type)
        starts = tuple(start if number == axis else 0 for number in range(len(dims)))
        parts.append(m("slice", cotangent, starts=starts, sizes=dims, steps=(1,) * len(dims)))
        start = start + dims[axis]
    return parts


def _reduce_add(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    return (spread(m, given(cotangents), op),)


def _matmul(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    (left, right), cotangent = op.operands, given(cotangents)
    return m("matmul", cotangent, _adjoint(m, right)), m("matmul", _adjoint(m, left), cotangent)


def _matmul_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    (left, right), (first, second) = op.operands, tangents
    parts = (first and m("matmul", first, right), second and m("matmul", left, second))
    return (total(m, parts),)


def _adjoint(m: Notation, matrix: Value) -> Value:
    """The conjugate transpose of the last two axes."""
    axes = (*range(rank(matrix) - 2), rank(matrix) - 1, rank(matrix) - 2)
    transposed = m("transpose", matrix, axes=axes)
    return m("conjugate", transposed) if dtype_of(matrix).is_complex else transposed


def _cast(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    return (m.cast(given(cotangents), dtype_of(op.operands[0])),)


def _select(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    condition, cotangent = op.operands[0], given(cotangents)
    return None, where(m, condition, cotangent, 0), where(m, condition, 0, cotangent)


def _select_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    _, yes, no = tangents
    return (where(m, op.operands[0], 0 if yes is None else yes, 0 if no is None else no),)


TRANSPOSES: dict[str, Transpose] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _part,
    "diagonal": _part,
    "gather": indexing.gather,
    "concatenate": _concatenate,
    "reduce_add": _reduce_add,
    "matmul": _matmul,
    "contract": windows.contract,
    "window": windows.windows,
    "cast": _cast,
    "select": _select,
    "host_call": routines.transpose,
    **accumulations.TRANSPOSES,
    **complex_numbers.TRANSPOSES,
    **draws.TRANSPOSES,
}

TANGENTS: dict[str, Tangent] = {
    "matmul": _matmul_tangent,
    "contract": windows.contract_tangent,
    "select": _select_tangent,
    "host_call": routines.tangent,
    **accumulations.TANGENTS,
    **complex_numbers.TANGENTS,
    **draws.TANGENTS,
}
