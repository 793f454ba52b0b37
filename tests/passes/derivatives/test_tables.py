"""Every op of the table has a derivative, or a reason why it has none."""

from __future__ import annotations

import pytest

from jitflow.ir.ops import OPS
from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.ops.held_arrays import HELD_ARRAY_OPS
from jitflow.ir.ops.texts import TEXT_OPS
from jitflow.passes.derivatives import forward, reverse, reverse_regions
from jitflow.passes.derivatives.partials import CONSTANT, PARTIALS
from jitflow.passes.derivatives.reductions import WEIGHTS
from jitflow.passes.derivatives.routines import ROUTINE_TANGENTS, ROUTINE_TRANSPOSES
from jitflow.passes.derivatives.transposes import LINEAR, TANGENTS, TRANSPOSES

TENSOR_OPS = {name for name, op in OPS.items() if op.layer in ("any", "tensor")}
OUTSIDE = {
    "yield": "closes regions, whose ops see to it",
    "fusion": "made after derivatives are written out",
    "call": "made by lowering",
    "to_index": "a size",
    "send": "made when a program is partitioned",
    "recv": "made when a program is partitioned",
    "meet": "made when a program is partitioned",
    "progress": "made when a program is partitioned",
    "recursion": "written out, or refused, in what is differentiated",
    "recur": "written out, or refused, in what is differentiated",
    **{
        op.name: "a container has no derivative: what is differentiated keeps lists on tapes"
        for op in (*CONTAINER_OPS, *HELD_ARRAY_OPS)
    },
    **{op.name: "text has no derivative" for op in TEXT_OPS},
}
"""Ops that no derivative meets, or that have nothing to do with numbers."""


def with_rules(*tables: object) -> set[str]:
    names: set[str] = set()
    for table in tables:
        names |= set(table)  # type: ignore[call-overload]
    return names


REVERSE = with_rules(PARTIALS, TRANSPOSES, WEIGHTS, reverse._STORAGE, reverse_regions.REGIONS)
FORWARD = with_rules(PARTIALS, TANGENTS, WEIGHTS, LINEAR, forward._STORAGE, forward._REGIONS)
NAMES = sorted(TENSOR_OPS - DERIVATIVE_NAMES - set(OUTSIDE))


@pytest.mark.parametrize("name", NAMES)
def test_every_op_is_known(name: str) -> None:
    arithmetic_of_lanes = OPS[name].layer == "any" and name not in REVERSE | set(CONSTANT) and is_of_kernels(name)
    assert arithmetic_of_lanes or name in CONSTANT or name in REVERSE, f"{name} has no reverse rule"
    assert arithmetic_of_lanes or name in CONSTANT or name in FORWARD, f"{name} has no forward rule"


def is_of_kernels(name: str) -> bool:
    """Ops of loops and host programs, which share the table."""
    from jitflow.ir.ops.host import HOST_OPS
    from jitflow.ir.ops.loop import LOOP_OPS

    return any(op.name == name for op in (*HOST_OPS, *LOOP_OPS))


def test_the_tables_name_ops() -> None:
    for name in REVERSE | FORWARD | set(CONSTANT) | set(OUTSIDE):
        assert name in OPS, name


def test_no_op_has_two_kinds_of_rules() -> None:
    for name in CONSTANT:
        assert name == "sign" or name not in REVERSE, name
    assert not set(WEIGHTS) & set(PARTIALS)


def test_routines_have_both_rules() -> None:
    assert set(ROUTINE_TRANSPOSES) == set(ROUTINE_TANGENTS)
    for routine in ROUTINE_TRANSPOSES:
        from jitflow.ir.routines import routine_function

        assert callable(routine_function(routine))
