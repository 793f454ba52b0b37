"""Every op has a rule for all examples at once, or a reason why they take turns."""

from __future__ import annotations

import pytest

from jitflow.ir.ops import OPS
from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.ir.ops.held_arrays import HELD_ARRAY_OPS
from jitflow.ir.ops.texts import TEXT_OPS
from jitflow.passes.batching.control import REGIONS
from jitflow.passes.batching.positions import POSITIONS
from jitflow.passes.batching.rules import RULES
from tests.passes.derivatives.test_tables import is_of_kernels

TENSOR_OPS = {name for name, op in OPS.items() if op.layer in ("any", "tensor")}
IN_TURNS = {
    "host_call": "a routine takes the arrays of one example",
    "recursion": "calls itself as long as one example asks for it",
    "recur": "calls itself as long as one example asks for it",
    "print": "in the order of the examples",
    "peek": "reads one number of the tape of an example",
    "poke": "writes one number of the tape of an example",
    **{op.name: "a container is the object of one example" for op in (*CONTAINER_OPS, *HELD_ARRAY_OPS)},
    **{op.name: "text is of one example" for op in TEXT_OPS},
}
OUTSIDE = {
    "yield": "closes regions, whose ops see to it",
    "constant": "the same for all examples",
    "iota": "the same for all examples",
    "broadcast_dims": "the same for all examples: sizes that meet do not vary",
    "vjp": "written out before, as the innermost",
    "jvp": "written out before, as the innermost",
    "vmap": "written out before, as the innermost",
    "mark": "taken away before",
    "draw": "refused while tracing",
    "fusion": "made afterwards",
    "call": "made by lowering",
    "send": "made when a program is partitioned",
    "recv": "made when a program is partitioned",
    "meet": "made when a program is partitioned",
    "progress": "made when a program is partitioned",
}


@pytest.mark.parametrize("name", sorted(TENSOR_OPS - set(OUTSIDE)))
def test_every_op_is_known(name: str) -> None:
    known = name in RULES or name in REGIONS or name in POSITIONS or name in IN_TURNS
    arithmetic_of_lanes = OPS[name].layer == "any" and not known and is_of_kernels(name)
    assert known or arithmetic_of_lanes, f"{name} has no rule for all examples, and nobody says why"


def test_the_tables_name_ops() -> None:
    for name in {*RULES, *REGIONS, *POSITIONS, *IN_TURNS, *OUTSIDE}:
        assert name in OPS, name


def test_no_op_with_a_rule_takes_turns() -> None:
    assert not {*RULES, *REGIONS, *POSITIONS} & ({*IN_TURNS} | {*OUTSIDE})
