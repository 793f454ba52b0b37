"""Arrays that flow through loops and branches, and variables."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.lower.whole import RANGE, check, compiled, element, fails, put

RANDOM = np.random.default_rng(0)


def vector(n: int) -> np.ndarray:
    return RANDOM.standard_normal(n)


SWAP = f"""
func @fibonacci(%x: f64[n], %y: f64[n], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %a: f64[n], %b: f64[n] = for %zero, %t, %one, %x, %y (%i: index[i], %u: f64[n], %v: f64[n]) {{
    %w: f64[n] = add %u, %v
    yield %v, %w
  }}
  yield %a, %b
}}
"""


def test_carried_arrays_swap():
    check(SWAP, *((vector(5), vector(5), turns) for turns in (0, 1, 2, 7)), (vector(0), vector(0), 3))


ROTATE = f"""
func @rotate(%x: f64[n], %turns: int) {{
  {RANGE}
  %two: f64 = constant {{value=2.0, type=<f64>}}
  %t: index[t] = to_index %turns {{binds="t"}}
  %y: f64[n] = multiply %x, %two
  %z: f64[n] = add %y, %x
  %a: f64[n], %b: f64[n], %c: f64[n] = for %zero, %t, %one, %x, %y, %z (
      %i: index[i], %u: f64[n], %v: f64[n], %w: f64[n]) {{
    yield %w, %u, %v
  }}
  %both: f64[n] = add %z, %y
  yield %a, %b, %c, %both
}}
"""


def test_arrays_change_places_without_new_ones():
    check(ROTATE, *((vector(4), turns) for turns in (0, 1, 2, 3, 10)))


TWICE = f"""
func @twice(%x: f64[n], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %a: f64[n], %b: f64[n] = for %zero, %t, %one, %x, %x (%i: index[i], %u: f64[n], %v: f64[n]) {{
    %w: f64[n] = add %u, %v
    yield %w, %w
  }}
  yield %a, %b, %x
}}
"""


def test_one_array_is_yielded_twice():
    check(TWICE, *((vector(4), turns) for turns in (0, 1, 5)))


SHRINK = f"""
func @halves(%x: f64[n], %turns: int) {{
  {RANGE}
  %two: f64 = constant {{value=2.0, type=<f64>}}
  %t: index[t] = to_index %turns {{binds="t"}}
  %y: f64[m] = for %zero, %t, %one, %x (%i: index[i], %u: f64[k]) {{
    %h: f64[k // 2] = slice %u {{starts=[0], sizes=[k // 2], steps=[1]}}
    %v: f64[k // 2] = multiply %h, %two
    yield %v
  }}
  %s: index[m] = size {{dim=m}}
  %c: i64 = cast %s {{dtype=i64}}
  %z: f64[m] = multiply %y, %two
  yield %y, %c, %z
}}
"""


def test_arrays_shrink_from_turn_to_turn():
    check(SHRINK, *((vector(100), turns) for turns in (0, 1, 3, 6, 9)))


VIEWS = f"""
func @reverse(%x: f64[n], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %y: f64[n] = for %zero, %t, %one, %x (%i: index[i], %u: f64[n]) {{
    %v: f64[n] = slice %u {{starts=[n - 1], sizes=[n], steps=[-1]}}
    yield %v
  }}
  yield %y
}}
"""


def test_a_view_is_yielded():
    check(VIEWS, *((vector(6), turns) for turns in (0, 1, 2, 3)))


BRANCH = """
func @choose(%x: f64[n], %c: bool, %d: bool) {
  %y: f64[n] = add %x, %x
  %z: f64[n] = multiply %y, %x
  %r: f64[n], %k: f64 = if %c () {
    %a: f64[n] = add %y, %z
    %s: f64 = reduce_add %a {axes=[0]}
    yield %a, %s
  } () {
    %q: f64[n] = if %d () {
      yield %z
    } () {
      yield %x
    }
    %t: f64 = reduce_add %x {axes=[0]}
    yield %q, %t
  }
  yield %r, %k, %y
}
"""


def test_branches_give_arrays():
    check(BRANCH, *((vector(9), np.bool_(c), np.bool_(d)) for c in (0, 1) for d in (0, 1)), exact=False)


ACCEPT = f"""
func @accept(%x: f64[n], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %two: index[2] = size {{dim=2}}
  %half: f64 = constant {{value=0.5, type=<f64>}}
  %y: f64[n] = for %zero, %t, %one, %x (%i: index[i], %u: f64[n]) {{
    %next: f64[n] = multiply %u, %half
    %rest: index = remainder %i, %two
    %even: bool = equal %rest, %zero
    %v: f64[n] = if %even () {{
      yield %next
    }} () {{
      yield %u
    }}
    yield %v
  }}
  yield %y
}}
"""


def test_a_branch_keeps_what_a_loop_carries():
    check(ACCEPT, *((vector(9), turns) for turns in (0, 1, 2, 5)))


NEWTON = f"""
func @descend(%x: f64[n], %tolerance: f64) {{
  {RANGE}
  %half: f64 = constant {{value=0.5, type=<f64>}}
  %y: f64[n], %turns: index = while %x, %zero (%u0: f64[n], %k0: index) {{
    %a: f64[n] = absolute %u0
    %size: index[n] = size {{dim=n}}
    %some: bool = greater %size, %zero
    check %some {{error="ValueError", message="the largest of nothing"}}
    %m: f64 = reduce_maximum %a {{axes=[0]}}
    %more: bool = greater %m, %tolerance
    yield %more
  }} (%u: f64[n], %k: index) {{
    %v: f64[n] = multiply %u, %half
    %next: index = add %k, %one
    yield %v, %next
  }}
  %count: i64 = cast %turns {{dtype=i64}}
  yield %y, %count
}}
"""


def test_a_while_loop_over_an_array():
    check(NEWTON, *((vector(20), np.float64(t)) for t in (1e-3, 100.0)))
    fails(NEWTON, ValueError, "the largest of nothing", vector(0), np.float64(1))


HEAT = f"""
func @heat(%u: var f64[n], %alpha: float, %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %a: f64 = cast %alpha {{dtype=f64}}
  %two: f64 = constant {{value=2.0, type=<f64>}}
  for %zero, %t, %one (%i: index[i]) {{
    %all: f64[n] = load %u
    %l: f64[n - 2] = slice %all {{starts=[0], sizes=[n - 2], steps=[1]}}
    %m: f64[n - 2] = slice %all {{starts=[1], sizes=[n - 2], steps=[1]}}
    %r: f64[n - 2] = slice %all {{starts=[2], sizes=[n - 2], steps=[1]}}
    %0: f64[n - 2] = multiply %m, %two
    %1: f64[n - 2] = subtract %r, %0
    %2: f64[n - 2] = add %1, %l
    %3: f64[n - 2] = multiply %2, %a
    %4: f64[n - 2] = add %m, %3
    %p: place f64[n - 2] = slice %u {{starts=[1], sizes=[n - 2], steps=[1]}}
    store %p, %4
    yield
  }}
  %now: f64[n] = load %u
  %s: f64 = reduce_maximum %now {{axes=[0]}}
  yield %s
}}
"""


def test_a_stencil_writes_in_place():
    check(HEAT, *((vector(50), 0.1, turns) for turns in (0, 1, 20)))


PINGPONG = f"""
func @jacobi(%x: f64[n], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %half: f64 = constant {{value=0.5, type=<f64>}}
  %u: var f64[n] = variable %x
  %v: var f64[n] = variable %x
  %a: var f64[n], %b: var f64[n] = for %zero, %t, %one, %u, %v (%i: index[i], %p: var f64[n], %q: var f64[n]) {{
    %all: f64[n] = load %p
    %l: f64[n - 2] = slice %all {{starts=[0], sizes=[n - 2], steps=[1]}}
    %r: f64[n - 2] = slice %all {{starts=[2], sizes=[n - 2], steps=[1]}}
    %0: f64[n - 2] = add %l, %r
    %1: f64[n - 2] = multiply %0, %half
    %inner: place f64[n - 2] = slice %q {{starts=[1], sizes=[n - 2], steps=[1]}}
    store %inner, %1
    yield %q, %p
  }}
  %2: f64[n] = load %a
  %3: f64[n] = load %b
  %4: f64[n] = copy %2
  %5: f64[n] = copy %3
  yield %4, %5
}}
"""


def test_variables_swap():
    check(PINGPONG, *((vector(30), turns) for turns in (0, 1, 2, 9)))


SHIFT = """
func @shift(%x: var f64[n]) {
  %all: f64[n] = load %x
  %first: f64[n - 1] = slice %all {starts=[0], sizes=[n - 1], steps=[1]}
  %last: place f64[n - 1] = slice %x {starts=[1], sizes=[n - 1], steps=[1]}
  store %last, %first
  yield
}
"""


def test_a_value_overlaps_the_place_it_is_stored_to():
    check(SHIFT, (vector(1000),), (vector(2),))


FILL = f"""
func @frame(%x: var i32[n, m], %k: i32) {{
  %row: place i32[1, m] = slice %x {{starts=[0, 0], sizes=[1, m], steps=[1, 1]}}
  store %row, %k
  %column: place i32[n, 1] = slice %x {{starts=[0, m - 1], sizes=[n, 1], steps=[1, 1]}}
  store %column, %k
  %corner: place i32[1, 1] = slice %x {{starts=[0, 0], sizes=[1, 1], steps=[1, 1]}}
  %7: i32 = constant {{value=7, type=<i32>}}
  store %corner, %7
  {element("%c", "%x", "i32", "n - 1", "m - 1")}
  {put("%x", "i32", "%c", "n - 2", "0")}
  %d: place i32[min(n, m)] = diagonal %x {{axes=[0, 1], offset=0, size=min(n, m)}}
  %diagonal: i32[min(n, m)] = load %d
  %e: i32[min(n, m)] = copy %diagonal
  %f: place i32[m, n] = transpose %x {{axes=[1, 0]}}
  %g: place i32[n] = reshape %column {{dims=[n]}}
  yield %e, %f, %g, %x
}}
"""


def test_numbers_fill_places_and_places_are_results():
    zeros = np.zeros((6, 14), np.int32)
    for array in (zeros, np.asfortranarray(zeros), zeros[::2, ::3]):
        check(FILL, (array, np.int32(3)))


LOCAL = f"""
func @table(%x: f64[n]) {{
  {RANGE}
  %n: index[n] = size {{dim=n}}
  %0: f64 = constant {{value=0.0, type=<f64>}}
  %1: f64[n, n] = broadcast %0 {{dims=[n, n], axes=[]}}
  %t: var f64[n, n] = variable %1
  for %zero, %n, %one (%i: index[i]) {{
    %row: place f64[1, n] = slice %t {{starts=[i, 0], sizes=[1, n], steps=[1, 1]}}
    %line: place f64[n] = reshape %row {{dims=[n]}}
    %e: f64[1] = slice %x {{starts=[i], sizes=[1], steps=[1]}}
    %f: f64[] = reshape %e {{dims=[]}}
    %g: f64 = cast %f {{dtype=f64}}
    %h: f64[n] = multiply %x, %g
    store %line, %h
    yield
  }}
  %column: place f64[n, 1] = slice %t {{starts=[0, 0], sizes=[n, 1], steps=[1, 1]}}
  yield %column, %t
}}
"""


def test_a_local_variable_and_its_view_are_results():
    check(LOCAL, (vector(5),), (vector(17),))
    column, whole = compiled(LOCAL, vector(5))(vector(5))
    assert column.base is whole


SCATTER = """
func @scatter(%x: var f64[n, m], %i: i64[k], %j: i32[k], %v: f64[k], %w: f64[n, k]) {
  %0: f64 = constant {value=1.5, type=<f64>}
  scatter %x, %i, %j, %v {axis=0, combine="add"}
  scatter %x, %i, %j, %0 {axis=0, combine="set"}
  scatter %x, %j, %w {axis=1, combine="add"}
  scatter %x, %j, %w {axis=1, combine="set"}
  yield
}
"""


def test_scatter():
    k = 40
    i, j = RANDOM.integers(-6, 6, k), RANDOM.integers(-4, 4, k).astype(np.int32)
    arguments = np.zeros((6, 4)), i, j, vector(k), RANDOM.standard_normal((6, k))
    check(SCATTER, arguments)
    j[30] = 4
    fails(SCATTER, IndexError, "index 4 is out of bounds for axis 1 with size 4", *arguments)
    j[30], i[3] = -5, -7
    fails(SCATTER, IndexError, "index -7 is out of bounds for axis 0 with size 6", *arguments)


TEMPORARY = f"""
func @norms(%x: f64[n], %turns: int, %bad: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %b: index[b] = to_index %bad {{binds="b"}}
  %none: f64 = constant {{value=0.0, type=<f64>}}
  %two: f64 = constant {{value=2.0, type=<f64>}}
  %y: f64[n], %s: f64 = for %zero, %t, %one, %x, %none (%i: index[i], %u: f64[n], %r: f64) {{
    %w: var f64[n] = variable %u
    %first: place f64[1] = slice %w {{starts=[0], sizes=[1], steps=[1]}}
    store %first, %r
    %now: f64[n] = load %w
    %sum: f64 = reduce_add %now {{axes=[0]}}
    %good: bool = not_equal %i, %b
    check %good, %i {{error="RuntimeError", message="turn {{}}"}}
    %z: f64[n] = multiply %now, %two
    yield %z, %sum
  }}
  yield %y, %s
}}
"""


def test_a_failure_gives_everything_back():
    check(TEMPORARY, *((vector(33), turns, -1) for turns in (0, 1, 5)), exact=False)
    for bad in (0, 1, 4):
        fails(TEMPORARY, RuntimeError, f"turn {bad}", vector(33), 5, bad)


@pytest.mark.parametrize("n", [3, 8])
def test_sizes_of_slices_depend_on_the_turn(n):
    triangle = f"""
