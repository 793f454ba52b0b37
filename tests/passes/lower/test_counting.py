"""A ``while`` that counts becomes a ``for`` with as many turns."""

from __future__ import annotations

import pytest

from jitflow.ir.core import walk
from tests.passes.lower.whole import check

PROGRAM = """
func @count(%first: {kind}, %bound: {kind}, %one: {kind}) {{
  %step: {kind} = constant {{value={step}, type=<{kind}>}}
  %seven: {kind} = constant {{value=7, type=<{kind}>}}
  {start}
  %last: {kind}, %sum: {kind} = while {initial}, %one (%i: {kind}, %s: {kind}) {{
    {limit}
    %more: pybool = {comparison} %i, {stop}
    yield %more
  }} (%j: {kind}, %t: {kind}) {{
    %mixed: {kind} = multiply %t, %seven
    %total: {kind} = add %mixed, %j
    %next: {kind} = add %j, %step {{checked={checked}}}
    yield %next, %total
  }}
  yield %last, %sum
}}
"""
NEAR = [(3, 9), (9, 3), (-4, 4), (4, -4), (5, 5), (5, 6), (6, 5)]


def program(comparison: str, step: int, start: int | None, stop: int | None) -> str:
    return PROGRAM.format(
        kind="int",
        comparison=comparison,
        step=step,
        checked="true",
        start="" if start is None else f"%start: int = constant {{value={start}, type=<int>}}",
        initial="%first" if start is None else "%start",
        limit="" if stop is None else f"%limit: int = constant {{value={stop}, type=<int>}}",
        stop="%bound" if stop is None else "%limit",
    )


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("comparison", ["less", "less_equal", "greater", "greater_equal"])
@pytest.mark.parametrize(("start", "stop"), [(None, None), (2, None), (None, 2), (2, 7), (7, 2)])
def test_counting_loops_turn_as_often(comparison: str, step: int, start: int | None, stop: int | None) -> None:
    signed = step if comparison.startswith("less") else -step
    code = check(program(comparison, signed, start, stop), *((*pair, 1) for pair in NEAR))
    loops = [op.name for kernel in code.lowered.host.kernels for op in walk(kernel.region) if op.regions]
    counts = not comparison.endswith("equal") or start is not None or stop is not None
    assert loops in ([], ["for" if counts else "while"])


def test_a_loop_that_goes_away_from_its_bound_stays() -> None:
    code = check(program("less", -1, None, None), (5, 5, 1), (6, 5, 1))
    assert [op.name for kernel in code.lowered.host.kernels for op in walk(kernel.region) if op.regions] == ["while"]


def test_a_loop_that_comes_to_the_largest_number_raises() -> None:
    largest = (1 << 63) - 1
    code = check(program("less", 3, None, None), (largest - 7, largest - 3, 0))
    with pytest.raises(OverflowError):
        code(largest - 7, largest, 0)
