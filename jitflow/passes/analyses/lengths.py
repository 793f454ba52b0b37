"""How long the lists are that a function makes, as a pass goes over it.

A new list is empty, an item more makes it longer by one, and a loop that appends in each turn by as many as it turns.
So ``[0] * n`` has n items, and an index below n needs no check.

    %0: list<int> = make_container {...}
    for %zero, %n, %one (%i: index[i]) {      i items
      append_item %0, %x
    }
    %1: i64 = container_length %0             n items

A reference that is not the result of ``make_container`` may be to any list of its type: what changes one of these may
change all that are known. Where the ways of a branch leave different lengths, and behind loops that change one in
another way, nothing is known. Calls out count as changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from jitflow.ir.core import Op, Value, walk
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.types import Container
from jitflow.passes.analyses.integers import Integers
from jitflow.records import dataclass

__all__ = ["Lengths"]

_CHANGES = {"append_item": 1, "insert_item": 1, "drop_item": -1, "remove_item": -1}


@dataclass
class _Inside:
    """An op with regions: the lengths that hold in all of them, and of lists that grow by so many items each turn."""

    op: Op
    kept: dict[Value, Dim]
    growing: dict[Value, tuple[Dim, int]] = field(default_factory=dict)
    ends: list[dict[Value, Dim]] = field(default_factory=list)


class Lengths:
    """The lengths of lists at the place that a pass has come to; ``current`` has what values are by now."""

    def __init__(self, integers: Integers, current: Mapping[Value, Value]) -> None:
        self._integers = integers
        self._current = current
        self._made: set[Value] = set()
        self._known: dict[Value, Dim] = {}
        self._inside: list[_Inside] = []

    def pass_op(self, op: Op) -> None:
        """An op without regions has been reached."""
        if op.name == "make_container":
            self._made.add(op.result)
            if isinstance(op.result.type, Container) and op.result.type.family == "list":
                self._known[op.result] = 0
        elif op.name == "container_length" and op.operands[0] in self._known:
            self._integers.settle(op.result, self._known[op.operands[0]])
        elif self._known:
            for changed in _changed_by(op):
                if changed in self._known and op.name in _CHANGES:
                    self._known[changed] += _CHANGES[op.name]
                else:
                    self._known = {v: dim for v, dim in self._known.items() if not self._may_be(v, changed)}

    def _may_be(self, known: Value, changed: Value | None) -> bool:
        """Whether a change is one of a list of which the length is known."""
        if changed is None or known is changed:
            return True
        return changed not in self._made and changed.type == known.type

    def enter(self, op: Op) -> None:
        """An op with regions has been reached, in front of them."""
        inside = _Inside(op, {})
        if op.name == "if":
            inside.kept = self._known
        elif op.name in ("for", "while") and self._known:
            self._look_into(op, inside)
        self._inside.append(inside)

    def _look_into(self, op: Op, inside: _Inside) -> None:
        """Find what the turns of a loop change."""
        ops = [inner for region in op.regions for inner in walk(region)]
        own = {inner.result for inner in ops if inner.name == "make_container"}
        changed_by = ((inner, changed) for inner in ops for changed in _changed_by(inner))
        changes = [(inner, changed and self._current.get(changed, changed)) for inner, changed in changed_by]
        body, step = op.regions[-1].ops, self._integers.dim(op.operands[2]) if op.name == "for" else 0
        for known, length in self._known.items():
            found = [(i, changed) for i, changed in changes if changed not in own and self._may_be(known, changed)]
            if not found:
                inside.kept[known] = length
            elif step == 1 and all(c is known and i.name == "append_item" and i in body for i, c in found):
                inside.growing[known] = (length, len(found))

    def begin(self) -> None:
        """At the begin of a region, in which the position of a loop is known."""
        inside = self._inside[-1]
        self._known = dict(inside.kept)
        for grown, (length, more) in inside.growing.items():
            position, start = map(self._integers.dim, (inside.op.regions[0].parameters[0], inside.op.operands[0]))
            self._known[grown] = length + (position - start) * more

    def end(self) -> None:
        """At the end of a region."""
        self._inside[-1].ends.append(self._known)

    def leave(self) -> None:
        """Behind all regions of an op."""
        inside = self._inside.pop()
        self._known = inside.kept
        if inside.op.name == "if":
            yes, no = inside.ends
            self._known = {v: dim for v, dim in yes.items() if v in inside.kept and no.get(v) == dim}
        for grown, (length, more) in inside.growing.items():
            start, stop = map(self._integers.dim, inside.op.operands[:2])
            self._known[grown] = length + maximum(stop - start, 0) * more


def _changed_by(op: Op) -> Iterator[Value | None]:
    """The lists that an op may make longer or shorter; None for any."""
    if op.name == "recur" and op.attributes.get("written"):
        yield None
    for effect in op.own_effects:
        if effect.kind == "external":
            yield None
        elif (
            effect.kind == "writes"
            and effect.part != "items"
            and isinstance(op.operands[effect.operand].type, Container)
        ):
            yield op.operands[effect.operand]
