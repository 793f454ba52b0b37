"""Writing the groups that `fuse` found: each a ``fusion`` op, in an order in which everything finds what it needs.

Views, sizes and numbers that a group reads through are copied into its region, also those from around a loop; what the
loops around it computed, and what loads show, are operands. In a region that writes to storage a kernel stands where it
is first needed, so that one that computes what is stored stands directly before the store, behind those that read what
the store replaces: then it may write there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType

from jitflow.ir.core import Op, Region, Value, clone_op
from jitflow.ir.ops import OPS
from jitflow.passes.analyses.order import is_free, reads_of
from jitflow.records import dataclass

__all__ = ["Group", "fusion_op", "is_fusable", "scheduled", "without_unused"]


class Group:
    """Ops that become one kernel, or one op that cannot be fused."""

    __slots__ = ("ops",)

    def __init__(self, op: Op) -> None:
        self.ops = [op]


def is_fusable(op: Op) -> bool:
    """Whether a group may have an op in it."""
    traits = op.definition.traits
    if op.attributes.get("checked") or not op.results:
        return False
    return bool(traits & {"elementwise", "reduction", "gather"}) or op.name == "iota"


def fusion_op(group: Group, wanted: Sequence[Value], producer: Mapping[Value, Op], name: str) -> Op:
    """The group as one op that gives the values ``wanted``. ``producer`` knows the free ops around it."""
    inside: dict[Value, Value] = {}
    operands: list[Value] = []
    body: list[Op] = []
    for op in group.ops:
        for operand in op.operands:
            _bring(operand, producer, inside, operands, body)
        body.append(clone_op(op, inside))
    parameters = tuple(inside[operand] for operand in operands)
    body.append(Op(OPS["yield"], tuple(inside[value] for value in wanted), ()))
    return Op(
        OPS["fusion"], tuple(operands), tuple(wanted), MappingProxyType({"kernel": name}),
        (Region(parameters, tuple(body)),), group.ops[-1].loc,
    )  # fmt: skip


def _bring(
    value: Value, producer: Mapping[Value, Op], inside: dict[Value, Value], operands: list[Value], body: list[Op]
) -> None:
    """Make ``value`` available in a region: as a parameter, or by copying free ops."""
    if value in inside:
        return
    op = producer.get(value)
    if op is not None and is_free(op):
        for operand in op.operands:
            _bring(operand, producer, inside, operands, body)
        body.append(clone_op(op, inside))
    else:
        inside[value] = Value(value.type, value.name)
        operands.append(value)


def scheduled(
    body: Sequence[Op],
    group_of: Mapping[Op, Group],
    needs: Callable[[Group], Iterable[Group]],
    write: Callable[[Group], Op],
    may_wait: Set[Group],
) -> list[Op]:
    """The ops of a region with each group written as one op, behind what it ``needs``.

    A group that ``may_wait`` is written where something needs it, all others where their first op stood. A view of what
    is not written yet waits as well: it must not draw a kernel to where it stood.
    """
    missing = {result for op in body for result in op.results}
    writer = _Writer(needs, write, may_wait, _stores(body, group_of), missing)
    waiting: list[Op] = []
    for op in body:
        if is_free(op):
            if missing.isdisjoint(op.operands):
                writer.ordered.append(op)
                missing.difference_update(op.results)
            else:
                waiting.append(op)
        elif group_of[op] not in may_wait:
            writer.emit(group_of[op])
    for group in group_of.values():
        writer.emit(group)
    return _in_order(writer.ordered + waiting)


@dataclass(slots=True, eq=False)
class _Writer:
    """Writes groups, each behind what it needs. ``missing`` are the values that nothing written gives yet."""

    needs: Callable[[Group], Iterable[Group]]
    write: Callable[[Group], Op]
    may_wait: Set[Group]
    stores: Mapping[Group, Sequence[Group]]
    missing: set[Value]
    ordered: list[Op] = field(default_factory=list)
    _begun: set[Group] = field(default_factory=set)
    _written: set[Group] = field(default_factory=set)

    def emit(self, group: Group) -> None:
        """Write a group, unless it has been."""
        if group in self._begun:
            return
        self._begun.add(group)
        for needed in self.needs(group):
            self.emit(needed)
        for store in self.stores.get(group, ()):
            for reader in self.needs(store):
                if reader in self._begun or reader not in self.may_wait:
                    continue
                if _may_come(reader, self.needs, self._begun, self._written):
                    self.emit(reader)
        self.ordered.append(self.write(group))
        self._written.add(group)
        self.missing.difference_update(result for op in group.ops for result in op.results)


def _stores(body: Sequence[Op], group_of: Mapping[Op, Group]) -> dict[Group, list[Group]]:
    """For each group that computes arrays the stores of them."""
    computed = {result: group for op, group in group_of.items() for result in op.results}
    found: dict[Group, list[Group]] = {}
    for op in body:
        if op.name == "store" and op.operands[1] in computed:
            found.setdefault(computed[op.operands[1]], []).append(group_of[op])
    return found


def _may_come(group: Group, needs: Callable[[Group], Iterable[Group]], begun: Set[Group], written: Set[Group]) -> bool:
    """Whether a group needs none that is ``begun``, but not ``written`` yet."""
    seen = {group}
    frontier = [group]
    while frontier:
        for needed in needs(frontier.pop()):
            if needed in written or needed in seen:
                continue
            if needed in begun:
                return False
            seen.add(needed)
            frontier.append(needed)
    return True


def _in_order(ops: list[Op]) -> list[Op]:
    """The ops sorted so that each follows what it reads, otherwise as they were."""
    producer = {result: op for op in ops for result in op.results}
    ordered: dict[Op, None] = {}
    for op in ops:
        _place(op, producer, ordered)
    return list(ordered)


def _place(op: Op, producer: Mapping[Value, Op], ordered: dict[Op, None]) -> None:
    """Put an op behind what it reads."""
    if op not in ordered:
        for operand in reads_of(op) if op.regions else op.operands:
            if operand in producer:
                _place(producer[operand], producer, ordered)
        ordered[op] = None


def without_unused(ops: Sequence[Op], results: Sequence[Value]) -> list[Op]:
    """The ops without free ones that nothing outside of kernels reads any more."""
    needed = set(results)
    kept: list[Op] = []
    for op in reversed(ops):
        if not is_free(op) or any(result in needed for result in op.results):
            kept.append(op)
            needed.update(reads_of(op))
    kept.reverse()
    return kept
