"""The PTX interpreter is right where others have been silently wrong, and refuses what it does not know."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.backends.cuda.ptx import OPCODES, PtxError, parse_ptx, run_ptx

REGISTERS = """
    .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>;
"""


def run(body: str, data: Any = (), threads: int = 1, parameters: str = ".param .u64 data") -> Any:
    """What the kernel leaves of an array, whose address is in %rd1."""
    (kernel,) = parse_ptx(
        f".visible .entry k(\n{parameters}\n)\n{{{REGISTERS}\nld.param.u64 %rd1, [data];\n{body}\nret;\n\n}}"
    ).values()
    array = np.array(data)
    run_ptx(kernel, [array.view(np.uint8)], (1, 1, 1), (threads, 1, 1))
    return array.tolist()


def test_integer_division_truncates() -> None:
    body = "ld.global.u32 %r1, [%rd1]; div.s32 %r2, %r1, 2; rem.s32 %r3, %r1, 2; st.global.u32 [%rd1], %r2;"
    assert run(body + "st.global.u32 [%rd1+4], %r3;", np.array([-7, 0], np.int32)) == [-3, -1]


def test_bytes_extend_as_their_type_says() -> None:
    body = (
        "ld.global.s8 %r1, [%rd1]; ld.global.u8 %r2, [%rd1]; st.global.u32 [%rd1+4], %r1; st.global.u32 [%rd1+8], %r2;"
    )
    assert run(body, np.array([0xFF, 0, 0], np.uint32)) == [0xFF, 0xFFFFFFFF, 0xFF]


def test_bits_are_reinterpreted_and_never_converted() -> None:
    body = "mov.f32 %f1, 0f3FC00000; mov.b32 %r1, %f1; st.global.u32 [%rd1], %r1;"
    assert run(body, np.array([0], np.uint32)) == [0x3FC00000]


def test_a_product_and_a_sum_in_one_are_rounded_once() -> None:
    body = """ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4];
        fma.rn.f32 %f3, %f1, %f1, %f2; mul.rn.f32 %f4, %f1, %f1; add.rn.f32 %f5, %f4, %f2;
        st.global.f32 [%rd1], %f3; st.global.f32 [%rd1+4], %f5;"""
    x = 1 + 2.0**-12
    assert run(body, np.array([x, -1 - 2.0**-11], np.float32)) == [2.0**-24, 0.0]


def test_shifts_by_the_width_or_more() -> None:
    body = """ld.global.u32 %r1, [%rd1]; shl.b32 %r2, %r1, 40; shr.u32 %r3, %r1, 32; shr.s32 %r4, %r1, 99;
        st.global.u32 [%rd1], %r2; st.global.u32 [%rd1+4], %r3; st.global.u32 [%rd1+8], %r4;"""
    assert run(body, np.array([-5, 1, 1], np.int32)) == [0, 0, -1]


def test_comparisons_with_nan() -> None:
    body = """mov.f32 %f1, 0f7FC00000; mov.f32 %f2, 0f3F800000;
        setp.ne.f32 %p1, %f1, %f2; setp.neu.f32 %p2, %f1, %f2; setp.lt.f32 %p3, %f1, %f2; setp.nan.f32 %p4, %f1, %f1;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;
        st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;
        st.global.u32 [%rd1+12], %r4;"""
    assert run(body, np.zeros(4, np.uint32)) == [0, 1, 0, 1]


def test_the_larger_of_two_is_a_number_and_has_the_sign_of_both() -> None:
    body = """ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; max.f32 %f3, %f1, %f2; min.f32 %f4, %f1, %f2;
        st.global.f32 [%rd1], %f3; st.global.f32 [%rd1+4], %f4;"""
    assert run(body, np.array([np.nan, 3], np.float32)) == [3, 3]
    assert str(run(body, np.array([-0.0, 0.0], np.float32))) == "[0.0, -0.0]"


def test_the_sign_that_is_copied_comes_first() -> None:
    body = "mov.f32 %f1, 0fBF800000; mov.f32 %f2, 0f40000000; copysign.f32 %f3, %f1, %f2; st.global.f32 [%rd1], %f3;"
    assert run(body, np.zeros(1, np.float32)) == [-2.0]


def test_floats_out_of_the_range_of_integers_saturate() -> None:
    body = "ld.global.f32 %f1, [%rd1]; cvt.rzi.s32.f32 %r1, %f1; st.global.u32 [%rd1], %r1;"
    assert run(body, np.array([3e9], np.float32).view(np.int32)) == [2**31 - 1]
    assert run(body, np.array([-2.7], np.float32).view(np.int32)) == [-2]
    assert run(body, np.array([np.nan], np.float32).view(np.int32)) == [0]


LANES = """mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r2, -1; mov.u32 %r3, 31;"""


def test_lanes_are_shuffled_down_and_stay_at_the_end() -> None:
    body = LANES + "mov.u32 %r4, 16; shfl.sync.down.b32 %r5|%p1, %r1, %r4, %r3, %r2; st.global.u32 [%rd3], %r5;"
    assert run(body, np.zeros(64, np.uint32), 64) == [
        *range(16, 32), *range(16, 32), *range(48, 64), *range(48, 64),
    ]  # fmt: skip


def test_lanes_are_shuffled_up_and_stay_at_the_start() -> None:
    body = LANES + "mov.u32 %r3, 0; shfl.sync.up.b32 %r5|%p1, %r1, 8, %r3, %r2; st.global.u32 [%rd3], %r5;"
    assert run(body, np.zeros(64, np.uint32), 64) == [
        *range(8), *range(24), *range(32, 40), *range(32, 56),
    ]  # fmt: skip


def test_lanes_are_exchanged_with_those_whose_numbers_differ_in_a_bit() -> None:
    body = LANES + "shfl.sync.bfly.b32 %r5|%p1, %r1, 2, %r3, %r2; st.global.u32 [%rd3], %r5;"
    assert run(body, np.zeros(64, np.uint32), 64) == [lane ^ 2 for lane in range(64)]


def test_threads_that_part_meet_again() -> None:
    body = (
        LANES
        + """setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 1; @%p1 bra $L__BB0_1; mov.u32 %r5, 2;
