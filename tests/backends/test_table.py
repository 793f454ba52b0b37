"""The table of emission is total: each op that can reach it has a row, or is named among those that cannot."""

import pytest

from jitflow.backends.llvm.emission.emit_elementwise import ARITHMETIC, ELEMENTWISE_EMISSION, PREDICATES
from jitflow.backends.llvm.emission.rows import kind_of
from jitflow.backends.llvm.table import EMISSION, REMOVED_BY_EXPANSION, REMOVED_BY_LOWERING
from jitflow.ir.core import TypeRuleError
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.ops import OPS
from jitflow.ir.types import Vector
from jitflow.passes.expand.primitives import PRIMITIVES, dtype_class

OWN_RULES = {"select", "cast", "bitcast", "complex", "copy", "constant"}
"""Ops whose rows serve every dtype."""

FOR_GPUS = {"attend", "multiply_tile", "on_chip", "stage"}
"""Ops of kernels for a GPU alone; `tests/backends/cuda/test_cuda_table.py` asks for their rows."""


def test_every_op_of_kernels_and_host_programs_is_covered():
    reachable = {name for name, definition in OPS.items() if definition.layer in ("any", "loop", "host")}
    complex_only = {name for name in reachable if kinds_taken(name) == {"c"}}
    covered = set(EMISSION) | set(REMOVED_BY_EXPANSION) | REMOVED_BY_LOWERING | complex_only | FOR_GPUS
    assert reachable - covered == set()
    assert set(EMISSION) - reachable == set()
    assert not set(EMISSION) & REMOVED_BY_LOWERING


def kinds_taken(name):
    """The kinds of dtype that an elementwise op takes."""
    definition = OPS[name]
    if "elementwise" not in definition.traits or name in OWN_RULES:
        return set()
    kinds = set()
    for dtype in DTYPES.values():
        try:
            definition.infer([Vector(dtype, 4)] * definition.arity, {})
        except TypeRuleError:
            continue
        kinds.add(kind_of(dtype))
    return kinds


@pytest.mark.parametrize("name", [name for name, definition in OPS.items() if "elementwise" in definition.traits])
def test_every_elementwise_op_is_covered_for_every_dtype(name):
    for kind in kinds_taken(name) - {"c"}:
        has_row = (name, kind) in ARITHMETIC or (name, kind) in PREDICATES
        removed = kind.replace("h", "f") in REMOVED_BY_EXPANSION.get(name, "")
        assert has_row != removed, f"{name} of kind {kind}"


def test_every_primitive_that_expansions_leave_has_a_row():
    for dtype in DTYPES.values():
        for name in PRIMITIVES.get(dtype_class(dtype.name), ()):
            key = (name, kind_of(dtype))
            assert name in OWN_RULES or key in ARITHMETIC or key in PREDICATES, key
    assert PRIMITIVES["index"] <= set(ELEMENTWISE_EMISSION)
