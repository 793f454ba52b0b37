"""Fusion: ops that can share one loop nest become one ``fusion`` op.

The idea: start with every elementwise, reducing and gathering op as a group of its own, and join groups along the
edges of the program wherever the joined group is still one nest (`_Group`): its axes form loops (`axes.py`), all its
reductions run over the same loops, one of its values spans all loops, and every other value spans an outer part of
them. So chains go into reductions, reductions join what consumes them along the same rows, broadcast operands are
never materialised, and several results come from one sweep. Then groups that read the same array over the same loops
are joined too. Joining must not make a cycle.

Views on what memory already holds and creation ops cost nothing and are copied into every group that reads through
them. Relies on `simplify`, `cse` and `dce` having run. It does not reorder effects, duplicate work, or fuse across
matrix products and concatenations.

    %0: f32[n] = multiply %a, %b           %0: f32[n] = fusion %a, %b, (%p: f32[n], %q: f32[n]) {
    %1: f32[n] = add %0, %a         ->       %1: f32[n] = multiply %p, %q
    yield %1                                 %2: f32[n] = add %1, %p
                                             yield %2
                                           }
                                           yield %0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, clone_op, walk
from jitflow.ir.ops import OPS
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.axes import Axes, Axis, is_axis_view

__all__ = ["fuse"]

_LARGEST_GROUP = 160
"""More ops than this in one kernel cost registers and compile time and save no more memory traffic."""


def fuse(function: Function) -> Function:
    """Group the ops of a tensor function into ``fusion`` ops; ``decisions`` in its attributes says what and why."""
    return _Fusion(function).run()


class _Group:
    """Ops that become one kernel, or one op that cannot be fused."""

    __slots__ = ("number", "ops", "reduced")

    def __init__(self, number: int, op: Op) -> None:
        self.number = number
        self.ops = [op]
        self.reduced: frozenset[Axis] | None = None


class _Fusion:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.producer: dict[Value, Op] = {
            result: op for op in function.region.body for result in op.results
        }  # fmt: skip
        self.group_of: dict[Op, _Group] = {}
        self.decisions: list[str] = []
        self.position = {op: number for number, op in enumerate(function.region.body)}
        self.readers: dict[Value, list[Op]] = {}
        """For each value the ops that read it, directly or through free ops."""
        for op in function.region.body:
            if not _is_free(op):
                for value in _reads(op):
                    for source in self._sources(value):
                        self.readers.setdefault(source, []).append(op)
        self.checked_before = self._find_checks()
        self.returned = {source for result in function.region.yielded for source in self._sources(result)}

    def run(self) -> Function:
        needs_kernel = self._ops_for_kernels()
        for number, op in enumerate(self.function.region.body):
            if not _is_free(op):
                self.group_of[op] = _Group(number, op)
        for op in needs_kernel:
            for operand in op.operands:
                self._try_join(operand, op, needs_kernel)
        self._join_siblings(needs_kernel)
        return self._rebuild(needs_kernel)

    def _find_checks(self) -> dict[Op, Op]:
        """For each op the last check before it: no op overtakes a check, since kernels trust what was checked.

        An index out of range, which a kernel finds itself, is no such check.
        """
        last: Op | None = None
        table: dict[Op, Op] = {}
        for op in self.function.region.body:
            if _is_free(op):
                continue
            if last is not None:
                table[op] = last
            if op.own_effects and not _is_fusable(op):
                last = op
        return table

    def _ops_for_kernels(self) -> dict[Op, None]:
        """Fusable ops in order, without scalar arithmetic that depends on no array: the host does that."""
        chosen: dict[Op, None] = {}
        for op in self.function.region.body:
            if not _is_fusable(op):
                continue
            reads_array = "reduction" in op.definition.traits or op.name == "gather"
            follows = any(self._origin(operand) in chosen for operand in op.operands)
            if reads_array or follows or isinstance(op.results[0].type, Tensor):
                chosen[op] = None
        return chosen

    def _origin(self, value: Value) -> Op | None:
        """The op that computes ``value``, behind axis views."""
        op = self.producer.get(value)
        while op is not None and is_axis_view(op):
            op = self.producer.get(op.operands[0])
        return op

    # Joining

    def _try_join(self, value: Value, consumer: Op, fusable: dict[Op, None]) -> None:
        producer = self._origin(value)
        if producer is None or producer not in fusable or _is_gather_source(consumer, value):
            return
        upper, lower = self.group_of[producer], self.group_of[consumer]
        if upper is lower:
            return
        reason = self._why_not(upper, lower)
        if reason:
            self.decisions.append(f"{producer.name} ({producer.loc}) not fused into {consumer.name}: {reason}")
        else:
            self._merge(upper, lower)

    def _axes_of(self, ops: Sequence[Op]) -> Axes:
        """The axes that the ops relate among themselves, through the views between them."""
        axes = Axes()
        members = set(ops)
        for op in ops:
            axes.relate(op)
            for operand in op.operands:
                producer = self._origin(operand)
                if producer in members:
                    view = self.producer[operand]
                    while view is not producer:
                        axes.relate(view)
                        view = self.producer[view.operands[0]]
        return axes

    def _why_not(self, upper: _Group, lower: _Group) -> str:
        if len(upper.ops) + len(lower.ops) > _LARGEST_GROUP:
            return f"the kernel would hold more than {_LARGEST_GROUP} ops"
        if any(self.group_of[producer] in (upper, lower) for op in lower.ops for producer in self._stored_sources(op)):
            return "it reads elements at other positions, which must be in memory first"
        if not self._is_nest(upper.ops + lower.ops):
            return "they do not share one loop nest"
        if self._makes_cycle(upper, lower):
            return "what lies between them cannot be part of the kernel"
        return ""

    def _stored_sources(self, op: Op) -> Iterator[Op]:
        """The ops whose results ``op`` must find in memory: behind slices and gathers."""
        for operand in op.operands:
            source, stored = self.producer.get(operand), _is_gather_source(op, operand)
            while source is not None and _is_free(source):
                stored = stored or not is_axis_view(source)
                source = self.producer.get(source.operands[0]) if source.operands else None
            if stored and source is not None:
                yield source

    def _is_nest(self, ops: Sequence[Op]) -> bool:
        """Whether the ops are one loop nest."""
        axes = self._axes_of(ops)
        reduced: frozenset[Axis] | None = None
        narrowest: tuple[Axis, ...] | None = None
        spans: list[tuple[tuple[Axis, ...], bool]] = []
        for op in ops:
            for value in (*op.results, *op.operands):
                if isinstance(value.type, Tensor):
                    classes = axes.classes(value)
                    if len(set(classes)) != len(classes):
                        return False
                    spans.append((classes, value is op.results[0]))
            if "reduction" in op.definition.traits:
                folded = _folded(op, axes)
                operands_widest = axes.classes(op.operands[0])
                narrowest = operands_widest if narrowest is None or len(operands_widest) < len(narrowest) else narrowest
                if reduced is not None and folded != reduced:
                    return False
                reduced = folded
        loops = {axis for classes, _ in spans for axis in classes} | (reduced or frozenset())
        widest = max((classes for classes, _ in spans), key=len, default=())
        if set(widest) != loops or (narrowest is not None and len(narrowest) != len(widest)):
            return False
        kept = [axis for axis in widest if axis not in (reduced or ())]
        for classes, computed in spans:
            if not computed or len(classes) == len(widest):
                continue
            if set(classes) != set(kept[: len(classes)]):
                return False
        return True

    def _makes_cycle(self, upper: _Group, lower: _Group) -> bool:
        """Whether ``lower`` needs a group that needs ``upper``, other than directly."""
        seen: set[_Group] = set()
        frontier = [group for group in self._needs(lower) if group is not upper]
        while frontier:
            group = frontier.pop()
            if group is upper or group is lower:
                return True
            if group not in seen:
                seen.add(group)
                frontier.extend(self._needs(group))
        return False

    def _needs(self, group: _Group) -> Iterator[_Group]:
        """The groups whose results a group reads, through views, and the checks that it must not overtake."""
        for op in group.ops:
            check = self.checked_before.get(op)
            if check is not None and self.group_of[check] is not group:
                yield self.group_of[check]
            for operand in _reads(op):
                source = self.producer.get(operand)
                while source is not None and _is_free(source):
                    source = self.producer.get(source.operands[0]) if source.operands else None
                if source is not None and self.group_of[source] is not group:
                    yield self.group_of[source]

    def _merge(self, upper: _Group, lower: _Group) -> None:
        upper.ops = sorted(upper.ops + lower.ops, key=self.position.__getitem__)
        upper.number = max(upper.number, lower.number)
        for op in lower.ops:
            self.group_of[op] = upper

    def _join_siblings(self, fusable: dict[Op, None]) -> None:
        """Join groups that read one array over the same loops: several results from one sweep."""
        readers: dict[Value, list[Op]] = {}
        for op in fusable:
            for operand in op.operands:
                if isinstance(operand.type, Tensor) and operand.type.rank and self._origin(operand) not in fusable:
                    readers.setdefault(operand, []).append(op)
        for ops in readers.values():
            for first, second in pairwise(ops):
                upper, lower = self.group_of[first], self.group_of[second]
                if upper is lower or "gather" in (first.name, second.name):
                    continue
                stored = (source for op in upper.ops + lower.ops for source in self._stored_sources(op))
                if (
                    not any(self.group_of[source] in (upper, lower) for source in stored)
                    and self._is_nest(upper.ops + lower.ops)
                    and not self._makes_cycle(upper, lower)
                    and not self._makes_cycle(lower, upper)
                ):
                    self._merge(upper, lower)

    # Writing the fused function

    def _rebuild(self, fusable: dict[Op, None]) -> Function:
        ordered: list[Op] = []
        emitted: set[_Group] = set()
        number = 0

        def emit(group: _Group) -> None:
            nonlocal number
            if group in emitted:
                return
            emitted.add(group)
            for needed in self._needs(group):
                emit(needed)
            if group.ops[0] not in fusable:
                ordered.extend(group.ops)
                return
            fused = self._fusion_op(group, number)
            number += 1
            ordered.append(fused)

        for op in self.function.region.body:
            if _is_free(op):
                ordered.append(op)
            else:
                emit(self.group_of[op])
        ordered = _in_order(ordered)
        ordered = _without_unused(ordered, self.function.region.yielded)
        fused_function = self.function.with_ops([*ordered, self.function.region.ops[-1]])
        attributes = MappingProxyType({**self.function.attributes, "decisions": tuple(self.decisions)})
        return replace(fused_function, attributes=attributes)

    def _fusion_op(self, group: _Group, number: int) -> Op:
        members = set(group.ops)
        inside: dict[Value, Value] = {}
        operands: list[Value] = []
        body: list[Op] = []

        def bring(value: Value) -> None:
            """Make ``value`` available in the region: as a parameter, or by copying free ops."""
            if value in inside:
                return
            op = self.producer.get(value)
            if op is not None and _is_free(op):
                for operand in op.operands:
                    bring(operand)
                body.append(clone_op(op, inside))
            else:
                inside[value] = Value(value.type, value.name)
                operands.append(value)

        for op in group.ops:
            for operand in op.operands:
                bring(operand)
            body.append(clone_op(op, inside))
        wanted = [result for op in group.ops for result in op.results if self._is_read_outside(result, members)]
        parameters = tuple(inside[operand] for operand in operands)
        body.append(Op(OPS["yield"], tuple(inside[value] for value in wanted), ()))
        if len(group.ops) > 1:
            names = ", ".join(f"{op.name} ({op.loc})" if op.loc.line else op.name for op in group.ops)
            self.decisions.append(f"kernel_{number} holds {len(group.ops)} ops: {names}")
        return Op(
            OPS["fusion"], tuple(operands), tuple(wanted), MappingProxyType({"kernel": f"kernel_{number}"}),
            (Region(parameters, tuple(body)),), group.ops[-1].loc,
        )  # fmt: skip

    def _is_read_outside(self, value: Value, members: set[Op]) -> bool:
        return value in self.returned or any(reader not in members for reader in self.readers.get(value, ()))

    def _sources(self, value: Value) -> Iterator[Value]:
        yield value
        op = self.producer.get(value)
        while op is not None and _is_free(op) and op.operands:
            value = op.operands[0]
            yield value
            op = self.producer.get(value)


def _folded(op: Op, axes: Axes) -> frozenset[Axis]:
    """The loops that a reduction folds."""
    dims = dims_of(op.operands[0].type)
    return frozenset(axes.find((op.operands[0], axis)) for axis in op.attributes["axes"] if dims[axis] != 1)


def _is_fusable(op: Op) -> bool:
    traits = op.definition.traits
    if op.attributes.get("checked") or not op.results:
        return False
    return bool(traits & {"elementwise", "reduction", "gather"}) or op.name == "iota"


def _is_gather_source(op: Op, value: Value) -> bool:
    return op.name == "gather" and value is op.operands[0]


def _reads(op: Op) -> Iterator[Value]:
    """The operands of an op and of the ops in its regions."""
    yield from op.operands
    for region in op.regions:
        for inner in walk(region):
            yield from inner.operands


def _is_free(op: Op) -> bool:
    """Views and numbers: nothing to compute, so every kernel that reads through them gets a copy."""
    if op.name == "constant":
        return not isinstance(op.result.type, Tensor)
    return "view" in op.definition.traits or op.name == "size"


def _in_order(ops: list[Op]) -> list[Op]:
    """The ops sorted so that each follows what it reads, otherwise as they were."""
    producer = {result: op for op in ops for result in op.results}
    ordered: dict[Op, None] = {}

    def place(op: Op) -> None:
        if op not in ordered:
            for operand in op.operands:
                if operand in producer:
                    place(producer[operand])
            ordered[op] = None

    for op in ops:
        place(op)
    return list(ordered)


def _without_unused(ops: list[Op], results: tuple[Value, ...]) -> list[Op]:
    """The ops without free ones that nothing outside of kernels reads any more."""
    needed = set(results)
    kept: list[Op] = []
    for op in reversed(ops):
        if not _is_free(op) or any(result in needed for result in op.results):
            kept.append(op)
            needed.update(op.operands)
            for region in op.regions:
                needed.update(operand for inner in walk(region) for operand in inner.operands)
    kept.reverse()
    return kept
