"""What kernels are made of: counts of ops in loop functions."""

from __future__ import annotations

import pytest

from jitflow.ir.core import Function, Op, Region, walk
from jitflow.ir.parser import parse
from jitflow.ir.types import Vector
from jitflow.passes.fusion.fuse import fuse
from jitflow.passes.lower import GPU, lower
from jitflow.passes.schedule.target import CPU, Target


def kernel_of(text: str, target: Target = CPU) -> Function:
    (kernel,) = lower(fuse(parse(text)), target).host.functions
    return kernel


def reads(region: Region) -> list[Op]:
    return [op for op in walk(region) if op.name == "read" and isinstance(op.result.type, Vector)]


SUM = "func @f(%x: f32[n]) {\n  %0: f32 = reduce_add %x {axes=[0]}\n  yield %0\n}"
VARIANCE = "func @f(%x: f32[n]) {\n  %0: f32 = reduce_m2 %x {axes=[0]}\n  yield %0\n}"
ADD = "func @f(%x: f32[n], %y: f32[n]) {\n  %0: f32[n] = add %x, %y\n  yield %0\n}"
COLUMNS = "func @f(%x: f32[n, m]) {\n  %0: f32[m] = reduce_add %x {axes=[0]}\n  yield %0\n}"


def test_a_sum_reads_ahead() -> None:
    whole, rest = reads(kernel_of(SUM).region)
    assert whole.attributes["ahead"] == 512 * 4
    assert "ahead" not in rest.attributes


def test_a_block_read_twice_is_asked_for_in_the_second_pass() -> None:
    assert ["ahead" in op.attributes for op in reads(kernel_of(VARIANCE).region)] == [False, False, True, False]


@pytest.mark.parametrize("text", [SUM, VARIANCE])
def test_a_gpu_does_not_read_ahead(text: str) -> None:
    for kernel in lower(fuse(parse(text)), GPU).host.functions:
        assert not any("ahead" in op.attributes for op in walk(kernel.region))


def test_what_is_left_behind_whole_vectors_is_a_branch() -> None:
    assert [op.name for op in kernel_of(ADD).region.body if op.regions] == ["for", "if"]


def test_columns_go_in_tiles_and_what_is_left_in_registers() -> None:
    few = COLUMNS.replace("f32[n, m]", "f32[9, m]")
    tile, register = reads(kernel_of(few).region)
    assert (str(tile.result.type), str(register.result.type)) == ("f32x64", "f32x16")


def test_no_lane_is_gathered_where_another_loop_has_them_side_by_side() -> None:
    """Distances between points: each lane is a point of the second set, of which a transposed copy is made."""
    points = "func @f(%a: f32[n, m], %b: f32[k, m]) {{\n  {}\n  yield %4\n}}".format(
        "\n  ".join(
            [
                "%0: f32[n, k, m] = broadcast %a {dims=[n, k, m], axes=[0, 2]}",
                "%1: f32[n, k, m] = broadcast %b {dims=[n, k, m], axes=[1, 2]}",
                "%2: f32[n, k, m] = subtract %0, %1",
                "%3: f32[n, k, m] = multiply %2, %2",
                "%4: f32[n, k] = reduce_add %3 {axes=[2]}",
            ]
        )
    )
    copy, distances = lower(fuse(parse(points))).host.functions
    assert "write_strided" in {op.name for op in walk(copy.region)}
    assert not {"read_strided", "fold_lanes"} & {op.name for op in walk(distances.region)}
