"""Complex numbers split into their parts: arithmetic, order, elementary functions, memory and control flow."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import jitflow
from jitflow.ir.core import Builder, Function, Region, Value, walk
from jitflow.ir.dtypes import C64, C128, DTYPES, I64
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops import OPS
from jitflow.ir.types import Buffer, Index, Scalar, Vector
from jitflow.ir.verifier import verify
from jitflow.passes.expand.expand import expand
from tests.expand.kernels import COMPLEX, assert_same, check_primitive, run, samples

FUNCTIONS = (
    "sqrt exp exp2 expm1 log log2 log10 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh"
).split()


def reference(name: str, *operands: Any) -> Any:
    evaluate = OPS[name].evaluate
    assert evaluate is not None
    return evaluate(list(operands), {}, ())


def random_pairs(dtype: str) -> tuple[Any, Any]:
    generator, numbers = np.random.default_rng(5), samples(dtype)
    first, second = generator.integers(0, numbers.size, (2, 3000))
    return numbers[first], numbers[second]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", "negative conjugate sign isnan isinf isfinite real imag".split())
def test_unary(name: str, dtype: str) -> None:
    a = samples(dtype)
    assert_same(run(name, a), reference(name, a), a)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", (
    "add subtract divide less less_equal greater greater_equal equal not_equal maximum minimum fmax fmin"
).split())  # fmt: skip
def test_binary(name: str, dtype: str) -> None:
    a, b = random_pairs(dtype)
    assert_same(run(name, a, b), reference(name, a, b), a, b)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_product_and_magnitude_are_those_of_scalars(dtype: str) -> None:
    """NumPy's vector loops contract the products; its scalars do not."""
    a, b = random_pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.empty_like(a)
        expected.real = a.real * b.real - a.imag * b.imag
        expected.imag = a.real * b.imag + a.imag * b.real
        assert_same(run("multiply", a, b), expected, a, b)
        assert_same(run("absolute", a), np.hypot(a.real, a.imag), a)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_power(dtype: str) -> None:
    generator = np.random.default_rng(2)
    a = (generator.standard_normal(500) + 1j * generator.standard_normal(500)).astype(dtype.replace("c", "complex"))
    a[:10], b = [0, 1, -1, 1j, -1j, 2, 0, 0, 0, 3 + 4j], a[::-1].copy()
    b[:200] = generator.integers(-20, 21, 200)
    b[6:9] = [2, -1, 1j]
    got = run("power", a, b)
    with np.errstate(all="ignore"):
        expected = np.array([complex(x) ** complex(y) if x else x for x, y in zip(a, b, strict=True)])
    expected[6:9] = 0
    assert np.isnan(got[7]), "0 to a negative power"
    wrong = abs(got - expected) > 40 * np.finfo(a.dtype).eps * abs(expected)
    wrong[(a == 0)] = False
    assert not wrong.any(), (a[wrong], b[wrong], got[wrong], expected[wrong])
    assert run("power", a[:1], np.zeros_like(a[:1]))[0] == 1


def plain_numbers() -> Any:
    generator = np.random.default_rng(0)
    angles = np.exp(1j * generator.uniform(-3.14, 3.14, 80)) * (1 + generator.standard_normal(80) * 1e-6)
    scales = 10.0 ** generator.integers(-8, 3, (2, 80))
    spread = generator.standard_normal((2, 80)) * scales
    return np.concatenate([generator.standard_normal(160).view(complex), spread[0] + 1j * spread[1], angles])


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_close_to_the_c_library(name: str, dtype: str) -> None:
    """Both have errors of a few ulp of the magnitude; `exp2` loses more to the product by log(2)."""
    a = plain_numbers().astype(DTYPES[dtype].numpy)
    got = run(name, a)
    with np.errstate(all="ignore"):
        expected = reference(name, a.astype(np.complex128))
        finite = np.isfinite(expected) & (abs(expected) < np.finfo(a.dtype).max)
        error = abs(got - expected)[finite] / np.spacing(abs(expected[finite]).astype(a.real.dtype))
    assert error.max() < (7 if name != "exp2" or dtype == "c64" else 100)


