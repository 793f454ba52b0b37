"""Which places never meet although loops and branches let each show several variables."""

from __future__ import annotations

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.effects import Effects
from jitflow.ir.parser import parse


def _loop(
    body: str, given: str = "%u, %v", carried: str = "%p: place f64[n], %q: place f64[n]", after: str = ""
) -> str:
    return f"""func @f(%u: var f64[n], %v: var f64[n], %w: var f64[n], %x: f64[n], %k: index, %c: bool) {{
      %r: place f64[n], %s: place f64[n] = for %k, %k, %k, {given} (%i: index[i], {carried}) {{
        {body}
      }}
      {after}
      yield
    }}"""


def _values(function: Function) -> dict[str, Value]:
    values = {parameter.name: parameter for parameter in function.parameters}
    for op in walk(function.region):
        values.update({result.name: result for result in op.results if result.name})
        values.update({value.name: value for region in op.regions for value in region.parameters})
    return values


def _meet(text: str, *pairs: str) -> list[bool]:
    function = parse(text)
    values, effects = _values(function), Effects(function)
    return [effects.may_meet(values[one], values[other]) for one, other in pairs]


def test_swapped_places_are_apart_in_every_turn_and_behind_the_loop() -> None:
    text = _loop("yield %q, %p")
    assert _meet(text, "pq", "rs", "pu", "pv", "pw", "ru", "qw") == [False, False, True, True, False, True, False]


def test_views_keep_the_role() -> None:
    text = _loop("""%a: place f64[n] = slice %p {starts=[n - 1], sizes=[n], steps=[-1]}
        %b: place f64[n] = slice %q {starts=[n - 1], sizes=[n], steps=[-1]}
        yield %q, %p""")
    assert _meet(text, "ab", "aq", "ap", "av") == [False, False, True, True]


def test_places_that_meet_at_first() -> None:
    assert _meet(_loop("yield %q, %p", given="%u, %u"), "pq", "rs") == [True, True]


def test_what_is_shifted_in_meets_in_a_later_turn() -> None:
    assert _meet(_loop("yield %q, %q"), "pq", "rs") == [True, True]
    assert _meet(_loop("yield %q, %u"), "pq", "rs") == [True, True]


def test_three_in_a_ring() -> None:
    function = parse("""func @f(%u: var f64[n], %v: var f64[n], %w: var f64[n], %k: index) {
      %a: place f64[n], %b: place f64[n], %c: place f64[n] = for %k, %k, %k, %u, %v, %w (%i: index[i],
          %p: place f64[n], %q: place f64[n], %r: place f64[n]) {
        yield %q, %r, %p
      }
      yield
    }""")
    values, effects = _values(function), Effects(function)
    assert not any(effects.may_meet(values[one], values[other]) for one, other in ("pq", "pr", "qr", "ab", "bc"))
    assert effects.may_meet(values["p"], values["a"])


def test_a_loop_inside() -> None:
    text = _loop("""%a: place f64[n], %b: place f64[n] = for %k, %k, %k, %p, %q (%j: index[j],
          %y: place f64[n], %z: place f64[n]) {
          yield %z, %y
        }
        yield %q, %p""")
    assert _meet(text, "yz", "ab", "yq", "ya") == [False, False, True, True]
    text = text.replace("yield %q, %p", "yield %b, %a")
    assert _meet(text, "pq") == [True], "what the loop inside gives back is not known to be the same two"


def test_branches() -> None:
    text = """func @f(%u: var f64[n], %v: var f64[n], %c: bool) {
      %p: place f64[n], %q: place f64[n] = if %c () {
        yield %u, %v
      } () {
        yield %v, %u
      }
      %r: place f64[n], %s: place f64[n] = if %c () {
        yield %p, %q
      } () {
        yield %q, %q
      }
      yield
    }"""
    assert _meet(text, "pq", "rs") == [False, True]


def test_conflicts_follow() -> None:
    text = _loop(
        """%a: f64[n] = load %p
        store %q, %x
        yield %q, %p""",
        after="%b: f64[n] = load %w",
    )
    function = parse(text)
    effects = Effects(function)
    loop = function.region.ops[0]
    load, store = loop.regions[0].ops[:2]
    behind: Op = function.region.ops[1]
    assert not effects.conflict(load, store)
    assert not effects.conflict(loop, behind)
    assert effects.conflict(loop, load), "seen from outside the loop writes to both"
