"""What is added to places in straight code: sums, each of which loads what a place shows, adds a value and stores it.

Sums may be taken in any order, so they can be moved past each other, if nothing else touches the memory in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from heapq import merge

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Place, Tape, Variable
from jitflow.passes.analyses.order import reads_of
from jitflow.records import cached, dataclass

__all__ = ["Memory", "Sum"]

_VIEWS = frozenset(("slice", "reshape", "transpose", "diagonal", "broadcast"))


@dataclass(frozen=True, eq=False)
class Sum:
    """Three ops that add a value to what a place shows."""

    load: Op
    add: Op
    store: Op

    @property
    def ops(self) -> tuple[Op, Op, Op]:
        return self.load, self.add, self.store

    @property
    def value(self) -> Value:
        first, second = self.add.operands
        return second if first is self.load.result else first


class Memory:
    """What straight code does to memory."""

    def __init__(self, ops: list[Op]) -> None:
        self.ops = ops
        self.positions = {op: position for position, op in enumerate(ops)}
        self.producers = {result: op for op in ops for result in op.results}
        uses = Counter(operand for op in ops for operand in reads_of(op))
        self.sums = {store: found for store in ops if (found := self._sum(store, uses)) is not None}
        """The sums, by their stores."""
        self.loads = {found.load for found in self.sums.values()}
        self._touched: dict[Op, frozenset[Value] | None] = {}

    def _sum(self, store: Op, uses: Counter[Value]) -> Sum | None:
        add = self.producers.get(store.operands[1]) if store.name == "store" else None
        if add is None or add.name != "add" or uses[add.result] != 1:
            return None
        for operand in add.operands:
            load = self.producers.get(operand)
            if load is not None and load.name == "load" and load.operands[0] is store.operands[0]:
                return Sum(load, add, store) if uses[operand] == 1 else None
        return None

    def touches(self, op: Op, root: Value) -> bool:
        """Whether an op may read or write the memory of a variable, or of a place of which nothing more is known."""
        touched = self.memory_of(op)
        return touched is None or root in touched or bool(touched and not isinstance(root.type, Variable))

    def touching(self, variable: Value, first: int, last: int) -> Iterator[Op]:
        """The ops from one position to in front of another that may read or write a variable's memory, in order."""
        known, unknown = (self._touching.get(place, ()) for place in (variable, None))
        spans = (part[bisect_left(part, first) : bisect_left(part, last)] for part in (known, unknown))
        return (self.ops[position] for position in merge(*spans))

    @cached
    def _touching(self) -> dict[Value | None, list[int]]:
        """Where the ops stand that touch a variable; under None, those of which that is unknown."""
        found: dict[Value | None, list[int]] = {}
        for position, op in enumerate(self.ops):
            touched = self.memory_of(op)
            for place in (None,) if touched is None else touched:
                found.setdefault(place, []).append(position)
        return found

    def memory_of(self, op: Op) -> frozenset[Value] | None:
        """What an op may read or write, None if that is unknown: what a place shows that is handed on."""
        if op not in self._touched:
            self._touched[op] = self._find_memory(op)
        return self._touched[op]

    def _find_memory(self, op: Op) -> frozenset[Value] | None:
        if op.name in _VIEWS and isinstance(op.result.type, Place):
            return frozenset()
        kinds = (Variable, Place, Tape)
        found = frozenset(self.root(operand) for operand in reads_of(op) if isinstance(operand.type, kinds))
        return found if all(isinstance(one.type, Variable | Tape) for one in found) else None

    def root(self, place: Value) -> Value:
        """The memory that a place shows a part of, as far as these ops say."""
        while (op := self.producers.get(place)) is not None and op.name in _VIEWS:
            place = op.operands[0]
        return place

    def same(self, one: Value, other: Value) -> bool:
        """Whether two places are certainly the same part of the same memory."""
        if one is other:
            return True
        first, second = self.producers.get(one), self.producers.get(other)
        if first is None or second is None or first.name != second.name or first.name not in _VIEWS:
            return False
        if dict(first.attributes) != dict(second.attributes) or len(first.operands) != len(second.operands):
            return False
        same_memory = self.same(first.operands[0], second.operands[0])
        return same_memory and first.operands[1:] == second.operands[1:]
