"""The text form: names, attributes to the bit, locations, and errors with a caret."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitflow.ir.core import Builder, Fact, Function, Region, Value
from jitflow.ir.dims import Dim, maximum, minimum, symbol
from jitflow.ir.dtypes import DTYPES, F32, I64
from jitflow.ir.equal import structurally_equal
from jitflow.ir.location import Loc
from jitflow.ir.parser import parse, parse_type
from jitflow.ir.printer import attribute_text, print_function, print_op
from jitflow.ir.tokens import ParseError
from jitflow.ir.types import Buffer, Index, Place, Scalar, Tape, Tensor, Variable, Vector

N = symbol("n")

PROGRAM = """func @step(%x: f32[n, 784], %w: var f32[784, 10], %lr: float) where n != 1, m >= 2 with {overlap=true} {
  %0: f32[784, 10] = load %w                             ; train.py:12
  %1: index[n] = size {dim=n}
  %y: f32[n, 10] = for %1, %1, %1, %x (%i: index[i], %z: f32[n, 10]) { ; train.py:13
    %z2: f32[n, 10] = if %c () {
      yield %z
    } () {
      yield %x
    }
    yield %z2
  }
  store %w, %y
  yield %y
}

kernel @"<lambda>"(%b: buffer f32 on cuda:0) {
  yield
}
""".replace("%lr: float", "%lr: float, %c: bool")


def test_text_is_a_fixpoint() -> None:
    function = parse(PROGRAM)
    assert print_function(function) == PROGRAM
    assert function.region.ops[0].loc == Loc("train.py", 12)
    assert function.region.ops[2].loc == Loc("train.py", 13)
    assert [called.name for called in function.functions] == ["<lambda>"]


@pytest.mark.parametrize("loc", [Loc("train.py", 12, device="cpu:1"), Loc("", 0, device="cuda:0"), Loc("on it.py", 3)])
def test_where_an_op_is_wanted_round_trips(loc: Loc) -> None:
    builder = Builder(loc=loc)
    builder.add("print", message="here")
    text = print_function(Function("f", builder.region((), ())))
    assert parse(text).region.ops[0].loc == loc
    assert print_function(parse(text)) == text


def test_locations_can_be_left_out() -> None:
    assert ";" not in print_function(parse(PROGRAM), locations=False)


def test_hints_are_used_where_they_are_free() -> None:
    builder = Builder()
    x = Value(Scalar(F32), "x")
    first = builder.add("negative", x, names=["x"])[0]
    second = builder.add("negative", first, names=["result"])[0]
    third = builder.add("negative", second, names=["not a name"])[0]
    text = print_function(Function("f", builder.region([x], [third])))
    assert "%0: f32 = negative %x" in text
    assert "%result: f32 = negative %0" in text
    assert "%1: f32 = negative %result" in text


def test_one_op_prints_by_itself() -> None:
    assert print_op(parse(PROGRAM).region.ops[1]) == "%0: index[n] = size {dim=n}"


KINDS = [
    Tensor(F32, (N, 784)), Tensor(F32, ()), Scalar(F32), Scalar(DTYPES["bool"], True), Scalar(I64, True),
    Scalar(DTYPES["f64"], True), Scalar(DTYPES["c128"], True), Index(), Index(N + 1), Variable(F32, (N,)),
    Place(F32, (N // 2,)), Tape(F32), Vector(F32, 16), Vector(DTYPES["bool"], 8), Buffer(F32), Buffer(F32, "cuda:1"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_round_trip(kind: object) -> None:
    assert parse_type(str(kind)) == kind


def _through_text(value: object) -> object:
    text = f"func @f() {{\n  yield {{value={attribute_text(value)}}}\n}}"
    return parse(text).region.ops[0].attributes["value"]


SIMPLE = [
    True, False, None, 0, -7, 2**70, "", 'quote " and \\', "line\nbreak", "größe", "; no comment", (), ((1,), (2, ())),
    F32, Tensor(F32, (N, 2)), Scalar(F32), Index(), N, N * 2 - 1, (N // 2) % 3, maximum(N - 1, 0),
    minimum(N, symbol("m")),
]  # fmt: skip


@pytest.mark.parametrize("value", SIMPLE, ids=repr)
def test_attributes_round_trip(value: object) -> None:
    again = _through_text(value)
    assert again == value
    assert type(again) is type(value)


def _bits(number: float) -> bytes:
    return struct.pack("<d", number)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_floats_round_trip_to_the_bit(number: float) -> None:
    again = _through_text(number)
    assert isinstance(again, float)
    assert _bits(again) == _bits(number)


@pytest.mark.parametrize("number", [-0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, 1e22, 1e-7])
def test_special_floats_round_trip(number: float) -> None:
    again = _through_text((number, complex(number, -0.0)))
    assert isinstance(again, tuple)
    assert _bits(again[0]) == _bits(number)
    assert _bits(again[1].real) == _bits(number)
    assert _bits(again[1].imag) == _bits(-0.0)


def test_numpy_numbers_print_as_python_numbers() -> None:
    assert attribute_text(np.float32(0.1)) == "0.10000000149011612"
    assert attribute_text(np.array([[1, 2]])) == "[[1, 2]]"
    assert attribute_text(np.bool_(True)) == "true"


def test_an_attribute_without_text_is_an_error() -> None:
    with pytest.raises(TypeError, match="expected an attribute that has a text form, got object"):
        attribute_text(object())


_names = st.sampled_from(["n", "m", "k.0"])


def _dims() -> st.SearchStrategy[Dim]:
    leaves = st.one_of(st.integers(-5, 9), _names.map(symbol))

    def extend(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda pair: pair[0] + pair[1]),
            pairs.map(lambda pair: pair[0] - pair[1]),
            pairs.map(lambda pair: pair[0] * pair[1]),
            st.tuples(inner, st.integers(2, 5)).map(lambda pair: pair[0] // pair[1]),
            st.tuples(inner, st.integers(2, 5)).map(lambda pair: pair[0] % pair[1]),
            pairs.map(lambda pair: minimum(*pair)),
            pairs.map(lambda pair: maximum(*pair)),
        )

    return st.recursive(leaves, extend, max_leaves=6)


@given(_dims())
def test_dims_round_trip(dim: Dim) -> None:
    assert _through_text(dim) == dim


ERRORS = {
    "func @f(%x: f31) {\n}": ("expected a type, got 'f31'", 1, "f31"),
    "func @f(%x: f32) {\n  yield %y\n}": ("expected a value defined before, got %y", 2, "%y"),
    "func @f(%x: f32) {\n  %x: f32 = exp %x\n}": ("expected a new name, got %x again", 2, "%x"),
    "func @f(%x: f32) {\n  frobnicate %x\n}": ("expected an op's name, got 'frobnicate'", 2, "frobnicate"),
    "func @f(%x: f32 {\n}": ("expected ',', got '{'", 1, "{"),
    "func @f() {\n  yield ?\n}": ("expected IR, got '?'", 2, "?"),
    "function @f() {}": ("expected func, kernel, host, got 'function'", 1, "function"),
    "func @f() where n > 2 {}": ("expected ==, !=, >= or <, got '>'", 1, "> 2"),
    "func @f() {\n  %0: f32 = exp %0\n}": ("expected a value defined before, got %0", 2, "%0\n"),
    "func @f() {\n": ("expected an op's name, got 'the end'", 2, ""),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_point_at_the_mistake(text: str) -> None:
    message, line, at = ERRORS[text]
    with pytest.raises(ParseError) as caught:
        parse(text)
    first, place, _, source, caret = str(caught.value).split("\n")
    assert first == message
    assert place == f"  --> line {line}"
    column = caret.index("^") - caret.index("|") - 2
    written = text.split("\n")[line - 1]
    assert source.endswith(written)
    assert (written[column:] + "\n").startswith(at)


def test_equality_sees_differences() -> None:
    changes = {
        "exp": "log", "f32[n]": "f64[n]", "value=0.0": "value=-0.0", "%0, %x": "%x, %0", "n >= 2": "n >= 3",
        "@f": "@g",
    }  # fmt: skip
    text = """func @f(%x: f32[n]) where n >= 2 {
  %0: f32[n] = exp %x
  %1: f32 = constant {value=0.0, type=<f32>}
  %2: f32[n] = subtract %0, %x
  yield %2, %1
}"""
    function = parse(text)
    assert structurally_equal(function, parse(text.replace("%x", "%y")))
    for old, new in changes.items():
        assert old in text
        assert not structurally_equal(function, parse(text.replace(old, new)))


def test_facts_and_functions_count_for_equality() -> None:
    function = parse(PROGRAM)
    assert not structurally_equal(function, Function(function.name, function.region, (Fact(N, ">=", 1),)))
    empty = Region((), ())
    assert not structurally_equal(function, Function(function.name, empty))
