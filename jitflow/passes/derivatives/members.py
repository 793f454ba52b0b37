"""Rules of routines whose results are elements of their operands: each element's derivative goes where it went.

All elements of the operands are numbered, and a second call, of the numbers, says where each element of the result
comes from (`numpy.insert`). Where the elements themselves decide which of them are taken (sets), they are looked for
among those in order. Of equal elements the first one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, no_rule

__all__ = ["TANGENTS", "TRANSPOSES"]

Members = Callable[[Notation, Op], tuple[tuple[int, ...], Value]]
"""Which operands of an op its first result is made of, and the number of each element of it among all of theirs."""


_NONE: Dim = 0


def _line(m: Notation, value: Value) -> Value:
    """All elements in a line."""
    return value if rank(value) == 1 else m("reshape", value, dims=(product(dims_of(value.type)),))


def _joined(m: Notation, parts: Sequence[Value]) -> Value:
    return parts[0] if len(parts) == 1 else m("concatenate", *parts, axis=0)


def _inserted(m: Notation, op: Op) -> tuple[tuple[int, ...], Value]:
    """What `numpy.insert` makes of the numbers."""
    keys = [*op.attributes["keywords"], *[""] * len(op.operands)]
    sources = (0, keys.index("values"))
    operands, start = list(op.operands), m.number(0, I64)
    for place in sources:
        dims = dims_of(operands[place].type)
        count = product(dims)
        numbers = m("add", m("iota", dtype=I64, dims=(count,), axis=0), start)
        operands[place] = numbers if len(dims) == 1 else m("reshape", numbers, dims=dims)
        start = m("add", start, m("cast", m.size(count), dtype=I64))
    (found,) = m.add(
        "host_call", *operands, types=(Tensor(I64, dims_of(op.results[0].type)),), routine=op.attributes["routine"],
        keywords=op.attributes["keywords"], options=op.attributes["options"], effect=op.attributes["effect"],
    )  # fmt: skip
    return sources, found


def _among(*sources: int) -> Members:
    """Elements that are taken for what they are."""

    def members(m: Notation, op: Op) -> tuple[tuple[int, ...], Value]:
        if dict(op.attributes["options"]).get("axis") is not None:
            raise no_rule(op, "leave out axis=, or find the rows with return_index=True and read them")
        result = op.results[0]
        line = _joined(m, [_line(m, m.cast(op.operands[place], dtype_of(result))) for place in sources])
        (order,) = m.add(
            "host_call", line, types=(Tensor(I64, dims_of(line.type)),), routine="numpy.argsort", keywords=(),
            options=(("kind", "stable"),), effect="none",
        )  # fmt: skip
        (places,) = m.add(
            "host_call", m("gather", line, order, axis=0), result, types=(Tensor(I64, dims_of(result.type)),),
            routine="numpy.searchsorted", keywords=(), options=(), effect="none",
        )  # fmt: skip
        return sources, m("gather", order, places, axis=0, mode="clip")

    return members


def _trimmed(m: Notation, op: Op) -> tuple[tuple[int, ...], Value]:
    """The elements between the first and the last that are not 0."""
    (array,), options = op.operands, dict(op.attributes["options"])
    if rank(array) != 1:
        raise no_rule(op)
    numbers = m("iota", dtype=I64, dims=dims_of(op.result.type), axis=0)
    if "f" not in options["trim"].lower():
        return (0,), numbers
    leading = m("accumulate_multiply", m("cast", m("equal", array, 0), dtype=I64), axis=0)
    return (0,), m("add", numbers, m("reduce_add", leading, axes=(0,)))


def _transpose(members: Members) -> Transpose:
    def rule(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
        cotangent = cotangents[0]
        arriving: list[Arriving] = [None for _ in op.operands]
        if cotangent is None:
            return arriving
        sources, numbers = members(m, op)
        counts = [product(dims_of(op.operands[place].type)) for place in sources]
        memory = m("variable", m.zeros(Tensor(dtype_of(cotangent), (sum(counts, start=_NONE),))))
        m.add("scatter", memory, _line(m, numbers), _line(m, cotangent), axis=0, combine="add", gradient=True)
        found, start = m("load", memory), _NONE
        for place, count in zip(sources, counts, strict=True):
            dims = dims_of(op.operands[place].type)
            part = m("slice", found, starts=(start,), sizes=(count,), steps=(1,))
            arriving[place] = part if len(dims) == 1 else m("reshape", part, dims=dims)
            start = start + count
        return arriving

    return rule


def _tangent(members: Members) -> Tangent:
    def rule(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
        sources, numbers = members(m, op)
        result = op.results[0]
        parts = [
            m.zeros(op.operands[place].type) if (tangent := tangents[place]) is None else tangent for place in sources
        ]
        line = _joined(m, [_line(m, m.cast(part, dtype_of(result))) for part in parts])
        return (m("gather", line, numbers, axis=0), *(None for _ in op.results[1:]))

    return rule


_MEMBERS: dict[str, Members] = {
    "numpy.insert": _inserted,
    "numpy.trim_zeros": _trimmed,
    "numpy.unique": _among(0),
    "numpy.unique_all": _among(0),
    "numpy.unique_counts": _among(0),
    "numpy.unique_inverse": _among(0),
    "numpy.unique_values": _among(0),
    "numpy.intersect1d": _among(0),
    "numpy.setdiff1d": _among(0),
    "numpy.union1d": _among(0, 1),
    "numpy.setxor1d": _among(0, 1),
}

TRANSPOSES: dict[str, Transpose] = {name: _transpose(members) for name, members in _MEMBERS.items()}
TANGENTS: dict[str, Tangent] = {name: _tangent(members) for name, members in _MEMBERS.items()}
