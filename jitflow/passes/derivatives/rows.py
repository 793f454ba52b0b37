"""Rows that data chooses are gathered, one by one, where a table has many.

A row at one integer is a view, and what arrives there is added to a part of a gradient as large as the table. If it is
gathered as several rows are, the gradient is rows and their positions, and an update by it touches these
(`row_stacking`, `jitflow.passes.values.sparsify`).

    %1: index[i] = to_index %id                            %1: i64[1] = broadcast %i
    %2: f64[1, k] = slice %x {starts=[i, 0]}       ->      %2: f64[1, k] = gather %x, %1

Positions of loops are left alone: such a loop goes along the table. Where a loop's turns take other rows than those
that its position says, the rows of all turns are put away, so its length is what the table is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value, uses, walk
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Index, Place, Tensor, Variable, dims_of
from jitflow.passes.derivatives.notation import Notation
from jitflow.records import dataclass

__all__ = ["gather_rows"]

MANY = 256
"""Rows from which on a table is worth it."""


def gather_rows(region: Region, hints: Mapping[str, int]) -> Region:
    """The region with gathers for reads of single rows of large tables; ``hints`` are likely sizes."""
    turns = (op.regions[0].parameters[0].type for op in walk(region) if op.name == "for")
    positions = {name for kind in turns if isinstance(kind, Index) and kind.dim for name in symbols(kind.dim)}
    rows = {op.result: op for op in walk(region) if _is_row(op, positions, hints)}
    return _Rows(rows, region).within(region) if rows else region


def _is_row(op: Op, positions: set[str], hints: Mapping[str, int]) -> bool:
    if op.name != "slice" or not isinstance(op.operands[0].type, Tensor | Variable):
        return False
    dims, (start, *others) = dims_of(op.operands[0].type), op.attributes["starts"]
    chosen = set(symbols(start))
    return (
        len(dims) > 1
        and bool(chosen)
        and chosen.isdisjoint(positions)
        and op.attributes["sizes"] == (1, *dims[1:])
        and not any(others)
        and set(op.attributes["steps"]) == {1}
        and set(symbols(dims[0])) <= hints.keys()
        and evaluate(dims[0], hints) >= MANY
    )


@dataclass(eq=False)
class _Rows:
    """Rewrites a region, in which ``rows`` are the slices that are rows."""

    rows: dict[Value, Op]
    region: Region

    def __post_init__(self) -> None:
        self.views = {op.result: op for op in walk(self.region) if op.name == "reshape" and op.operands[0] in self.rows}
        used = uses(self.region)
        loads = Counter(op.operands[0] for op in walk(self.region) if op.name == "load")
        views = Counter(op.operands[0] for op in self.views.values() if used[op.result] == loads[op.result])
        self.chosen = {
            value for value in self.rows if isinstance(value.type, Tensor) or used[value] == loads[value] + views[value]
        }
        """The rows of values, and those of storage that are only read."""

    def within(self, region: Region) -> Region:
        """The region with gathers."""
        ops: list[Op] = []
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.within, op.regions)))
            ops += self._gathered(op)
        return Region(region.parameters, tuple(ops))

    def _gathered(self, op: Op) -> list[Op]:
        m = Notation(Builder(loc=op.loc))
        if op.name == "slice" and op.result in self.chosen:
            if isinstance(op.result.type, Place):
                return [op]  # nobody reads it any more
            self._row(m, op.operands[0], op.attributes["starts"][0])
            return [*m.builder.ops[:-1], replace(m.builder.ops[-1], results=op.results)]
        view = self.views.get(op.operands[0]) if op.name == "load" else None
        source = view.operands[0] if view is not None else op.operands[0] if op.name == "load" else None
        if source not in self.chosen or not isinstance(source.type, Place):
            return [op]
        row = self.rows[source]
        self._row(m, m("load", row.operands[0]), row.attributes["starts"][0])
        if view is not None:
            m("reshape", m.builder.ops[-1].result, dims=dims_of(op.result.type))
        return [*m.builder.ops[:-1], replace(m.builder.ops[-1], results=op.results)]

    def _row(self, m: Notation, table: Value, position: Dim) -> None:
        number = m("cast", m.size(position), dtype=I64)
        m("gather", table, m("broadcast", number, dims=(1,), axes=()), axis=0, mode="clip")
