"""Tensor cores in the PTX interpreter: where numbers of a matrix lie in the registers of a warp, as in the manual.

The layouts stand here once more, element by element: ``group`` is a lane's number divided by 4, ``thread`` the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.backends.cuda.ptx import PtxError, parse_ptx, run_ptx

REGISTERS = ".reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;"
START = """ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64; add.s64 %rd3, %rd1, %rd2;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3]; ld.global.v2.u32 {%r6, %r7}, [%rd3+16];
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3+32];
"""
END = "st.global.v4.f32 [%rd3+48], {%f5, %f6, %f7, %f8};"
OPERANDS = "{%f5, %f6, %f7, %f8}, {%r2, %r3, %r4, %r5}, {%r6, %r7}, {%f1, %f2, %f3, %f4};"


def run(body: str, data: Any, threads: int = 32) -> None:
    (kernel,) = parse_ptx(f".visible .entry k(\n.param .u64 data\n)\n{{{REGISTERS}\n{body}\nret;\n\n}}").values()
    run_ptx(kernel, [data.view(np.uint8).reshape(-1)], (1, 1, 1), (threads, 1, 1))


def places_of_left(held: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Lane, register, part of it, row and step of each number of the left matrix."""
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for number in range(4 * held):
            register, part = divmod(number, held)
            row = group if register in (0, 2) else group + 8
            step = thread * held + part + (4 * held if register >= 2 else 0)
            yield lane, register, part, row, step


def places_of_right(held: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Lane, register, part of it, step and column of each number of the right matrix."""
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for number in range(2 * held):
            register, part = divmod(number, held)
            yield lane, register, part, thread * held + part + 4 * held * register, group


FORMS: dict[str, tuple[str, Any, int]] = {
    "f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ", np.float16, 2),
    "bf16": ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ", ml_dtypes.bfloat16, 2),
    "tf32": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ", np.float32, 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_warp_multiplies_matrices(form: str) -> None:
    opcode, dtype, held = FORMS[form]
    random = np.random.default_rng(1)
    left, right = (random.integers(-9, 9, shape).astype(dtype) for shape in ((16, 8 * held), (8 * held, 8)))
    before = random.integers(-9, 9, (16, 8)).astype(np.float32)
    lanes = np.zeros((32, 64), np.uint8)
    numbers = lanes.view(dtype)
    for lane, register, part, row, step in places_of_left(held):
        numbers[lane, register * held + part] = left[row, step]
    for lane, register, part, step, column in places_of_right(held):
        numbers[lane, (4 + register) * held + part] = right[step, column]
    sums = lanes.view(np.float32)
    rows = [(lane, number, lane // 4 + 8 * (number // 2), lane % 4 * 2 + number % 2) for lane in range(32)
            for number in range(4)]  # fmt: skip
    for lane, number, row, column in rows:
        sums[lane, 8 + number] = before[row, column]
    run(START + opcode + OPERANDS + END, lanes)
    wanted = left.astype("f4") @ right.astype("f4") + before
    for lane, number, row, column in rows:
        assert sums[lane, 12 + number] == wanted[row, column]


def test_all_lanes_must_be_there() -> None:
    for opcode, _, _ in FORMS.values():
        with pytest.raises(PtxError, match="all lanes"):
            run(START + "setp.lt.u32 %p1, %r1, 7; @%p1 " + opcode + OPERANDS, np.zeros((32, 64), np.uint8))


READ = """.shared .align 16 .b8 s[512];
    ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r8, s; shl.b32 %r9, %r1, 4; add.s32 %r10, %r8, %r9; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];
    st.shared.v4.u32 [%r10], {%r2, %r3, %r4, %r5}; bar.sync 0;
    """
WRITE = "st.global.v4.u32 [%rd3], {%r11, %r12, %r13, %r14};"
MATRICES: dict[str, tuple[str, Callable[[int, int], tuple[int, int]]]] = {
    "as they lie": ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 ", lambda row, column: (row, column)),
    "turned": ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 ", lambda row, column: (column, row)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_read_from_eight_rows_each(name: str) -> None:
    opcode, place = MATRICES[name]
    given = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    lanes = given.copy()
    run(READ + opcode + "{%r11, %r12, %r13, %r14}, [%r10];" + WRITE, lanes)
    found = lanes.reshape(32, 4, 2)
    for lane in range(32):
        for matrix in range(4):
            for part in range(2):
                row, column = place(lane // 4, lane % 4 * 2 + part)
                assert found[lane, matrix, part] == given[matrix, row, column]


def test_numbers_of_ten_bits_are_the_nearest() -> None:
    """Ties go away from zero."""
    given = np.array([1, 1 + 2**-11, -1 - 2**-11, 1 + 2**-12, 3.14159, np.inf, -0.0, 1e-41], np.float32)
    data = given.copy()
    run("""ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        ld.global.f32 %f1, [%rd3]; cvt.rna.tf32.f32 %r2, %f1; st.global.u32 [%rd3], %r2;""", data, 8)  # fmt: skip
    assert data[:4].tolist() == [1, 1 + 2**-10, -1 - 2**-10, 1]
    assert data[5] == np.inf and str(data[6]) == "-0.0"  # noqa: PT018
    for before, after in zip(given[[4, 7]], data[[4, 7]], strict=True):
        assert not int(after.view(np.uint32)) & 0x1FFF
        step = Fraction(float(np.float32(2.0) ** (max(np.frexp(before)[1], -125) - 11)))
        assert abs(Fraction(float(after)) - Fraction(float(before))) <= step / 2
