"""Ops on Python's numbers: the same results and the same errors as Python, and the words of the running version."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Builder, Function, Region, Value, walk
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.interpreter import interpret
from jitflow.ir.python_numbers import CHECKED_ARITHMETIC
from jitflow.ir.types import Index, Scalar, Vector
from jitflow.ir.verifier import verify
from jitflow.passes.expand.checked import python_words
from jitflow.passes.expand.expand import expand
from tests.expand.kernels import check_primitive, kernel

LIMIT = 1 << 63
INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 62, 63, 64, 100, LIMIT - 1, -LIMIT, 3037000499, 3037000500, 1 << 32, -(1 << 31)]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.5, 1e300, -1e300, 1e-300, math.inf, -math.inf, math.nan, 7.25]


def checked(name: str, arity: int, dtype: str) -> Function:
    parameters = tuple(Value(Scalar(DTYPES[dtype], weak=True)) for _ in range(arity))
    builder = Builder()
    builder.add("yield", builder.make(name, *parameters, checked=True))
    function = expand(Function(name, Region(parameters, tuple(builder.ops)), layer="loop"))
    verify(function)
    check_primitive(function)
    return function


def outcome(function: Callable[..., Any], *operands: Any) -> Any:
    try:
        result = function(*operands)
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error)
    return "nan" if result != result else (float(result).hex() if isinstance(result, float) else int(result))


@pytest.mark.parametrize("name", [
    "add", "subtract", "multiply", "floor_divide", "remainder", "power", "left_shift", "right_shift",
])  # fmt: skip
def test_ints_in_pairs(name: str) -> None:
    function = checked(name, 2, "i64")
    for a in INTS:
        for b in INTS:
            expected = outcome(CHECKED_ARITHMETIC[name], a, b)
            assert outcome(lambda a, b: int(interpret(function, a, b)[0]), a, b) == expected, (a, b)


@pytest.mark.parametrize("name", ["negative", "absolute"])
def test_ints(name: str) -> None:
    function = checked(name, 1, "i64")
    for a in INTS:
        expected = outcome(CHECKED_ARITHMETIC[name], a)
        assert outcome(lambda a: int(interpret(function, a)[0]), a) == expected, a


@pytest.mark.parametrize("name", ["divide", "floor_divide", "remainder"])
def test_floats(name: str) -> None:
    function = checked(name, 2, "f64")
    for a in NUMBERS:
        for b in NUMBERS:
            expected = outcome(CHECKED_ARITHMETIC[name], a, b)
            assert outcome(lambda a, b: float(interpret(function, a, b)[0]), a, b) == expected, (a, b)


@pytest.mark.parametrize(("base", "exponent"), [(0.0, -1.0), (1e300, 2.0), (-8.0, 0.5)])
def test_float_powers_that_fail(base: float, exponent: float) -> None:
    function = checked("power", 2, "f64")
    expected = outcome(CHECKED_ARITHMETIC["power"], base, exponent)
    assert outcome(lambda a, b: float(interpret(function, a, b)[0]), base, exponent) == expected


def test_vectors_fail_where_any_lane_does() -> None:
    function = expand(kernel("add", ["i64", "i64"], 4, checked=True))
    a, one = np.array([1, 2, 3, LIMIT - 1]), np.ones(4, np.int64)
    assert interpret(function, a[:3].repeat(2)[:4], one)[0].tolist() == [2, 2, 3, 3]
    with pytest.raises(OverflowError):
        interpret(function, a, one)


def test_python_words_are_of_the_running_version() -> None:
    with pytest.raises(ZeroDivisionError, match=python_words(operator.mod, 1, 0)):
        1 % int("0")


def test_sizes_divide_like_ints() -> None:
    parameters = (Value(Index()), Value(Index()))
    builder = Builder()
    results = [builder.make(name, *parameters) for name in ("floor_divide", "remainder", "minimum")]
    builder.add("yield", *results)
    function = expand(Function("sizes", Region(parameters, tuple(builder.ops)), layer="loop"))
    verify(function)
    for a in (-7, 0, 7, 12):
        for b in (-5, 5, 1):
            assert interpret(function, a, b) == (a // b, a % b, min(a, b))


def test_a_scalar_beside_a_vector_is_splatted() -> None:
    parameters = (Value(Vector(DTYPES["f32"], 4)), Value(Scalar(DTYPES["f32"])))
    builder = Builder()
    builder.add("yield", builder.make("multiply", *parameters))
    function = expand(Function("scale", Region(parameters, tuple(builder.ops)), layer="loop"))
    verify(function)
    assert [op.name for op in walk(function.region)] == ["splat", "multiply", "yield"]
    assert interpret(function, np.arange(4, dtype="f4"), 2.0)[0].tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(("dtype", "exponent"), [("i64", 2), ("f64", 2.0), ("f64", 0.5)])
def test_powers_that_are_known(dtype: str, exponent: float) -> None:
    """No power is computed for them; they raise and answer as others do."""
    base = Value(Scalar(DTYPES[dtype], weak=True))
    builder = Builder()
    known = builder.make("constant", value=exponent, type=base.type)
    builder.add("yield", builder.make("power", base, known, checked=True))
    function = expand(Function("power", Region((base,), tuple(builder.ops)), layer="loop"))
    assert len(list(walk(function.region))) < 30
    for number in INTS if dtype == "i64" else NUMBERS:
        expected = outcome(CHECKED_ARITHMETIC["power"], number, exponent)
        assert outcome(lambda x: type(x)(interpret(function, x)[0]), number) == expected, number


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
@pytest.mark.parametrize("number", INTS)
def test_ints_beside_a_constant(name: str, number: int) -> None:
    """One comparison or two say whether it overflows."""
    for first in (False, True):
        x = Value(Scalar(DTYPES["i64"], weak=True))
        builder = Builder()
        known = builder.make("constant", value=number, type=x.type)
        builder.add("yield", builder.make(name, *((known, x) if first else (x, known)), checked=True))
        function = expand(Function(name, Region((x,), tuple(builder.ops)), layer="loop"))
        verify(function)
        assert "multiply_high" not in {op.name for op in walk(function.region)}
        for other in [*INTS, *(limit // number + step for limit in (LIMIT, -LIMIT) if number for step in (-1, 0, 1))]:
            if not -LIMIT <= other < LIMIT:
                continue
            expected = outcome(CHECKED_ARITHMETIC[name], *((number, other) if first else (other, number)))
            assert outcome(lambda a: int(interpret(function, a)[0]), other) == expected, other
