"""How much memory programs take, and what they copy: counts of ops in the host program."""

from __future__ import annotations

from collections import Counter

import numpy as np

import jitflow
from jitflow.ir.core import Region, walk
from jitflow.passes.schedule.cost import STREAM_FROM
from tests.passes.lower.test_arrays import HEAT, PINGPONG, TEMPORARY
from tests.passes.lower.whole import RANGE, check, compiled

RANDOM = np.random.default_rng(0)


def counts(text: str, *arguments: object) -> Counter[str]:
    """The ops of the host program, launches by the kind of kernel."""
    host = compiled(text, *arguments).lowered.host
    return Counter(
        op.attributes["kernel"].split("_")[0] if op.name == "launch" else op.name for op in walk(host.region)
    )


def in_loops(region: Region, inside: bool = False) -> Counter[str]:
    """The ops inside of loops."""
    found: Counter[str] = Counter()
    for op in region.ops:
        found[op.name] += inside
        for inner in op.regions:
            found += in_loops(inner, inside or op.name in ("for", "while"))
    return found


UPDATE = f"""
func @update(%u: var f64[n, m], %v: f64[n, m], %turns: int) {{
  {RANGE}
  %t: index[t] = to_index %turns {{binds="t"}}
  for %zero, %t, %one (%i: index[i]) {{
    %0: f64[n, m] = load %u
    %1: f64[n, m] = add %0, %v
    store %u, %1
    %row: place f64[1, m] = slice %u {{starts=[0, 0], sizes=[1, m], steps=[1, 1]}}
    %2: f64[1, m] = load %row
    %3: f64[1, m] = multiply %2, %2
    store %row, %3
    yield
  }}
  yield
}}
"""


def test_an_update_is_written_in_place():
    arguments = RANDOM.standard_normal((5, 7)), RANDOM.standard_normal((5, 7)), 2
    found = counts(UPDATE, *arguments)
    assert found["alloc"] == found["copy"] == 0
    check(UPDATE, arguments, (*arguments[:2], 0), (*arguments[:2], 5))
    check(UPDATE, tuple(np.asfortranarray(a) if isinstance(a, np.ndarray) else a for a in arguments))


TRANSPOSED = """
func @symmetric(%u: var f64[n, n]) {
  %0: f64[n, n] = load %u
  %1: f64[n, n] = transpose %0 {axes=[1, 0]}
  %2: f64[n, n] = add %0, %1
  store %u, %2
  yield
}
"""


def test_an_update_that_reads_elsewhere_is_not():
    found = counts(TRANSPOSED, np.zeros((4, 4)))
    assert found["alloc"] == found["copy"] == 1
    check(TRANSPOSED, (RANDOM.standard_normal((40, 40)),))


TWO_RESULTS = """
func @both(%u: var f64[n], %v: var f64[n]) {
  %0: f64[n] = load %u
  %1: f64[n] = load %v
  %2: f64[n] = add %0, %1
  %3: f64[n] = multiply %0, %1
  store %u, %2
  store %v, %3
  yield
}
"""


def test_two_updates_from_one_kernel():
    check(TWO_RESULTS, (RANDOM.standard_normal(100), RANDOM.standard_normal(100)))


NORMALISED = """
func @normalise(%u: var f64[n]) {
  %0: f64[n] = load %u
  %1: f64 = reduce_add %0 {axes=[0]}
  %2: f64[n] = divide %0, %1
  store %u, %2
  yield
}
"""


def test_an_update_beside_a_reduction():
    check(NORMALISED, (RANDOM.standard_normal(100),), exact=False)


CHECKED = """
func @take(%u: var f64[n], %x: f64[m], %i: i64[n]) {
  %0: f64[n] = gather %x, %i {axis=0}
  store %u, %0
  yield
}
"""


def test_a_kernel_that_may_fail_writes_no_argument():
    found = counts(CHECKED, np.zeros(3), np.zeros(2), np.zeros(3, np.int64))
    assert found["alloc"] == found["copy"] == 1


def test_temporaries_of_a_loop_are_allocated_once():
    for text, arguments in (
        (HEAT, (np.zeros(9), 0.1, 3)), (PINGPONG, (np.zeros(9), 3)), (TEMPORARY, (np.zeros(9), 3, -1)),
    ):  # fmt: skip
        host = compiled(text, *arguments).lowered.host
        assert in_loops(host.region)["alloc"] == 0, str(host)


