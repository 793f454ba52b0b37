"""The rules of library functions, by their names: what a ``host_call`` calls."""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op
from jitflow.passes.derivatives import (
    decompositions,
    equations,
    folds,
    members,
    ordering,
    scipy_routines,
    signals,
    special_functions,
)
from jitflow.passes.derivatives.notation import Notation
from jitflow.passes.derivatives.rules import Arriving, Change, Refused, Tangent, Transpose, no_rule

__all__ = ["ROUTINE_TANGENTS", "ROUTINE_TRANSPOSES", "tangent", "transpose"]

ROUTINE_TRANSPOSES: dict[str, Transpose] = {
    **equations.TRANSPOSES,
    **decompositions.TRANSPOSES,
    **folds.TRANSPOSES,
    **members.TRANSPOSES,
    **ordering.TRANSPOSES,
    **scipy_routines.TRANSPOSES,
    **signals.TRANSPOSES,
    **special_functions.TRANSPOSES,
}

ROUTINE_TANGENTS: dict[str, Tangent] = {
    **equations.TANGENTS,
    **decompositions.TANGENTS,
    **folds.TANGENTS,
    **members.TANGENTS,
    **ordering.TANGENTS,
    **scipy_routines.TANGENTS,
    **signals.TANGENTS,
    **special_functions.TANGENTS,
}


def transpose(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """The reverse rule of a routine. Raises `UserNotImplementedError` for one that has none."""
    rule = ROUTINE_TRANSPOSES.get(op.attributes["routine"])
    if rule is None:
        raise no_rule(op)
    return rule(m, op, cotangents)


def tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change | Refused]:
    """The forward rule of a routine. Raises `UserNotImplementedError` for one that has none."""
    rule = ROUTINE_TANGENTS.get(op.attributes["routine"])
    if rule is None:
        raise no_rule(op)
    return rule(m, op, tangents)
