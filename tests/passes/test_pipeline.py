"""The runner of passes: order, observation, names, and what it says when a pass breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import jitflow.passes.runner as runner
from jitflow.config import Config
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function
from jitflow.ir.equality import or_before
from jitflow.ir.location import Loc
from jitflow.ir.ops import OPS
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.passes.lower import lower
from jitflow.passes.lower.host import LOWERING
from jitflow.passes.pipeline import (
    FUSION_PIPELINE,
    HOST_PIPELINE,
    PASSES,
    TENSOR_PIPELINE,
    run_passes,
)
from jitflow.passes.runner import Step

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


def test_passes_that_have_nothing_to_do_are_not_asked_again() -> None:
    steps: list[Step] = []
    names = ("simplify", "cse", "dce", "narrow", "simplify", "cse", "narrow", "simplify", "fastmath")
    run_passes(FUNCTION, names, steps.append)
    assert [step.idle for step in steps] == [False] * 6 + [True] * 2 + [False]
    assert len({step.function for step in steps[2:8]}) == 1


def test_what_is_made_anew_the_same_is_what_was_there() -> None:
    again = FUNCTION.with_ops(replace(op) for op in FUNCTION.region.ops)
    assert or_before(FUNCTION, again) is FUNCTION
    other = FUNCTION.with_ops(replace(op, loc=Loc("other.py", 1)) for op in FUNCTION.region.ops)
    assert or_before(FUNCTION, other) is other


def test_the_host_program_goes_through_passes_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CONFIG", Config(verify=True))
    steps: list[Step] = []
    lowered = lower(run_passes(FUNCTION, FUSION_PIPELINE), observe=steps.append)
    assert tuple(step.name for step in steps) == HOST_PIPELINE
    assert steps[-1].function is lowered.host
    assert set(HOST_PIPELINE) <= set(PASSES)


IN_KERNELS = {name for name, op in OPS.items() if "reduction" in op.traits} | {"iota", "gather"}
GONE = {*DERIVATIVE_NAMES, "recompute", "stop_gradient", "mark", "yield"}
OF_HOST_PROGRAMS = {"share", "multiply_high", "add_overflows", "subtract_overflows", "multiply_overflows",
                    "divide_truncated", "remainder_truncated", "clear",
                    "read", "read_pair", "write", "write_pair", "item_memory", "hold"}  # fmt: skip


def test_every_op_of_a_fused_function_has_a_lowering() -> None:
    tensor_ops = {name for name, op in OPS.items() if op.layer in ("tensor", "any")}
    assert set(LOWERING) == tensor_ops - IN_KERNELS - GONE - OF_HOST_PROGRAMS


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
    monkeypatch.setattr(runner, "CONFIG", Config(verify=True))
    with pytest.raises(CompilerBug, match=message) as caught:
        run_passes(FUNCTION, ("broken",))
    assert caught.value.pass_name == "broken"
    assert "func @f" in caught.value.surrounding
