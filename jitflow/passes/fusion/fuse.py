"""Fusion: ops that can share one loop nest become one ``fusion`` op.

The idea: start with every elementwise, reducing and gathering op as a group of its own, and join groups along the
edges of the program wherever the joined group is still one nest (`_Group`): its axes form loops (`axes.py`), all its
reductions run over the same loops, one of its values spans all loops, and every other value spans an outer part of
them. What a reduction alone reads joins it first, for it is the largest thing that might have to be written. So chains
go into reductions, reductions join what consumes them along the same rows, broadcast operands are
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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.effects import Effects
from jitflow.ir.types import Place, Tensor, Variable, dims_of
from jitflow.passes.analyses.order import bound_sizes, find_order, is_free, named_sizes, reads_of
from jitflow.passes.fusion.facts import Facts, is_gather_source
from jitflow.passes.fusion.fused_region import Group, fusion_op, is_fusable, scheduled, without_unused
from jitflow.passes.fusion.group_loops import GroupLoops, Nest
from jitflow.passes.fusion.group_order import GroupOrder
from jitflow.passes.schedule.cost import LARGEST_KERNEL
from jitflow.records import cached, dataclass

__all__ = ["fuse"]


def fuse(function: Function) -> Function:
    """Group the ops of a tensor function into ``fusion`` ops; ``decisions`` in its attributes says what and why."""
    stateful = any(isinstance(value.type, Variable | Place) for value in function.parameters) or any(
        op.regions
        or op.name in ("variable", "tape")
        or any(effect.kind in ("reads", "writes") for effect in op.own_effects)
        for op in function.region.body
    )
    prefix = f"{function.name}_" if function.attributes.get("called") else ""
    before = function.attributes.get("decisions", ())
    program = _Program(Effects(function) if stateful else None, prefix, [*before])
    region = _Fusion(function.region, program, {}, frozenset()).run()
    attributes = MappingProxyType({**function.attributes, "decisions": tuple(program.decisions)})
    return replace(function, region=region, attributes=attributes)


@dataclass(slots=True)
class _Program:
    """What the regions of a function share. ``effects`` is None if it has neither storage nor regions."""

    effects: Effects | None
    prefix: str
    """What the names of its kernels begin with."""
    decisions: list[str]
    kernels: int = 0


class _Fusion:
    """One region. ``outer`` knows the free ops and the loads around it by their results."""

    def __init__(self, region: Region, program: _Program, outer: dict[Value, Op], sizes: frozenset[str]) -> None:
        self.region = region
        self.program = program
        self.decisions = program.decisions
        self.producer: dict[Value, Op] = {**outer, **{result: op for op in region.body for result in op.results}}
        self.sizes = sizes.union(*(named_sizes(parameter.type) for parameter in region.parameters))
        self.group_of: dict[Op, Group] = {}
        self.facts = Facts(self.producer, self.group_of.__contains__)
        self.needed: dict[Op, Sequence[Op]] = {}
        self.needed_of: dict[Group, Sequence[Op]] = {}
        self.nests: dict[Group, Nest] = {}
        self.position = {op: number for number, op in enumerate(region.body)}
        self.loops = GroupLoops(self.facts, self.position)
        self.readers: dict[Value, list[Op]] = {}
        """For each value the ops that read it, directly or through free ops."""
        for op in region.body:
            if not is_free(op):
                for value in reads_of(op):
                    for source in self._sources(value):
                        self.readers.setdefault(source, []).append(op)
        self.before = find_order(region.body, program.effects, self.producer, is_fusable, self.sizes)
        self.returned = {source for result in region.yielded for source in self._sources(result)}

    def run(self) -> Region:
        """The region with its groups as ``fusion`` ops, and the regions inside it treated in the same way."""
        needs_kernel = self._ops_for_kernels()
        for op in self.region.body:
            if not is_free(op):
                self.group_of[op] = Group(op)
        self.order = GroupOrder(self.group_of.values())
        for op in needs_kernel:
            if "reduction" in op.definition.traits:
                self._join_own(op, needs_kernel)
        for op in needs_kernel:
            for operand in op.operands:
                self._try_join(operand, op, needs_kernel)
        self._join_siblings(needs_kernel)
        return self._written(needs_kernel)

    def _ops_for_kernels(self) -> dict[Op, None]:
        """Fusable ops in order, without scalar arithmetic that depends on no array: the host does that."""
        chosen: dict[Op, None] = {}
        for op in self.region.body:
            if not is_fusable(op):
                continue
            reads_array = "reduction" in op.definition.traits or op.name == "gather"
            follows = any(self.facts.origin(operand) in chosen for operand in op.operands)
            if reads_array or follows or isinstance(op.results[0].type, Tensor):
                chosen[op] = None
        return chosen

    # Joining

    def _join_own(self, reduction: Op, fusable: dict[Op, None]) -> None:
        """Join what a reduction alone reads, and what that alone is computed of, with as many axes."""
        rank = len(dims_of(reduction.operands[0].type))
        frontier = [reduction]
        while frontier:
            op = frontier.pop()
            for operand in op.operands:
                own = self.facts.origin(operand)
                if own is not None and self._is_read_once(own) and len(dims_of(own.result.type)) == rank:
                    self._try_join(operand, op, fusable)
                    frontier.append(own)

    def _is_read_once(self, op: Op) -> bool:
        """Whether an elementwise op is there for one other op alone."""
        if "elementwise" not in op.definition.traits or op.result in self.returned:
            return False
        return len({*self.readers.get(op.result, ())}) == 1

    def _try_join(self, value: Value, consumer: Op, fusable: dict[Op, None]) -> None:
        producer = self.facts.origin(value)
        if producer is None or producer not in fusable or is_gather_source(consumer, value):
            return
        upper, lower = self.group_of[producer], self.group_of[consumer]
        if upper is lower:
            return
        reason = self._join(upper, lower)
        if reason:
            self.decisions.append(f"{producer.name} ({producer.loc}) not fused into {consumer.name}: {reason}")

    def _join(self, upper: Group, lower: Group) -> str:
        """Join two groups, or say why they stay apart."""
        if len(upper.ops) + len(lower.ops) > LARGEST_KERNEL:
            return f"the kernel would hold more than {LARGEST_KERNEL} ops"
        if any(self.group_of[producer] in (upper, lower) for producer in self._nest(lower).stored):
            return "it reads elements at other positions, which must be in memory first"
        nest = self._joined(upper, lower)
        if nest is None:
            return "they do not share one loop nest"
        if self._is_written_anyway(upper, lower):
            return "it has fewer axes, and other kernels read it from memory too"
        between = self.order.between(upper, lower, self._needs)
        if between is None:
            return "what lies between them cannot be part of the kernel"
        self._merge(upper, lower, nest, between)
        return ""

    def _is_written_anyway(self, upper: Group, lower: Group) -> bool:
        """Whether what is computed of small arrays must be written for a kernel that cannot be part of this one.

        Read from memory, it leaves the loops in the order in which the larger arrays lie.
        """
        rank = max(self.facts.of(op).rank for op in upper.ops)
        if rank == 0 or rank >= max(self.facts.of(op).rank for op in lower.ops):
            return False
        if not all(self.facts.of(op).is_elementwise for op in upper.ops):
            return False
        others = {
            self.group_of[reader]
            for op in upper.ops
            for result in op.results
            for reader in self.readers.get(result, ())
            if is_fusable(reader) and self.group_of[reader] not in (upper, lower)
        }
        return any(self._joined(upper, lower, other) is None for other in others)

    def _joined(self, *groups: Group) -> Nest | None:
        """The groups as one loop nest, if they are one."""
        return self.loops.joined([*map(self._nest, groups)], lambda op: self.group_of.get(op) in groups)

    def _nest(self, group: Group) -> Nest:
        return self.nests.get(group) or self.nests.setdefault(group, self.loops.of(group.ops[0]))

    def _needs(self, group: Group) -> Iterable[Group]:
        """The groups that a group must follow: for what it reads, through views, and for order's sake."""
        ops = self.needed_of.get(group)
        if ops is None:
            found = dict.fromkeys(earlier for op in group.ops for earlier in self._needed(op))
            ops = self.needed_of[group] = [earlier for earlier in found if self.group_of[earlier] is not group]
        return map(self.group_of.__getitem__, ops)

    def _needed(self, op: Op) -> Sequence[Op]:
        """The ops of this region that an op must follow."""
        known = self.needed.get(op)
        if known is None:
            needed = dict.fromkeys(self.before.get(op, ()))
            for operand in reads_of(op):
                source = self._computed(operand)
                if source is not None and source is not op:
                    needed[source] = None
            known = self.needed[op] = tuple(needed)
        return known

    def _computed(self, value: Value) -> Op | None:
        """The op of this region that computes what ``value`` shows."""
        source = self.producer.get(value)
        while source is not None and is_free(source):
            source = self.producer.get(source.operands[0]) if source.operands else None
        return source if source in self.group_of else None

    def _merge(self, upper: Group, lower: Group, nest: Nest, between: list[Group]) -> None:
        self.order.merge(upper, lower, between)
        upper.ops = sorted(upper.ops + lower.ops, key=self.position.__getitem__)
        for op in lower.ops:
            self.group_of[op] = upper
        for group in (upper, lower):
            self.needed_of.pop(group, None)
        self.nests[upper] = self.loops.settle(nest)

    def _join_siblings(self, fusable: dict[Op, None]) -> None:
        """Join groups that read one array over the same loops: several results from one sweep."""
        readers: dict[Value, list[Op]] = {}
        for op in fusable:
            for operand in op.operands:
                if isinstance(operand.type, Tensor) and operand.type.rank and self.facts.origin(operand) not in fusable:
                    readers.setdefault(operand, []).append(op)
        for ops in readers.values():
            for first, second in pairwise(ops):
                upper, lower = self.group_of[first], self.group_of[second]
                if upper is lower or "gather" in (first.name, second.name):
                    continue
                if len(upper.ops) + len(lower.ops) > LARGEST_KERNEL:
                    continue
                nest = self._joined(upper, lower)
                if nest is None or any(self.group_of[source] in (upper, lower) for source in nest.stored):
                    continue
                between = self.order.between(upper, lower, self._needs)
                if between is not None:
                    self._merge(upper, lower, nest, between)

    # Writing the fused region

    def _written(self, fusable: dict[Op, None]) -> Region:
        writes = any(op.name in ("store", "scatter", "push") for op in self.region.body)
        parts = {part for op in self.region.body if op.name == "concatenate" for part in self._assumed_parts(op)}

        def write(group: Group) -> Op:
            first = group.ops[0]
            return self._fusion_op(group) if first in fusable else self._inside(first)

        may_wait = {
            group
            for group in dict.fromkeys(self.group_of.values())
            if group.ops[0] in fusable
            and (writes or not parts.isdisjoint(group.ops))
            and not any(op.own_effects for op in group.ops)
        }
        ordered = scheduled(self.region.body, self.group_of, self._needs, write, may_wait)
        kept = without_unused(ordered, self.region.yielded)
        return Region(self.region.parameters, (*kept, self.region.ops[-1]))

    def _assumed_parts(self, whole: Op) -> Iterator[Op]:
        """What computes parts of a concatenation that fit by checks alone: behind these it may write where they lie."""
        for part in whole.operands:
            views: list[Op] = []
            while (op := self.producer.get(part)) is not None and is_free(op) and op.operands:
                views.append(op)
                part = op.operands[0]
            if op is not None and any(view.attributes.get("assumed") for view in views):
                yield op

    def _inside(self, op: Op) -> Op:
        """An op that is no kernel, with its regions fused."""
        if not op.regions or op.name == "fusion":
            return op
        regions = tuple(_Fusion(region, self.program, *self.known_inside).run() for region in op.regions)
        return replace(op, regions=regions)

    @cached
    def known_inside(self) -> tuple[dict[Value, Op], frozenset[str]]:
        """What regions inside of this one know of it."""
        known = {
            value: producer for value, producer in self.producer.items() if is_free(producer) or producer.name == "load"
        }
        return known, self.sizes.union(*(bound_sizes(other) for other in self.region.body))

    def _fusion_op(self, group: Group) -> Op:
        members = set(group.ops)
        wanted = [result for op in group.ops for result in op.results if self._is_read_outside(result, members)]
        name = f"{self.program.prefix}kernel_{self.program.kernels}"
        self.program.kernels += 1
        if len(group.ops) > 1:
            names = ", ".join(f"{op.name} ({op.loc})" if op.loc.line else op.name for op in group.ops)
            self.decisions.append(f"{name} holds {len(group.ops)} ops: {names}")
        return fusion_op(group, wanted, self.producer, name)

    def _is_read_outside(self, value: Value, members: set[Op]) -> bool:
        readers = self.readers.get(value, ())
        if not readers and self.producer[value].name == "gather":
            return True  # it is there for its check, which a kernel without results would not make
        return value in self.returned or any(reader not in members for reader in readers)

    def _sources(self, value: Value) -> Iterator[Value]:
        yield value
        op = self.producer.get(value)
        while op is not None and is_free(op) and op.operands:
            value = op.operands[0]
            yield value
            op = self.producer.get(value)
