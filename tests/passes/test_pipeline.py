"""The runner of passes: order, observation, names, and what it says when a pass breaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import jitflow.passes.pipeline as pipeline
from jitflow.config import Config
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.passes.pipeline import PASSES, TENSOR_PIPELINE, Step, run_passes

FUNCTION = parse("""func @f(%x: f32[n]) {
  %0: f32 = constant {value=2.0, type=<f32>}
  %1: f32[n] = power %x, %0
  %2: f32[n] = power %x, %0
  %3: f32[n] = add %1, %2
  yield %3
}""")


def test_the_pipeline_is_a_tuple_of_names() -> None:
    assert set(TENSOR_PIPELINE) <= set(PASSES)


def test_steps_are_observed_in_order() -> None:
    steps: list[Step] = []
    result = run_passes(FUNCTION, ("simplify", "cse", "dce"), steps.append)
    assert [step.name for step in steps] == ["simplify", "cse", "dce"]
    assert steps[-1].function is result
    assert all(step.seconds >= 0.0 for step in steps)
    assert [op.name for op in result.region.ops] == ["multiply", "add", "yield"]


def test_passes_are_pure() -> None:
    before = print_function(FUNCTION)
    run_passes(FUNCTION, ("simplify", "fastmath", "fold", "cse", "dce"))
    assert print_function(FUNCTION) == before


def test_a_second_run_changes_nothing() -> None:
    once = run_passes(FUNCTION)
    assert print_function(run_passes(once)) == print_function(once)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected a pass .*, got 'simplfy'"):
        run_passes(FUNCTION, ("simplfy",))


def _broken(function: Function) -> Function:
    raise KeyError("lost")


def _wrong(function: Function) -> Function:
    return function.with_ops(function.region.ops[1:])


@pytest.mark.parametrize(("broken", "message"), [(_broken, "KeyError: 'lost'"), (_wrong, "defined before its use")])
def test_a_pass_that_breaks_is_named(
    broken: Callable[[Function], Function], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSES, "broken", broken)
    monkeypatch.setattr(pipeline, "CONFIG", Config(verify=True))
    with pytest.raises(CompilerBug, match=message) as caught:
        run_passes(FUNCTION, ("broken",))
    assert caught.value.pass_name == "broken"
    assert "func @f" in caught.value.surrounding
