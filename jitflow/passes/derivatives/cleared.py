"""What is added to a place that was cleared is stored there instead.

The reverse of a store takes the cotangent out of the place and leaves zeros. Where the program had read the same place
before (``u[1:-1] += ...``), what belongs there is added in the end, behind what is added to slices around it. Sums may
be taken in any order: where it is stored first, nothing is filled with zeros that are read back.

    store %p', 0                                        store %p', %x
    store %q', (load %q') + %v             ->           store %q', (load %q') + %v
    store %p', (load %p') + %x

If it is what was taken out, the place stays as it is. An accumulator that starts with zeros is a place that was
cleared, too: what is added to it first as a whole is its value. Nothing but such sums may touch the memory in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Place, Tape, Variable
from jitflow.passes.order import reads_of

__all__ = ["put_where_cleared"]

_VIEWS = frozenset(("slice", "reshape", "transpose", "diagonal", "broadcast"))


def put_where_cleared(ops: list[Op], cleared: Set[Op]) -> list[Op]:
    """The ops of a reverse sweep, in which those of ``cleared`` are the stores of zeros and the variables of zeros."""
    while any(op in cleared for op in ops):
        changed = _Memory(ops).changed(cleared)
        if changed is None:
            break
        ops = changed
    return ops


@dataclass(frozen=True, eq=False)
class _Sum:
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


class _Memory:
    """What straight code does to memory."""

    def __init__(self, ops: list[Op]) -> None:
        self.ops = ops
        self.positions = {op: position for position, op in enumerate(ops)}
        self.producers = {result: op for op in ops for result in op.results}
        uses = Counter(operand for op in ops for operand in reads_of(op))
        self.sums = {store: found for store in ops if (found := self._sum(store, uses)) is not None}
        self.loads = {found.load for found in self.sums.values()}
        self._touched: dict[Op, frozenset[Value] | None] = {}
        self.gone: set[Op] = set()
        self.instead: dict[Op, list[Op]] = {}
        """What comes instead of a store."""

    def _sum(self, store: Op, uses: Counter[Value]) -> _Sum | None:
        add = self.producers.get(store.operands[1]) if store.name == "store" else None
        if add is None or add.name != "add" or uses[add.result] != 1:
            return None
        for operand in add.operands:
            load = self.producers.get(operand)
            if load is not None and load.name == "load" and load.operands[0] is store.operands[0]:
                return _Sum(load, add, store) if uses[operand] == 1 else None
        return None

    def changed(self, cleared: Set[Op]) -> list[Op] | None:
        """The ops without zeros that are not needed, None if there are none such."""
        for op in self.ops:
            if op in cleared:
                self._clear(op)
        if not self.instead:
            return None
        return [other for op in self.ops if op not in self.gone for other in self.instead.get(op, [op])]

    def _clear(self, clearing: Op) -> None:
        """Leave out what is added to zeros if the sum is found that makes these unnecessary."""
        place = clearing.result if clearing.name == "variable" else clearing.operands[0]
        root = self.root(place)
        if not isinstance(root.type, Variable):
            return
        between = list[_Sum]()
        for op in self.ops[self.positions[clearing] + 1 :]:
            if op in self.loads or not self.touches(op, root):
                continue
            found = self.sums.get(op)
            if found is None or op in self.gone or op in self.instead:
                return
            if self.same(op.operands[0], place):
                self._store(clearing, found, between)
                return
            between.append(found)

    def _store(self, clearing: Op, last: _Sum, between: list[_Sum]) -> None:
        stays = clearing.name == "store" and self.is_there(last.value, clearing)
        stored = [] if stays else [replace(last.store, operands=(last.store.operands[0], last.value))]
        self.instead[last.store] = [*stored, *(op for one in between for op in one.ops)]
        self.gone |= {last.load, last.add, *(op for one in between for op in one.ops)}
        if clearing.name == "store":
            self.gone.add(clearing)

    def is_there(self, value: Value, clearing: Op) -> bool:
        """Whether a value is what the place showed when it was cleared."""
        load, place = self.producers.get(value), clearing.operands[0]
        if load is None or load.name != "load" or not self.same(load.operands[0], place):
            return False
        first, last = self.positions[load], self.positions[clearing]
        root = self.root(place)
        return first < last and not any(self.touches(op, root) for op in self.ops[first + 1 : last])

    def touches(self, op: Op, root: Value) -> bool:
        """Whether an op may read or write the memory of a variable."""
        if op not in self._touched:
            self._touched[op] = self._memory_of(op)
        touched = self._touched[op]
        return touched is None or root in touched

    def _memory_of(self, op: Op) -> frozenset[Value] | None:
        """What an op may read or write, None if that is unknown: what a place shows that is handed on."""
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
