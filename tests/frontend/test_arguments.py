"""Arguments and results: structures, kinds of numbers, classes of arrays."""

from __future__ import annotations

import enum
import functools
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from jitflow.frontend.outside.arguments import Spec
from tests.frontend.interpreted import interpreted


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class State:
    weights: Any
    step: int
    name: str = "state"


class Mode(enum.Enum):
    PLAIN = 1
    SCALED = 2


def ir_types(fn: Any, *args: Any) -> list[str]:
    return [str(parameter.type) for parameter in interpreted(fn).trace(*args).function.parameters]


def test_numbers_keep_their_kind() -> None:
    def identity(a, b, c, d, e, f):
        return a + 0, b + 0, c * 1, d * 1, e + f

    args = (1, 2.0, 1j, np.float32(2), np.float64(3), np.array(4.0))
    assert ir_types(identity, *args) == ["int", "float", "complex", "f32", "f64", "f64[]"]
    for found, expected in zip(interpreted(identity)(*args), identity(*args), strict=True):
        assert type(found) is type(expected)
        assert found == expected


def test_sizes_are_symbols_and_ones_are_ones() -> None:
    def add(x, y):
        return x + y

    assert ir_types(add, np.ones((5, 1)), np.ones((7,), np.float32)) == ["f64[n, 1]", "f32[m]"]


def test_one_trace_serves_all_sizes() -> None:
    @interpreted
    def total(x):
        return x.sum(axis=0) * len(x)

    for size in (2, 3, 0, 100):
        x = np.arange(size * 2.0).reshape(size, 2)
        np.testing.assert_array_equal(total(x), total.__wrapped__(x))
    assert total.count == 1
    total(np.ones((1, 2)))
    assert total.count == 2  # a dim of 1 broadcasts, and so it is part of the class


def test_layouts_are_classes() -> None:
    @interpreted
    def double(x):
        return x * 2

    base = np.arange(24.0).reshape(4, 6)
    views = [base, base.T, base[:, ::2], base[::2], base[::-1, ::-1], np.asfortranarray(base[:, :3])]
    for view in views:
        np.testing.assert_array_equal(double(view), view * 2)
    layouts = [traced.leaves[0].layout for traced in double.traced]
    assert layouts == ["C", "F", "general", "unit"]


def test_structures_come_in_and_go_out() -> None:
    @interpreted
    def step(batch, state, options):
        first, (second, scale) = batch
        new = {"sum": first + second, "pair": [first * scale, Point(first, 2.5)]}
        return new, State(state.weights + 1, state.step + 1, state.name), options["name"], None, ()

    x, y = np.arange(3.0), np.ones(3)
    args = ([x, (y, 2.0)], State(np.zeros(2), 4), {"name": "adam", "rate": 0.1})
    found, expected = step(*args), step.__wrapped__(*args)
    np.testing.assert_array_equal(found[0]["sum"], expected[0]["sum"])
    assert isinstance(found[0]["pair"], list)
    assert type(found[0]["pair"][1]) is Point
    assert found[0]["pair"][1].x is x
    assert type(found[1]) is State
    assert (found[1].step, found[1].name) == (5, "state")
    assert found[2:] == ("adam", None, ())


def test_the_structure_is_part_of_the_key() -> None:
    @interpreted
    def total(items):
        result = 0.0
        for item in items:
            result = result + item
        return result

    assert total([1.0, 2.0]) == 3.0
    assert total([1.0, 2.0, 3.0]) == 6.0
    assert total((1.0, 2.0)) == 3.0
    assert total.count == 3


def test_an_argument_that_is_returned_is_the_same_object() -> None:
    @interpreted
    def back(x, items, number):
        return x, items, number, x

    x, items, number = np.ones(2), [np.ones(1)], 123456.75
    found = back(x, items, number)
    assert found[0] is x
    assert found[1] is items
    assert found[2] is number
    assert found[3] is x


def test_a_copy_is_not_the_argument() -> None:
    @jitflow.function
    def copied(x):
        return x.copy()

    x = np.ones(3)
    found = copied(x)
    assert found is not x
    assert not np.shares_memory(found, x)


