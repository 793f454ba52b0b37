"""Hoisting: what a loop computes anew in every turn, and always the same, is computed once before it.

Only what costs more than reading the result again, and what cannot fail or read where nothing is if the loop does not
turn at all: reductions, products and scans, and elementary functions, on values from outside the loop. What they need
moves with them: cheap arithmetic, views, loads of places that the loop does not write to, and the op that binds a size.
Arrays move if their sizes are known to be none below 0, slices if they lie inside of what they show, even where the
loop does not turn; what trusts a check only if it stands before the checks of the loop.

    for %0, %k, %1 (%i: index[i]) {                    %2: f64[n] = exp %x
      %2: f64[n] = exp %x                       ->     for %0, %k, %1 (%i: index[i]) {
      %3: f64[n] = load %v                               %3: f64[n] = load %v
      ...                                                ...

It looks at the bodies of loops, the inner ones first, and not into branches, which a turn need not take. Cheap numbers
are left to LLVM, which moves them out of loops itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jitflow.ir.bounds import Bounds
from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import Call, Dim, Expression
from jitflow.ir.effects import Effects
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.analyses.extents import signed_sizes
from jitflow.passes.analyses.order import bound_sizes, named_sizes

__all__ = ["hoist"]

_EXPENSIVE = frozenset(
    """
    power sqrt cbrt exp exp2 expm1 log log1p log2 log10 logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2
    hypot sinh cosh tanh arcsinh arccosh arctanh erf erfc
    """.split()
)

_TRUSTING = frozenset(("diagonal", "gather", "host_call", "window"))
"""What reads where nothing is, or fails, unless a check has found that it does not."""


def hoist(function: Function) -> Function:
    """The function with the invariant work of its loops before them."""
    if not any(op.name in ("for", "while") for op in walk(function.region)):
        return function
    return replace(function, region=_Hoisting(function).region(function.region))


class _Hoisting:
    def __init__(self, function: Function) -> None:
        self.effects = Effects(function)
        self.bounds = Bounds(function.facts)
        self.fixed = {name for parameter in function.parameters for name in named_sizes(parameter.type)}
        for name in signed_sizes(function):
            self.bounds.name(name, signed=True)

    def region(self, region: Region) -> Region:
        """The region with its loops emptied of what does not vary."""
        ops: list[Op] = []
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            if op.name in ("for", "while"):
                moved, op = self.split(op)
                ops += moved
            ops.append(op)
        return Region(region.parameters, tuple(ops))

    def split(self, loop: Op) -> tuple[list[Op], Op]:
        """What moves out of a loop, and the loop without it."""
        body = loop.regions[-1]
        movable = self.movable(loop, body)
        makers = {result: op for op in movable for result in op.results}
        binders = {name: op for op in movable for name in self.bound_by(op)}
        moved: dict[Op, None] = {}
        for op in reversed(movable):
            if op in moved or _is_worth_it(op):
                needed = (*(makers.get(operand) for operand in op.operands), *map(binders.get, op.sizes))
                moved.update(dict.fromkeys((op, *filter(None, needed))))
        if not moved:
            return [], loop
        kept = Region(body.parameters, tuple(op for op in body.ops if op not in moved))
        return [op for op in movable if op in moved], replace(loop, regions=(*loop.regions[:-1], kept))

    def movable(self, loop: Op, body: Region) -> list[Op]:
        """The ops of a loop's body that compute the same in every turn, and could do so before the first."""
        varying: set[Value] = set(body.parameters)
        sizes = {name for parameter in body.parameters for name in named_sizes(parameter.type)} - self.fixed
        found: list[Op] = []
        checked = any(map(self.fails, (op for region in loop.regions[:-1] for op in region.ops)))
        for op in body.body:
            own = not (varying.isdisjoint(op.operands) and sizes.isdisjoint(op.sizes))
            if own or not self.may_move(op, loop, checked):
                varying.update(op.results)
                sizes.update(self.bound_by(op))
            else:
                found.append(op)
            checked = checked or self.fails(op)
        return found

    def bound_by(self, op: Op) -> set[str]:
        """The sizes that an op binds."""
        return set(bound_sizes(op)) - self.fixed

    def fails(self, op: Op) -> bool:
        """Whether an op may raise."""
        return any(access.kind in ("check", "external") for access in self.effects.of(op))

    def may_move(self, op: Op, loop: Op, checked: bool) -> bool:
        """Whether an op could stand before the loop, if its operands did."""
        if op.regions or not op.results or (checked and op.attributes.get("assumed")):
            return False
        if op.name in _TRUSTING or not self.is_array(op) or (op.name == "slice" and not self.lies_inside(op)):
            return False
        if op.name == "load":
            return not self.effects.conflict(op, loop)
        return not op.own_effects

    def is_array(self, op: Op) -> bool:
        """Whether no size of an op's results is below 0, given that none of its operands' is."""
        mark = self.bounds.mark()
        for operand in op.operands:
            for dim in dims_of(operand.type):
                self.bounds.learn(dim)
        known = all(self.bounds.proves(dim) for result in op.results for dim in dims_of(result.type))
        self.bounds.forget(mark)
        return known

    def lies_inside(self, op: Op) -> bool:
        """Whether a slice shows nothing but elements of its operand, or none at all, whatever the sizes are."""
        axes = zip(
            dims_of(op.operands[0].type), *(op.attributes[key] for key in ("starts", "sizes", "steps")), strict=True
        )
        for dim, start, size, step in axes:
            mark = self.bounds.mark()
            for positive in _if_any(size):
                self.bounds.learn(positive - 1)
                size = positive
            last = start + (size - 1) * step
            forwards = isinstance(step, int) and step > 0
            backwards = isinstance(step, int) and step < 0
            lowest = [start] if forwards else [last] if backwards else [start, last]
            highest = [last] if forwards else [start] if backwards else [start, last]
            self.bounds.learn(size - 1)
            inside = all(map(self.bounds.proves, (*lowest, *(dim - high - 1 for high in highest))))
            self.bounds.forget(mark)
            if not inside:
                return False
        return True


def _if_any(size: Dim) -> Iterator[Dim]:
    """What ``max(x, 0)`` is if it is not 0."""
    if isinstance(size, Expression) and len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Call) and monomial[0].operator == "max":
            rest = [operand for operand in monomial[0].operands if operand != 0]
            if len(rest) == 1:
                yield rest[0]


def _is_worth_it(op: Op) -> bool:
    traits = op.definition.traits
    if traits & {"reduction", "accumulation", "contraction"} or op.name == "concatenate":
        return True
    if op.name not in _EXPENSIVE:
        return False
    # Nothing is gained by storing more numbers than are read: a function of a row and a column, say.
    return not dims_of(op.results[0].type) or any(
        isinstance(operand.type, Tensor) and operand.type.dims == dims_of(op.results[0].type) for operand in op.operands
    )
