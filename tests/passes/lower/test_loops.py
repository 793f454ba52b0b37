"""Loops over numbers and elements."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.lower.whole import RANGE, check, compiled, element, fails, put

CHOLESKY = f"""
func @cholesky(%a: var f64[n, n]) {{
  {RANGE}
  %n: index[n] = size {{dim=n}}
  for %zero, %n, %one (%i: index[i]) {{
    %i1: index[i + 1] = size {{dim=i + 1}}
    for %zero, %i1, %one (%j: index[j]) {{
      {element("%start", "%a", "f64", "i", "j")}
      %s: f64 = for %zero, %j, %one, %start (%k: index[k], %t: f64) {{
        {element("%x", "%a", "f64", "i", "k")}
        {element("%y", "%a", "f64", "j", "k")}
        %xy: f64 = multiply %x, %y
        %less: f64 = subtract %t, %xy
        yield %less
      }}
      %same: bool = equal %i, %j
      if %same () {{
        %root: f64 = sqrt %s
        {put("%a", "f64", "%root", "i", "j")}
        yield
      }} () {{
        {element("%d", "%a", "f64", "j", "j")}
        %quotient: f64 = divide %s, %d
        {put("%a", "f64", "%quotient", "i", "j")}
        yield
      }}
      yield
    }}
    yield
  }}
  yield
}}
"""


def positive_definite(n: int) -> np.ndarray:
    x = np.random.default_rng(n).standard_normal((n, n + 3))
    return x @ x.T


def test_an_element_loop_writes_its_argument():
    check(CHOLESKY, *((positive_definite(n),) for n in (2, 7, 20)))
    check(CHOLESKY, (np.zeros((0, 0)),))


def test_an_element_loop_takes_every_layout():
    a = positive_definite(9)
    check(CHOLESKY, (np.asfortranarray(a),))
    check(CHOLESKY, (np.repeat(a, 2, axis=1)[:, ::2],))
    check(CHOLESKY, (np.repeat(a, 2, axis=0)[::2],))


COLLATZ = """
func @collatz(%start: int) {
  %c0: int = constant {value=0, type=<int>}
  %c1: int = constant {value=1, type=<int>}
  %c2: int = constant {value=2, type=<int>}
  %c3: int = constant {value=3, type=<int>}
  %last: int, %turns: int = while %start, %c0 (%n0: int, %count0: int) {
    %going: pybool = greater %n0, %c1
    yield %going
  } (%n: int, %count: int) {
    %rest: int = remainder %n, %c2 {checked=true}
    %odd: pybool = equal %rest, %c1
    %next: int = if %odd () {
      %0: int = multiply %n, %c3 {checked=true}
      %1: int = add %0, %c1 {checked=true}
      yield %1
    } () {
      %2: int = floor_divide %n, %c2 {checked=true}
      yield %2
    }
    %more: int = add %count, %c1 {checked=true}
    yield %next, %more
  }
  yield %turns, %last
}
"""


def test_a_while_loop_over_python_numbers():
    check(COLLATZ, *((n,) for n in (0, 1, 7, 27, 97)))


def test_an_overflow_in_a_loop_raises():
    with pytest.raises(OverflowError):
        compiled(COLLATZ, 3)((1 << 62) + 1)


CONDITIONAL = f"""
func @partial(%x: f64[n], %limit: f64, %from: int) {{
  {RANGE}
  %start: index[f] = to_index %from {{binds="f"}}
  %n: index[n] = size {{dim=n}}
  %none: f64 = constant {{value=0.0, type=<f64>}}
  %sum: f64, %count: index = for %start, %n, %one, %none, %zero (%i: index[i], %s: f64, %c: index) {{
    %e: f64[1] = slice %x {{starts=[i], sizes=[1], steps=[1]}}
    %r: f64[] = reshape %e {{dims=[]}}
    %y: f64 = cast %r {{dtype=f64}}
    %big: bool = greater %y, %limit
    %t: f64, %d: index = if %big () {{
      %0: f64 = add %s, %y
      %1: index = add %c, %one
      yield %0, %1
    }} () {{
      yield %s, %c
    }}
    yield %t, %d
  }}
  %number: i64 = cast %count {{dtype=i64}}
  yield %sum, %number
}}
"""


def test_numbers_are_carried_and_branch():
    x, f = np.random.default_rng(0).standard_normal(50), np.float64
    check(CONDITIONAL, (x, f(0.1), 0), (x, f(-9), 7), (x, f(0), 50), (x[:0], f(0), 0))


CHECKED = f"""
func @ones(%x: var f64[n], %y: f64[n]) {{
  {RANGE}
  %n: index[n] = size {{dim=n}}
  %none: f64 = constant {{value=0.0, type=<f64>}}
  %copy: var f64[n] = variable %y
  for %zero, %n, %one (%i: index[i]) {{
    {element("%1", "%copy", "f64", "i")}
    %fine: bool = not_equal %1, %none
    check %fine, %i, %1 {{error="ZeroDivisionError", message="element {{}} is {{}}"}}
    %2: f64 = divide %1, %1
    {put("%x", "f64", "%2", "i")}
    yield
  }}
  yield
}}
"""


def test_a_check_in_a_loop():
    check(CHECKED, (np.zeros(5), np.arange(1.0, 6.0)))
    fails(CHECKED, ZeroDivisionError, "element 3 is 0.0", np.zeros(5), np.array([1.0, 2, 3, 0, 4]))
