"""An index that is inside as it is takes one comparison."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jitflow.ir.core import Function, walk
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.passes.scalar_loops.inside import inside
from tests.passes.lower.whole import RANGE, check, compiled, fails

WRAPPED = """
    %negative: bool = less %i, %nothing
    %end: i64 = add %i, %long
    %w: i64 = select %negative, %end, %i
    %low: bool = greater_equal %w, %nothing
    %high: bool = less %w, %long
    %fits: bool = logical_and %low, %high
"""
OUTSIDE = """{error="IndexError", message="index {} is out of bounds for axis 0 with size {}"}"""
PROGRAM = f"""
func @picked(%x: f64[n], %at: i64[m]) {{
  {RANGE}
  %m: index[m] = size {{dim=m}}
  %n: index[n] = size {{dim=n}}
  %long: i64 = cast %n {{dtype=i64}}
  %nothing: i64 = constant {{value=0, type=<i64>}}
  %start: f64 = constant {{value=0.0, type=<f64>}}
  %total: f64 = for %zero, %m, %one, %start (%k: index[k], %sum: f64) {{
    %0: i64[1] = slice %at {{starts=[k], sizes=[1], steps=[1]}}
    %1: i64[] = reshape %0 {{dims=[]}}
    %i: i64 = cast %1 {{dtype=i64}}
    {WRAPPED}
    check %fits, %i, %n {OUTSIDE}
    %p: index[p] = to_index %w {{binds="p"}}
    %2: f64[1] = slice %x {{starts=[p], sizes=[1], steps=[1]}}
    %3: f64[] = reshape %2 {{dims=[]}}
    %4: f64 = cast %3 {{dtype=f64}}
    %next: f64 = add %sum, %4
    yield %next
  }}
  yield %total
}}
"""
X = np.arange(5.0) ** 2


def loops(function: Function) -> Counter[str]:
    return Counter(op.name for op in walk(function.region))


def test_picked():
    code = check(PROGRAM, (X, np.array([0, -1, 4, -5, 2])), (X[:0], np.zeros(0, np.int64)))
    (kernel,) = code.lowered.host.kernels
    (branch,) = (op for op in walk(kernel.region) if op.name == "if")
    assert branch.attributes["rare"] == 1
    assert [op.name for op in branch.regions[1].body][-1] == "check"


@pytest.mark.parametrize("index", [5, -6, 1 << 62, -(1 << 63), (1 << 63) - 1])
def test_outside(index: int):
    fails(PROGRAM, IndexError, f"index {index} is out of bounds for axis 0 with size 5", X, np.array([1, index]))
    fails(PROGRAM, IndexError, f"index {index} is out of bounds for axis 0 with size 0", X[:0], np.array([index, 0]))


KERNEL = f"""
host @program() {{
  %n: i64 = argument {{slot=0}}
  %x: buffer f64 = argument {{slot=1}}
  launch %n, %x {{kernel="loop_0"}}
  yield
}}

kernel @loop_0(%long: i64, %x: buffer f64) with {{scalar=true}} {{
  %0: index[0] = size {{dim=0}}
  %1: index[1] = size {{dim=1}}
  %9: index[9] = size {{dim=9}}
  %eight: index[8] = size {{dim=8}}
  %nothing: i64 = constant {{value=0, type=<i64>}}
  for %0, %9, %1 (%k: index) {{
    %i: i64 = cast %k {{dtype=i64}}
    {WRAPPED}
    BETWEEN
    check %CHECKED, %i, %long {OUTSIDE}
    %p: index = to_index %w
    %at: index = multiply %p, %eight
    %item: f64 = read %x, %at {{lanes=0}}
    write %x, %at, %item
    yield
  }}
  yield
}}
"""


def after(between: str = "", checked: str = "fits") -> Counter[str]:
    text = KERNEL if checked == "fits" else "".join(line for line in KERNEL.splitlines(True) if "%high" not in line)
    host = parse(text.replace("BETWEEN", between).replace("CHECKED", checked))
    verify(host)
    result = inside(host)
    verify(result)
    return loops(result.kernels[0])


def test_both_ends():
    found = after()
    assert (found["if"], found["maximum"], found["bitcast"], found["check"]) == (1, 1, 2, 1)


def test_one_end():
    """Where it is known that an index is below the size, nothing is compared with that."""
    found = after(checked="low")
    assert (found["if"], found["maximum"], found["greater_equal"]) == (1, 0, 2)


@pytest.mark.parametrize(
    "between",
    [
        "%q: i64 = multiply %w, %w",
        "%same: bool = logical_not %fits",
    ],
)
def test_what_is_used_elsewhere_stays(between: str):
    assert after(between)["if"] == 0


def test_what_does_not_change_stays():
    """An index from outside of the loop is looked at before the loop."""
    text = KERNEL.replace("%i: i64 = cast %k {dtype=i64}", "%j: i64 = cast %k {dtype=i64}").replace("%i", "%long")
    host = parse(text.replace("BETWEEN", "").replace("CHECKED", "fits"))
    verify(host)
    assert loops(inside(host).kernels[0])["if"] == 0


def test_the_size_may_be_any_number():
    """A size below 0 has nothing inside."""
    text = PROGRAM.replace("func @picked(%x: f64[n], %at: i64[m])", "func @picked(%x: f64[n], %at: i64[m], %long: i64)")
    text = text.replace("%long: i64 = cast %n {dtype=i64}", "")
    for index in (0, 1, -1, 4):
        fails(
            text,
            IndexError,
            f"index {index} is out of bounds for axis 0 with size 5",
            X,
            np.array([index, 0]),
            np.int64(-1),
        )
    assert compiled(text, X, np.array([1, 1]), np.int64(5))(X, np.array([1, -1]), np.int64(5))[0] == 17.0
