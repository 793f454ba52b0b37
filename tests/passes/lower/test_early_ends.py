"""A ``while`` that ends at a bound or before: its turns come in pieces with a poll between, which nobody notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.parser import parse
from tests.passes.lower.whole import check

N = 70_001
NEAR_PIECES = [0, 1, 8191, 8192, 16383, 16384, 16385, 32768, 32769, 65535, 65536, 65537, N - 1, None]


def down(x: Any, key: float) -> Any:
    j = len(x) - 1
    turns = 0
    while j >= 0 and x[j] != key:
        j -= 1
        turns += 1
    return j, turns


def up(x: Any, key: float) -> Any:
    i = 0
    total = 0.0
    while i < len(x) and x[i] != key:
        total += x[i]
        i += 3
    return i, total


def stretched(x: Any, key: float) -> Any:
    """Two loops, one inside the other, that both end early."""
    found = 0
    i = 0
    while i < 3 and found < 2:
        j = i
        while j <= 65536 and x[j] != key:
            j += 1
        found += j
        i += 1
    return i, found


@pytest.mark.parametrize("function", [down, up, stretched])
@pytest.mark.parametrize("place", NEAR_PIECES)
def test_turns_in_pieces(function: Any, place: int | None) -> None:
    x = np.zeros(N)
    if place is not None:
        x[place] = 1.0
    assert compiled(function)(x, 1.0) == function(x, 1.0)


def compiled(function: Any, known: dict[Any, Any] = {}) -> Any:  # noqa: B006
    """One compilation for all tests."""
    return known.setdefault(function, jitflow.function(function))


def test_what_counts_is_marked() -> None:
    text = jitflow.function(down).ir(np.zeros(9), 1.0, stage="kernels")
    assert "counts=[0, -1]" in text or "counts=[1, -1]" in text


PROGRAM = """
func @search(%first: int, %bound: int, %last: int) {
  %one: int = constant {value=1, type=<int>}
  %end: int = while %first (%i: int) {
    %more: pybool = less_equal %i, %bound
    %0: bool = cast %more {dtype=bool}
    %1: bool = if %more () {
      %2: pybool = not_equal %i, %last
      %3: bool = cast %2 {dtype=bool}
      yield %3
    } () {
      yield %0
    }
    yield %1
  } (%j: int) {
    %next: int = add %j, %one {checked=true}
    yield %next
  }
  yield %end
}
"""


def test_a_bound_is_carried() -> None:
    code = check(PROGRAM, (0, 9, 5), (0, 9, 20), (7, 5, 2), (4, 4, 4), (4, 4, 9))
    loops = [op for kernel in code.lowered.host.kernels for op in walk(kernel.region) if op.name == "while"]
    assert [op.attributes["counts"] for op in loops] == [(0, 1)]
    assert parse(str(code.lowered.host.kernels[0]))
