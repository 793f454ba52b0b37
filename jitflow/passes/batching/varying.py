"""What differs from example to example in the region of a `vmap`: values, and the sizes that these become.

A value varies if something does that it is made of, or that decides whether it is made. What an example allocates is
its own and varies whatever is in it: storage, tapes, containers. All else is the same for every example, and stays as
it is.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from jitflow.ir.core import Op, Region, Value, walk_inside
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.types import Type, sizes_of_type
from jitflow.passes.analyses.order import bound_sizes, named_sizes

__all__ = ["Varying"]


class Varying:
    """The values and the names of sizes that vary in a region whose parameters do; ``known`` are the sizes around.

    All that ops give which take ``turns`` counts as varying: without examples there is none of it.
    """

    def __init__(self, region: Region, known: frozenset[str], turns: Set[Op]) -> None:
        self._turns = turns
        self.values: set[Value] = set(region.parameters)
        self.sizes: set[str] = set()
        self._bound: dict[Op, list[str]] = {}
        """The sizes that each op is the first to mention."""
        self._find_bound(region, set(known))
        found = -1
        while found != (found := len(self.values) + len(self.sizes)):
            self._visit(region)

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def has(self, dim: Dim) -> bool:
        """Whether a size varies."""
        return not self.sizes.isdisjoint(symbols(dim))

    def touches(self, op: Op) -> bool:
        """Whether an op, or one inside of it, uses what varies, makes what does, or does something outside."""
        return any(
            not self.values.isdisjoint((*inner.operands, *inner.results))
            or self._mentions(inner)
            or any(effect.kind == "external" for effect in inner.own_effects)
            for inner in (op, *walk_inside(op))
        )

    def mentions(self, op: Op) -> bool:
        """Whether an op, or one inside of it, mentions a size that varies."""
        return any(map(self._mentions, (op, *walk_inside(op))))

    def bound(self, op: Op) -> Sequence[str]:
        """The sizes that an op is the first to mention."""
        return self._bound.get(op, ())

    def _mentions(self, op: Op) -> bool:
        return not self.sizes.isdisjoint(op.sizes)

    def _find_bound(self, region: Region, known: set[str]) -> None:
        for op in region.ops:
            names = [*bound_sizes(op)]
            for inner in op.regions:
                names += [name for parameter in inner.parameters for name in named_sizes(parameter.type)]
            self._bound[op] = [name for name in dict.fromkeys(names) if name not in known]
            known.update(names)
            for inner in op.regions:
                self._find_bound(inner, known)

    def _visit(self, region: Region) -> None:
        for op in region.body:
            for inner in op.regions:
                self._visit(inner)
            self._enter(op)

    def _enter(self, op: Op) -> None:
        if op in self._turns:
            self.values.update(op.results)
            self.sizes.update(self._bound[op])
        if op.name == "if":
            self._branch(op)
        elif op.name in ("for", "while"):
            self._loop(op)
        elif any(effect.kind in ("allocates", "external") for effect in op.own_effects) or self._uses(op):
            self.values.update(op.results)
            self.sizes.update(self._bound[op])
            for inner in op.regions:
                self.values.update(inner.parameters)

    def _uses(self, op: Op) -> bool:
        """Whether an op is made of what varies."""
        return any(
            not self.values.isdisjoint(inner.operands) or self._mentions(inner) for inner in (op, *walk_inside(op))
        )

    def _branch(self, op: Op) -> None:
        every = op.operands[0] in self.values
        arms = [*zip(*(region.yielded for region in op.regions), strict=True)]
        for result, yielded in zip(op.results, arms, strict=True):
            if every or not self.values.isdisjoint(yielded):
                self.values.add(result)
        self._bind(op, every, [value.type for yielded in arms for value in yielded])

    def _loop(self, op: Op) -> None:
        first, body = (3, op.regions[0]) if op.name == "for" else (0, op.regions[1])
        bounds = op.operands[:first] if first else op.regions[0].yielded
        every = not self.values.isdisjoint(bounds)
        if every and first:
            self.values.add(body.parameters[0])
        for number, result in enumerate(op.results):
            parameters = [region.parameters[number + (first > 0)] for region in op.regions]
            sources = (op.operands[first + number], body.yielded[number], result, *parameters)
            if every or not self.values.isdisjoint(sources):
                self.values.update((result, *parameters))
        self._bind(op, every, [value.type for value in (*op.operands[first:], *body.yielded)])

    def _bind(self, op: Op, every: bool, arriving: Sequence[Type]) -> None:
        """Enter the sizes that an op with regions binds, whatever arrives there."""
        if every or any(not self.sizes.isdisjoint(sizes_of_type(kind)) for kind in arriving):
            self.sizes.update(self._bound[op])
