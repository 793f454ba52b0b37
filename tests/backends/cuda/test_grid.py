"""Which loops are spread over a grid, and in which shapes kernels are launched."""

from __future__ import annotations

import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.parser import parse
from tests.backends.cuda.kernels import module_of, shape_of


def nested(depth: int, body: str = "", between: str = "", attributes: str = "{parallel=true}") -> str:
    """A kernel of ``depth`` loops, with ``body`` in the innermost and ``between`` beside it, ``%m`` turns each."""
    lines = ["kernel @k(%out: buffer f32, %in: buffer f32, %m: index) {", "%0: index[0] = size {dim=0}",
             "%1: index[1] = size {dim=1}", "%x: f32 = constant {value=1.0, type=<f32>}"]  # fmt: skip
    for number in range(depth):
        lines.append(between if number == depth - 1 else "")
        lines.append(f"for %0, %m, %1 {attributes} (%i{number}: index) {{")
    return "\n".join([*lines, body, *["yield }"] * depth, "yield }"])


def axes_of(text: str) -> list[tuple[str, str]]:
    """The name of each axis with that of its loop's position."""
    (launch,) = module_of(parse(text)).launches
    return [(axis.name, axis.loop.regions[0].parameters[0].name) for axis in launch.grid.axes]


def test_the_innermost_loop_runs_along_x() -> None:
    assert axes_of(nested(1)) == [("x", "i0")]
    assert axes_of(nested(3)) == [("x", "i2"), ("y", "i1"), ("z", "i0")]


def test_a_fourth_loop_runs_in_order_around_the_others() -> None:
    assert axes_of(nested(4)) == [("x", "i3"), ("y", "i2"), ("z", "i1")]


def test_only_parallel_loops_are_spread() -> None:
    assert axes_of(nested(2, attributes="")) == []


WRITE = "write %out, %0, %x"
READ = "%r: f32 = read %out, %0 {lanes=0}"
OTHER = "%r: f32 = read %in, %0 {lanes=0}"


@pytest.mark.parametrize(("body", "between"), [(WRITE, READ), (WRITE, WRITE), (READ, WRITE)])
def test_a_loop_is_not_spread_if_its_neighbours_touch_what_it_writes(body: str, between: str) -> None:
    assert axes_of(nested(2, body, between)) == [("x", "i0")]


def test_a_loop_is_not_spread_beside_what_replaces_a_number() -> None:
    replaces = f"{READ}\nwrite %out, %0, %r"
    assert axes_of(nested(2, "", replaces)) == [("x", "i0")]


@pytest.mark.parametrize(("body", "between"), [(WRITE, OTHER), (READ, ""), (OTHER, WRITE)])
def test_a_loop_is_spread_beside_neighbours_that_do_not(body: str, between: str) -> None:
    assert axes_of(nested(2, body, between)) == [("x", "i1"), ("y", "i0")]


def test_grids_have_a_worker_for_each_step() -> None:
    (launch,) = module_of(parse(nested(2))).launches
    assert shape_of(launch, [0, 0, 1000]) == ((4, 1000, 1), (256, 1, 1))
    assert shape_of(launch, [0, 0, 0]) == ((1, 1, 1), (256, 1, 1))
    assert shape_of(launch, [0, 0, 10**6])[0] == (3907, 65535, 1)


def test_workers_are_warps_where_there_are_vectors() -> None:
    vector = "%v: f32x32 = read %in, %0 {lanes=32}"
    (launch,) = module_of(parse(nested(1, vector))).launches
    assert shape_of(launch, [0, 0, 17]) == ((3, 1, 1), (32, 8, 1))


def test_a_kernel_without_parallel_loops_is_one_worker_s() -> None:
    (launch,) = module_of(parse(nested(1, attributes=""))).launches
    assert shape_of(launch, [0, 0, 17]) == ((1, 1, 1), (1, 1, 1))


def test_vectors_must_be_warps() -> None:
    with pytest.raises(
        CompilerBug, match="expected vectors of 32 lanes, or as many for each thread of a warp, got f32x16"
    ):
        module_of(parse(nested(1, "%v: f32x16 = read %in, %0 {lanes=16}")))


def test_a_parallel_loop_carries_nothing() -> None:
    text = """kernel @k(%m: index) {
  %0: index[0] = size {dim=0}
  %1: index[1] = size {dim=1}
  %2: index = for %0, %m, %1, %0 {parallel=true} (%i: index, %3: index) {
    yield %i
  }
  yield
}"""
    with pytest.raises(CompilerBug, match="expected a parallel loop to carry nothing"):
        module_of(parse(text))


def test_names_are_unique_and_no_words_of_the_language() -> None:
    text = """kernel @k(%for: index, %lane: index, %x: index, %v1: index) {
  %fold_x: index = add %for, %lane
  %0: index = add %x, %v1
  %exp: index = add %0, %fold_x
  yield
}"""
    source = module_of(parse(text)).text
    assert "void k(i64 for_, i64 lane_, i64 x, i64 v1)" in source
    assert "const i64 fold_x_ = for_ + lane_;" in source
    assert "const i64 v1_2 = x + v1;" in source
    assert "const i64 exp_ = v1_2 + fold_x_;" in source


def test_carried_values_change_places() -> None:
    text = """kernel @k(%out: buffer i64, %m: index) {
  %0: index[0] = size {dim=0}
  %1: index[1] = size {dim=1}
  %a: index, %b: index = for %0, %m, %1, %0, %1 (%i: index, %c: index, %d: index) {
    yield %d, %c
  }
  yield
}"""
    source = module_of(parse(text)).text
    assert "const i64 v1 = b;\n        const i64 v2 = a;\n        a = v1;\n        b = v2;" in source
