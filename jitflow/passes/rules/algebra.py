"""Rules that are written as a line of algebra: ``add(x, 0) -> x``.

The text is parsed once; what is left is a pattern that is matched with an op and with the ops that give its operands.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.passes.rules.rewrite import NUMBERS, Replacement, Rewriter, Rule, dtype_of_value
from jitflow.records import dataclass

__all__ = ["algebraic"]


@dataclass(frozen=True, slots=True)
class _Letter:
    name: str


@dataclass(frozen=True, slots=True)
class _Number:
    value: Any


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: tuple[_Pattern, ...]


_Pattern = _Letter | _Number | _Call
_Bound = dict[str, Value]


def algebraic(name: str, text: str, kinds: str = "biufc") -> Rule:
    """A rule written ``pattern -> result``, for operands whose dtype is of one of ``kinds``.

    Both sides are calls of ops on letters and numbers. A letter stands for one value, a number for a constant, in every
    element if it is an array; ``0`` does not match -0.0. Operands of commutative ops match in either order. Ops that
    may raise are left alone. Sizes count as integers.
    """
    left, right = (_parse(ast.parse(side.strip(), mode="eval").body) for side in text.split("->"))
    assert isinstance(left, _Call)
    pattern = left

    def apply(op: Op, rewriter: Rewriter) -> Replacement:
        bound = _match_op(pattern, op, rewriter, {})
        if bound is None:
            return None
        dtype = dtype_of_value(op.operands[-1])
        if (dtype.kind if dtype else "i") not in kinds:
            return None
        return _build(right, op, rewriter, bound, op.results[0].type)

    return Rule(name, (pattern.name,), text, apply, _needs(pattern))


def _needs(pattern: _Call) -> tuple[str, ...]:
    """What gives an operand of every op that a pattern matches."""
    calls = [argument.name for argument in pattern.arguments if isinstance(argument, _Call)]
    if calls:
        return (calls[0],)
    if any(isinstance(argument, _Number) for argument in pattern.arguments):
        return NUMBERS
    return ("same",) if len(set(pattern.arguments)) < len(pattern.arguments) else ()


def _parse(node: ast.expr) -> _Pattern:
    if isinstance(node, ast.Name):
        return _Letter(node.id)
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return _Call(node.func.id, tuple(map(_parse, node.args)))
    return _Number(ast.literal_eval(node))


def _match_op(pattern: _Call, op: Op, rewriter: Rewriter, bound: _Bound) -> _Bound | None:
    """What the letters stand for if the op, which has the pattern's name, matches."""
    if op.attributes.get("checked"):
        return None
    found = _match_all(pattern.arguments, op.operands, rewriter, bound)
    if found is None and len(op.operands) == 2 and "commutative" in op.definition.traits:
        found = _match_all(pattern.arguments, op.operands[::-1], rewriter, bound)
    return found


def _match_all(
    patterns: Sequence[_Pattern], values: Sequence[Value], rewriter: Rewriter, bound: _Bound
) -> _Bound | None:
    found: _Bound | None = bound
    for pattern, value in zip(patterns, values, strict=True):
        if found is None:
            return None
        found = _match(pattern, value, rewriter, found)
    return found


def _match(pattern: _Pattern, value: Value, rewriter: Rewriter, bound: _Bound) -> _Bound | None:
    if isinstance(pattern, _Letter):
        known = bound.get(pattern.name)
        if known is None:
            return {**bound, pattern.name: value}
        return bound if known is value else None
    if isinstance(pattern, _Call):
        op = rewriter.producer(value, pattern.name)
        return _match_op(pattern, op, rewriter, bound) if op is not None else None
    return bound if _same_number(rewriter.constant(value), pattern.value) else None


def _build(pattern: _Pattern, op: Op, rewriter: Rewriter, bound: _Bound, kind: Type) -> Value:
    """What the pattern stands for, ``kind`` being the type of a number."""
    if isinstance(pattern, _Letter):
        return bound[pattern.name]
    if isinstance(pattern, _Number):
        return rewriter.number(pattern.value, kind)
    # A number beside arrays needs no shape of its own; lanes do.
    beside = op.operands[0].type
    if isinstance(beside, Tensor):
        beside = Scalar(beside.dtype)
    return rewriter.make(
        pattern.name, *(_build(argument, op, rewriter, bound, beside) for argument in pattern.arguments)
    )


def _same_number(found: Any, wanted: Any) -> bool:
    """Whether a constant is the pattern's number; bools are not numbers, and zeros have signs."""
    if found is None or isinstance(found, bool) != isinstance(wanted, bool) or found != wanted:
        return False
    if isinstance(found, complex):
        parts = ((found.real, complex(wanted).real), (found.imag, complex(wanted).imag))
        return all(math.copysign(1.0, a) == math.copysign(1.0, b) for a, b in parts)
    # An integer has one zero; a float has two.
    return not isinstance(found, float) or math.copysign(1.0, found) == math.copysign(1.0, wanted)
