"""How each reduction keeps its partial results: one accumulator a lane, or what `sums` and `extremes` keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitflow.ir.core import Op
from jitflow.ir.types import Tensor
from jitflow.passes.lower.kernels.extremes import ArgReduction
from jitflow.passes.lower.kernels.reduction import Reduction
from jitflow.passes.lower.kernels.running import RunningReduction
from jitflow.passes.lower.kernels.sums import MomentReduction, SumReduction

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.elements import Elements

__all__ = ["reduction_for"]


def reduction_for(op: Op, lowering: Elements) -> Reduction:
    """The strategy for a reduction op."""
    name = op.name.removeprefix("reduce_")
    if "accumulation" in op.definition.traits:
        return RunningReduction(op, lowering)
    if name in ("argmax", "argmin"):
        return ArgReduction(op, lowering)
    if name == "m2":
        return MomentReduction(op, lowering)
    operand = op.operands[0].type
    assert isinstance(operand, Tensor)
    if name == "add" and operand.dtype.kind in "fc":
        return SumReduction(op, lowering)
    return Reduction(op, lowering)
