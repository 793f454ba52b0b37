"""Simplification rules about branches: what need not be one, or not the whole of it.

A branch that nobody can foretell costs more than a few numbers that nobody needs. Reading an element is such a number
if the element is known to be there whichever way the branch goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from jitflow.ir.core import Attributes, Builder, Op, Region, Value, clone_op
from jitflow.ir.dims import Dim, symbol
from jitflow.ir.dtypes import I64
from jitflow.ir.equality import exact_key
from jitflow.ir.location import Loc
from jitflow.ir.python_numbers import INT_OVERFLOW
from jitflow.ir.types import Container, Index, Place, Scalar, Tensor, Variable, dims_of
from jitflow.passes.analyses.integers import is_integer
from jitflow.passes.rules.rewrite import Replacement, Rewriter, Rule

__all__ = ["BRANCH_RULES"]

_CHEAP = frozenset(
    """
    add subtract multiply negative absolute minimum maximum less less_equal greater greater_equal equal not_equal
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not left_shift
    right_shift select cast constant size
    """.split()
)
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_FEW = 5
"""Ops that cost less than a branch, beside reading elements."""
_FEW_READS = 3


def _if_same(op: Op, rewriter: Rewriter) -> Replacement:
    """What is done in the same way for numbers of several kinds, whose ops have come to be the same."""
    one, other = op.regions
    if not op.results and not one.body:
        return None
    same = [value.type for value in one.yielded] == [result.type for result in op.results]
    return rewriter.inline(one, ()) if same and _are_same(one, other, {}, {}) else None


def _are_same(one: Region, other: Region, values: dict[Value, Value], sizes: dict[str, Dim]) -> bool:
    """Whether regions do the same at the same places, but for what they call their values and sizes."""
    if len(one.ops) != len(other.ops) or len(one.parameters) != len(other.parameters):
        return False
    values.update(zip(one.parameters, other.parameters, strict=True))
    for left, right in zip(one.ops, other.ops, strict=True):
        if (left.name, left.loc, len(left.regions)) != (right.name, right.loc, len(right.regions)):
            return False
        if "binds" in left.attributes and "binds" in right.attributes:
            sizes[left.attributes["binds"]] = symbol(right.attributes["binds"])
        renamed = clone_op(replace(left, regions=()), dict(values), sizes)
        if renamed.operands != right.operands or _told(renamed) != _told(right):
            return False
        values.update(zip(left.results, right.results, strict=True))
        if not all(_are_same(*pair, values, sizes) for pair in zip(left.regions, right.regions, strict=True)):
            return False
    return [value.type for value in one.parameters] == [value.type for value in other.parameters]


def _told(op: Op) -> tuple[Any, ...]:
    """All that an op says beside its operands."""
    attributes = sorted((name, exact_key(value)) for name, value in op.attributes.items() if name != "binds")
    return (*attributes, *(result.type for result in op.results))


def _if_cheap(op: Op, rewriter: Rewriter) -> Replacement:
    """A choice between a few numbers that are cheaper to compute than a branch is to take."""
    kinds = [result.type for result in op.results]
    if not kinds or "rare" in op.attributes:
        return None
    if not all(isinstance(kind, Scalar) and not isinstance(kind, Container) for kind in kinds):
        return None
    if any([value.type for value in region.yielded] != kinds for region in op.regions):
        return None
    arms = [_Arm(region, rewriter) for region in op.regions]
    if sum(arm.cost for arm in arms) > _FEW or sum(arm.reads for arm in arms) > _FEW_READS:
        return None
    yes, no = (rewriter.inline(arm.unchecked(), ()) for arm in arms)
    condition = op.operands[0]
    for arm, taken in zip(arms, (True, False), strict=True):
        arm.check(condition if not taken else rewriter.make("logical_not", condition))
    chosen = []
    for one, other in zip(yes, no, strict=True):
        chosen.append(one if one is other else rewriter.make("select", condition, one, other))
    return tuple(chosen)


class _Arm:
    """One way of a branch: what it would cost to compute it always."""

    def __init__(self, region: Region, rewriter: Rewriter) -> None:
        self._region = region
        self._rewriter = rewriter
        self._constants = {op.result: op.attributes["value"] for op in region.body if op.name == "constant"}
        self._sums: dict[Value, tuple[Value, int, int]] = {}
        """Checked arithmetic as a number, how often it is taken, and what is added."""
        self._limits: dict[Value, tuple[int, int, Loc]] = {}
        """Between what a number must be so that none of that overflows."""
        self.cost = self.reads = 0
        for op in _needed(region):
            self._look_at(op)

    def _look_at(self, op: Op) -> None:
        if op.name in ("constant", "size"):
            return
        if _is_of_elements(op):
            self.reads += op.name == "slice"
            inside = op.name != "slice" or _lies_inside(op, self._rewriter)
        else:
            self.cost += 1
            inside = _is_cheap(op) or self._is_halving(op) or self._is_limited(op)
        if not inside:
            self.cost = _FEW + 1

    def _constant(self, value: Value) -> int | None:
        number = self._constants.get(value, self._rewriter.constant(self._rewriter.current(value)))
        return number if isinstance(number, int) else None

    def _is_halving(self, op: Op) -> bool:
        """Whether an op divides an integer by a power of two."""
        if op.name not in ("floor_divide", "remainder") or op.own_effects or not is_integer(op.operands[0]):
            return False
        divisor = self._constant(op.operands[1])
        return divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0

    def _is_limited(self, op: Op) -> bool:
        """Whether an op is a sum or a product with a constant, so that a comparison says whether it overflows."""
        if op.name not in ("add", "subtract", "multiply") or op.result.type != Scalar(I64, True):
            return False
        left, right = map(self._constant, op.operands)
        if (left is None) == (right is None):
            return False
        number, known = (op.operands[1], left) if right is None else (op.operands[0], right)
        assert known is not None
        root, factor, rest = self._sums.get(number, (number, 1, 0))
        if op.name == "multiply":
            factor, rest = factor * known, rest * known
        elif op.name == "add":
            rest += known
        elif right is None:
            factor, rest = -factor, known - rest
        else:
            rest -= known
        if not factor:
            return False
        self._sums[op.result] = root, factor, rest
        ends = sorted((end - rest) / Fraction(factor) for end in (_SMALLEST, _LARGEST))
        lowest, highest, _ = self._limits.get(root, (_SMALLEST, _LARGEST, op.loc))
        self._limits[root] = max(lowest, math.ceil(ends[0])), min(highest, math.floor(ends[1])), op.loc
        return True

    def unchecked(self) -> Region:
        """The region, whose sums and products wrap around where its way is not taken."""
        ops = [
            replace(op, attributes={key: value for key, value in op.attributes.items() if key != "checked"})
            if op.results and op.results[0] in self._sums
            else op
            for op in self._region.ops
        ]
        return Region(self._region.parameters, tuple(ops))

    def check(self, elsewhere: Value) -> None:
        """Raise what the sums and products of the region would have raised, unless the branch goes ``elsewhere``."""
        make, outer = self._rewriter.make, self._rewriter.builder.loc
        for root, (lowest, highest, loc) in self._limits.items():
            self._rewriter.builder.loc = loc
            value = self._rewriter.current(root)
            above = make("greater_equal", value, self._rewriter.number(lowest, value.type))
            below = make("less_equal", value, self._rewriter.number(highest, value.type))
            fits = make("logical_or", elsewhere, make("logical_and", above, below))
            self._rewriter.add("check", fits, error="OverflowError", message=INT_OVERFLOW)
        self._rewriter.builder.loc = outer


def _needed(region: Region) -> list[Op]:
    """The ops of a region without numbers and reads that nobody uses."""
    used = set(region.yielded)
    found = []
    for op in reversed(region.body):
        idle = all(effect.kind == "reads" for effect in op.own_effects) and not op.regions
        if not idle or "binds" in op.attributes or not used.isdisjoint(op.results):
            used.update(op.operands)
            found.append(op)
    return found[::-1]


def _is_cheap(op: Op) -> bool:
    numbers = all(isinstance(value.type, Scalar | Index) for value in (*op.operands, *op.results))
    return op.name in _CHEAP and numbers and not op.own_effects


def _is_of_elements(op: Op) -> bool:
    """Whether an op is a part of reading one element of an array."""
    if op.name == "load":
        return True
    if op.name == "slice":
        return isinstance(op.result.type, Tensor) and all(dim == 1 for dim in dims_of(op.result.type))
    array = isinstance(op.operands[0].type, Tensor) if op.operands else False
    return array and op.name in ("reshape", "cast") and not dims_of(op.result.type) and _is_one(op.operands[0])


def _is_one(value: Value) -> bool:
    return all(dim == 1 for dim in dims_of(value.type))


def _lies_inside(op: Op, rewriter: Rewriter) -> bool:
    """Whether the element that a slice shows is known to be there."""
    return all(
        rewriter.holds(start) and rewriter.holds(dim - start - 1)
        for start, dim in zip(op.attributes["starts"], dims_of(op.operands[0].type), strict=True)
    )


def _same_store(op: Op, rewriter: Rewriter) -> Replacement:
    """Where both ways end with writing to the same element, it is written behind them."""
    stores = [_last_store(region) for region in op.regions]
    if None in stores:
        return None
    first, second = (store for store in stores if store is not None)
    chains = [_chain(store.operands[0], region) for store, region in zip((first, second), op.regions, strict=True)]
    (root, views), (other_root, other_views) = chains
    if root is not other_root or views != other_views:
        return None
    kind = first.operands[0].type
    assert isinstance(kind, Place | Variable)
    regions = tuple(
        _yielding(region, store, Scalar(kind.dtype)) for region, store in zip(op.regions, (first, second), strict=True)
    )
    types = [*(result.type for result in op.results), Scalar(kind.dtype)]
    results = rewriter.add("if", op.operands[0], types=types, regions=regions)
    assert isinstance(results, tuple)
    place = rewriter.current(root)
    for name, attributes in views:
        place = rewriter.make(name, place, **attributes)
    rewriter.add("store", place, results[-1])
    return results[:-1]


def _last_store(region: Region) -> Op | None:
    """The store of a number to an element behind which nothing but arithmetic comes."""
    for op in reversed(region.body):
        if op.name == "store":
            place, value = op.operands
            return op if not dims_of(place.type) and isinstance(value.type, Scalar) else None
        if op.own_effects or op.regions or "binds" in op.attributes:
            return None
    return None


_View = tuple[str, Attributes]


def _chain(place: Value, region: Region) -> tuple[Value, list[_View]]:
    """The place from outside of a region that a place in it is a view of, and the views."""
    made = {op.result: op for op in region.body if "view" in op.definition.traits}
    views: list[_View] = []
    while place in made:
        op = made[place]
        views.append((op.name, op.attributes))
        place = op.operands[0]
    return place, views[::-1]


def _yielding(region: Region, store: Op, kind: Scalar) -> Region:
    """The region that yields what it stored."""
    builder = Builder(loc=store.loc)
    builder.ops = [op for op in region.body if op is not store]
    value = store.operands[1]
    if value.type != kind:
        value = builder.make("cast", value, dtype=kind.dtype)
    return builder.region(region.parameters, [*region.yielded, value])


BRANCH_RULES: Sequence[Rule] = (
    Rule("if_same", ("if",), "if(c, a, a) -> a", _if_same),
    Rule("same_store", ("if",), "if(c, store(p, a), store(p, b)) -> store(p, if(c, a, b))", _same_store),
    Rule("if_cheap", ("if",), "if(c, a, b) -> select(c, a, b) if a and b cost next to nothing", _if_cheap),
)
