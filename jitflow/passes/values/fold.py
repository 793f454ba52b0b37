"""Constant folding: what has only constants as operands is computed now, as the table of operations says.

    %0: f32 = constant {value=2.0, type=<f32>}
    %1: f32 = sqrt %0                                ->      %1: f32 = constant {value=1.4142135381698608, type=<f32>}

Folds elementwise ops on numbers (those on arrays of one number become ops on that number by `rules/numbers`), and sizes
that meet numbers. Never folds what may fail: the program is to raise where and when it runs. Nor what the table's NumPy
gives other bits than the running program, where elementary functions are the C library's.
"""

from __future__ import annotations

import numpy as np

from jitflow.ir.core import Function, Op
from jitflow.ir.ops import OPS
from jitflow.ir.types import Index, Scalar
from jitflow.passes.expand.single import OF_SINGLE_NUMBERS
from jitflow.passes.rules.rewrite import NUMBERS, Replacement, Rewriter, Rule, RuleTable, rewrite

__all__ = ["ELEMENTWISE", "FOLDING", "fold"]

ELEMENTWISE = tuple(name for name, row in OPS.items() if "elementwise" in row.traits)


def _fold_number(op: Op, rewriter: Rewriter) -> Replacement:
    if len(op.results) != 1 or op.own_effects or op.definition.evaluate is None or op.name == "copy":
        return None
    result = op.result.type
    if not isinstance(result, Scalar) or (op.name in OF_SINGLE_NUMBERS and result.dtype.kind == "f"):
        return None
    numbers = [rewriter.constant(operand) for operand in op.operands]
    if any(number is None for number in numbers):
        return None
    operands = []
    for number, operand in zip(numbers, op.operands, strict=True):
        if isinstance(operand.type, Index):
            operands.append(number)
        elif isinstance(operand.type, Scalar):
            operands.append(np.asarray(number).astype(operand.type.dtype.numpy)[()])
        else:
            return None
    return rewriter.number(op.definition.evaluate(operands, op.attributes, (result,)), result)


FOLDING = (Rule("fold_number", ELEMENTWISE, "op(constants) -> constant", _fold_number, NUMBERS),)

_TABLE = RuleTable(FOLDING)


def fold(function: Function) -> Function:
    """Compute what depends on constants alone."""
    return rewrite(function, _TABLE)
