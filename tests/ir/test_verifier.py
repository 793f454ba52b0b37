"""Each invariant of the verifier has invalid IR that breaks it, and the exact message.

``tests/ir/invalid/NN_what.ir`` breaks invariant NN; its first line is the message. What cannot be written as text is
built here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import jitflow.ir.verifier
from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Fact, Function, Region, Value
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import F32
from jitflow.ir.location import Loc
from jitflow.ir.parser import parse
from jitflow.ir.types import Scalar, Tensor
from jitflow.ir.verifier import verify

CASES = sorted((Path(__file__).parent / "invalid").glob("*.ir"))
BUILT = {1, 4, 10}
"""Invariants whose violation has no text form, or not only; the tests are below."""


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_invalid_text(path: Path) -> None:
    text = path.read_text()
    expected = text.partition("\n")[0].removeprefix("; ")
    function = parse(text)
    with pytest.raises(CompilerBug) as caught:
        verify(function, "some_pass")
    assert caught.value.message == f"f: {expected}"
    assert caught.value.pass_name == "some_pass"


def test_every_invariant_has_a_case() -> None:
    assert jitflow.ir.verifier.__doc__ is not None
    numbered = {int(number) for number in re.findall(r"^ ?(\d+)\. ", jitflow.ir.verifier.__doc__, re.MULTILINE)}
    assert numbered == {int(path.stem[:2]) for path in CASES} | BUILT


def _function() -> Function:
    return parse("""func @f(%x: f32[n]) {
      %0: f32[n] = exp %x
      yield %0
    }""")


def _fails(function: Function, message: str) -> None:
    with pytest.raises(CompilerBug) as caught:
        verify(function)
    assert caught.value.message == message


def test_layer_of_a_function() -> None:
    _fails(replace(_function(), layer="machine"), "f: expected a layer (tensor, loop, host), got 'machine'")


def test_functions_inside_called_functions() -> None:
    nested = replace(_function(), functions=(replace(_function(), name="g"),))
    _fails(replace(_function(), name="h", functions=(nested,)), "f: expected no functions inside a called one")


def test_values_defined_twice() -> None:
    function = _function()
    twice = function.with_ops((function.region.ops[0], *function.region.ops))
    _fails(twice, "f: expected %0 to be defined once")


def test_parameters_defined_twice() -> None:
    value = Value(Scalar(F32), "x")
    builder = Builder()
    builder.add("yield")
    function = Function("f", Region((value, value), tuple(builder.ops)))
    _fails(function, "f: expected %x to be defined once")


def test_relation_of_a_fact() -> None:
    function = replace(_function(), facts=(Fact(symbol("n"), "<>", 2),))
    _fails(function, "f: expected a fact with ==, !=, >=, <, got '<>'")


def test_an_operand_from_nowhere() -> None:
    builder = Builder(loc=Loc("program.py", 3))
    result = builder.make("exp", Value(Tensor(F32, ())))
    _fails(Function("f", builder.region((), [result])), "f: expected %0 to be defined before its use")


def test_a_bug_shows_the_op_and_what_surrounds_it() -> None:
    function = parse("""func @f(%x: f32[n]) {
      %0: f64[n] = exp %x   ; program.py:12
      yield %0
    }""")
    with pytest.raises(CompilerBug) as caught:
        verify(function, "simplify")
    text = str(caught.value)
    assert "pass: simplify" in text
    assert "op: %0: f64[n] = exp %x" in text
    assert "program.py:12" in text
    assert "func @f(%x: f32[n]) {" in text
