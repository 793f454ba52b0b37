"""Tapes: loops that push what the loops behind them pop, as numbers in kernels and as arrays on the host."""

from __future__ import annotations

from functools import reduce
from time import perf_counter

import numpy as np
import pytest

from jitflow.errors import CompilerBug, UserNotImplementedError
from jitflow.ir.core import Function, walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.passes.lower import GPU, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, STORAGE_PIPELINE, run_passes
from jitflow.runtime.native.pool import memory_stats
from tests.execute import Compiled
from tests.passes.lower.whole import RANGE, check, compiled, fails

RANDOM = np.random.default_rng(0)

NUMBERS = f"""
func @numbers(%x: KIND, %y: KIND, %n: int) {{
  {RANGE}
  %first: int = constant {{value=0, type=<int>}}
  %step: int = constant {{value=1, type=<int>}}
  %t: tape DTYPE = tape {{dtype=DTYPE}}
  %last: KIND, %count: int = while %x, %first (%a: KIND, %i: int) {{
    %more: pybool = less %i, %n
    yield %more
  }} (%b: KIND, %j: int) {{
    push %t, %b
    %c: KIND = FORWARD %b, %y
    %k: int = add %j, %step
    yield %c, %k
  }}
  %turns: index[turns] = to_index %count {{binds="turns"}}
  %g: KIND = for %zero, %turns, %one, %last (%p: index[p], %d: KIND) {{
    %e: KIND = pop %t
    %f: KIND = BACKWARD %d, %e
    yield %f
  }}
  yield %last, %g
}}
"""


def numbers(dtype: str, kind: str = "", forward: str = "add", backward: str = "subtract") -> str:
    """A ``while`` that remembers a number in each turn, and a ``for`` that takes them back."""
    words = {"KIND": kind or dtype, "DTYPE": dtype, "FORWARD": forward, "BACKWARD": backward}
    return reduce(lambda text, word: text.replace(*word), words.items(), NUMBERS)


KINDS = {
    "f64": (np.float64(0.5), np.float64(1.25)),
    "f32": (np.float32(0.5), np.float32(1.25)),
    "f16": (np.float16(0.5), np.float16(1.25)),
    "i64": (np.int64(3), np.int64(5)),
    "i8": (np.int8(3), np.int8(5)),
    "u32": (np.uint32(3), np.uint32(5)),
    "c128": (np.complex128(1 + 2j), np.complex128(0.5j)),
    "c64": (np.complex64(1 + 2j), np.complex64(0.5j)),
}


@pytest.mark.parametrize("dtype", KINDS)
def test_numbers_come_back_in_reverse(dtype: str) -> None:
    code = check(numbers(dtype), *((*KINDS[dtype], turns) for turns in (4, 0, 1, 3000)))
    assert [op.name for op in walk(code.lowered.host.region) if op.name in ("push", "pop", "while", "for")] == []


def test_bools_and_python_numbers() -> None:
    check(numbers("bool", forward="logical_xor", backward="logical_xor"), (np.bool(True), np.bool(True), 5))
    check(numbers("f64", "float", "add", "multiply"), (0.5, 0.25, 6000))
    check(numbers("i64", "int"), (2, 3, 7))


def test_the_interpreter_agrees_about_the_host_program() -> None:
    code = compiled(numbers("c64"), *KINDS["c64"], 5)
    arguments = (*KINDS["c64"], 5)
    expected = interpret(parse(numbers("c64")), *arguments)
    np.testing.assert_array_equal(interpret(code.lowered.host, *arguments), expected)


