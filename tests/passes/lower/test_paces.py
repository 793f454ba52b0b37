"""Of numbers that keep pace with each other in a loop, one is counted."""

from __future__ import annotations

import pytest

from jitflow.ir.core import Op, walk
from tests.execute import Compiled
from tests.passes.lower.whole import check

PROGRAM = """
func @paces(%first: int, %bound: int, %m: int, %k: int) {{
  %one: int = constant {{value=1, type=<int>}}
  %step: int = constant {{value={step}, type=<int>}}
  %seven: int = constant {{value=7, type=<int>}}
  %last: int, %count: int, %fives: int, %sum: int = while %first, %m, %k, %one (%i: int, %p: int, %q: int, %s: int) {{
    %0: pybool = {comparison} %i, %bound
    %more: bool = cast %0 {{dtype=bool}}
    %1: bool = if %0 () {{
      %2: int = bitwise_and %s, %seven
      %3: pybool = not_equal %2, %seven
      %8: bool = cast %3 {{dtype=bool}}
      yield %8
    }} () {{
      yield %more
    }}
    yield %1
  }} (%j: int, %n: int, %f: int, %t: int) {{
    %4: int = add %t, %{used}
    %5: int = add %j, %step
    %6: int = add %n, %one
    %7: int = subtract %f, %seven
    yield %5, %6, %7, %4
  }}
  yield %last, %count, %fives, %sum
}}
"""
CALLS = [(3, 9, 0, 0), (9, 3, 5, 6), (-4, 30, -1, 1), (40, -4, 2, 2), (5, 5, 7, (1 << 63) - 1), (5, 6, 0, -(1 << 63))]


def loop_of(code: Compiled) -> Op:
    (loop,) = (op for kernel in code.lowered.host.kernels for op in walk(kernel.region) if op.name == "while")
    return loop


@pytest.mark.parametrize(("comparison", "step"), [("less", 1), ("greater", -1)])
def test_what_keeps_pace_is_not_counted(comparison: str, step: int) -> None:
    """The position and the sum are carried, and the bound of the position."""
    code = check(PROGRAM.format(comparison=comparison, step=step, used="j"), *CALLS)
    assert len(loop_of(code).operands) == 3


def test_what_the_loop_asks_for_is_counted() -> None:
    code = check(PROGRAM.format(comparison="less", step=1, used="n"), *CALLS)
    assert len(loop_of(code).operands) == 4


def test_the_one_that_is_kept_goes_by_one() -> None:
    """The position goes by three, so a count says how often."""
    code = check(PROGRAM.format(comparison="less", step=3, used="j"), *CALLS)
    assert len(loop_of(code).operands) == 4
