"""Rows that a reverse loop adds to a gradient, turn by turn: the rows of all turns, added behind the loop.

What is gathered in each turn gives a few rows to a gradient that may have a million. Behind the loop all of them are
there at once, and nobody need make the gradient itself for the loop's sake (`jitflow.passes.values.sparsify`).

    for ... (%k: index[k], ...) {                                  for ... (%k: index[k], ...) {
      scatter %w', %ids, %rows {combine="add", ...}                  store (%all at k), %ids
    }                                                        ->      store (%found at k), %rows
                                                                   }
                                                                   scatter %w', %all, %found {combine="add", ...}

It is done where there are many more rows than come in all turns, and where nothing else in the loop touches them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import field

from jitflow.ir.core import Builder, Op, Region, Value, uses, walk
from jitflow.ir.dims import Dim, evaluate, evaluate_known, product, symbols
from jitflow.ir.types import Variable, dims_of
from jitflow.passes.derivatives.notation import Notation, rank
from jitflow.passes.derivatives.stacking import put_away
from jitflow.records import dataclass

__all__ = ["WORTHWHILE", "RowStacking"]

WORTHWHILE = 4
"""How many times more rows than ids a gradient must have."""
_TURNS = 64
"""How often a loop is taken to turn of which nobody knows it beforehand."""


@dataclass(eq=False)
class RowStacking:
    """The rows of one reverse loop, whose ops ``m`` writes: `within` before the loop, `behind` after it.

    ``turn`` is the position of the loop, which turns ``count`` times; ``known`` are the sizes that are bound before it,
    ``hints`` their likely values; ``carried`` is storage that the loop hands on from turn to turn.
    """

    m: Notation
    turn: Dim
    count: Dim
    known: frozenset[str]
    hints: Mapping[str, int]
    carried: Collection[Value]
    _later: list[Callable[[], None]] = field(default_factory=list)

    def within(self, region: Region) -> Region:
        """The region of the loop, with rows that are put away."""
        if not any(op.name == "scatter" and op.attributes.get("gradient") for op in region.ops):
            return region
        made = {result for op in walk(region) for result in op.results}
        touched = uses(region)
        found = [op for op in region.ops if op.operands and op.operands[0] not in made and self._is_worth_it(op)]
        alone = Counter(op.operands[0] for op in found)
        chosen = {op for op in found if touched[op.operands[0]] == alone[op.operands[0]]}
        ops: list[Op] = []
        for op in region.ops:
            ops += self._put_away(op) if op in chosen else [op]
        return Region(region.parameters, tuple(ops))

    def behind(self) -> None:
        """Add the rows of all turns."""
        for write in self._later:
            write()

    def _is_worth_it(self, op: Op) -> bool:
        if op.name != "scatter" or not op.attributes.get("gradient") or op.attributes["axis"] != 0:
            return False
        root, *indices, rows = op.operands
        ids = next((dims_of(index.type) for index in indices if rank(index)), None)
        if ids is None or not rank(rows) or not isinstance(root.type, Variable) or root in self.carried:
            return False
        room = product(dims_of(root.type)[: len(indices)])
        if not self.known.issuperset(op.sizes) or not {*symbols(room), *symbols(product(ids))} <= self.hints.keys():
            return False
        turns = evaluate_known(self.count, self.hints)
        all_ids = evaluate(product(ids), self.hints) * (_TURNS if turns is None else turns)
        return all_ids * WORTHWHILE <= evaluate(room, self.hints)

    def _put_away(self, scatter: Op) -> list[Op]:
        root, *indices, rows = scatter.operands
        inside = Notation(Builder(loc=scatter.loc))
        ids = next(dims_of(index.type) for index in indices if rank(index))
        full = [index if rank(index) else inside("broadcast", index, dims=ids, axes=()) for index in indices]
        stacks = [put_away(self.m, inside, value, self.count, self.turn) for value in (*full, rows)]

        def write() -> None:
            m, count = self.m, self.count * product(ids)
            lines = [
                m("reshape", m("load", stack), dims=(count, *dims_of(stack.type)[1 + len(ids) :])) for stack in stacks
            ]
            m.add("scatter", root, *lines, axis=0, combine="add", gradient=True)

        self._later.append(write)
        return inside.builder.ops