def test_log1p_keeps_what_numpy_rounds_away() -> None:
    a = plain_numbers()[::3]
    with mpmath.workprec(200):
        exact = np.array([complex(mpmath.log(1 + mpmath.mpc(number))) for number in a])
    assert (abs(run("log1p", a) - exact) <= 3 * np.spacing(abs(exact))).all()


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str, dtype: str) -> None:
    """Infinities, nan, zeros and what overflows as C99 has them; where it leaves a sign open, so does the test."""
    parts = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 710.0, -710.0])
    real, imaginary = (part.ravel() for part in np.meshgrid(parts, parts))
    a = np.empty(real.size, DTYPES[dtype].numpy)
    a.real, a.imag = real, imaginary
    with np.errstate(all="ignore"):
        got, expected = run(name, a), reference(name, a.astype(complex)).astype(a.dtype)
    for mine, theirs in ((got.real, expected.real), (got.imag, expected.imag)):
        with np.errstate(all="ignore"):
            near = np.isclose(mine, theirs, rtol=1e-6, atol=0, equal_nan=True)
        open_sign = np.isnan(got.real) | np.isnan(got.imag) | ((real == -np.inf) & ~np.isfinite(imaginary))
        infinite = np.isinf(mine) & np.isinf(theirs) & open_sign
        signs = (np.signbit(mine) == np.signbit(theirs)) | np.isnan(mine) | open_sign
        assert (near | infinite).all(), a[~(near | infinite)]
        assert signs.all(), a[~signs]


