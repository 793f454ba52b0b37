"""What sizes are taken to be, and what ops cost by them."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from jitflow.ir.core import Op, walk
from jitflow.ir.parser import parse
from jitflow.machines.machine import as_machine
from jitflow.passes.place.sizes import GUESSED_SIZE, GUESSED_TURNS, Sizes
from jitflow.passes.place.work import seconds, work_of

TEXT = """
func @f(%x: f64[n], %m: index[m]) with {hints=[["n", 4000], ["m", 60]]} {
  %0: index[0] = size {dim=0}
  %1: index[1] = size {dim=1}
  %2: int = cast %m {dtype=i64, weak=true}
  %3: int = constant {value=3, type=<int>}
  %4: int = multiply %2, %3
  %5: index[count] = to_index %4 {binds="count"}
  %6: f64[k] = host_call %x {routine="numpy.unique", keywords=[], options=[], effect="none"}
  %7: f64[k] = sin %6
  %8: f64[n] = for %0, %5, %1, %x (%i: index[i], %9: f64[n]) {
    %10: f64[n] = sin %9
    yield %10
  }
  yield %7, %8
}
"""


def test_sizes_follow_from_each_other() -> None:
    function = parse(TEXT)
    sizes = Sizes(function)
    (loop,) = (op for op in walk(function.region) if op.name == "for")
    assert sizes.numbers["count"] == 180 == sizes.turns(loop)
    assert sizes.numbers["i"] == 90
    assert sizes.numbers["k"] == 2000
    body, whole = (work_of(op, sizes) for op in (loop.regions[0].ops[0], loop))
    assert whole.elementary == pytest.approx(180 * body.elementary)


def test_what_nobody_knows_is_guessed() -> None:
    function = parse(TEXT.replace(' with {hints=[["n", 4000], ["m", 60]]}', ""))
    assert Sizes(function).count(function.parameters[0].type) == GUESSED_SIZE
    loop = Op(next(op for op in walk(function.region) if op.name == "for").definition, (), (), MappingProxyType({}))
    assert Sizes(function).turns(loop) == GUESSED_TURNS


def test_a_kernel_costs_its_arithmetic_or_its_memory() -> None:
    function = parse(TEXT)
    sizes = Sizes(function)
    sine = next(op for op in walk(function.region) if op.name == "sin")
    slow, quick = (as_machine(f"cpu(elementary={rate})").processors[0] for rate in (1e6, 1e15))
    assert seconds(work_of(sine, sizes), slow) == pytest.approx(work_of(sine, sizes).elementary / 1e6, rel=0.01)
    assert seconds(work_of(sine, sizes), quick) == pytest.approx(8 * 2000 / quick.cache_bandwidth, rel=0.01)