NESTED = f"""
func @nested(%x: f64, %n: int) {{
  {RANGE}
  %first: int = constant {{value=0, type=<int>}}
  %step: int = constant {{value=1, type=<int>}}
  %zeros: f64 = constant {{value=0.0, type=<f64>}}
  %half: f64 = constant {{value=0.5, type=<f64>}}
  %values: tape f64 = tape {{dtype=f64}}
  %counts: tape i64 = tape {{dtype=i64}}
  %branches: tape bool = tape {{dtype=bool}}
  %m: index[m] = to_index %n {{binds="m"}}
  %last: f64 = for %zero, %m, %one, %x (%i: index[i], %a: f64) {{
    %limit: i64 = cast %i {{dtype=i64}}
    %b: f64, %turns: int = while %a, %first (%c: f64, %j: int) {{
      %more: bool = less %j, %limit
      yield %more
    }} (%d: f64, %k: int) {{
      %small: bool = less %d, %half
      push %branches, %small
      %e: f64 = if %small () {{
        push %values, %d
        %grown: f64 = add %d, %half
        yield %grown
      }} () {{
        %shrunk: f64 = multiply %d, %half
        yield %shrunk
      }}
      %following: int = add %k, %step
      yield %e, %following
    }}
    %number: i64 = cast %turns {{dtype=i64}}
    push %counts, %number
    yield %b
  }}
  %gradient: f64 = for %zero, %m, %one, %last (%p: index[p], %g: f64) {{
    %back: i64 = pop %counts
    %r: index[r] = to_index %back {{binds="r"}}
    %h: f64 = for %zero, %r, %one, %g (%q: index[q], %s: f64) {{
      %was: bool = pop %branches
      %t: f64 = if %was () {{
        %v: f64 = pop %values
        %sum: f64 = add %s, %v
        yield %sum
      }} () {{
        %w: f64 = multiply %s, %half
        yield %w
      }}
      yield %t
    }}
    yield %h
  }}
  yield %last, %gradient
}}
"""


def test_nested_loops_and_branches() -> None:
    code = check(NESTED, *((np.float64(0.3), turns) for turns in (5, 0, 1, 2, 60)))
    assert [op.name for op in walk(code.lowered.host.region) if op.regions] == [], "both nests are kernels"


ARRAYS = f"""
func @arrays(%x: f64[n], %turns: int) {{
  {RANGE}
  %rounds: index[rounds] = to_index %turns {{binds="rounds"}}
  %t: tape f64 = tape {{dtype=f64}}
  %zeros: f64 = constant {{value=0.0, type=<f64>}}
  %thousandth: f64 = constant {{value=0.001, type=<f64>}}
  %last: f64[n] = for %zero, %rounds, %one, %x (%i: index[i], %a: f64[n]) {{
    %b: f64[n] = sin %a
    %size: index[min(i, n)] = size {{dim=min(i, n)}}
    %part: f64[min(i, n)] = slice %b {{starts=[0], sizes=[min(i, n)], steps=[1]}}
    %square: f64[min(i, n)] = multiply %part, %part
    push %t, %square
    %total: f64 = reduce_add %square {{axes=[0]}}
    %little: f64 = multiply %total, %thousandth
    %many: f64[n] = broadcast %little {{dims=[n], axes=[]}}
    %c: f64[n] = add %b, %many
    yield %c
  }}
  %back: index[rounds - 1] = size {{dim=rounds - 1}}
  %down: index[-1] = size {{dim=-1}}
  %sum: f64 = for %back, %down, %down, %zeros (%p: index[p], %s: f64) {{
    %d: f64[min(p, n)] = pop %t
    %e: f64[min(p, n)] = exp %d
    %f: f64 = reduce_add %e {{axes=[0]}}
    %h: f64 = add %s, %f
    yield %h
  }}
  yield %last, %sum
}}
"""


def test_arrays_whose_sizes_change() -> None:
    x = RANDOM.standard_normal(9)
    code = check(ARRAYS, (x, 12), (x, 0), (x, 1), (RANDOM.standard_normal(3000), 40), (x[:0], 5), exact=False)
    names = [op.name for op in walk(code.lowered.host.region)]
    assert names.count("extend") == names.count("retract") == names.count("clear") == 1
    assert launches_in_loops(code) == ["kernel_0", "kernel_1", "kernel_2", "kernel_3"], "nothing is copied"


