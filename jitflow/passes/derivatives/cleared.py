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

from collections.abc import Set
from dataclasses import replace

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Variable
from jitflow.passes.derivatives.sums import Memory, Sum

__all__ = ["put_where_cleared"]


def put_where_cleared(ops: list[Op], cleared: Set[Op]) -> list[Op]:
    """The ops of a reverse sweep, in which those of ``cleared`` are the stores of zeros and the variables of zeros."""
    while any(op in cleared for op in ops):
        changed = _Clearing(ops).changed(cleared)
        if changed is None:
            break
        ops = changed
    return ops


class _Clearing(Memory):
    """Code in which stores of zeros go."""

    def __init__(self, ops: list[Op]) -> None:
        super().__init__(ops)
        self.gone: set[Op] = set()
        self.instead: dict[Op, list[Op]] = {}
        """What comes instead of a store."""

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
        between = list[Sum]()
        for op in self.touching(root, self.positions[clearing] + 1, len(self.ops)):
            if op in self.loads:
                continue
            found = self.sums.get(op)
            if found is None or op in self.gone or op in self.instead:
                return
            if self.same(op.operands[0], place):
                self._store(clearing, found, between)
                return
            between.append(found)

    def _store(self, clearing: Op, last: Sum, between: list[Sum]) -> None:
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
        return first < last and not any(True for _ in self.touching(root, first + 1, last))
