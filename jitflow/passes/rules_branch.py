"""Simplification rules about branches: what need not be one, or not the whole of it.

A branch that nobody can foretell costs more than a few numbers that nobody needs. Reading an element is such a number
if the element is known to be there whichever way the branch goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Attributes, Builder, Op, Region, Value
from jitflow.ir.types import Index, Place, Scalar, Tensor, dims_of
from jitflow.passes.rewrite import Replacement, Rewriter, Rule

__all__ = ["BRANCH_RULES"]

_CHEAP = frozenset(
    """
    add subtract multiply negative absolute minimum maximum less less_equal greater greater_equal equal not_equal
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not left_shift
    right_shift select cast constant size
    """.split()
)
_FEW = 5
"""Ops that cost less than a branch, beside reading elements."""
_FEW_READS = 3


def _if_cheap(op: Op, rewriter: Rewriter) -> Replacement:
    """A choice between a few numbers that are cheaper to compute than a branch is to take."""
    kinds = [result.type for result in op.results]
    if not kinds or not all(isinstance(kind, Scalar) for kind in kinds):
        return None
    if any([value.type for value in region.yielded] != kinds for region in op.regions):
        return None
    inside = [inner for region in op.regions for inner in _needed(region)]
    reading = [inner for inner in inside if _is_of_elements(inner)]
    if len(inside) - len(reading) > _FEW or not all(inner in reading or _is_cheap(inner) for inner in inside):
        return None
    slices = [inner for inner in reading if inner.name == "slice"]
    if len(slices) > _FEW_READS or not all(_lies_inside(inner, rewriter) for inner in slices):
        return None
    yes, no = (rewriter.inline(region, ()) for region in op.regions)
    condition = op.operands[0]
    chosen = []
    for one, other in zip(yes, no, strict=True):
        chosen.append(one if one is other else rewriter.make("select", condition, one, other))
    return tuple(chosen)


def _needed(region: Region) -> list[Op]:
    """The ops of a region without numbers and reads that nobody uses."""
    used = set(region.yielded)
    found = []
    for op in reversed(region.body):
        idle = all(effect.kind == "reads" for effect in op.own_effects) and not op.regions
        if not idle or "binds" in op.attributes or not used.isdisjoint(op.results):
            used.update(op.operands)
            found.append(op)
    return found


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
    assert isinstance(kind, Place)
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
    Rule("same_store", ("if",), "if(c, store(p, a), store(p, b)) -> store(p, if(c, a, b))", _same_store),
    Rule("if_cheap", ("if",), "if(c, a, b) -> select(c, a, b) if a and b cost next to nothing", _if_cheap),
)