def test_large_memory_of_the_caller_s_is_written_wherever_it_lies():
    """It begins at an element, not at a cache line, so that no store may go past the caches."""
    program = jitflow.function(_add_one)
    size = STREAM_FROM // 8 + 100
    memory = np.zeros(size + 8)
    for start in range(8):
        program(memory[start : start + size])
    np.testing.assert_array_equal(memory[7:size], 8.0)


def _add_one(x):
    x += 1.0


def test_rows_of_a_large_table_do_not_drive_out_a_cache():
    """What few rows are gathered into stays in a cache, however large the table is."""
    table, ids = np.zeros((STREAM_FROM // 512, 64)), np.arange(32)
    text = jitflow.function(lambda table, ids: table[ids] * 2.0).ir(table, ids, stage="scheduled")
    (condition,) = [line for line in text.splitlines() if "past caches" in line]
    assert "n" not in condition.partition("where")[2].partition(";")[0].replace("min", ""), condition


def test_a_row_is_not_the_whole_matrix():
    text = jitflow.function(lambda matrix: matrix[3] * 2.0).ir(np.zeros((4, 5)), stage="scheduled")
    (condition,) = [line for line in text.splitlines() if "past caches" in line]
    assert "where ((16*m) //" in condition, condition


NEIGHBOURS = f"""
func @neighbours(%u: var f64[n, m], %turns: int) {{
  {RANGE}
  %first: place f64[1, m] = slice %u {{starts=[0, 0], sizes=[1, m], steps=[1, 1]}}
  %second: place f64[1, m] = slice %u {{starts=[1, 0], sizes=[1, m], steps=[1, 1]}}
  %0: f64[1, m] = load %second
  store %first, %0
  %last: place f64[2, m] = slice %u {{starts=[n - 1, 0], sizes=[2, m], steps=[-1, 1]}}
  %before: place f64[2, m] = slice %u {{starts=[n - 4, 0], sizes=[2, m], steps=[1, 1]}}
  %1: f64[2, m] = load %before
  %2: f64[2, m] = multiply %1, %1
  store %last, %2
  %t: index[t] = to_index %turns {{binds="t"}}
  for %zero, %t, %one (%j: index[j]) {{
    %column: place f64[n, 1] = slice %u {{starts=[0, j + 1], sizes=[n, 1], steps=[1, 1]}}
    %3: f64[n, m] = load %u
    %4: f64[n, 1] = slice %3 {{starts=[0, j], sizes=[n, 1], steps=[1, 1]}}
    %5: f64[n, 1] = slice %3 {{starts=[0, j + 1], sizes=[n, 1], steps=[1, 1]}}
    %6: f64[n, 1] = add %4, %5
    store %column, %6
    yield
  }}
  yield
}}
"""


def test_slices_that_never_meet_are_not_copied():
    found = counts(NEIGHBOURS, np.zeros((9, 7)), 2)
    assert found["alloc"] == 0
    check(NEIGHBOURS, (RANDOM.standard_normal((9, 7)), 5), (RANDOM.standard_normal((40, 30)), 12))


SHIFTED = """
func @shifted(%u: var f64[n]) {
  %from: place f64[max(n - 1, 0)] = slice %u {starts=[1], sizes=[max(n - 1, 0)], steps=[1]}
  %to: place f64[max(n - 1, 0)] = slice %u {starts=[0], sizes=[max(n - 1, 0)], steps=[1]}
  %0: f64[max(n - 1, 0)] = load %from
  store %to, %0
  %1: f64[max(n - 1, 0)] = load %to
  store %from, %1
  yield
}
"""


def test_slices_that_meet_are():
    assert counts(SHIFTED, np.zeros(9))["alloc"] == 2
    check(SHIFTED, (RANDOM.standard_normal(9),), (RANDOM.standard_normal(100),))


def test_memory_for_positions_is_not_filled_before():
    program = jitflow.function(lambda x: np.nonzero(x)[0])
    x = RANDOM.integers(0, 3, 100)
    np.testing.assert_array_equal(program(x), np.nonzero(x)[0])
    assert "broadcast" not in program.ir(x, stage="fused")
    assert "empty" in program.ir(x, stage="fused")


def test_narrow_elements_that_lie_apart_are_filled_one_by_one():
    program = jitflow.function(_strike)
    for dtype, scattered in (("bool", 0), ("u1", 0), ("i2", 0), ("f4", 2), ("f8", 2)):
        x, expected = np.ones(1000, dtype), np.ones(1000, dtype)
        expected[::7] = 0
        program(x, 7)
        np.testing.assert_array_equal(x, expected)
        assert program.ir(x, 7, stage="kernels").count("write_strided") == scattered


def _strike(x, step):
    x[::step] = 0