STAYING = """
func @staying(%x: c64[n], %y: c64[n]) {
  %t: tape c64 = tape {dtype=c64}
  %a: c64[n] = multiply %x, %y
  push %t, %a
  push %t, %x
  %b: c64[n] = pop %t
  push %t, %y
  %c: c64[n] = pop %t
  %d: c64[n] = pop %t
  %e: c64[n] = add %b, %c
  %f: c64[n] = add %e, %d
  %g: c64[n] = add %f, %a
  yield %d, %g
}
"""


def test_what_is_popped_outlives_a_push_and_the_program() -> None:
    x, y = (RANDOM.standard_normal((2, 5)).astype("c8") for _ in range(2))
    check(STAYING, (x[0], y[1]), (x[0, :0], y[1, :0]))


SAVING = f"""
func @saving(%v: var f64[n], %x: f64[n], %turns: int) {{
  {RANGE}
  %rounds: index[rounds] = to_index %turns {{binds="rounds"}}
  %t: tape f64 = tape {{dtype=f64}}
  %u: tape f64 = tape {{dtype=f64}}
  %last: f64[n] = for %zero, %rounds, %one, %x (%i: index[i], %a: f64[n]) {{
    push %t, %a
    %b: f64[n] = sin %a
    %c: f64[n] = add %b, %x
    %before: f64[n] = load %v
    push %u, %before
    %square: f64[n] = multiply %before, %before
    store %v, %square
    yield %c
  }}
  %sum: f64[n] = for %zero, %rounds, %one, %last (%p: index[p], %s: f64[n]) {{
    %d: f64[n] = pop %t
    %e: f64[n] = subtract %d, %s
    %again: f64[n] = pop %u
    store %v, %again
    yield %e
  }}
  yield %sum
}}
"""


def test_saving_is_part_of_the_kernel_that_reads_or_replaces_an_array() -> None:
    x = RANDOM.standard_normal(50)
    code = check(SAVING, (x / 4, x, 5), (x[:0], x[:0], 3), (x[:2], x[:2], 0), exact=False)
    assert launches_in_loops(code) == ["kernel_0", "kernel_1", "copy_0", "kernel_2"]


def launches_in_loops(code: Compiled) -> list[str]:
    """The kernels that the outermost loops of a program launch."""
    ops = [op for loop in code.lowered.host.region.body for region in loop.regions for op in region.body]
    return [op.attributes["kernel"] for op in ops if op.name == "launch"]


TOGETHER = """
func @together(%x: f64[n], %y: f64[n]) {
  %t: tape f64 = tape {dtype=f64}
  %a: f64[n] = multiply %x, %y
  %b: f64[n] = add %x, %y
  push %t, %b
  push %t, %a
  %c: f64[n] = pop %t
  %d: f64[n] = pop %t
  %e: f64[n] = divide %c, %d
  yield %e
}
"""


def test_what_one_kernel_computes_is_pushed_in_order() -> None:
    code = check(TOGETHER, (RANDOM.standard_normal(40), RANDOM.standard_normal(40)))
    launched = [op.attributes["kernel"] for op in walk(code.lowered.host.region) if op.name == "launch"]
    assert len(launched) == 3, "one of the two is copied"


INSIDE = f"""
func @inside(%x: f64[n], %rounds: int) {{
  {RANGE}
  %k: index[k] = to_index %rounds {{binds="k"}}
  %last: f64[n] = for %zero, %k, %one, %x (%i: index[i], %a: f64[n]) {{
    %t: tape f64 = tape {{dtype=f64}}
    for %zero, %i, %one (%j: index[j]) {{
      push %t, %a
      yield
    }}
    %b: f64[n] = for %zero, %i, %one, %a (%p: index[p], %c: f64[n]) {{
      %d: f64[n] = pop %t
      %e: f64[n] = sin %d
      %f: f64[n] = add %c, %e
      yield %f
    }}
    yield %b
  }}
  yield %last
}}
"""


def test_a_tape_of_a_turn_ends_with_it() -> None:
    code = check(INSIDE, (RANDOM.standard_normal(600), 9), (RANDOM.standard_normal(2), 3), exact=False)
    (loop,) = (op for op in code.lowered.host.region.body if op.name == "for")
    assert "clear" in [op.name for op in loop.regions[0].body]
    assert "tape" in [op.name for op in code.lowered.host.region.body]


