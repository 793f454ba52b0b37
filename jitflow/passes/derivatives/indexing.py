"""Reading and writing at computed positions.

What is read several times gets all the cotangents added up. What is written several times keeps the last value that
was written, so the cotangent goes to that one alone: each write leaves its number in storage of its own, and those that
find their number there afterwards have won.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Part, given

__all__ = ["gather", "scattered"]


def gather(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """The reverse rule of ``gather``."""
    cotangent, (source, *indices) = given(cotangents), op.operands
    axis, mode = op.attributes["axis"], op.attributes.get("mode", "raise")
    sizes = dims_of(source.type)[axis : axis + len(indices)]

    def add_to(m: Notation, place: Value) -> None:
        within = [_within(m, index, m.size(size), mode) for index, size in zip(indices, sizes, strict=True)]
        m.add("scatter", place, *within, cotangent, axis=axis, combine="add", gradient=True)

    return (Part(add_to), *(None for _ in indices))


def _within(m: Notation, index: Value, size: Value, mode: str) -> Value:
    """Positions brought into range, as ``mode`` says."""
    if mode == "raise":
        return index
    end = m("cast", size, dtype=I64)
    index = index if dtype_of(index) == I64 else m("cast", index, dtype=I64)
    if mode == "wrap":
        return m("remainder", index, end)
    return m("minimum", m("maximum", index, 0), m("subtract", end, 1))


def scattered(m: Notation, shadow: Value, op: Op) -> Value:
    """What arrives at the values that ``op`` has written, from the shadow of the place."""
    place, *indices, _ = op.operands
    axis = op.attributes["axis"]
    found = m("gather", m("load", shadow), *indices, axis=axis)
    positions = next((dims_of(index.type) for index in indices if rank(index)), ())
    if op.attributes.get("combine") == "add" or not positions:
        return found
    numbers = m("reshape", m("iota", dtype=I64, dims=(product(positions),), axis=0), dims=positions)
    memory = m("variable", m.zeros(Tensor(I64, dims_of(place.type)[axis : axis + len(indices)])))
    m.add("scatter", memory, *indices, numbers, axis=0, combine="set")
    won = m("equal", m("gather", m("load", memory), *indices, axis=0), numbers)
    axes = tuple(range(axis, axis + len(positions)))
    return where(m, m("broadcast", won, dims=dims_of(found.type), axes=axes), found, 0)
