"""Every row for arithmetic, for every dtype, on scalars, on vectors and in masked tails, against NumPy."""

import math
from functools import partial

import numpy as np
import pytest

from jitflow.backends.llvm.emission.emit_elementwise import ARITHMETIC, PREDICATES
from jitflow.backends.llvm.emission.emit_libm import LIBM
from jitflow.backends.llvm.emission.rows import kind_of
from jitflow.backends.llvm.emission.types import register_type, with_lanes
from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import BF16, BOOL, C64, DTYPES, F16, F32, F64, I32, I64, U64
from jitflow.ir.ops import OPS
from jitflow.ir.types import Scalar, Vector
from tests.backends.programs import assert_same_bits, map_arrays, map_together, samples

REAL = [dtype for dtype in DTYPES.values() if not dtype.is_complex]
ROWS = [
    pytest.param(name, dtype, id=f"{name}-{dtype.name}")
    for dtype in REAL
    for name in dict.fromkeys(name for name, kind in [*ARITHMETIC, *PREDICATES] if kind == kind_of(dtype))
    if name not in ("divide_truncated", "remainder_truncated")
]


def evaluate(name, operands, output, **attributes):
    with np.errstate(all="ignore"):
        return np.asarray(OPS[name].evaluate(operands, attributes, [Vector(output, len(operands[0]))]))


def operands_for(name, dtype):
    arity = OPS[name].arity
    operands = [samples(dtype, seed=number) for number in range(arity)]
    if name == "power":
        operands[0] = np.abs(operands[0])
    return operands


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_a_row_gives_the_bits_of_numpy(name, dtype):
    operands = operands_for(name, dtype)
    output = BOOL if (name, kind_of(dtype)) in PREDICATES else dtype
    expected = evaluate(name, operands, output)
    if name == "erfc":  # SciPy's own is less accurate than the C library's
        expected = np.vectorize(math.erfc, [np.float64])(operands[0].astype(np.float64)).astype(dtype.numpy)
    for got in map_together([lambda kit, *numbers: kit.make(name, *numbers)], operands, output, (0, 16))[0]:
        if name in LIBM and dtype.is_float:
            assert_within_ulps(got, expected, 1 if dtype.itemsize == 2 else 2)
        else:
            assert_same_bits(got, expected)


@pytest.mark.parametrize("name", ["divide_truncated", "remainder_truncated"])
@pytest.mark.parametrize("dtype", [dtype for dtype in REAL if dtype.is_integer], ids=str)
def test_truncating_division_behind_guards(name, dtype):
    operands = [samples(dtype, 64, seed=number) for number in range(2)]
    operands[1][(operands[1] == 0) | (operands[1] == np.array(-1).astype(dtype.numpy))] = 3
    expected = evaluate(name, operands, dtype)
    for got in map_together([lambda kit, a, b: kit.make(name, a, b)], operands, dtype, (0, 16))[0]:
        assert_same_bits(got, expected)  # of 64 numbers, so that no lane of a tail lies outside the guard


def assert_within_ulps(got, expected, most):
    special = ~np.isfinite(expected.astype(np.float64))
    np.testing.assert_array_equal(got[special].astype(np.float64), expected[special].astype(np.float64))
    got, expected = got[~special], expected[~special]
    distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    assert (distance <= most * np.abs(np.spacing(expected)).astype(np.float64)).all()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_vectors_of_any_width(dtype):
    operands = [samples(dtype, count=150, seed=number) for number in range(2)]
    name = "logical_xor" if dtype == BOOL else "multiply"
    expected = evaluate(name, operands, dtype)
    for got in map_together([lambda kit, a, b: kit.make(name, a, b)], operands, dtype, (2, 8, 32, 64))[0]:
        assert_same_bits(got, expected)


@pytest.mark.parametrize("source", REAL, ids=str)
@pytest.mark.parametrize("target", REAL, ids=str)
def test_casts(source, target):
    values = samples(source)
    if source.is_float and target.is_integer:
        wide = evaluate("cast", [values], F64, dtype=F64)
        inside = (np.abs(wide) < 2.0 ** (target.bits - 1)) & ((wide > -1) | (target.kind == "i"))
        values = np.where(inside, values, values.dtype.type(3))
    expected = evaluate("cast", [values], target, dtype=target)
    for got in map_together([lambda kit, a: kit.make("cast", a, dtype=target)], [values], target, (0, 16))[0]:
        assert_same_bits(got, expected)


@pytest.mark.parametrize("target", [F16, BF16], ids=str)
def test_narrowing_rounds_as_numpy_does(target):
    random = np.random.default_rng(1)
    values = random.standard_normal(4096) * 2.0 ** random.integers(-30, 20, 4096)
    halves = evaluate("cast", [np.arange(1 << 16, dtype=np.uint16).view(target.numpy)], F64, dtype=F64)
    halves = halves[np.isfinite(halves)]
    middles = (halves[:-1] + halves[1:]) / 2
    for array in (values, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)):
        expected = evaluate("cast", [array], target, dtype=target)
        got = map_arrays(lambda kit, a: kit.make("cast", a, dtype=target), [array], target, 16)
        assert_same_bits(got, expected)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_select(dtype):
    mask, yes, no = samples(BOOL), samples(dtype, seed=1), samples(dtype, seed=2)
    for got in map_together([lambda kit, *numbers: kit.make("select", *numbers)], [mask, yes, no], dtype, (0, 16))[0]:
        assert_same_bits(got, np.where(mask, yes, no))


@pytest.mark.parametrize(("source", "target"), [(F32, I32), (F64, U64), (I32, F32), (F16, BF16), (I64, F64)], ids=str)
def test_bitcast(source, target):
    values = samples(source)
    got = map_arrays(lambda kit, a: kit.make("bitcast", a, dtype=target), [values], target, 16)
    assert got.tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_constants(dtype):
    values = samples(dtype)[:20]
    found = map_together([partial(constant_of, value, dtype) for value in values], [np.zeros(3, "i4")], dtype, (0, 16))
    for value, results in zip(values, found, strict=True):
        for got in results:
            assert_same_bits(got, np.full(3, value))


def constant_of(value, dtype, kit, a):
    return kit.constant(value.item(), with_lanes(dtype, getattr(a.type, "lanes", 0)))


def test_a_scalar_may_stand_beside_a_vector():
    values = samples(F32)

    def build(kit, a):
        two = kit.constant(2.0, Scalar(F32))
        return kit.make("select", kit.make("less", a, two), kit.make("multiply", two, a), two)

    expected = np.where(values < 2, 2 * values, np.float32(2))
    assert_same_bits(map_arrays(build, [values], F32, 16), expected)


def test_complex_vectors_are_refused():
    with pytest.raises(CompilerBug, match="expected a number, vector, index or buffer"):
        register_type(Vector(C64, 4))
