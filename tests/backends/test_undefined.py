"""A test for each row of the table in `jitflow/backends/llvm/undefined.py`."""

import re

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.emission.emit_elementwise import ARITHMETIC, PREDICATES
from jitflow.backends.llvm.emission.rows import kind_of
from jitflow.backends.llvm.undefined import unknown_intrinsics
from jitflow.ir.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I32, I64, U32
from jitflow.ir.ops import OPS
from jitflow.ir.types import Buffer, Scalar, Vector
from tests.backends.programs import INDEX, assert_same_bits, host, kernel, launching, map_arrays, mapping, run

INTEGERS = [dtype for dtype in DTYPES.values() if dtype.is_integer]
SIGNED = [dtype for dtype in INTEGERS if dtype.kind == "i"]


def every_pair(dtype, left, right):
    """All pairs of two lists of numbers, as two arrays; their length leaves a masked tail, whose lanes read as 0."""
    pairs = [(np.array(a).astype(dtype.numpy), np.array(b).astype(dtype.numpy)) for a in left for b in right]
    first, second = (np.array(column, dtype.numpy) for column in zip(*pairs, strict=True))
    assert len(first) % 16
    return first, second


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_division_by_zero_and_of_the_smallest_by_minus_one(name, dtype):
    limits = np.iinfo(dtype.numpy)
    a, b = every_pair(dtype, [0, 1, limits.min, limits.max, 7], [0, -1, 1, 5, limits.min])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    for lanes in (0, 16):
        assert_same_bits(map_arrays(lambda kit, x, y: kit.make(name, x, y), [a, b], dtype, lanes), expected)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts_by_the_width_or_more(name, dtype):
    limits = np.iinfo(dtype.numpy)
    amounts = [0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 1, -1, limits.max]
    a, b = every_pair(dtype, [1, 3, limits.min, limits.max, limits.max // 3], amounts)
    expected = getattr(np, name)(a, b)
    for lanes in (0, 16):
        assert_same_bits(map_arrays(lambda kit, x, y: kit.make(name, x, y), [a, b], dtype, lanes), expected)


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_integers_wrap_around(dtype):
    limits = np.iinfo(dtype.numpy)
    a, b = every_pair(dtype, [limits.min, limits.max, 3, -5, 11], [limits.min, limits.max, 7, -1, 1])
    for name in ("add", "subtract", "multiply"):
        expected = getattr(np, name)(a, b)
        assert_same_bits(map_arrays(lambda kit, x, y, n=name: kit.make(n, x, y), [a, b], dtype, 16), expected)
        text = compile_program(mapping(lambda kit, x, y, n=name: kit.make(n, x, y), [dtype] * 2, dtype, 16)).text
        flagged = re.findall(r"= \w+ n[su]w .*", text)
        assert all(line.startswith("= add nsw i64 %p") for line in flagged)
    for name in ("absolute", "negative"):
        assert_same_bits(map_arrays(lambda kit, x, n=name: kit.make(n, x), [a], dtype, 16), getattr(np, name)(a))


@pytest.mark.parametrize("source", [F32, F64], ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_floats_beyond_the_range_of_an_integer(source, target):
    values = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 300.7, -300.2, -1.0, 2.0**63, -(2.0**63), 1e19],
                      source.numpy)  # fmt: skip
    for lanes in (0, 16):
        got = map_arrays(lambda kit, x: kit.make("cast", x, dtype=target), [values], target, lanes)
        assert_same_bits(got, np.array([converted(value, target) for value in values.tolist()], target.numpy))


def converted(value, target):
    """The documented result: through i32 or i64 (u64 by halves), whose failure is the smallest integer."""
    if target.name == "u64":
        lifted = value >= 2.0**63
        bits = signed(value - 2.0**63 if lifted else value, 64)
        return (bits ^ (1 << 63 if lifted else 0)) % (1 << 64)
    width = 32 if target.itemsize < 4 or target.name == "i32" else 64
    bits = signed(value, width) % (1 << target.bits)
    return bits - (1 << target.bits) if target.kind == "i" and bits >> (target.bits - 1) else bits


def signed(value, width):
    return int(value) if abs(value) < 2.0 ** (width - 1) else -(1 << (width - 1))


def test_lanes_beyond_the_last():
    def build(kit, source, target, lane):
        vector = kit.make("read", source, kit.constant(0), lanes=8)
        kit.add("write", target, kit.constant(0), kit.make("extract_lane", vector, lane))

    executable = compile_program(launching(kernel([Buffer(F32), Buffer(F32), INDEX], build)))
    source = np.arange(8, dtype=np.float32)
    for lane, expected in [(0, 0), (7, 7), (8, 7), (-1, 7), (1 << 62, 7)]:
        target = np.full(1, np.nan, np.float32)
        run(executable, [source, target, lane])
        assert target[0] == expected


def test_the_first_of_no_lanes():
    def build(kit, source, target):
        mask = kit.make("read", source, kit.constant(0), lanes=8)
        kit.add("write", target, kit.constant(0), kit.make("cast", kit.make("first_lane", mask), dtype=I64))

    result = np.zeros(1, np.int64)
    run(compile_program(launching(kernel([Buffer(BOOL), Buffer(I64)], build))), [np.zeros(8, bool), result])
    assert result[0] == 8


def test_bools_that_are_neither_0_nor_1():
    def build(kit):
        flag = kit.make("argument", slot=0, types=[Scalar(BOOL)])
        kit.add("result", kit.make("cast", flag, dtype=I64), slot=0)

    assert run(compile_program(host(build)), [2], 1)[0] == 1


def test_addresses_are_aligned_to_elements_only():
    memory = np.zeros(4 * 70 + 4, np.uint8)
    source = memory[4 - memory.ctypes.data % 4 :][: 4 * 69].view(np.uint32)[1:]
    source[:] = np.arange(68)
    got = map_arrays(lambda kit, x: kit.make("add", x, kit.constant(1, Vector(U32, 16))), [source], U32, 16)
    np.testing.assert_array_equal(got, np.arange(68) + 1)


def test_intrinsics_are_found_in_text():
    text = "call void @llvm.masked.store.v4f32.p0(x)\ncall i64 @llvm.cttz.i64(y)\ncall <4 x i32> @llvm.vp.add.v4i32(z)"
    assert unknown_intrinsics(text) == {"vp.add"}


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("dtype", [I32, F32, F64, BF16, F16, BOOL], ids=str)
def test_only_known_intrinsics_are_written(dtype, lanes):
    """All rows for a dtype in one program; a loop that never ends is not assumed away."""
    rows = [*ARITHMETIC, *PREDICATES]

    def build(kit, first):
        for name in dict.fromkeys(name for name, kind in rows if kind == kind_of(dtype)):
            kit.make(name, *[first] * OPS[name].arity)
        return first

    text = compile_program(mapping(build, [dtype], dtype, lanes)).text
    assert not unknown_intrinsics(text)
    assert "mustprogress" not in text
