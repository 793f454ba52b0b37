"""Reads and writes of every form, for every dtype, with and without masks, and what lanes do among themselves."""

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.ir.dtypes import BOOL, C64, C128, DTYPES, F32, F64, I8, I32, I64, U64
from jitflow.ir.ops import OPS
from jitflow.ir.types import Buffer, Scalar, Vector
from tests.backends.programs import INDEX, assert_same_bits, kernel, launching, run, samples

REAL = [dtype for dtype in DTYPES.values() if not dtype.is_complex]
LANES = 8
MASK = np.array([1, 0, 1, 1, 0, 0, 1, 0], bool)


def run_kernel(parameters, build, *arguments):
    executable = compile_program(launching(kernel(parameters, build)))
    run(executable, arguments)
    return executable


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_strided_reads_and_writes(dtype, masked):
    source, result = samples(dtype, 64), np.zeros(64, dtype.numpy)

    def build(kit, read_from, write_to, stride, mask_from):
        mask = [kit.make("read", mask_from, kit.constant(0), lanes=LANES)] if masked else []
        value = kit.make("read_strided", read_from, kit.constant(3 * dtype.itemsize), stride, *mask, lanes=LANES)
        kit.add("write", write_to, kit.constant(0), value)
        kit.add("write_strided", write_to, kit.constant(30 * dtype.itemsize), stride, value, *mask)

    run_kernel([Buffer(dtype), Buffer(dtype), INDEX, Buffer(BOOL)], build, source, result, 3 * dtype.itemsize, MASK)
    picked = source[3 : 3 + 3 * LANES : 3]
    expected = np.zeros_like(result)
    expected[:LANES] = np.where(MASK, picked, dtype.numpy.type(0)) if masked else picked
    touched = 30 + 3 * np.arange(LANES)[MASK if masked else slice(None)]
    expected[touched] = picked[MASK] if masked else picked
    assert_same_bits(result, expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_reads_anywhere(dtype, masked):
    source, result = samples(dtype, 64), np.zeros(LANES, dtype.numpy)
    positions = np.array([5, 0, 63, 7, 7, 1, 40, 2])
    offsets = positions * dtype.itemsize
    if masked:
        offsets[~MASK] = 1 << 60  # not touched

    def build(kit, read_from, write_to, offsets_from, mask_from):
        mask = [kit.make("read", mask_from, kit.constant(0), lanes=LANES)] if masked else []
        lanes = kit.make("read", offsets_from, kit.constant(0), lanes=LANES)
        kit.add("write", write_to, kit.constant(0), kit.make("read_at", read_from, lanes, *mask, lanes=LANES))

    run_kernel([Buffer(dtype), Buffer(dtype), Buffer(I64), Buffer(BOOL)], build, source, result, offsets, MASK)
    expected = source[positions]
    assert_same_bits(result, np.where(MASK, expected, dtype.numpy.type(0)) if masked else expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [F32, F64, I8, BOOL], ids=str)
def test_pairs(dtype, masked):
    source, result = samples(dtype, 2 * LANES), np.zeros(2 * LANES, dtype.numpy)

    def build(kit, read_from, write_to, mask_from):
        mask = [kit.make("read", mask_from, kit.constant(0), lanes=LANES)] if masked else []
        first, second = kit.add("read_pair", read_from, kit.constant(0), *mask, lanes=LANES)
        kit.add("write_pair", write_to, kit.constant(0), second, first, *mask)

    run_kernel([Buffer(dtype), Buffer(dtype), Buffer(BOOL)], build, source, result, MASK)
    expected = source.reshape(-1, 2)[:, ::-1].copy()
    if masked:
        expected[~MASK] = 0
    assert_same_bits(result, expected.reshape(-1))


@pytest.mark.parametrize("left", [0, 3, LANES, 2 * LANES])
def test_pairs_of_which_mostly_all_lanes_are_wanted(left):
    """Under such a mask a whole vector is read without the mask, and what is beyond it is not touched."""
    source, result = samples(F64, 2 * LANES), np.zeros(2 * LANES)

    def build(kit, read_from, write_to, bound):
        mask = kit.make("lanes_below", bound, lanes=LANES, mostly=True)
        first, second = kit.add("read_pair", read_from, kit.constant(0), mask, lanes=LANES)
        kit.add("write_pair", write_to, kit.constant(0), second, first, mask)

    run_kernel([Buffer(F64), Buffer(F64), INDEX], build, source, result, left)
    expected = source.reshape(-1, 2)[:, ::-1].copy()
    expected[left:] = 0
    assert_same_bits(result, expected.reshape(-1))


@pytest.mark.parametrize("masked", [False, True])
def test_single_numbers(masked):
    source, result = samples(F32, 8), np.zeros(8, np.float32)

    def build(kit, read_from, write_to, mask):
        masks = [mask] if masked else []
        first, second = kit.add("read_pair", read_from, kit.constant(0), *masks, lanes=0)
        kit.add("write_pair", write_to, kit.constant(0), second, first, *masks)
        third = kit.make("read_strided", read_from, kit.constant(8), kit.constant(4), *masks, lanes=0)
        kit.add("write_strided", write_to, kit.constant(8), kit.constant(4), third, *masks)
        fourth = kit.make("read_at", read_from, kit.constant(12), *masks, lanes=0)
        kit.add("write", write_to, kit.constant(12), fourth, *masks)
        unread = kit.make("read", read_from, kit.constant(16), kit.constant(False, Scalar(BOOL)), lanes=0)
        kit.add("write", write_to, kit.constant(16), unread)

    run_kernel([Buffer(F32), Buffer(F32), Scalar(BOOL)], build, source, result, 1)
    assert_same_bits(result[:4], source[[1, 0, 2, 3]])
    assert result[4] == 0


def test_bools_in_memory_may_be_any_byte():
    source, result = np.array([0, 1, 2, 255, 128, 0, 7, 1], np.uint8), np.zeros(8, np.uint8)

    def build(kit, read_from, write_to):
        kit.add("write", write_to, kit.constant(0), kit.make("read", read_from, kit.constant(0), lanes=8))

    run_kernel([Buffer(BOOL), Buffer(BOOL)], build, source, result)
    np.testing.assert_array_equal(result, source != 0)


def test_streaming_stores_bypass_the_caches():
    memory = np.zeros(256 + 16, np.float32)
    aligned = memory[-(memory.ctypes.data // 4) % 16 :][:256]
    source = samples(F32, 256)

    def build(kit, read_from, write_to):
        kit.add("write", write_to, kit.constant(0), kit.make("read", read_from, kit.constant(0), lanes=64),
                streaming=True)  # fmt: skip

    executable = run_kernel([Buffer(F32), Buffer(F32)], build, source, aligned)
    assert_same_bits(aligned[:64], source[:64])
    assert "fence seq_cst" in executable.text
    if "x86_64" in executable.text:
        assert "vmovntps" in executable.asm() or "movntps" in executable.asm()


FOLDS = [
    *((name, dtype) for name in ("add", "multiply", "maximum", "minimum") for dtype in REAL if dtype != BOOL),
    *((name, dtype) for name in ("bitwise_and", "bitwise_or", "bitwise_xor") for dtype in REAL if dtype.is_integer),
    *((name, BOOL) for name in ("logical_and", "logical_or", "logical_xor")),
]


@pytest.mark.parametrize(("combine", "dtype"), FOLDS, ids=str)
def test_folds(combine, dtype):
    for lanes in (1, 2, 16, 64):
        source, result = samples(dtype, 64)[:lanes].copy(), np.zeros(1, dtype.numpy)

        def build(kit, read_from, write_to, lanes=lanes):
            vector = kit.make("read", read_from, kit.constant(0), lanes=lanes)
            kit.add("write", write_to, kit.constant(0), kit.make("fold_lanes", vector, combine=combine))

        run_kernel([Buffer(dtype), Buffer(dtype)], build, source, result)
        expected = source
        while len(expected) > 1:
            half = len(expected) // 2
            expected = OPS[combine].evaluate([expected[:half], expected[half:]], {}, [Vector(dtype, half)])
        assert_same_bits(result, expected)


@pytest.mark.parametrize("lanes", [1, 2, 8, 16, 32, 64, 128])
def test_masks(lanes):
    def build(kit, mask_from, answers, bound):
        mask = kit.make("read", mask_from, kit.constant(0), lanes=lanes)
        kit.add("write", answers, kit.constant(0), kit.make("cast", kit.make("any_lane", mask), dtype=I64))
        kit.add("write", answers, kit.constant(8), kit.make("cast", kit.make("first_lane", mask), dtype=I64))
        below = kit.make("lanes_below", bound, lanes=lanes)
        kit.add("write", answers, kit.constant(16), kit.make("cast", below, dtype=I64))

    executable = compile_program(launching(kernel([Buffer(BOOL), Buffer(I64), INDEX], build)))
    for first in (0, lanes // 2, lanes - 1, None):
        for bound in (-(1 << 40), -1, 0, 1, lanes - 1, lanes, lanes + 1, 1 << 40):
            mask = np.zeros(lanes, bool)
            if first is not None:
                mask[first] = True
            answers = np.zeros(lanes + 2, np.int64)
            run(executable, [mask, answers, bound])
            assert answers[0] == (first is not None)
            assert answers[1] == (lanes if first is None else first)
            np.testing.assert_array_equal(answers[2:], np.arange(lanes) < bound)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_lanes_one_by_one(dtype):
    source, result = samples(dtype, 16), np.zeros(80, dtype.numpy)

    def build(kit, read_from, write_to, chosen, number):
        vector = kit.make("read", read_from, kit.constant(0), lanes=16)
        kit.add("write", write_to, kit.constant(64 * dtype.itemsize), kit.make("shift_lanes", vector, count=3))
        one = kit.make("extract_lane", vector, chosen)
        kit.add("write", write_to, kit.constant(0), kit.make("splat", one, lanes=16))
        fixed = kit.make("extract_lane", vector, kit.constant(3))
        kit.add("write", write_to, kit.constant(16 * dtype.itemsize), fixed)
        kit.add("write", write_to, kit.constant(32 * dtype.itemsize), kit.make("splat", number, lanes=16))
        if dtype != BOOL:
            lanes = kit.make("lane_index", dtype=dtype, lanes=16)
            kit.add("write", write_to, kit.constant(48 * dtype.itemsize), lanes)

    run_kernel([Buffer(dtype), Buffer(dtype), INDEX, Scalar(dtype)], build, source, result, 5, source[7])
    assert_same_bits(result[:16], np.full(16, source[5]))
    assert_same_bits(result[16:17], source[3:4])
    assert_same_bits(result[32:48], np.full(16, source[7]))
    if dtype != BOOL:
        assert_same_bits(result[48:64], np.arange(16).astype(dtype.numpy))
    assert_same_bits(result[64:], np.concatenate([source[:3], source[:13]]))


@pytest.mark.parametrize("dtype", [I8, I32, I64, U64], ids=str)
def test_numbers_become_sizes(dtype):
    for value in samples(dtype, 20):
        result = np.zeros(1, np.int64)

        def build(kit, write_to, number):
            size = kit.make("to_index", number)
            kit.add("write", write_to, kit.constant(0), kit.make("cast", size, dtype=I64))

        run_kernel([Buffer(I64), Scalar(dtype)], build, result, value)
        assert result[0] == value.astype(np.int64)


@pytest.mark.parametrize("dtype", [C64, C128], ids=str)
def test_complex_numbers_pass_through(dtype):
    value, result = dtype.numpy.type(3 - 4j), np.zeros(2, dtype.numpy)

    def build(kit, write_to, number):
        real, imaginary = kit.make("real", number), kit.make("imag", number)
        kit.add("write", write_to, kit.constant(0), kit.make("complex", imaginary, real))
        kit.add("write", write_to, kit.constant(dtype.itemsize), kit.constant(1 + 2j, Scalar(dtype)))

    run_kernel([Buffer(dtype), Scalar(dtype)], build, result, value)
    np.testing.assert_array_equal(result, [-4 + 3j, 1 + 2j])
