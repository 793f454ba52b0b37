"""Simplification rules about control flow: what is decided already. Branches: `branches`."""

from __future__ import annotations

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.types import Index
from jitflow.passes.rules.rewrite import Replacement, Rewriter, Rule

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
    Rule("for_never", ("for",), "for(no steps, x) -> x", _for_never),
    Rule("sizes_meet", ("broadcast_dims",), "broadcast_dims(n, n, 1) -> n", _sizes_meet),
)
