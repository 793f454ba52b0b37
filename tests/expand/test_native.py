"""Expanded kernels as machine code: the bits that the reference gives, on scalars and on vectors with masked tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, DTYPES, DType
from jitflow.ir.ops import OPS
from jitflow.passes.expand.expand import expand
from tests.backends.programs import Kit, map_together
from tests.expand.kernels import FLOATS, HALVES, INTEGERS, assert_same, pairs, samples

COUNT = 1003
NAMES = {
    **dict.fromkeys(INTEGERS, (
        "floor_divide remainder fmod power left_shift right_shift gcd lcm bitwise_count sign absolute maximum".split()
    )),
    **dict.fromkeys(FLOATS, "floor_divide remainder fmod sign hypot nextafter spacing flush".split()),
    **dict.fromkeys(HALVES, "add divide floor_divide sqrt sign nextafter spacing flush less".split()),
    "bool": "less less_equal maximum bitwise_xor bitwise_not".split(),
}  # fmt: skip
CASES = [(name, dtype) for dtype, names in NAMES.items() for name in names]


def native(name: str, operands: list[Any], output: DType, widths: tuple[int, ...] = (0, 8), **attributes: Any) -> Any:
    """The op's results, number by number and in vectors of these widths."""

    def build(kit: Kit, *numbers: Value) -> Value:
        return kit.make(name, *numbers, **attributes)

    return map_together([build], operands, output, widths, expand)[0]


def some(dtype: str, arity: int) -> list[Any]:
    if arity == 1:
        return [samples(dtype)]
    generator = np.random.default_rng(7)
    a, b = pairs(dtype)
    chosen = generator.permutation(a.size)[:COUNT]
    return [a[chosen], b[chosen]]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_arithmetic(name: str, dtype: str) -> None:
    operands = some(dtype, OPS[name].arity or 1)
    if name == "power":
        operands = [operand[operands[1] >= 0] for operand in operands]
    evaluate = OPS[name].evaluate
    assert evaluate is not None
    expected = evaluate(operands, {}, ())
    for got in native(name, operands, BOOL if name.startswith("less") else DTYPES[dtype]):
        assert_same(got, expected, *operands)


@pytest.mark.parametrize("source", [*FLOATS, "i64", "u64", "bool", "bf16"])
def test_casts(source: str) -> None:
    a = samples(source)
    for target in ("bool", "i8", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"):
        if source == "bf16" and target[0] in "iu":
            continue
        with np.errstate(all="ignore"):
            expected = np.array([number.astype(DTYPES[target].numpy) for number in a], DTYPES[target].numpy)
        for got in native("cast", [a], DTYPES[target], dtype=DTYPES[target]):
            assert_same(got, expected, a)


@pytest.mark.parametrize("dtype", ["c64", "c128"])
@pytest.mark.parametrize("name", ["divide", "maximum", "sqrt", "exp", "log", "power", "arcsin"])
def test_complex(name: str, dtype: str) -> None:
    generator = np.random.default_rng(3)
    parts = generator.standard_normal((4, 203)).astype(DTYPES[dtype].real.numpy)
    operands = [parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]][: OPS[name].arity]
    evaluate = OPS[name].evaluate
    assert evaluate is not None
    expected = evaluate(operands, {}, ())
    for got in native(name, operands, DTYPES[dtype]):
        assert (abs(got - expected) <= 40 * np.finfo(expected.dtype).eps * abs(expected)).all()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_among_small_ones(name: str, dtype: str) -> None:
    """Lanes that are settled one by one get what they get alone, and leave the others as they are."""
    x = np.linspace(-3, 3, 96).astype(DTYPES[dtype].numpy)
    usual = x.copy()
    x[[0, 5, 31, 40, 95]] = [1e30, -3e12, np.inf, np.finfo(x.dtype).max, np.nan]
    whole = np.concatenate([x, usual])
    here = np.append(abs(x) <= 3, np.zeros(x.size, bool))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(whole.astype(np.longdouble)).astype(x.dtype)
    alone, *in_vectors = native(name, [whole], DTYPES[dtype], (0, 8, 32))
    for mixed in in_vectors:  # the second half has small ones alone, in the same lanes
        assert_same(mixed, alone, whole)
        assert_same(mixed[here], mixed[x.size :][here[: x.size]], whole[here])
    np.testing.assert_allclose(alone, expected, rtol=3 * np.finfo(x.dtype).eps, atol=1e-15)
