"""Simplification rules about control flow: what is decided already."""

from __future__ import annotations

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.types import Index, Scalar
from jitflow.passes.rewrite import Replacement, Rewriter, Rule

__all__ = ["CONTROL_RULES"]


def _check_holds(op: Op, rewriter: Rewriter) -> Replacement:
    return () if rewriter.constant(op.operands[0]) is True else None


def _if_decided(op: Op, rewriter: Rewriter) -> Replacement:
    decision = rewriter.constant(op.operands[0])
    if decision is None:
        return None
    region = op.regions[0 if decision else 1]
    # A result that binds a size, or takes variables as places, needs the op.
    if [value.type for value in region.yielded] != [result.type for result in op.results]:
        return None
    return rewriter.inline(region, ())


_CHEAP = frozenset(
    """
    add subtract multiply negative absolute minimum maximum less less_equal greater greater_equal equal not_equal
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not left_shift
    right_shift select cast constant size
    """.split()
)
_FEW = 5


def _if_cheap(op: Op, rewriter: Rewriter) -> Replacement:
    """A choice between a few numbers that are cheaper to compute than a branch is to take."""
    kinds = [result.type for result in op.results]
    inside = [inner for region in op.regions for inner in region.body]
    if not kinds or len(inside) > _FEW or not all(isinstance(kind, Scalar) for kind in kinds):
        return None
    if any([value.type for value in region.yielded] != kinds for region in op.regions):
        return None
    if not all(_is_cheap(inner) for inner in inside):
        return None
    yes, no = (rewriter.inline(region, ()) for region in op.regions)
    condition = op.operands[0]
    chosen = []
    for one, other in zip(yes, no, strict=True):
        chosen.append(one if one is other else rewriter.make("select", condition, one, other))
    return tuple(chosen)


def _is_cheap(op: Op) -> bool:
    numbers = all(isinstance(value.type, Scalar | Index) for value in (*op.operands, *op.results))
    return op.name in _CHEAP and numbers and not op.own_effects


def _for_never(op: Op, rewriter: Rewriter) -> Replacement:
    start, stop, step = (rewriter.constant(operand) for operand in op.operands[:3])
    if start is None or stop is None or not step or len(range(start, stop, step)):
        return None
    return op.operands[3:]


def _sizes_meet(op: Op, rewriter: Rewriter) -> Replacement:
    """Sizes that are equal, or 1, meet without a question; the size that the op would bind is theirs."""
    dims: list[Dim | None] = [operand.type.dim for operand in op.operands if isinstance(operand.type, Index)]
    wide = {dim for dim in dims if dim != 1}
    if None in wide or len(wide) > 1:
        return None
    (size,) = wide or {1}
    assert size is not None
    rewriter.rename_size(op.attributes["binds"], size)
    return rewriter.make("size", dim=size)


CONTROL_RULES = (
    Rule("check_holds", ("check",), "check(True) -> nothing", _check_holds),
    Rule("if_decided", ("if",), "if(True, a, b) -> a", _if_decided),
    Rule("if_cheap", ("if",), "if(c, a, b) -> select(c, a, b) if a and b cost next to nothing", _if_cheap),
    Rule("for_never", ("for",), "for(no steps, x) -> x", _for_never),
    Rule("sizes_meet", ("broadcast_dims",), "broadcast_dims(n, n, 1) -> n", _sizes_meet),
)
