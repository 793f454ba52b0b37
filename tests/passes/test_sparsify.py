"""What `sparsify` leaves means what was there before: the reference interpreter runs both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import run_passes
from tests.golden import read_sections

FILE = Path(__file__).parent / "derivatives" / "golden" / "derivatives.ir"
SECTION = read_sections(FILE)["a_step_touches_the_rows_that_were_gathered"]


@pytest.mark.parametrize("ids", [[3, 1, -1, 3, 5], [0], []])
def test_the_interpreter_agrees(ids: list[int]) -> None:
    before = run_passes(parse(SECTION.before), ("differentiate",))
    after = run_passes(before, SECTION.passes[1:])
    verify(after)
    assert any(op.attributes.get("mode") == "clip" for op in walk(after.region))
    random = np.random.default_rng(1)
    arguments = [random.normal(size=(6, 2)), random.random((6, 2)), np.array(ids, np.int64), 0.1]
    copies = [np.array(value) for value in arguments]
    np.testing.assert_array_equal(interpret(before, *arguments), interpret(after, *copies))
    for ours, theirs in zip(copies, arguments, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_arrays_that_are_only_assumed_to_have_the_same_sizes() -> None:
    def loss(table: Any, ids: Any) -> Any:
        return (table[ids] ** 2).sum()

    @jitflow.function
    def step(table: Any, squares: Any, ids: Any) -> None:
        gradient = jitflow.grad(loss)(table, ids)
        table -= 0.1 * gradient
        squares += gradient * gradient

    table, squares = np.ones((40, 3)), np.ones((40, 3))
    step(table, squares, np.array([1, 2, 1]))
    np.testing.assert_allclose(table[:4, 0], [1, 0.6, 0.8, 1])
    np.testing.assert_allclose(squares[:4, 0], [1, 17, 5, 1])


def test_clipped_positions_of_nothing() -> None:
    function = parse("""
func @before(%w: var f64[k], %ids: i64[n], %rows: f64[n]) {
  scatter %w, %ids, %rows {axis=0, combine="set", mode="clip"}
  yield
}
""")
    for size in (0, 3):
        memory = np.zeros(size)
        interpret(function, memory, np.array([-4, 9]), np.array([1.0, 2.0]))
        assert memory.tolist() == [1.0, 0.0, 2.0][:size]
