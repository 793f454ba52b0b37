"""Which ops conflict: storage and what views of it show, checks, what is ordered with the world."""

from __future__ import annotations

import pytest

from jitflow.ir.core import Function, Op, walk
from jitflow.ir.effects import ANYTHING, Effects, conflict, is_pure, is_removable, may_fail
from jitflow.ir.parser import parse

PROGRAM = parse("""func @f(%u: var f64[4], %v: var f64[4], %p: place f64[2], %x: f64[4], %i: i64[4],
                          %c: bool, %a: f64) {
  %half: place f64[2] = slice %u {starts=[0], sizes=[2], steps=[1]}
  %local: var f64[4] = variable %x
  %load_u: f64[4] = load %u
  %load_half: f64[2] = load %half
  %load_v: f64[4] = load %v
  %load_p: f64[2] = load %p
  %load_local: f64[4] = load %local
  store %u, %a
  store %half, %a
  store %v, %a
  store %local, %a
  check %c {error="ValueError", message="no"}
  %gather: f64[4] = gather %x, %i {axis=0}
  print %a {message="{}"}
  %exp: f64[4] = exp %x
  yield
}""")

STORES = ("store_u", "store_half", "store_v", "store_local")


def _ops(function: Function) -> dict[str, Op]:
    """The ops by the name of their result, or by what they do to what."""
    ops: dict[str, Op] = {}
    for op in function.region.body:
        name = op.results[0].name if op.results else f"{op.name}_{op.operands[0].name}"
        ops[name] = op
    return ops


OPS = _ops(PROGRAM)
EFFECTS = Effects(PROGRAM)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("load_u", "store_u", True),
        ("load_u", "store_half", True),
        ("load_half", "store_u", True),
        ("load_v", "store_u", False),
        ("load_u", "load_half", False),
        ("load_p", "store_u", True),  # nobody knows what the place shows
        ("load_local", "store_u", False),
        ("store_u", "store_v", False),
        ("store_u", "store_half", True),
        ("check_c", "store_u", True),
        ("check_c", "store_local", False),  # nobody can see a local variable of a call that raised
        ("check_c", "load_u", False),
        ("check_c", "gather", True),
        ("check_c", "exp", False),
        ("print_a", "store_u", True),
        ("print_a", "check_c", True),
        ("print_a", "load_u", True),
        ("print_a", "exp", False),
        ("local", "store_u", False),
        ("exp", "store_u", False),
    ],
)
def test_conflicts(first: str, second: str, expected: bool) -> None:
    assert EFFECTS.conflict(OPS[first], OPS[second]) is expected
    assert EFFECTS.conflict(OPS[second], OPS[first]) is expected


def test_without_the_function_every_view_may_show_anything() -> None:
    assert conflict(OPS["load_half"], OPS["store_v"])
    assert not conflict(OPS["load_half"], OPS["store_v"], EFFECTS)
    assert not conflict(OPS["load_u"], OPS["store_v"])
    assert conflict(OPS["check_c"], OPS["store_local"])


def test_arguments_that_overlap() -> None:
    overlapping = parse("""func @f(%u: var f64[4], %v: var f64[4], %a: f64) with {overlap=true} {
      %load_u: f64[4] = load %u
      store %v, %a
      yield
    }""")
    first, second, _ = overlapping.region.ops
    assert Effects(overlapping).conflict(first, second)


def test_properties_of_single_ops() -> None:
    assert is_pure(OPS["exp"])
    assert not is_pure(OPS["load_u"])
    assert is_removable(OPS["load_u"])
    assert is_removable(OPS["local"])
    assert not is_removable(OPS["store_u"])
    assert not is_removable(OPS["gather"])
    assert may_fail(OPS["gather"])
    assert may_fail(OPS["print_a"])
    assert not may_fail(OPS["store_u"])


LOOP = """func @f(%u: var f64[2], %v: var f64[2], %w: var f64[2], %x: f64[2], %n: index, %a: f64) {
  %p: place f64[2], %q: place f64[2] = for %n, %n, %n, %u, %v (%i: index, %r: place f64[2], %s: place f64[2]) {
    %local: var f64[2] = variable %x
    store %local, %a
    %0: f64[2] = load %local
    store %r, %0
    yield %s, %r
  }
  store %p, %a
  store %w, %a
  %1: f64[2] = load %v
  yield
}"""


def test_places_that_a_loop_swaps_show_both_variables() -> None:
    function = parse(LOOP)
    effects = Effects(function)
    u, v, w = function.parameters[:3]
    loop, store_p, store_w, load_v, _ = function.region.ops
    assert effects.places(loop.results[0]) == {u, v}
    assert effects.conflict(store_p, load_v)
    assert effects.conflict(loop, load_v)
    assert not effects.conflict(loop, store_w)
    assert not effects.conflict(store_p, store_w)
    written = {place for access in effects.of(loop) for place in access.places}
    assert written == {u, v}
    assert w not in written
    assert ANYTHING not in written


def test_a_loop_over_its_own_variables_is_pure() -> None:
    function = parse(LOOP.replace("store %r, %0", "%2: f64[2] = negative %0"))
    loop = function.region.ops[0]
    assert [op.name for op in walk(loop.regions[0])].count("store") == 1
    assert is_removable(loop)