def test_static_arguments_are_constants() -> None:
    @interpreted(static=("axis", "mode"))
    def reduce(x, axis, mode="sum"):
        return x.sum(axis=axis) if mode == "sum" else x.max(axis=axis)

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(reduce(x, 0), x.sum(axis=0))
    np.testing.assert_array_equal(reduce(x, 1), x.sum(axis=1))
    np.testing.assert_array_equal(reduce(x, 1, "max"), x.max(axis=1))
    np.testing.assert_array_equal(reduce(x, axis=0), x.sum(axis=0))
    assert reduce.count == 3


def test_strings_none_types_enums_and_functions_are_guarded() -> None:
    @interpreted
    def apply(x, how, dtype, mode, other=None):
        y = how(x).astype(dtype)
        if mode is Mode.SCALED:
            y = y * 2
        return y if other is None else y + other

    x = np.arange(4.0)
    assert apply(x, np.exp, np.float32, Mode.PLAIN).dtype == np.float32
    np.testing.assert_array_equal(apply(x, lambda z: z + 1, "f8", Mode.SCALED), (x + 1) * 2)
    np.testing.assert_array_equal(apply(x, functools.partial(np.add, 3.0), "f8", Mode.PLAIN, x), 2 * x + 3)
    assert apply.count == 3


def test_variadic_and_keyword_parameters() -> None:
    @interpreted
    def call(first, /, *rest, scale=1.0, **named):
        total = first
        for item in rest:
            total = total + item
        for item in named.values():
            total = total * item
        return total * scale

    for args, kwargs in [((1.0,), {}), ((1.0, 2.0, 3.0), {"scale": 2.0}), ((1.0, 2.0), {"a": 3.0, "b": 4.0})]:
        assert call(*args, **kwargs) == call.__wrapped__(*args, **kwargs)


def test_objects_are_read_and_their_methods_traced() -> None:
    class Layer:
        def __init__(self, weight, bias):
            self.weight, self.bias = weight, bias

        def __call__(self, x):
            return self.activate(x @ self.weight + self.bias)

        def activate(self, x):
            return np.maximum(x, 0)

    @interpreted
    def forward(layer, x):
        return layer(x)

    layer = Layer(np.arange(6.0).reshape(2, 3), -3.0)
    x = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(forward(layer, x), layer(x))
    layer.bias = -20.0
    np.testing.assert_array_equal(forward(layer, x), layer(x))
    assert forward.count == 1
    layer.activate = np.tanh
    np.testing.assert_allclose(forward(layer, x), layer(x))
    assert forward.count == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [("f32[n,784]", "f32[n, 784]"), ("f32[]", "f32[]"), ("float", "float"), ("int", "int"), ("np.f32", "np.f32"),
     ("float32[3]", "f32[3]"), (" c128 [ n , m ] ", "c128[n, m]"), ("bool", "bool")],
)  # fmt: skip
def test_specs_are_read(text: str, kind: str) -> None:
    spec = Spec.parse(text)
    assert str(spec) == kind
    assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize("text", ["", "f32[n", "f33[n]", "f32", "float[-1]", "f32[n+1]", "x", "object[n]"])
def test_wrong_specs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Spec.parse(text)


def test_specs_stand_for_arguments() -> None:
    def add(x, y, s):
        return (x + y) * s

    found = interpreted(add).trace(Spec("f32", ("n", 784)), Spec.parse("f32[784]"), Spec("float"))
    assert [str(parameter.type) for parameter in found.function.parameters] == ["f32[n, 784]", "f32[784]", "float"]
    assert "check" not in str(found.function)


def test_fields_of_named_tuples_made_while_tracing() -> None:
    Pair = namedtuple("Pair", "low high")

    @interpreted
    def bounds(x):
        pair = Pair(x.min(), x.max())
        return pair._replace(high=pair.high + 1)

    found = bounds(np.arange(3.0))
    assert type(found) is Pair
    assert found == (0.0, 3.0)


def test_brain_floats_are_numbers() -> None:
    import ml_dtypes

    @interpreted
    def double(x, s):
        return x * s

    found = double(np.ones(2, ml_dtypes.bfloat16), ml_dtypes.bfloat16(2))
    assert found.dtype == ml_dtypes.bfloat16
    assert double(3.0, ml_dtypes.bfloat16(2)) == 6


def test_bad_arguments_name_themselves() -> None:
    @interpreted
    def double(x):
        return x * 2

    with pytest.raises(UserError, match=r"^x\[1\] has dtype object"):
        double([np.ones(1), np.array([None])])
