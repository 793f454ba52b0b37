"""Every elementwise op ends in primitives, for every dtype that it accepts, on scalars, vectors and sizes."""

from __future__ import annotations

import pytest

from jitflow.ir.core import Builder, Function, Region, TypeRuleError, Value
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.ops.elementwise import ELEMENTWISE_OPS
from jitflow.ir.types import Index
from jitflow.ir.verifier import verify
from jitflow.passes.expand.expand import expand
from jitflow.passes.expand.primitives import LIBRARY
from tests.expand.kernels import check_primitive, kernel

PLAIN = [definition.name for definition in ELEMENTWISE_OPS if definition.name not in ("cast", "bitcast", "select")]


def accepted(name: str, lanes: int) -> list[Function]:
    """A kernel for each dtype that the op's rule lets in."""
    arity = next(definition.arity for definition in ELEMENTWISE_OPS if definition.name == name)
    functions = []
    for dtype in DTYPES:
        try:
            functions.append(kernel(name, [dtype] * (arity or 0), lanes))
        except TypeRuleError:
            continue
    return functions


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize("name", PLAIN)
def test_every_op_ends_in_primitives(name: str, lanes: int) -> None:
    functions = accepted(name, lanes)
    assert functions, "no dtype is accepted"
    for function in functions:
        expanded = expand(function)
        verify(expanded)
        check_primitive(expanded)


@pytest.mark.parametrize("source", DTYPES)
def test_every_cast_and_choice_ends_in_primitives(source: str) -> None:
    for target in DTYPES.values():
        expanded = expand(kernel("cast", [source], 4, dtype=target))
        verify(expanded)
        check_primitive(expanded)
    expanded = expand(kernel("select", ["bool", source, source], 4))
    verify(expanded)
    check_primitive(expanded)


@pytest.mark.parametrize("name", [
    "add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum", "less", "less_equal", "greater",
    "greater_equal", "equal", "not_equal",
])  # fmt: skip
def test_sizes_end_in_primitives(name: str) -> None:
    parameters = (Value(Index()), Value(Index()))
    builder = Builder()
    builder.add("yield", builder.make(name, *parameters))
    expanded = expand(Function(name, Region(parameters, tuple(builder.ops)), layer="loop"))
    verify(expanded)
    check_primitive(expanded)


def test_elementary_functions_need_no_library() -> None:
    """None but in rare branches, which are regions of their own."""
    called = {
        name for name in LIBRARY for function in accepted(name, 4)
        if any(op.name == name for op in expand(function).region.ops)
    }  # fmt: skip
    assert not called