func @prefixes(%x: f64[n], %y: var f64[n]) {{
  {RANGE}
  %n: index[n] = size {{dim=n}}
  for %zero, %n, %one (%i: index[i]) {{
    %head: f64[i + 1] = slice %x {{starts=[0], sizes=[i + 1], steps=[1]}}
    %s: f64 = reduce_add %head {{axes=[0]}}
    {put("%y", "f64", "%s", "i")}
    %tail: place f64[n - i - 1] = slice %y {{starts=[i + 1], sizes=[n - i - 1], steps=[1]}}
    %rest: f64[n - i - 1] = slice %x {{starts=[i + 1], sizes=[n - i - 1], steps=[1]}}
    store %tail, %rest
    yield
  }}
  yield
}}
"""
    check(triangle, (np.arange(float(n)), np.zeros(n)))


LAST = f"""
func @last(%x: var f64[n], %turns: int, %c: bool) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  %0: f64[n] = load %x
  %1: f64[n] = add %0, %0
  %y: var f64[n] = variable %1
  %a: place f64[n], %b: place f64[n] = for %zero, %t, %one, %x, %y (%i: index[i], %p: place f64[n], %q: place f64[n]) {{
    %all: f64[n] = load %p
    %2: f64[n] = add %all, %all
    store %q, %2
    yield %q, %p
  }}
  %tail: place f64[n - 1] = slice %a {{starts=[1], sizes=[n - 1], steps=[1]}}
  %other: place f64[n - 1] = slice %x {{starts=[0], sizes=[n - 1], steps=[1]}}
  %some: place f64[n - 1] = if %c () {{
    yield %tail
  }} () {{
    yield %other
  }}
  yield %a, %b, %tail, %some
}}
"""


def test_a_result_is_one_of_several_variables():
    true, false = np.bool_(True), np.bool_(False)
    code = check(LAST, *((vector(6), turns, c) for turns in (0, 1, 2, 5) for c in (true, false)))
    for turns in (0, 1, 2):
        x = vector(6)
        a, b, tail, some = code(x, turns, false)
        assert (a if turns % 2 == 0 else b) is x
        assert tail.base is a
        assert some.base is x
        other = b if turns % 2 == 0 else a
        assert other.flags.owndata
        assert not np.shares_memory(other, x)
