"""Tracing: Python's numbers, sizes and the decisions on them, places of ops, arrays that are written to."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jitflow.errors import CompilerBug, UserError
from jitflow.frontend.entry.function import trace
from jitflow.frontend.recording.trace import Trace, recording
from tests.frontend.interpreted import interpreted

INTEGERS = [0, 1, -1, 7, -7, 3, -3, 2**40, -(2**62)]
FLOATS = [0.0, -0.0, 1.0, -2.5, 0.5, 1e300, -1e-300, math.inf, -math.inf, math.nan, 2.0**53 + 2]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


class Mismatch(Exception):
    pass


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    if isinstance(expected, float):
        return type(found) is float and found == expected and math.copysign(1, found) == math.copysign(1, expected)
    return type(found) is type(expected) and found == expected


def fits(expected: Any) -> bool:
    return not isinstance(expected, int) or -(2**63) <= expected < 2**63


@pytest.mark.parametrize("name", [*BINARY, *BITS])
def test_python_integers_compute_as_python_does(name: str) -> None:
    function = getattr(operator, name)
    traced = interpreted(lambda a, b: function(a, b))
    for a in INTEGERS:
        for b in INTEGERS:
            if name in ("pow", "lshift") and abs(b) > 1000:
                continue
            expected = outcome(function, a, b)
            if not fits(expected):
                expected = OverflowError
            if name == "pow" and b < 0 and a != 0:
                expected = ValueError  # its type would depend on the value
            if name in ("truediv",) and max(abs(a), abs(b)) > 2**53:
                continue
            found = outcome(traced, a, b)
            assert same(found, expected), (a, b, found, expected)


@pytest.mark.parametrize("name", BINARY)
def test_python_floats_compute_as_python_does(name: str) -> None:
    function = getattr(operator, name)
    traced = interpreted(lambda a, b: function(a, b))
    for a in FLOATS:
        for b in FLOATS:
            expected = outcome(function, a, b)
            if isinstance(expected, complex):
                expected = ValueError  # its type would depend on the value
            found = outcome(traced, a, b)
            assert same(found, expected), (a, b, found, expected)


@pytest.mark.parametrize("name", BINARY)
def test_mixed_numbers_compute_as_python_does(name: str) -> None:
    function = getattr(operator, name)
    traced = interpreted(lambda a, b: function(a, b))
    for a in INTEGERS:
        for b in [*FLOATS, 1j, True, float(2**62), 2.0**63]:
            for left, right in ((a, b), (b, a)):
                if name == "pow" and (isinstance(b, complex) or (isinstance(b, bool) and abs(a) > 9)):
                    continue
                expected = outcome(function, left, right)
                if isinstance(expected, complex) and not isinstance(b, complex):
                    expected = ValueError
                if not fits(expected):
                    expected = OverflowError
                if name == "pow" and type(left) is not float and type(right) is not float and right < 0 and left:
                    expected = ValueError
                if isinstance(expected, complex):
                    found = traced(left, right)
                    assert type(found) is complex
                    assert found == pytest.approx(expected, nan_ok=True)
                    continue
                found = outcome(traced, left, right)
                assert same(found, expected), (left, right, found, expected)


@pytest.mark.parametrize(
    "function",
    [operator.neg, operator.pos, abs, round, math.floor, math.ceil, math.trunc, operator.invert],
    ids=lambda function: function.__name__,
)
def test_unary_functions_of_python_numbers(function: Any) -> None:
    traced = interpreted(lambda a: function(a))
    for number in [*INTEGERS, *FLOATS, True, False, 2.5, 3.5, 1e19]:
        expected = outcome(function, number)
        if not fits(expected):
            expected = OverflowError
        if isinstance(number, float) and function is operator.invert:
            assert outcome(traced, number) is TypeError
            continue
        found = outcome(traced, number)
        assert same(found, expected), (number, found, expected)


MATH = [
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "fabs", "isnan", "isinf", "isfinite", "degrees",
    "radians",
]  # fmt: skip


@pytest.mark.parametrize("name", MATH)
def test_math_functions(name: str) -> None:
    function = getattr(math, name)
    traced = interpreted(lambda a: function(a))
    for number in [*FLOATS, 0, 3, -2, True, np.float32(0.5), 0.25, -1.0, 710.0]:
        expected, found = outcome(function, number), outcome(traced, number)
        if isinstance(expected, float) and math.isfinite(expected):
            assert type(found) is float
            assert found == pytest.approx(expected, rel=1e-14, abs=1e-300)
        else:
            assert same(found, expected), (number, found, expected)


def test_python_numbers_are_weak() -> None:
    @interpreted
    def mix(x, a, b):
        return x * a, x + b, a + b, x * (a + b), np.float32(1) * a

    args = (np.ones(2, np.float32), 2, 0.5)
    for found, expected in zip(mix(*args), mix.__wrapped__(*args), strict=True):
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert type(found) is type(expected)


def test_extremes_of_numbers_and_sizes() -> None:
    @interpreted
    def extremes(x, a, b):
        return max(a, b), min(a, b, 0.5), max([a, b]), max(len(x), 3), min(x.shape), max(1, 2)

    x = np.ones((4, 2))
    assert extremes(x, 1.0, math.nan)[:1] == (1.0,)
    assert extremes(x, -1.0, 2.0) == (2.0, -1.0, 2.0, 4, 2, 2)
    assert extremes.count == 1


def test_arithmetic_of_sizes_costs_nothing() -> None:
    @interpreted
    def sizes(x):
        n, m = x.shape
        return (n * m + 1) // 2, n % 3, -n, abs(n), n**2, divmod(n, 4), n / m, float(3) * n, +n, ~n, n - m

    x = np.ones((6, 4))
    assert sizes(x) == sizes.__wrapped__(x)
    assert sizes(np.ones((9, 5))) == sizes.__wrapped__(np.ones((9, 5)))
    assert sizes.count == 1
    assert "floor_divide" not in str(sizes.traced[0].function)


def test_decisions_on_sizes_are_facts() -> None:
    @interpreted
    def scaled(x):
        return x * 2 if x.shape[0] > 8 else x * 3

    for size in (10, 100, 9, 2, 8, 5):
        x = np.ones(size)
        np.testing.assert_array_equal(scaled(x), scaled.__wrapped__(x))
    assert scaled.count == 2
    assert [str(traced.function.facts[0]) for traced in scaled.traced] == ["8 < n", "8 >= n"]
    decision = scaled.traced[0].decisions[0]
    assert decision.why == "a decision on a size"
    assert decision.location.file == __file__


def test_what_facts_say_is_not_asked_again() -> None:
    @interpreted
    def decide(x, y):
        if x.shape[0] >= 4:  # noqa: SIM102
            if x.shape[0] >= 2 and x.shape[0] != 0 and x.shape[0] > 3 and not x.shape[0] < 1:
                return x
        return y

    decide(np.ones(7), np.ones(7))
    assert len(decide.traced[0].function.facts) == 1


def test_equal_shapes_are_one_fact() -> None:
    @interpreted
    def add(x, y):
        if x.shape != y.shape:
            raise Mismatch(x.ndim)
        return x + y

    add(np.ones((3, 4)), np.ones((3, 4)))
    add(np.ones((5, 2)), np.ones((5, 2)))
    assert add.count == 1
    with pytest.raises(Mismatch) as caught:
        add(np.ones((5, 2)), np.ones((4, 2)))
    assert caught.value.args == (2,)
    assert caught.traceback[-1].name == "add"


def test_a_size_as_a_python_number_is_an_equality() -> None:
    @interpreted
    def unrolled(x):
        total = 0.0
        for index in range(x.shape[0]):
            total = total + x[index]
        return total, [None] * x.shape[0], {x.shape[0]: 1}[3]

    assert unrolled(np.arange(3.0)) == (3.0, [None] * 3, 1)
    assert [str(fact) for fact in unrolled.traced[0].function.facts] == ["n == 3"]


def test_rows_of_a_fixed_number() -> None:
    @interpreted
    def split(x):
        assert x.shape[0] == 2
        low, high = x
        return high - low

    np.testing.assert_array_equal(split(np.array([[1.0, 2.0], [5.0, 7.0]])), [4.0, 5.0])


def test_isinstance_sees_what_the_value_is() -> None:
    @interpreted
    def kinds(x, s, i, f):
        return (
            isinstance(x, np.ndarray), isinstance(s, float), isinstance(i, int), isinstance(f, np.float32),
            isinstance(f, np.floating), isinstance(x.shape[0], int), isinstance(x, (list, tuple)), hasattr(x, "dtype"),
            isinstance(np.float32(s), np.float32), x.dtype == np.float32,
        )  # fmt: skip

    args = (np.ones(3), 1.0, 2, np.float32(3))
    assert kinds(*args) == kinds.__wrapped__(*args)


def test_a_refusal_cannot_be_caught_by_the_program() -> None:
    @interpreted
    def careful(x):
        try:
            return hash(x)
        except Exception:
            return x * 0

    with pytest.raises(NotImplementedError, match="hash"):
        careful(2.0)

    @interpreted
    def asks(x):
        try:
            return x.nothing
        except AttributeError:
            return x + 1

    assert asks(np.float64(1.0)) == 2.0


def test_tracers_in_lists_reach_numpy() -> None:
    @interpreted
    def listed(x):
        return np.sum([x.sum(), 1.0]), np.prod(x.shape), np.stack([x[0], x[1]]), np.max((x.min(), 3.0))

    x = np.arange(6.0).reshape(2, 3)
    for found, expected in zip(listed(x), listed.__wrapped__(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert type(found) is type(expected)


def test_errstate_may_ignore_but_not_raise() -> None:
    @interpreted
    def quiet(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 / x

    @interpreted
    def loud(x):
        with np.errstate(all="raise"):
            return 1 / x

    np.testing.assert_array_equal(quiet(np.array([0.0, 2.0])), [np.inf, 0.5])
    with pytest.raises(NotImplementedError, match="errstate"):
        loud(np.ones(2))


def test_ops_know_the_users_line() -> None:
    def helper(x):
        return np.exp(x)

    @interpreted
    def outer(x):
        y = helper(x)
        return (y
                + 1)  # fmt: skip

    traced = outer.trace(np.ones(3))
    first_line = outer.__wrapped__.__code__.co_firstlineno
    for op in traced.function.region.body:
        assert op.loc.file == __file__
    exp = next(op for op in traced.function.region.body if op.name == "exp")
    assert (exp.loc.function, exp.loc.line) == ("helper", helper.__code__.co_firstlineno + 1)
    add = next(op for op in traced.function.region.body if op.name == "add")
    assert (add.loc.function, add.loc.line) == ("outer", first_line + 3)
    source = Path(__file__).read_text().splitlines()[exp.loc.line - 1]
    assert source[exp.loc.column : exp.loc.end_column] == "np.exp(x)"


def test_new_arrays_may_be_written_to() -> None:
    @interpreted
    def accumulate(x):
        y = x + 1
        alias = y
        y *= 2
        np.add(y, 1, out=y)
        return y, alias

    found, alias = accumulate(np.ones(3))
    np.testing.assert_array_equal(found, [5.0, 5.0, 5.0])
    assert alias is found


@pytest.mark.parametrize("kind", ["argument", "view", "viewed", "shared"])
def test_arrays_that_others_see_may_not(kind: str) -> None:
    def argument(x):
        x += 1
        return x

    def view(x):
        y = (x + 1)[1:]
        y += 1
        return y

    def viewed(x):
        y = x + 1
        z = y[1:]
        y += 1
        return z

    def shared(x):
        y = x + 1
        z = np.asarray(y)
        y += 1
        return z, y

    fn: Any = {"argument": argument, "view": view, "viewed": viewed, "shared": shared}[kind]
    try:
        found = interpreted(fn)(np.ones(3))
    except UserError as error:
        assert "in place" in str(error)
    else:
        np.testing.assert_array_equal(found, fn(np.ones(3)))  # the same array object may be written to


def test_a_trace_inside_a_trace_is_a_bug() -> None:
    def outer(x):
        return x

    with recording(Trace("outer")), pytest.raises(CompilerBug):
        trace(outer, ("x",), (1.0,))
