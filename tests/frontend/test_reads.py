"""Never stale: what the program reads from outside is read again at every call."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import types
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError, UserNotImplementedError
from tests.frontend.interpreted import interpreted

SCALE = 2.0
TABLE = np.arange(3.0)
SETTINGS: dict[str, Any] = {"rate": 0.5, "layers": [np.ones(3), np.ones(3)]}


@dataclasses.dataclass
class State:
    weight: Any
    rate: float


class Config:
    rate = 0.1
    use_bias = True


def helper(x, power=2):
    return x**power * SCALE


def reads_globals(x):
    return x * SCALE + TABLE


def test_global_numbers_and_arrays_are_inputs(monkeypatch) -> None:
    fn = interpreted(reads_globals)
    x = np.ones(3)
    np.testing.assert_array_equal(fn(x), reads_globals(x))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(fn(x), reads_globals(x))
    TABLE[0] += 1
    np.testing.assert_array_equal(fn(x), reads_globals(x))
    monkeypatch.setitem(globals(), "TABLE", np.full(3, 7.0))
    np.testing.assert_array_equal(fn(x), reads_globals(x))
    assert fn.count == 1


def test_a_global_of_another_kind_compiles_anew(monkeypatch) -> None:
    fn = interpreted(reads_globals)
    x = np.ones(3, np.float32)
    assert fn(x).dtype == np.float64
    monkeypatch.setitem(globals(), "TABLE", np.ones(3, np.float32))
    assert fn(x).dtype == np.float32
    monkeypatch.setitem(globals(), "SCALE", np.float64(2))
    assert fn(x).dtype == np.float64
    assert fn.count == 3


def test_a_global_that_hides_a_builtin(monkeypatch) -> None:
    @interpreted
    def smallest(x, y):
        return min(x, y)

    assert smallest(1.0, 2.0) == 1.0
    monkeypatch.setitem(globals(), "min", lambda x, y: x + y)
    assert smallest(1.0, 2.0) == 3.0


def test_cells_are_inputs() -> None:
    offset = 1.0

    @interpreted
    def shift(x):
        return x + offset

    assert shift(1.0) == 2.0
    offset = 10.0
    assert shift(1.0) == 11.0
    offset = np.arange(2.0)
    np.testing.assert_array_equal(shift(1.0), [1.0, 2.0])
    assert shift.count == 2


def test_helpers_are_guarded_by_what_they_do(monkeypatch) -> None:
    @interpreted
    def outer(x):
        return helper(x)

    assert outer(3.0) == 18.0
    monkeypatch.setitem(globals(), "SCALE", 1.0)
    assert outer(3.0) == 9.0
    assert outer.count == 1
    monkeypatch.setattr(helper, "__defaults__", (3,))
    assert outer(3.0) == 27.0
    monkeypatch.setattr(helper, "__code__", (lambda x, power=2: x + power).__code__)
    assert outer(3.0) == 6.0
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    assert outer(3.0) == -3.0
    assert outer.count == 4


def test_helpers_defaults_that_are_arrays_are_read() -> None:
    default = np.ones(2)

    def add(x, y=default):
        return x + y

    @interpreted
    def outer(x):
        return add(x)

    np.testing.assert_array_equal(outer(1.0), [2.0, 2.0])
    default[:] = 5
    np.testing.assert_array_equal(outer(1.0), [6.0, 6.0])


def test_the_functions_own_defaults_and_code() -> None:
    def scaled(x, by=2.0):
        return x * by

    fn = interpreted(scaled)
    assert fn(1.0) == 2.0
    scaled.__defaults__ = (3.0,)
    assert fn(1.0) == 3.0
    scaled.__code__ = (lambda x, by: x + by).__code__
    assert fn(1.0) == 4.0


def test_attributes_of_classes_objects_and_modules(monkeypatch) -> None:
    module = types.ModuleType("settings_of_a_user")
    module.rate = 2.0

    class Model:
        def __init__(self):
            self.weight = np.ones(2)

    model = Model()

    @interpreted
    def step(x):
        return x * Config.rate * module.rate + model.weight

    def expected():
        return 1.0 * Config.rate * module.rate + model.weight

    np.testing.assert_array_equal(step(1.0), expected())
    monkeypatch.setattr(Config, "rate", 0.7)
    np.testing.assert_array_equal(step(1.0), expected())
    module.rate = 3.0
    model.weight = np.full(2, 9.0)
    np.testing.assert_array_equal(step(1.0), expected())
    assert step.count == 1
    model.weight = 4
    assert step(1.0) == expected()
    assert step.count == 2


def test_flags_and_counts_outside_are_pinned(monkeypatch) -> None:
    times = 2

    @interpreted
    def repeat(x):
        for _ in range(times):
            x = x * 3
        if Config.use_bias:
            x = x + times
        return x

    assert repeat(1.0) == 11.0
    monkeypatch.setattr(Config, "use_bias", False)
    assert repeat(1.0) == 9.0
    times = 3
    assert repeat(1.0) == 27.0
    assert repeat.count == 3


def test_containers_are_read_item_by_item() -> None:
    @interpreted
    def combine(x):
        total = x * SETTINGS["rate"]
        for layer in SETTINGS["layers"]:
            total = total + layer
        return total

    x = np.ones(3)
    np.testing.assert_array_equal(combine(x), x * 2.5)
    SETTINGS["rate"] = 1.5
    SETTINGS["layers"][0] = np.full(3, 2.0)
    np.testing.assert_array_equal(combine(x), x * 4.5)
    assert combine.count == 1
    SETTINGS["layers"].append(np.ones(3))
    np.testing.assert_array_equal(combine(x), x * 5.5)
    assert combine.count == 2


def test_items_that_nobody_uses_may_be_anything() -> None:
    table = {"rate": 2.0, "names": {np.str_("a")}, "file": np.array(["x"])}

    @interpreted
    def scale(x):
        return x * table["rate"]

    @interpreted
    def uses(x):
        return x if "a" in table["names"] else -x

    assert scale(3.0) == 6.0
    with pytest.raises(UserError, match=r"an item of table\['names'\] is a numpy.str_"):
        uses(3.0)


def test_long_containers_are_refused() -> None:
    table = tuple(range(5000))

    @interpreted
    def first(x):
        return x + table[0]

    with pytest.raises(UserError, match="a tuple of 5000 items"):
        first(1.0)


def test_absent_attributes_are_guarded() -> None:
    class Layer:
        pass

    layer = Layer()

    @interpreted
    def apply(x):
        return x + layer.bias if hasattr(layer, "bias") else x

    assert apply(1.0) == 1.0
    layer.bias = 2.0
    assert apply(1.0) == 3.0


def test_functions_read_through_their_modules() -> None:
    @interpreted
    def area(radius):
        return math.pi * radius**2 + math.sqrt(radius) + np.exp(radius)

    expected = math.pi * 4 + math.sqrt(2.0) + np.exp(2.0)
    assert area(2.0) == expected


def test_modules_imported_inside() -> None:
    @interpreted
    def inside(x):
        import math as m
        from math import sqrt

        import numpy as xp

        return xp.exp(x) + sqrt(x) + m.floor(x)

    assert inside(2.5) == np.exp(2.5) + math.sqrt(2.5) + 2


def test_inner_functions_and_comprehensions_read_too() -> None:
    factor = 2.0

    @interpreted
    def outer(x):
        def inner(y):
            return y * factor + SCALE

        return [inner(x) for _ in range(2)], sum(y * SCALE for y in (x, x))

    assert outer(1.0) == ([4.0, 4.0], 4.0)
    factor = 3.0
    assert outer(1.0) == ([5.0, 5.0], 4.0)
    assert outer.count == 1


def test_inherited_methods_and_types_of_objects() -> None:
    class Layer:
        scale = 2.0

        def __init__(self, bias):
            self.bias = bias

        def forward(self, x):
            return x * type(self).scale + self.bias

    class Deep(Layer):
        def forward(self, x):
            return super().forward(x) + super(Deep, self).forward(x)  # noqa: UP008

    @interpreted
    def run(layer, x):
        y = layer.forward(x)
        return y + 1 if type(layer) is Deep else y

    for layer in (Layer(1.0), Deep(3.0)):
        assert run(layer, 2.0) == run.__wrapped__(layer, 2.0)
    Layer.scale = 5.0
    assert run(Deep(3.0), 2.0) == run.__wrapped__(Deep(3.0), 2.0)
    assert run.count == 2
    Layer.forward = lambda self, x: x
    assert run(Deep(3.0), 2.0) == 5.0
    assert run.count == 3


def test_types_of_traced_values() -> None:
    @interpreted
    def types(x, s, f):
        return (type(x) is np.ndarray, type(s) is float, type(f) is np.float32, type(len(x)) is int,
                isinstance(float, type), type([]) is list)  # fmt: skip

    args = (np.ones(3), 1.0, np.float32(1))
    assert types(*args) == types.__wrapped__(*args)


def test_dataclasses_are_read_replaced_and_returned() -> None:
    @interpreted
    def step(state, gradient):
        return dataclasses.replace(state, weight=state.weight - state.rate * gradient)

    state = State(np.ones(3), 0.5)
    found = step(state, np.ones(3))
    assert type(found) is State
    np.testing.assert_array_equal(found.weight, np.full(3, 0.5))
    state.rate = 0.25
    np.testing.assert_array_equal(step(state, np.ones(3)).weight, np.full(3, 0.75))
    assert step.count == 1


def test_constants_of_pythons_library(monkeypatch: pytest.MonkeyPatch) -> None:
    @interpreted
    def smallest(x):
        return min(x, sys.maxsize) + sys.float_info.epsilon, sys.byteorder == "none", sys.version_info >= (3, 8)

    assert smallest(2.0) == (2.0 + sys.float_info.epsilon, False, True)
    monkeypatch.setattr(sys, "byteorder", "none")
    assert smallest(2.0) == (2.0 + sys.float_info.epsilon, True, True)

    @interpreted
    def arguments(x):
        return sys.argv == x

    with pytest.raises(UserNotImplementedError, match=r"sys\.argv is not known to be pure"):
        arguments(1.0)


def test_cached_helpers_are_traced_anew() -> None:
    @functools.lru_cache
    def table(n):
        return n * SCALE

    @interpreted
    def outer(x):
        return x + table(2)

    assert outer(1.0) == 5.0


def test_closures_over_themselves() -> None:
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert interpreted(power, static=("n",))(2.0, 5) == 32.0


def test_compiled_functions_are_inlined() -> None:
    scale = 3.0

    @interpreted
    def inner(x):
        return x * scale

    @interpreted
    def outer(x):
        return inner(x) + 1

    assert outer(2.0) == 7.0
    scale = 4.0
    assert outer(2.0) == 9.0
    assert outer.count == 1
    assert inner.count == 0


def test_native_calls_are_never_stale_either(monkeypatch) -> None:
    offset = 1.0

    @jitflow.function
    def everything(x):
        return x * SCALE + offset + Config.rate + SETTINGS["rate"]

    def expected(x):
        return x * SCALE + offset + Config.rate + SETTINGS["rate"]

    x = np.arange(4.0)
    np.testing.assert_array_equal(everything(x), expected(x))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(everything(x), expected(x))
    offset = 2.0
    np.testing.assert_array_equal(everything(x), expected(x))
    monkeypatch.setattr(Config, "rate", 0.9)
    np.testing.assert_array_equal(everything(x), expected(x))
    monkeypatch.setitem(SETTINGS, "rate", 11.0)
    np.testing.assert_array_equal(everything(x), expected(x))
    assert everything.cache_info().misses == 1