def test_powers_at_special_values() -> None:
    parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
    numbers = np.empty(parts.size**2, complex)
    numbers.real, numbers.imag = np.repeat(parts, parts.size), np.tile(parts, parts.size)
    a, b = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
    with np.errstate(all="ignore"):
        expected = np.power(a, b)
    np.testing.assert_allclose(jitflow.function(lambda a, b: a**b)(a, b), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("target", ["bool", "i32", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("source", [*COMPLEX, "bool", "i64", "f16", "f64"])
def test_casts(source: str, target: str) -> None:
    if source not in COMPLEX and target not in COMPLEX:
        return
    a = samples(source)
    a = a[np.isfinite(a)] if target == "i32" else a
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context():
        numbers = a.real.copy() if source in COMPLEX and target not in (*COMPLEX, "bool") else a
        expected = numbers.astype(DTYPES[target].numpy)
    assert_same(run("cast", a, dtype=DTYPES[target]), expected, a)


def test_complex_of_two_reals() -> None:
    a, b = samples("f32")[:20], samples("f32")[20:40]
    got = run("complex", a, b)
    assert_same(got.real, a)
    assert_same(got.imag, b)


# -- memory and control flow


def kernel_with_memory(lanes: int) -> Function:
    """out = in * %scale + 1j by pairs; strided = the sum over a loop, and the larger of it and the last element."""
    builder = Builder()
    vector = Vector(C64, lanes) if lanes else Scalar(C64)
    source, target, scale = Value(Buffer(C64)), Value(Buffer(C64)), Value(Scalar(C64))
    zero = builder.make("size", dim=0)
    number = builder.make("read", source, zero, lanes=lanes)
    unit = builder.make("constant", value=1j, type=Scalar(C64))
    moved = builder.make("add", builder.make("multiply", number, scale), unit)
    builder.add("write", target, zero, moved)

    stop, one, stride = (builder.make("size", dim=dim) for dim in (3, 1, 16))
    position, total = Value(Index()), Value(vector)
    outside, builder.ops = builder.ops, []
    offset = builder.make("multiply", position, builder.make("size", dim=8))
    element = builder.make("read_strided", source, offset, stride, lanes=lanes)
    body = builder.region((position, total), (builder.make("add", total, element),))
    builder.ops = outside
    summed = builder.make("for", zero, stop, one, moved, types=(vector,), regions=(body,))
    larger = builder.make("maximum", summed, number)
    builder.add("write_strided", target, builder.make("size", dim=8 * max(lanes, 1)), stride, larger)
    builder.add("yield")
    return Function("memory", Region((source, target, scale), tuple(builder.ops)), layer="loop")


@pytest.mark.parametrize("lanes", [0, 1, 4])
def test_memory_and_loops(lanes: int) -> None:
    function = kernel_with_memory(lanes)
    verify(function)
    expanded = expand(function)
    verify(expanded)
    check_primitive(expanded)
    names = [op.name for op in walk(expanded.region)]
    assert names.count("read_pair") == names.count("write_pair") == 1
    assert names.count("read_strided") == names.count("write_strided") == 2
    generator = np.random.default_rng(1)
    source = generator.standard_normal(48).astype(np.float32).view(np.complex64)
    whole, parts = np.zeros(24, np.complex64), np.zeros(24, np.complex64)
    interpret(function, source, whole, np.complex64(2 - 1j))
    interpret(expanded, source, parts, np.float32(2), np.float32(-1))
    np.testing.assert_allclose(parts, whole, rtol=1e-6)


def test_lanes() -> None:
    builder = Builder()
    vector = Value(Vector(C128, 4))
    folds = [builder.make("fold_lanes", vector, combine=combine) for combine in ("add", "multiply", "maximum")]
    lane = builder.make("extract_lane", vector, builder.make("size", dim=2))
    again = builder.make("add", builder.make("splat", lane, lanes=4), vector)
    builder.add("yield", *folds, again)
    function = expand(Function("lanes", Region((vector,), tuple(builder.ops)), layer="loop"))
    verify(function)
    check_primitive(function)
    a = np.array([1 + 2j, 3 - 1j, -2 + 0.5j, 3 + 1j])
    total_r, total_i, product_r, product_i, top_r, top_i, again_r, again_i = interpret(function, a.real, a.imag)
    assert complex(total_r, total_i) == a.sum()
    assert complex(product_r, product_i) == pytest.approx(a.prod())
    assert complex(top_r, top_i) == 3 + 1j
    assert (again_r + 1j * again_i == a + a[2]).all()


def test_gathered_numbers() -> None:
    builder = Builder()
    buffer, offsets = Value(Buffer(C64)), Value(Vector(I64, 3))
    builder.add("yield", builder.make("read_at", buffer, offsets, lanes=3))
    function = expand(Function("gather", Region((buffer, offsets), tuple(builder.ops)), layer="loop"))
    verify(function)
    names = [op.name for op in walk(function.region)]
    assert names.count("read_at") == 2


@pytest.mark.parametrize("dtype", COMPLEX)
def test_slots_of_host_programs(dtype: str) -> None:
    """A c128 takes two slots, a c64 shares one."""
    builder = Builder()
    number = builder.make("argument", slot=3, types=(Scalar(DTYPES[dtype]),))
    builder.add("result", builder.make("conjugate", number), slot=0)
    builder.add("yield")
    function = expand(Function("host", Region((), tuple(builder.ops)), layer="host"))
    verify(function)
    value = np.array([1.5 - 2j], DTYPES[dtype].numpy)
    slots = value.view(np.float64 if dtype == "c128" else np.uint64)
    results = interpret(function, 0, 0, 0, *slots)
    assert np.array(results).view(DTYPES[dtype].numpy).tolist() == [1.5 + 2j]


def test_python_refuses_a_zero_divisor() -> None:
    parameters = tuple(Value(Scalar(C128, weak=True)) for _ in range(2))
    builder = Builder()
    builder.add("yield", builder.make("divide", *parameters, checked=True))
    function = expand(Function("divide", Region(parameters, tuple(builder.ops)), layer="loop"))
    verify(function)
    assert interpret(function, 1.0, 2.0, 0.0, 1.0) == (2.0, -1.0)
    with pytest.raises(ZeroDivisionError, match="complex"):
        interpret(function, 1.0, 2.0, 0.0, 0.0)