FAILING = f"""
func @failing(%x: f64, %n: int, %limit: int) {{
  {RANGE}
  %t: tape f64 = tape {{dtype=f64}}
  %m: index[m] = to_index %n {{binds="m"}}
  %last: f64 = for %zero, %m, %one, %x (%i: index[i], %a: f64) {{
    push %t, %a
    %number: i64 = cast %i {{dtype=i64}}
    %fine: bool = less %number, %limit
    check %fine, %i {{error="ValueError", message="turn {{}}"}}
    yield %a
  }}
  %b: f64 = for %zero, %m, %one, %last (%p: index[p], %c: f64) {{
    %d: f64 = pop %t
    %e: f64 = add %c, %d
    yield %e
  }}
  yield %b
}}
"""


def test_a_failure_gives_back_what_was_pushed() -> None:
    fails(FAILING, ValueError, "turn 3000", np.float64(1), 100_000, 3000)
    check(FAILING, (np.float64(1), 2000, 3000))


def test_more_than_was_pushed_is_a_bug() -> None:
    text = """func @f(%x: f64[n]) {
      %t: tape f64 = tape {dtype=f64}
      push %t, %x
      %0: f64[n + 1] = pop %t
      %1: f64[n + 1] = negative %0
      yield %1
    }"""
    code = compiled(text, np.ones(3))
    before = memory_stats()["bytes_in_use"]
    with pytest.raises(CompilerBug, match="expected to pop what was pushed"):
        code(np.ones(3))
    assert memory_stats()["bytes_in_use"] == before


def test_no_memory_for_a_push() -> None:
    text = """func @f(%x: f64, %n: int) {
      %t: tape f64 = tape {dtype=f64}
      %k: index[k] = to_index %n {binds="k"}
      push %t, %x
      %0: f64[k] = broadcast %x {dims=[k], axes=[]}
      push %t, %0
      %1: f64[k] = pop %t
      %2: f64 = reduce_add %1 {axes=[0]}
      %3: f64 = pop %t
      yield %2, %3
    }"""
    code = check(text, (np.float64(2), 5))
    before = memory_stats()["bytes_in_use"]
    with pytest.raises(MemoryError, match="Unable to allocate"):
        code(np.float64(2), 1 << 50)
    assert memory_stats()["bytes_in_use"] == before


def test_a_million_pushes_take_little_time() -> None:
    code = compiled(numbers("f64", forward="add", backward="add"), np.float64(1), np.float64(1), 10)
    turns, times = 1_000_000, []
    code(np.float64(1), np.float64(1), turns)
    for _ in range(5):
        start = perf_counter()
        code(np.float64(1), np.float64(1), turns)
        times.append(perf_counter() - start)
    assert min(times) < 0.1, "hundreds of nanoseconds a turn"


def test_what_nobody_pops_is_not_pushed() -> None:
    text = numbers("f64").replace("subtract %d, %e", "add %d, %y")
    function = run_passes(parse(text), STORAGE_PIPELINE)
    verify(function)
    assert {op.name for op in walk(function.region)}.isdisjoint(("tape", "push", "pop"))
    arguments = np.float64(1), np.float64(2), 9
    assert interpret(function, *arguments) == interpret(parse(text), *arguments)


PROGRAMS = {"numbers": numbers("f64"), "nested": NESTED, "arrays": ARRAYS, "staying": STAYING, "inside": INSIDE}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_passes_leave_tapes_alone(text: str) -> None:
    before = parse(text)
    after = run_passes(before, STORAGE_PIPELINE)
    verify(after)
    for name in ("tape", "push", "pop"):
        assert _count(after, name) == _count(before, name)


def _count(function: Function, name: str) -> int:
    return sum(op.name == name for op in walk(function.region))


def test_a_gpu_refuses() -> None:
    fused = run_passes(parse(numbers("f64")), FUSION_PIPELINE)
    with pytest.raises(UserNotImplementedError, match="compile it for the CPU"):
        lower(fused, GPU)
