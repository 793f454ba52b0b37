"""What is cheap to compute again is computed where it is read, rather than written by one kernel and read by another.

`fuse` computes nothing twice, so a kernel writes all that others need of it. A reverse sweep needs the halves, squares
and sums that the forward one came by for ``y * (1 + tanh(u))``; ``y`` and the hyperbolic tangent say the rest. Which
values are written is the cheapest cut between what cannot be computed again, or costs more than reading it, and what
others read (`analyses/mincut.py`); the kernels that read the rest compute it, in the same operations, so bits stay as
they are. Only whole arrays, element by element, and only if fewer bytes are written and read in all.

    %0: f32[n], %1: f32[n] = fusion %x (...) {           %0: f32[n] = fusion %x (...) {
      %2: f32[n] = tanh %p                                 %2: f32[n] = tanh %p
      %3: f32[n] = multiply %2, %2                         yield %2
      yield %2, %3                                 ->    }
    }                                                    ...
    ...                                                  %4: f32[n] = fusion %0, %y (...) {
    %4: f32[n] = fusion %0, %1, %y (...) { ... }           %3: f32[n] = multiply %p, %p ...

Relies on `fuse`, and runs right behind it. What a load shows is not read later than before, when it may be another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, clone_op
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.analyses.mincut import bytes_of, likely_sizes, minimum_cut
from jitflow.passes.analyses.order import is_free, reads_of
from jitflow.passes.fusion.axes import is_axis_view
from jitflow.passes.fusion.facts import Facts
from jitflow.passes.fusion.group_loops import GroupLoops
from jitflow.passes.schedule.cost import LARGEST_KERNEL, WORTH_SAVING, cost_of

__all__ = ["rematerialize"]

_NEARLY = 1 - 1e-6
"""Of two cuts as cheap the one is taken that changes less."""


def rematerialize(function: Function) -> Function:
    """The function with fewer arrays between its kernels; ``decisions`` says where."""
    sizes = likely_sizes(function.attributes.get("hints", ()))
    decisions: list[str] = []
    region = _rematerialized(function.region, sizes, decisions)
    if region is function.region:
        return function
    attributes = {**function.attributes, "decisions": (*function.attributes.get("decisions", ()), *decisions)}
    return replace(function, region=region, attributes=MappingProxyType(attributes))


def _rematerialized(region: Region, sizes: Mapping[str, int], decisions: list[str]) -> Region:
    ops = [op if op.name == "fusion" else _with_regions(op, sizes, decisions) for op in region.ops]
    places = [place for place, op in enumerate(ops) if op.name == "fusion"]
    if len(places) > 1:
        kernels = _Kernels(region, ops, sizes)
        for place in places[:-1]:  # nobody reads what the last one writes
            decisions += kernels.thin(place)
        ops = kernels.ops
    if all(new is old for new, old in zip(ops, region.ops, strict=True)):
        return region
    return Region(region.parameters, tuple(op for op in ops if op.name != "fusion" or _does_anything(op)))


def _with_regions(op: Op, sizes: Mapping[str, int], decisions: list[str]) -> Op:
    regions = tuple(_rematerialized(region, sizes, decisions) for region in op.regions)
    is_new = any(new is not old for new, old in zip(regions, op.regions, strict=True))
    return replace(op, regions=regions) if is_new else op


class _Kernels:
    """The ops of a region, in which kernels are replaced by ones that write less, and ones that compute more."""

    def __init__(self, region: Region, ops: Sequence[Op], sizes: Mapping[str, int]) -> None:
        self.ops = [*ops]
        self._sizes = sizes
        self._parameters = {*region.parameters}
        self._producer = {result: op for op in ops for result in op.results}
        self._readers: dict[Value, dict[int, None]] = defaultdict(dict)
        for place, op in enumerate(ops):
            for value in reads_of(op):
                self._readers[value][place] = None

    def thin(self, place: int) -> Iterator[str]:
        """Let the kernel there write less, if that saves something; says what."""
        kernel = self.ops[place]
        inner = kernel.regions[0]
        made = {result: op for op in inner.body for result in op.results}
        results = dict(zip(inner.yielded, kernel.results, strict=True))
        if len(results) < len(kernel.results):  # one value that is given twice
            return
        given = {**dict(zip(inner.parameters, kernel.operands, strict=True)), **results}
        movable = [value for value, result in results.items() if value in made and self._may_go(result)]
        while movable:
            kept = self._cut(movable, made, given, results)
            roots = kept | (results.keys() - movable)
            recipes = {value: _recipe(value, made, roots) for value in movable if value not in kept}
            dear = {
                value
                for value, ops in recipes.items()
                if sum(cost_of(op) for op in ops if not is_free(op)) > WORTH_SAVING
            }
            if not dear:
                yield from self._replaced(place, recipes, given)
                return
            movable = [value for value in movable if value not in dear]

    def _may_go(self, result: Value) -> bool:
        """Whether kernels alone read a result, as a whole and element by element."""
        readers = [self.ops[place] for place in self._readers[result]]
        return (
            isinstance(result.type, Tensor)
            and bool(readers)
            and all(reader.name == "fusion" and _reads_elements(reader, result) for reader in readers)
        )

    def _cut(
        self,
        movable: Sequence[Value],
        made: Mapping[Value, Op],
        given: Mapping[Value, Value],
        results: Mapping[Value, Value],
    ) -> set[Value]:
        """The values, parameters among them, that the ``movable`` ones are computed of at the least cost."""
        last = max(place for value in movable for place in self._readers[given[value]])
        rank = {value: _rank(value) for value in movable}
        widest = max(rank.values())

        def sources(value: Value) -> Sequence[Value] | None:
            op = made.get(value)
            if op is None or (value in results and value not in rank):
                return None
            if is_free(op):
                return op.operands if "view" not in op.definition.traits or is_axis_view(op) else None
            is_cheap = "elementwise" in op.definition.traits and cost_of(op) == 1 and not op.own_effects
            return op.operands if is_cheap and _rank(value) in (0, widest) else None

        def weight(value: Value) -> float:
            op = made.get(value)
            if op is None:
                return 0.0 if self._stays(given[value], last) else math.inf
            if value in results and value not in rank:
                return 0.0
            if is_free(op):
                return math.inf
            return self._bytes(value) * (_NEARLY if value in rank else 1)

        return minimum_cut(movable, sources, weight)

    def _stays(self, value: Value, last: int) -> bool:
        """Whether an operand is there up to a position, and is what it was."""
        if value in self._parameters:
            return isinstance(value.type, Tensor | Scalar | Index)
        producer = self._producer.get(value)
        if producer is None or producer.name == "load":
            return False
        is_computed = producer.name in ("fusion", "matmul", "contract")
        is_number = isinstance(value.type, Scalar | Index)
        return is_number or (is_computed and max(self._readers[value], default=0) >= last)

    def _bytes(self, value: Value) -> int:
        return bytes_of(value, self._sizes)

    def _replaced(
        self, place: int, recipes: Mapping[Value, Sequence[Op]], given: Mapping[Value, Value]
    ) -> Iterator[str]:
        """Let kernels follow ``recipes`` for what this one does not write any more, if fewer bytes move; says so.

        ``given`` is what stands outside for what the kernel reads and writes.
        """
        kernel, gone = self.ops[place], list(recipes)
        used = {value: _roots(ops) for value, ops in recipes.items()}
        new = dict.fromkeys(root for wanted in used.values() for root in wanted if root not in given)
        given = {**given, **{value: Value(value.type, value.name) for value in new}}
        saved = sum(map(self._bytes, gone)) - sum(map(self._bytes, new))
        readers: dict[int, list[Value]] = {}
        for value in gone:
            for reader in self._readers[given[value]]:
                readers.setdefault(reader, []).append(value)
        for reader, values in readers.items():
            known = {*self.ops[reader].operands}
            more = dict.fromkeys(given[root] for value in values for root in used[value] if given[root] not in known)
            ops = dict.fromkeys(op for value in values for op in recipes[value])
            saved += sum(map(self._bytes, values)) - sum(map(self._bytes, more))
            if len(self.ops[reader].regions[0].ops) + len(ops) > LARGEST_KERNEL:
                return
        if saved <= 0:
            return
        computing = {reader: _computing(self.ops[reader], values, recipes, given) for reader, values in readers.items()}
        kept = [value for value in (*kernel.regions[0].yielded, *new) if value not in gone]
        thinner = _giving(kernel, kept, given)
        if not all(map(_is_nest, (thinner, *computing.values()))):
            return
        for reader, op in computing.items():
            self._replace(reader, op)
        self._replace(place, thinner)
        name = kernel.attributes["kernel"]
        others = ", ".join(sorted({self.ops[reader].attributes["kernel"] for reader in readers}))
        yield f"{name} gives {len(kept)} values, not {len(kernel.results)}: the rest is computed again in {others}"

    def _replace(self, place: int, op: Op) -> None:
        for value in self.ops[place].operands:
            self._readers[value].pop(place, None)
        for value in op.operands:
            self._readers[value][place] = None
        self._producer.update(dict.fromkeys(op.results, op))
        self.ops[place] = op


def _recipe(value: Value, made: Mapping[Value, Op], roots: Set[Value]) -> list[Op]:
    """The ops, in order, that compute a value of ``roots`` and constants."""
    found: dict[Op, None] = {}
    _compute(value, made, roots, found)
    return list(found)


def _compute(value: Value, made: Mapping[Value, Op], roots: Set[Value], found: dict[Op, None]) -> None:
    op = made.get(value)
    if op is not None and op not in found and value not in roots:
        for operand in op.operands:
            _compute(operand, made, roots, found)
        found[op] = None


def _roots(recipe: Sequence[Op]) -> list[Value]:
    """The values that a recipe begins with."""
    computed = {result for op in recipe for result in op.results}
    operands = dict.fromkeys(operand for op in recipe for operand in op.operands)
    return [value for value in operands if value not in computed]


def _computing(
    reader: Op, values: Sequence[Value], recipes: Mapping[Value, Sequence[Op]], given: Mapping[Value, Value]
) -> Op:
    """The kernel that computes values of another one itself, by their recipes; ``given`` is what stands outside."""
    (region,) = reader.regions
    wanted = {given[value]: value for value in values}
    operands: dict[Value, Value] = {}
    for outside, inner in zip(reader.operands, region.parameters, strict=True):
        if outside not in wanted:
            operands.setdefault(outside, inner)
    known: dict[Value, Value] = {}
    body: list[Op] = []
    for op in dict.fromkeys(op for value in values for op in recipes[value]):
        for operand in op.operands:
            if operand not in known:
                outside = given[operand]
                known[operand] = operands.setdefault(outside, Value(operand.type, operand.name))
        body.append(clone_op(op, known))
    instead = {
        inner: known[wanted[outside]] if outside in wanted else operands[outside]
        for outside, inner in zip(reader.operands, region.parameters, strict=True)
    }
    for op in region.ops:
        body.append(replace(op, operands=tuple(instead.get(operand, operand) for operand in op.operands)))
    return replace(reader, operands=tuple(operands), regions=(Region(tuple(operands.values()), tuple(body)),))


def _giving(kernel: Op, kept: Sequence[Value], given: Mapping[Value, Value]) -> Op:
    """The kernel that writes the values ``kept``, without what nothing needs then."""
    (region,) = kernel.regions
    end = replace(region.ops[-1], operands=tuple(kept))
    needed = {*kept}
    body: list[Op] = []
    for op in reversed(region.body):
        if op.own_effects or not needed.isdisjoint(op.results):
            needed.update(op.operands)
            body.append(op)
    pairs = [pair for pair in zip(kernel.operands, region.parameters, strict=True) if pair[1] in needed]
    return replace(
        kernel, operands=tuple(outside for outside, _ in pairs), results=tuple(given[value] for value in kept),
        regions=(Region(tuple(inner for _, inner in pairs), (*reversed(body), end)),),
    )  # fmt: skip


def _does_anything(kernel: Op) -> bool:
    return bool(kernel.results) or any(op.own_effects for op in kernel.regions[0].body)


def _rank(value: Value) -> int:
    """How many axes a value has that are longer than 1."""
    return sum(dim != 1 for dim in dims_of(value.type))


def _is_nest(kernel: Op) -> bool:
    """Whether the loops of a kernel are those of all that it computes."""
    body = kernel.regions[0].body
    producer = {result: op for op in body for result in op.results}
    ops = [op for op in body if not is_free(op)]
    facts = Facts(producer, {*ops}.__contains__)
    return GroupLoops(facts, {op: place for place, op in enumerate(ops)}).are_one(ops)


def _reads_elements(reader: Op, value: Value) -> bool:
    """Whether a kernel reads a value where it computes elements of as many axes, and nowhere else."""
    (region,) = reader.regions
    shown = {inner for outside, inner in zip(reader.operands, region.parameters, strict=True) if outside is value}
    widest = 0
    for op in region.ops:
        widest = max(widest, *(_rank(one) for one in (*op.operands, *op.results) if isinstance(one.type, Tensor)), 0)
        if shown.isdisjoint(op.operands):
            continue
        if is_axis_view(op):
            shown.add(op.result)
        elif not op.definition.traits & {"elementwise", "reduction"}:
            return False
    return widest == _rank(value)
