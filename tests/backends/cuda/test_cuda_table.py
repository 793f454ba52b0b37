"""The table of emission is total over what lowering and expansion leave in kernels."""

from __future__ import annotations

import pytest

from jitflow.backends.cuda.emit_arithmetic import ARITHMETIC
from jitflow.backends.cuda.table import EMISSION
from jitflow.ir.ops import OPS
from jitflow.passes.expand.primitives import FOLDS, PRIMITIVES

OWN_ROWS = {"select", "cast", "bitcast"}
"""Elementwise ops whose rows serve every dtype."""

CONTROL = {"for", "while", "if", "share", "yield", "check", "constant", "size", "to_index", "copy"}
"""Ops of all layers that kernels use beside arithmetic."""

MEMORY = {"read", "write", "read_pair", "write_pair"}
"""Memory ops that host programs use too."""

FOR_PROCESSORS = {
    "multiply_along", "multiply_block", "overlap_block", "pack_panels", "bring_near", "gather_panel",
    "is_finite_panel", "multiply_gathered", "scatter_sums",
}  # fmt: skip
"""Ops that kernels for a GPU do not use: products go another way there."""


def test_every_op_of_kernels_has_a_row() -> None:
    loop_ops = {name for name, definition in OPS.items() if definition.layer == "loop"}
    arithmetic = {name for names in PRIMITIVES.values() for name in names}
    assert set(EMISSION) == (loop_ops - FOR_PROCESSORS) | arithmetic | CONTROL | MEMORY | FOLDS["signed"]


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_every_primitive_has_a_row_for_its_dtypes(kind: str) -> None:
    assert PRIMITIVES[kind] - OWN_ROWS <= set(ARITHMETIC.get(kind, ()))


@pytest.mark.parametrize("kind", FOLDS)
def test_every_fold_has_a_row_for_its_dtypes(kind: str) -> None:
    assert FOLDS[kind] <= set(ARITHMETIC[kind])
