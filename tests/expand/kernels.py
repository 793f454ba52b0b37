"""Small kernels of one op, and the numbers to try them on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.core import Builder, Function, Region, Value, walk
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.interpreter import interpret
from jitflow.ir.types import Scalar, Vector
from jitflow.ir.verifier import verify
from jitflow.passes.expand.expand import expand
from jitflow.passes.expand.primitives import dtype_name, is_primitive

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16")
COMPLEX = ("c64", "c128")


def kernel(name: str, dtypes: Sequence[str], lanes: int, **attributes: Any) -> Function:
    """A kernel of one op; ``lanes`` 0 makes it one of scalars."""

    def type(dtype: str) -> Scalar | Vector:
        return Vector(DTYPES[dtype], lanes) if lanes else Scalar(DTYPES[dtype])

    parameters = tuple(Value(type(dtype)) for dtype in dtypes)
    builder = Builder()
    result = builder.make(name, *parameters, **attributes)
    builder.add("yield", result)
    return Function(name, Region(parameters, tuple(builder.ops)), layer="loop")


def run(name: str, *operands: Any, **attributes: Any) -> Any:
    """The op on arrays (a lane for each element), expanded and interpreted."""
    dtypes = [_name(operand) for operand in operands]
    function = expand(kernel(name, dtypes, operands[0].size, **attributes))
    check_primitive(function)
    verify(function)
    results = interpret(function, *(part for operand in operands for part in parts(operand)))
    if len(results) == 1:
        return results[0]
    whole = np.empty(results[0].shape, np.result_type(results[0].dtype, np.complex64))
    whole.real, whole.imag = results
    return whole


def parts(array: Any) -> tuple[Any, ...]:
    """A complex array's real and imaginary part."""
    return (array.real.copy(), array.imag.copy()) if array.dtype.kind == "c" else (array,)


def _name(array: Any) -> str:
    return next(name for name, dtype in DTYPES.items() if dtype.numpy == array.dtype)


def check_primitive(function: Function) -> None:
    """Nothing but primitives, one shape an op, nothing complex or weak."""
    for op in walk(function.region):
        for value in (*op.operands, *op.results):
            assert getattr(getattr(value.type, "dtype", None), "kind", "") != "c", op.name
            assert not getattr(value.type, "weak", False), op.name
        if "elementwise" in op.definition.traits or op.name in ("divide_truncated", "remainder_truncated"):
            assert is_primitive(op.name, dtype_name(op.operands[-1].type)), f"{op.name} {op.operands[-1].type}"
            assert len({getattr(operand.type, "lanes", 0) for operand in op.operands}) == 1, op.name


def same_bits(got: Any, expected: Any) -> Any:
    """Where two arrays agree in every bit; all nan are one."""
    expected = np.asarray(expected)
    got = np.asarray(got)
    assert got.dtype == expected.dtype, f"{got.dtype} {expected.dtype}"
    if expected.dtype.kind == "c":
        return same_bits(got.real, expected.real) & same_bits(got.imag, expected.imag)
    with np.errstate(all="ignore"):
        both_nan = (got != got) & (expected != expected)
    unsigned = f"u{expected.dtype.itemsize}"
    return both_nan | (np.ascontiguousarray(got).view(unsigned) == np.ascontiguousarray(expected).view(unsigned))


def assert_same(got: Any, expected: Any, *operands: Any) -> None:
    fine = same_bits(got, expected)
    if not fine.all():
        (wrong,) = np.nonzero(~fine)
        shown = [
            f"{tuple(operand[i] for operand in operands)}: got {got[i]!r}, expected {expected[i]!r}" for i in wrong[:8]
        ]
        raise AssertionError(f"{len(wrong)} of {fine.size} differ\n" + "\n".join(shown))


def samples(dtype: str, seed: int = 0) -> Any:
    """Special and random numbers of a dtype."""
    generator = np.random.default_rng(seed)
    kind = DTYPES[dtype].numpy
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(kind)
        special = [limits.min, limits.max, limits.max - 1, limits.min + 1, 0, 1, 2, 3, 7, limits.max // 2]
        if limits.min:
            special += [-1, -2, -7, limits.min // 2]
        bits = generator.integers(0, 256, 40 * kind.itemsize, dtype=np.uint8).view(kind)
        small = generator.integers(0, 70, 20).astype(kind)
        return np.concatenate([np.array(special, kind), bits, small])
    if dtype in COMPLEX:
        real = samples(DTYPES[dtype].real.name, seed)[:36]
        first, second = (part.ravel() for part in np.meshgrid(real, real))
        whole = np.empty(first.size, kind)
        whole.real, whole.imag = first, second
        return whole
    with np.errstate(all="ignore"):
        tiny = np.array([1], f"u{kind.itemsize}").view(kind)[0]
        fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[dtype]
        exponent = 8 * kind.itemsize - 2 - fraction
        normal, top = 2.0 ** (2 - 2**exponent), 2.0 ** (2**exponent - 1)
        special = [
            0.0,
            1.0,
            0.5,
            1.5,
            2.0,
            2.5,
            3.0,
            7.0,
            10.0,
            np.inf,
            np.nan,
            tiny,
            3 * tiny,
            normal,
            top,
            1.99 * top,
        ]
        special = np.array(special, np.float64).astype(kind)
        bits = generator.integers(0, 256, 30 * kind.itemsize, dtype=np.uint8).view(kind)
        plain = (generator.standard_normal(30) * 10).astype(kind)
        whole = generator.integers(-9, 10, 20).astype(kind)
        return np.concatenate([special, -special, plain, whole, bits])


def pairs(dtype: str) -> tuple[Any, Any]:
    """Every sample beside every other."""
    first, second = np.meshgrid(samples(dtype), samples(dtype, 1))
    return first.ravel(), second.ravel()