$L__BB0_1:
        mov.u32 %r6, 7; shfl.sync.idx.b32 %r7, %r5, %r6, %r3, %r2; add.s32 %r8, %r5, %r7; st.global.u32 [%rd3], %r8;"""
    )
    assert run(body, np.zeros(32, np.uint32), 32) == [3] * 7 + [4] * 25


def test_threads_wait_at_a_vote_for_the_rest_of_their_warp() -> None:
    """Those that come first, because their way stands above that of the others, do not vote alone."""
    body = (
        LANES
        + """bra.uni $L__BB0_1;
$L__BB0_3: mov.u32 %r5, 2;
$L__BB0_2: setp.lt.u32 %p3, %r1, 5;
        vote.sync.ballot.b32 %r6, %p3, %r2; vote.sync.any.pred %p2, %p3, %r2; selp.u32 %r7, 64, 0, %p2;
        add.s32 %r8, %r6, %r7; add.s32 %r8, %r8, %r5; cvta.to.global.u64 %rd4, %rd3; st.global.u32 [%rd4], %r8; ret;
$L__BB0_1:
        setp.lt.u32 %p1, %r1, 7; @%p1 bra $L__BB0_3; mov.u32 %r5, 1; bra.uni $L__BB0_2;"""
    )
    voted = 0b11111 + 64
    assert run(body, np.zeros(32, np.uint32), 32) == [voted + 2] * 7 + [voted + 1] * 25


def test_registers_are_taken_apart_and_put_together() -> None:
    body = """ld.global.u64 %rd2, [%rd1]; mov.b64 {%r1, %r2}, %rd2; mov.b64 %rd3, {%r2, %r1}; mov.b32 {%rs1, %rs2}, %r1;
        mov.b32 %r3, {%rs2, %rs1}; st.global.u64 [%rd1], %rd3; st.global.u32 [%rd1+8], %r3;"""
    assert run(body, np.array([0x1122334455667788, 0], np.uint64)) == [0x5566778811223344, 0x77885566]


SHARED = """.shared .align 4 .b8 s[128];
    mov.u32 %r1, %tid.x; mov.u32 %r4, s; shl.b32 %r2, %r1, 2; add.s32 %r5, %r4, %r2;"""


def test_only_one_thread_exchanges() -> None:
    body = """mov.u32 %r1, %tid.x; cvt.u64.u32 %rd2, %r1; add.s64 %rd3, %rd2, 5; mov.u64 %rd4, 0;
        atom.global.cas.b64 %rd5, [%rd1], %rd4, %rd3;"""
    assert run(body, np.zeros(1, np.uint64), 32) == [5]


@pytest.mark.parametrize(("body", "message"), [
    ("ld.global.u32 %r1, [%rd1+128];", "outside of every buffer"),
    ("ld.global.u32 %r1, [%rd1+-4];", "outside of every buffer"),
    ("ld.global.u32 %r1, [%rd1+2];", "unaligned"),
    ("ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", "unaligned"),
    ("ld.global.v4.u32 {%r1, %r2}, [%rd1];", "expected 4 registers"),
    ("add.s32 %r1, %r2, 1;", "%r2 is read before it is written"),
    ("mov.f32 %f1, 1;", "expected an operand of float32, got 1"),
    ("mov.u32 %r1, 1; mov.b64 %rd2, %r1;", "%r1 does not have the width of b64"),
    ("mov.u64 %rd2, 1; add.s32 %r1, %rd2, 1;", "%rd2 does not have the width of s32"),
    ("add.rz.f32 %f1, 0f00000000, 0f00000000;", "unknown opcode add.rz.f32"),
    ("add.ftz.f32 %f1, 0f00000000, 0f00000000;", "unknown opcode add.ftz.f32"),
    ("mov.u32 %r1, 0; st.global.u32 [%rd1], %r1; ld.global.nc.u32 %r2, [%rd1];", "read as constant is written"),
    ("bar.red.sync 0;", "unknown opcode bar.red.sync"),
    (LANES + "setp.lt.u32 %p1, %r1, 7; @%p1 bar.sync 0;", "not all of a block"),
    (SHARED + "st.shared.u32 [%r5], %r1; xor.b32 %r6, %r5, 4; ld.shared.u32 %r7, [%r6];", "without a barrier"),
    (SHARED + "st.shared.u32 [s], %r1;", "without a barrier"),
    (SHARED + "ld.shared.u32 %r7, [%r5];", "nobody has written"),
    (SHARED + "st.shared.u32 [%r5+4], %r1;", "outside of what is shared"),
    (LANES + "setp.lt.u32 %p1, %r1, 7; @%p1 shfl.sync.idx.b32 %r5, %r1, 0, %r3, %r2;", "not all lanes"),
    (LANES + "shfl.sync.idx.b32 %r5, %r1, 0, %r3, 7;", "expected a shuffle or vote of all lanes"),
])  # fmt: skip
def test_faults_are_found(body: str, message: str) -> None:
    with pytest.raises(PtxError, match=re.escape(message)):
        run(body, np.zeros(32, np.uint32), 32)


def test_what_is_shared_is_each_block_s_and_seen_behind_a_barrier() -> None:
    for wait in ("bar.sync 0;", "bar.warp.sync -1;"):
        body = (
            SHARED
            + f"""st.shared.u32 [%r5], %r1; {wait} xor.b32 %r6, %r5, 124; ld.shared.u32 %r7, [%r6];
            mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r7;"""
        )
        assert run(body, np.zeros(32, np.uint32), 32) == [*range(31, -1, -1)]


def test_what_a_module_shares_is_in_each_kernel_that_names_it() -> None:
    """What is declared beside kernels, as what functions share, and before or behind those that use it."""
    start = "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;"
    end = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r7;"

    def through(own: str, *names: str) -> str:
        moves = [f"mov.u32 %r4, {name}; add.s32 %r5, %r4, %r2; st.shared.u32 [%r5], %r7; ld.shared.u32 %r7, [%r5];"
                 for name in names]  # fmt: skip
        return f"{own}{start} mov.u32 %r7, %r1; {''.join(moves)} {end}"

    bodies = {"one": through("", "both", "both_more"), "two": through(".shared .align 4 .b8 own[128];", "own", "both"),
              "three": through("")}  # fmt: skip
    kernels = [
        f".visible .entry {name}(\n.param .u64 data\n)\n{{{REGISTERS}\nld.param.u64 %rd1, [data];\n{body}\nret;\n\n}}\n"
        for name, body in bodies.items()
    ]
    both, more = ".shared .align 16 .b8 both[128];\n", ".shared .align 16 .b8 both_more[256];\n"
    found = parse_ptx(both + "".join(kernels) + more)
    assert {name: kernel.shared for name, kernel in found.items()} == {
        "one": {"both": 128, "both_more": 256}, "two": {"both": 128, "own": 128}, "three": {},
    }  # fmt: skip
    for kernel in found.values():
        array = np.zeros(32, np.uint32)
        run_ptx(kernel, [array.view(np.uint8)], (1, 1, 1), (32, 1, 1))
        assert array.tolist() == [*range(32)]


COPIES = (
    SHARED
    + """shl.b32 %r2, %r1, 4; add.s32 %r5, %r4, %r2; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
    cp.async.cg.shared.global [%r5], [%rd3], 16; """
)


def test_copies_arrive_when_they_are_waited_for() -> None:
    back = "ld.shared.u32 %r7, [%r5+4]; st.global.u32 [%rd3], %r7;"
    array = np.arange(32, dtype=np.uint32)
    for wait in ("cp.async.wait_all ;", "cp.async.commit_group ; cp.async.wait_group 0;"):
        assert run(COPIES + wait + back, array, 8)[::4] == [*range(1, 32, 4)]
    for wait in ("", "cp.async.commit_group ;", "cp.async.commit_group ; cp.async.wait_group 1;"):
        with pytest.raises(PtxError, match="nobody has written"):
            run(COPIES + wait + back, array, 8)


def test_no_opcode_is_approximate() -> None:
    assert not [name for name in OPCODES if "approx" in name or "ftz" in name]
