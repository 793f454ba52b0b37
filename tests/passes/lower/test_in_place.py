"""Kernels that reduce an array and replace it: each element is read before it is written over, whatever the shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.lower import lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from tests.execute import compile_ir

ROWS = """func @f(%u: var f64[n, m], %v: f64[n, m]) {
  %0: f64[n, m] = load %u
  %1: f64[n] = reduce_add %0 {axes=[1]}
  %2: f64[n] = reduce_maximum %0 {axes=[1]}
  %3: f64[n, m] = multiply %0, %v
  store %u, %3
  yield %1, %2
}"""
COLUMNS = ROWS.replace("f64[n] = reduce", "f64[m] = reduce").replace("axes=[1]", "axes=[0]")
EVERYTHING = ROWS.replace("f64[n] = reduce", "f64 = reduce").replace("axes=[1]", "axes=[0, 1]")
ONTO_THE_SUM = """func @f(%u: f64[n, m], %s: var f64[n]) {
  %0: f64[n] = load %s
  %1: f64[n] = reduce_add %u {axes=[1]}
  %2: f64[n] = add %0, %1
  store %s, %2
  yield
}"""
ONTO_THE_SUM_OF_ROWS = ONTO_THE_SUM.replace("f64[n, m]", "f64[m, n]").replace("axes=[1]", "axes=[0]")
AROUND_THE_MEAN = """func @f(%u: var f64[n, m], %v: f64[n]) {
  %0: f64[n, m] = load %u
  %1: f64[n] = reduce_add %0 {axes=[1]}
  %2: f64[n, m] = broadcast %1 {dims=[n, m], axes=[0]}
  %3: f64[n, m] = subtract %0, %2
  store %u, %3
  yield %1
}"""
SHAPES = [(2, 3), (5, 40), (40, 5), (3, 1100), (1100, 3), (70, 70), (300, 33)]
LAYOUTS: dict[str, Callable[[Any], Any]] = {"C": np.ascontiguousarray, "F": np.asfortranarray}


def integers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(np.float64)


def copies(text: str) -> int:
    """How many kernels copy what another one has computed."""
    host = lower(run_passes(parse(text), FUSION_PIPELINE)).host
    return sum(op.name == "launch" and op.attributes["kernel"].startswith("copy") for op in walk(host.region))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", [ROWS, COLUMNS, EVERYTHING, AROUND_THE_MEAN], ids=["rows", "columns", "all", "mean"])
def test_what_is_reduced_is_replaced(text: str, layout: str) -> None:
    function = parse(text)
    compiled = None
    for shape in SHAPES:
        u = LAYOUTS[layout](integers(*shape))
        v = integers(shape[0]) if text is AROUND_THE_MEAN else LAYOUTS[layout](integers(*shape) + 1)
        compiled = compiled or compile_ir(function, u, v)
        mine, theirs = u.copy("K"), u.copy("K")
        found, expected = compiled(mine, v), interpret(function, theirs, v)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("text", [ONTO_THE_SUM, ONTO_THE_SUM_OF_ROWS], ids=["rows", "columns"])
def test_sums_are_added_to_where_they_are(text: str) -> None:
    function = parse(text)
    compiled = compile_ir(function)
    for shape in SHAPES:
        rows, columns = shape if text is ONTO_THE_SUM else shape[::-1]
        u, s = integers(rows, columns), integers(shape[0])
        mine, theirs = s.copy(), s.copy()
        compiled(u, mine)
        interpret(function, u, theirs)
        np.testing.assert_array_equal(mine, theirs)


def test_one_sweep_writes_where_it_reads() -> None:
    assert [copies(text) for text in (ROWS, COLUMNS, EVERYTHING)] == [0, 0, 0]
    assert [copies(text) for text in (ONTO_THE_SUM, ONTO_THE_SUM_OF_ROWS)] == [0, 0]


def test_a_second_sweep_finds_what_the_first_has_read() -> None:
    assert copies(AROUND_THE_MEAN) == 1


MADE_OF_THE_SAME = "%1: f64[n, n] = multiply %0, %x"
MADE_OF_OTHERS = {
    "transposed": "%1: f64[n, n] = transpose %0 {axes=[1, 0]}",
    "reversed": "%1: f64[n, n] = slice %0 {starts=[0, n - 1], sizes=[n, n], steps=[1, -1]}",
    "mean": "%s: f64[n] = reduce_add %0 {axes=[1]}\n  %1: f64[n, n] = broadcast %s {dims=[n, n], axes=[0]}",
}
"""What is subtracted from an array that nothing uses behind it, and made of it, element by element or not."""


@pytest.mark.parametrize("made", [MADE_OF_THE_SAME, *MADE_OF_OTHERS.values()], ids=["same", *MADE_OF_OTHERS])
def test_what_nothing_uses_any_more_is_replaced(made: str) -> None:
    function = parse(f"""func @f(%x: f64[n, n]) {{
  %0: f64[n, n] = accumulate_add %x {{axis=0}}
  {made}
  %2: f64[n, n] = subtract %0, %1
  yield %2
}}""")
    host = lower(run_passes(function, FUSION_PIPELINE)).host
    assert sum(op.name == "alloc" for op in walk(host.region)) == (1 if made is MADE_OF_THE_SAME else 2)
    for rows in (3, 40, 300):
        x = integers(rows, rows)
        (found,), (expected,) = compile_ir(function, x)(x), interpret(function, x)
        np.testing.assert_array_equal(found, expected)
