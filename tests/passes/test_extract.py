"""What `extract` leaves of a function: before and after as text."""

from __future__ import annotations

import numpy as np
import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.passes.values.extract import extract

PROGRAM = """
func @f(%x: f64[n], %w: var f64[n], %i: i64) {
  %h: f64[n] = exp %x
  mark %h {label="hidden"}
  %zero: i64 = constant {value=0, type=<i64>}
  %ok: bool = greater_equal %i, %zero
  check %ok {error="IndexError", message="below"}
  store %w, %h
  %w2: f64[n] = load %w
  %t: f64[n] = add %w2, %x
  mark %t {label="total"}
  print %i {message="{}"}
  %y: f64 = reduce_add %t {axes=[0]}
  yield %y
}
"""


def names(labels: list[str], *, effects: bool = False, text: str = PROGRAM) -> list[str]:
    part = extract(parse(text), labels, effects=effects)
    verify(part, "extract")
    return [op.name for op in part.region.ops]


def test_a_slice_of_what_is_needed() -> None:
    assert names(["hidden"]) == ["exp", "yield"]
    assert names(["total"]) == ["variable", "exp", "store", "load", "add", "yield"]


def test_all_effects_if_they_are_asked_for() -> None:
    whole = names(["hidden"], effects=True)
    assert [name for name in whole if name in ("check", "store", "print")] == ["check", "store", "print"]


def test_the_same_value_twice_is_two_results() -> None:
    text = PROGRAM.replace('mark %t {label="total"}', 'mark %h {label="again"}')
    assert names(["hidden", "again"], text=text) == ["exp", "copy", "yield"]


def test_a_part_leaves_its_arguments_alone() -> None:
    part = extract(parse(PROGRAM), ["total", "hidden"])
    x, w = np.arange(3.0), np.zeros(3)
    total, hidden = interpret(part, x, w, 1)
    np.testing.assert_array_equal(hidden, np.exp(x))
    np.testing.assert_array_equal(total, np.exp(x) + x)
    assert not w.any()


def test_a_check_stays_for_what_trusts_it() -> None:
    text = """
    func @f(%x: f64[n], %i: i64[2], %j: i64) {
      %zero: i64 = constant {value=0, type=<i64>}
      %low: bool[2] = greater_equal %i, %zero
      %ok: bool = reduce_logical_and %low {axes=[0]}
      check %ok {error="IndexError", message="i"}
      %other: bool = greater_equal %j, %zero
      check %other {error="IndexError", message="j"}
      %y: f64[2] = gather %x, %i {axis=0}
      mark %y {label="taken"}
      check %ok {error="IndexError", message="later"}
      yield %y
    }
    """
    part = extract(parse(text), ["taken"])
    assert [op.attributes["message"] for op in part.region.ops if op.name == "check"] == ["i"]


def test_out_of_a_function_that_is_differentiated() -> None:
    text = """
    func @f(%x: f64[n]) {
      %one: f64 = constant {value=1.0, type=<f64>}
      %y: f64, %dx: f64[n] = vjp %x, %one {inputs=1, outputs=1} (%a: f64[n]) {
        %s: f64[n] = sin %a
        mark %s {label="sines"}
        %t: f64 = reduce_add %s {axes=[0]}
        yield %t
      }
      yield %dx
    }
    """
    part = extract(parse(text), ["sines"])
    verify(part, "extract")
    assert [str(value.type) for value in part.region.ops[1].results] == ["f64", "f64[n]", "f64[n]"]
    assert part.results == (part.region.ops[1].results[1],)


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(CompilerBug, match="no value is called 'other'"):
        extract(parse(PROGRAM), ["other"])
