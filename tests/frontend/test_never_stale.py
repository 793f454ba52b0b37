"""Never stale, with control flow: whatever a program reads may be edited between calls, and the next call sees it.

Each scenario edits something, and compares the compiled function with plain Python after each edit. Both readers of a
plan run them: native code, and the Python entry in front of the interpreter.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.frontend.interpreted import interpreted

Make = Callable[[Any], Any]
X = np.arange(6.0)

GAIN = 2.0
TABLE = np.arange(3.0)
LIMIT = 4
USE_TABLE = True
SETTINGS: dict[str, Any] = {"rates": [0.5, 0.25], "mode": "sum", "by": {"x": 2.0}}


@pytest.fixture(params=["native", "python"])
def make(request: pytest.FixtureRequest) -> Make:
    """What compiles a function."""
    return jitflow.function if request.param == "native" else interpreted


def agrees(compiled: Any, *args: Any) -> None:
    """Compiled and plain give the same now, twice."""
    for _ in range(2):
        found, expected = compiled(*args), compiled.__wrapped__(*args)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def count(compiled: Any) -> int:
    """How often it was compiled."""
    return compiled.count if hasattr(compiled, "count") else compiled.cache_info().misses


# -- globals ------------------------------------------------------------------------------------------------


def sums_with_globals(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        if x[i % 6] > LIMIT:
            total += GAIN
        else:
            total += TABLE[i % 3] * GAIN
    while total > 1000:
        total /= GAIN
    return total


def test_globals_in_loops_and_branches(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(sums_with_globals)
    agrees(program, X, 10)
    for name, value in (("GAIN", 3.0), ("TABLE", np.full(3, 7.0)), ("GAIN", 200.0)):
        monkeypatch.setitem(globals(), name, value)
        agrees(program, X, 10)
    TABLE[1] = 70
    agrees(program, X, 10)
    assert count(program) == 1
    for name, value in (("LIMIT", 2), ("LIMIT", 2.5), ("GAIN", np.float32(2)), ("TABLE", np.arange(3))):
        monkeypatch.setitem(globals(), name, value)
        agrees(program, X, 10)


def chooses_by_globals(x: Any, n: int) -> Any:
    total = x[0]
    for _ in range(n):
        if USE_TABLE:
            total = total + TABLE.sum()
        elif SETTINGS["mode"] == "sum":
            total = total + len(SETTINGS["rates"])
        else:
            for rate in SETTINGS["rates"]:
                total = total * rate
        total = total + SETTINGS["by"].get("x", 1.0)
    return total


def test_flags_and_containers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(chooses_by_globals)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "USE_TABLE", False)
    agrees(program, X, 5)
    monkeypatch.setitem(SETTINGS, "rates", [1.5, 2.0, 0.5])
    agrees(program, X, 5)
    monkeypatch.setitem(SETTINGS, "mode", "product")
    agrees(program, X, 5)
    SETTINGS["rates"][1] = 3.0
    agrees(program, X, 5)
    SETTINGS["rates"].append(0.125)
    agrees(program, X, 5)
    monkeypatch.setitem(SETTINGS["by"], "x", 10.0)
    agrees(program, X, 5)
    monkeypatch.delitem(SETTINGS["by"], "x")
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "USE_TABLE", np.bool_(True))
    agrees(program, X, 5)


def counts(x: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        total += len(x) + abs(-i)
    return total


def test_builtins_that_are_hidden(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(counts)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "abs", lambda number: number * 10)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "len", lambda array: 100)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "range", lambda n: [1, 2])
    agrees(program, X, 5)
    for name in ("abs", "len", "range"):
        monkeypatch.delitem(globals(), name)
        agrees(program, X, 5)


def test_a_global_that_goes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(sums_with_globals)
    agrees(program, X, 10)
    monkeypatch.delitem(globals(), "GAIN")
    with pytest.raises(NameError, match="GAIN"):
        program(X, 10)
    monkeypatch.setitem(globals(), "GAIN", 5.0)
    agrees(program, X, 10)


# -- cells --------------------------------------------------------------------------------------------------


def test_cells_in_loops_and_nested_functions(make: Make) -> None:
    offset, table, helper = 1.0, np.arange(3.0), None

    def program(x, n):
        def inner(y):
            if y > 2:
                return y * offset
            return helper(y) if helper is not None else -y

        total = 0.0
        for i in range(n):
            total += inner(x[i]) + table[i % 3]
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    offset = 10.0
    agrees(compiled, X, 6)
    table = np.full(3, 5.0)
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    helper = abs
    agrees(compiled, X, 6)

    def shifted(y):
        return y + offset

    helper = shifted
    agrees(compiled, X, 6)
    offset = 3
    agrees(compiled, X, 6)
    helper.__closure__[0].cell_contents = 100.0
    agrees(compiled, X, 6)


def test_one_cell_of_several_functions(make: Make) -> None:
    rate = 0.5

    def decay(x):
        return x * rate if x > 1 else x

    def program(x, n):
        y = x[n]
        while y > rate:
            y = decay(y) - 0.25
        return y

    compiled = make(program)
    agrees(compiled, X, 5)
    rate = 0.75
    agrees(compiled, X, 5)
    assert count(compiled) == 1


# -- functions ----------------------------------------------------------------------------------------------


def weight(x: Any, power: Any = 2, *, scale: Any = 1.0) -> Any:
    if x > 1:
        return x**power * scale
    return x * scale


def weigh_twice(x: Any, offset: Any = 0.5) -> Any:
    return weight(weight(x) + offset)


def weighs(x: Any, n: int, start: Any = 1.0, *, step: Any = 1) -> Any:
    total = start
    for i in range(n):
        total = total + weigh_twice(x[i]) * step
    return total


def test_defaults_and_code_of_helpers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(weighs)
    agrees(program, X, 5)
    for target, name, value in (
        (weight, "__defaults__", (3,)),
        (weight, "__kwdefaults__", {"scale": 2.0}),
        (weigh_twice, "__defaults__", (0.75,)),
        (weigh_twice, "__defaults__", (np.float64(0.25),)),
        (weight, "__code__", (lambda x, power=2, *, scale=1.0: x + power if x > 2 else x - scale).__code__),
        (weigh_twice, "__code__", (lambda x, offset: weight(x) - offset).__code__),
    ):
        monkeypatch.setattr(target, name, value)
        agrees(program, X, 5)
    weight.__kwdefaults__["scale"] = 7.0  # the dict itself is edited
    agrees(program, X, 5)
    weight.__kwdefaults__["scale"] = 1.0
    agrees(program, X, 5)


def test_defaults_and_code_of_the_function(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(weighs)
    agrees(program, X, 5)
    for name, value in (
        ("__defaults__", (2.0,)),
        ("__defaults__", (np.arange(2.0),)),
        ("__kwdefaults__", {"step": 3}),
        ("__code__", (lambda x, n, start, *, step: start - x[n] * step if x[0] > -1 else start).__code__),
        ("__code__", (lambda x, n, start, *, step: start + x[n] * step if x[0] > -1 else start).__code__),
    ):
        monkeypatch.setattr(weighs, name, value)
        agrees(program, X, 5)
    weighs.__kwdefaults__["step"] = 4
    agrees(program, X, 5)


def test_replaced_helpers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(weighs)
    agrees(program, X, 5)
    original = weight
    monkeypatch.setitem(globals(), "weight", lambda x: -x if x > 3 else x * GAIN)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "GAIN", 12.0)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "weight", np.sqrt)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "weight", original)
    agrees(program, X, 5)
    monkeypatch.setitem(globals(), "weigh_twice", functools.partial(original, power=3))
    agrees(program, X, 5)


def test_arrays_in_defaults(make: Make) -> None:
    default = np.ones(6)

    def add(x, i, y=default, *, z=default):
        return x[i] + y[i] if x[i] > 2 else z[i]

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += add(x, i)
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    default[:] = 5
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    add.__defaults__ = (X * 2,)
    agrees(compiled, X, 6)


def repeated(times: int) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def run(x: Any) -> Any:
            for _ in range(times):
                x = function(x)
            return x

        return run

    return decorate


def test_decorated_helpers(make: Make) -> None:
    @repeated(3)
    def halve(x):
        return x / 2 if x > 1 else x + 1

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += halve(x[i])
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    halve.__wrapped__.__code__ = (lambda x: x / 4 if x > 2 else x + 2).__code__
    agrees(compiled, X, 6)
    names = halve.__code__.co_freevars
    halve.__closure__[names.index("times")].cell_contents = 5
    agrees(compiled, X, 6)
    halve.__closure__[names.index("function")].cell_contents = abs
    agrees(compiled, X, 6)
    halve = repeated(2)(lambda x: x - 1)
    agrees(compiled, X, 6)


def test_partials(make: Make) -> None:
    def scaled(x, by, offset):
        return x * by if x > 2 else x + offset

    part = functools.partial(scaled, by=2.0, offset=1.0)

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += part(x[i])
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    part.keywords["by"] = 5.0
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    part.keywords["offset"] = 3
    agrees(compiled, X, 6)
    scaled.__code__ = (lambda x, by, offset: x - by if x > offset else x).__code__
    agrees(compiled, X, 6)
    part = functools.partial(scaled, by=np.float64(1.5), offset=2.0)
    agrees(compiled, X, 6)
    part = functools.partial(lambda x, y: x * y, 3.0)
    agrees(compiled, X, 6)


def test_functions_in_containers_and_attributes(make: Make) -> None:
    steps: list[Any] = [lambda x: x + 1, lambda x: x * 2 if x > 2 else x]
    table: dict[str, Any] = {"last": abs}

    def program(x, n):
        total = 0.0
        for i in range(n):
            y = x[i]
            for step in steps:
                y = step(y)
            total += table["last"](y)
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    steps[1] = lambda x: x * 3 if x > 2 else -x
    agrees(compiled, X, 6)
    steps.append(lambda x: x - 10)
    agrees(compiled, X, 6)
    table["last"] = lambda x: x if x > 0 else 0.0
    agrees(compiled, X, 6)
    steps.pop(0)
    agrees(compiled, X, 6)


def test_cached_and_compiled_helpers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    @functools.lru_cache
    def factor(n):
        return GAIN * n

    @make
    def inner(x):
        return x * GAIN if x > 2 else x + factor(3)

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += inner(x[i])
        return total

    compiled = make(program)
    first = compiled(X, 6)
    monkeypatch.setitem(globals(), "GAIN", 9.0)
    factor.cache_clear()
    assert compiled(X, 6) != first
    assert compiled(X, 6) == sum(x * 9.0 if x > 2 else x + 27.0 for x in X)
    inner.__wrapped__.__code__ = (lambda x: x - factor(1) if x > 1 else x * GAIN).__code__
    assert compiled(X, 6) == sum(x - 9.0 if x > 1 else x * 9.0 for x in X)


def test_code_that_differs_in_a_constant(make: Make) -> None:
    def program(x, n):
        total = 0.0
        for i in range(n):
            if x[i] > 3:
                break
            total += 2
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    code = program.__code__
    program.__code__ = code.replace(co_consts=tuple(5 if constant == 3 else constant for constant in code.co_consts))
    with pytest.raises(UserError) as caught:  # no source says so, and what the source says must not run
        compiled(X, 6)
    assert "control flow is not compiled: the text of" in caught.value.found
    program.__code__ = code
    agrees(compiled, X, 6)


# -- objects ------------------------------------------------------------------------------------------------


class Layer:
    slope = 0.5

    def __init__(self) -> None:
        self.bias = 1.0
        self.table = np.arange(6.0)

    def activate(self, x: Any) -> Any:
        return x if x > 0 else x * self.slope

    @property
    def double(self) -> Any:
        return self.bias * 2

    @staticmethod
    def clip(x: Any) -> Any:
        return x if x < 4 else 4.0

    @classmethod
    def shared(cls, x: Any) -> Any:
        return x * cls.slope

    def __call__(self, x: Any, i: Any) -> Any:
        return self.clip(self.activate(x - self.bias) + self.table[i]) + self.shared(x) + self.double


class Steep(Layer):
    slope = 3.0


def applies(layer: Any, x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += layer(x[i], i)
        if layer.bias > total:
            total -= layer.activate(-total)
    return total


LAYER = Layer()


def test_attributes_and_methods(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Layer()
    by_argument = make(applies)

    def program(x, n):
        return applies(layer, x, n) + applies(LAYER, x, n)

    compiled = make(program)

    def both() -> None:
        agrees(by_argument, layer, X, 6)
        agrees(compiled, X, 6)

    both()
    layer.bias, layer.table = 2.5, np.full(6, 0.5)
    LAYER.table[:] = 3
    both()
    assert count(compiled) == 1
    for target, name, value in (
        (Layer, "slope", 0.125),
        (layer, "slope", 8.0),
        (Layer, "activate", lambda self, x: -x if x > 1 else x + self.slope),
        (Layer, "clip", staticmethod(lambda x: x if x < 2 else 2.0)),
        (Layer, "shared", classmethod(lambda cls, x: x - cls.slope if x > 0 else x)),
        (Layer, "double", property(lambda self: self.bias * 20)),
        (Layer, "__call__", lambda self, x, i: self.activate(x) * i if x > 1 else self.double),
        (layer, "activate", lambda x: x * 100),
        (layer, "bias", 7),
    ):
        monkeypatch.setattr(target, name, value, raising=False)
        both()
    Layer.activate.__code__ = (lambda self, x: x + 5 if x > 1 else x).__code__
    both()
    layer.__class__ = Steep
    both()
    monkeypatch.setattr(Steep, "shared", classmethod(lambda cls, x: x * 2), raising=False)
    both()


def test_inherited_and_overridden(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Base:
        def forward(self, x):
            return x + 1 if x > 2 else x

    class Middle(Base):
        pass

    class Deep(Middle):
        def forward(self, x):
            return super().forward(x) * 2

    model = Deep()

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += model.forward(x[i])
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    Base.forward = lambda self, x: x - 1 if x > 1 else x
    agrees(compiled, X, 6)
    Middle.forward = lambda self, x: x * 10 if x > 1 else x
    agrees(compiled, X, 6)
    del Middle.forward
    agrees(compiled, X, 6)
    del Deep.forward
    agrees(compiled, X, 6)


@dataclasses.dataclass
class Body:
    mass: Any
    position: Any
    tag: str = "free"


def test_dataclasses_in_lists(make: Make) -> None:
    bodies = [Body(1.0, np.zeros(2)), Body(2.0, np.ones(2))]

    def program(x, n):
        total = np.zeros(2)
        for i in range(n):
            for body in bodies:
                if body.tag == "free":
                    total += body.position * body.mass * x[i]
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    bodies[0].mass, bodies[1].position = 5.0, np.array([3.0, 4.0])
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    bodies[1].tag = "fixed"
    agrees(compiled, X, 6)
    bodies[0] = Body(7, np.arange(2.0))
    agrees(compiled, X, 6)
    bodies.append(Body(1.5, np.full(2, 9.0)))
    agrees(compiled, X, 6)


def test_modules(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    physics = types.ModuleType("physics_of_a_user")
    exec(
        "G = 9.81\ndef fall(t):\n    return 0.5 * G * t * t\ndef far(t):\n    return fall(t) + 1\n",
        physics.__dict__,
    )

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += physics.far(x[i]) if x[i] > 1 else physics.G
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    physics.G = 1.62
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    physics.fall = lambda t: t
    agrees(compiled, X, 6)
    monkeypatch.setitem(globals(), "np", types.SimpleNamespace(asarray=np.asarray, testing=np.testing))
    agrees(compiled, X, 6)


class Twice:
    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return self if thing is None else thing.rate * 2


class Total:
    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return thing.x.sum() * 2


class Kinds:
    rate: Any = 2.0
    doubled = Twice()

    @jitflow.function
    def compiled(self, x):
        return x * self.rate

    @functools.lru_cache  # noqa: B019
    def remembered(self, n):
        return n + 1

    @property
    def makes(self):
        rate = self.rate
        return lambda x: x + rate


KINDS = Kinds()


def uses_members(x: Any) -> Any:
    made = Kinds()
    return (
        made.compiled(x) + KINDS.compiled(x),
        made.remembered(3),
        made.makes(x) * KINDS.makes(x) + KINDS.doubled * made.doubled,
    )


def test_kinds_of_members(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = make(uses_members)
    for rate in (2.0, 3.0, np.arange(6.0)):
        monkeypatch.setattr(Kinds, "rate", rate)
        for found, expected in zip(compiled(X), uses_members(X), strict=True):
            np.testing.assert_array_equal(found, expected)


class Held:
    def __init__(self) -> None:
        self.x = np.arange(3.0)

    @property
    def total(self):
        return self.x.sum()


class HeldTwice(Held):
    doubled_total = Total()

    @property
    def total(self):
        return super().total * 2


def changes_what_a_property_reads(held: Any, other: Any) -> Any:
    before = held.total
    held.x[0] += 10
    found = before, held.total, held.doubled_total
    other[1] = 7
    return *found, held.total, held.doubled_total


def test_properties_and_descriptors_read_what_has_changed(make: Make) -> None:
    compiled = make(changes_what_a_property_reads)
    for held, expected in ((HeldTwice(), HeldTwice()), (HeldTwice(), HeldTwice())):
        assert compiled(held, held.x) == changes_what_a_property_reads(expected, expected.x)


def weighted(x: Any, power: Any = 2) -> Any:
    return x**power * GAIN


@dataclasses.dataclass
class Recipe:
    w: Any
    act: Any = weighted
    rates: Any = dataclasses.field(default_factory=lambda: [GAIN, 1.0])
    table: Any = dataclasses.field(default_factory=lambda: TABLE, init=False)
    bias: Any = dataclasses.field(default_factory=lambda: np.zeros(3))


class Step(NamedTuple):
    w: Any
    act: Any = weighted
    table: Any = TABLE


def makes_records(x: Any) -> Any:
    recipe, step = Recipe(x[:3]), Step(x[3:])
    recipe.bias[1] += recipe.w[2]
    recipe.rates.append(5.0)
    assert type(recipe) is Recipe
    assert type(step) is Step
    total = recipe.act(recipe.w) + step.act(step.w) + recipe.table + step.table + recipe.bias
    return total * recipe.rates[0] + len(recipe.rates)


def test_what_constructors_of_records_hold(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defaults, and what makes them, are read as all else is: by constructors that Python has written."""
    compiled = make(makes_records)
    agrees(compiled, X)
    for gain in (5.0, np.arange(3.0)):
        monkeypatch.setitem(globals(), "GAIN", gain)
        agrees(compiled, X)
    monkeypatch.setitem(globals(), "TABLE", np.full(3, 7.0))
    agrees(compiled, X)
    monkeypatch.setattr(weighted, "__defaults__", (3,))
    agrees(compiled, X)


@dataclasses.dataclass
class Plain:
    w: Any = 1.0


Pair = collections.namedtuple("Pair", "w v", defaults=(2.0,))


def test_records_are_of_their_class(make: Make) -> None:
    def program(x: Any, pair: Any) -> Any:
        plain, named = Plain(x), Pair(x)
        same = [type(plain) is Plain, type(named) is Pair, type(pair) is Pair, plain.__class__ is Plain]
        return [*same, type(plain) is type(named), {Plain: 1, Pair: 2}[type(named)]]

    assert make(program)(X, Pair(X)) == program(X, Pair(X)) == [True] * 4 + [False, 2]


# -- control flow that was rewritten ------------------------------------------------------------------------


def test_reads_behind_a_concrete_decision(make: Make) -> None:
    mode, left, right = "left", 1.0, 2.0

    def program(x, n):
        total = 0.0
        for i in range(n):
            if mode == "left":
                total += x[i] * left
            else:
                total -= x[i] * right
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    right = 20.0  # not read so far
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    mode = "right"
    agrees(compiled, X, 6)
    left = 30.0
    agrees(compiled, X, 6)
    assert count(compiled) == 2
    mode, right = "left", np.float32(3)
    agrees(compiled, X, 6)


def test_trip_counts_from_outside(make: Make) -> None:
    rounds, stop = 3, 2.0

    def program(x):
        y = x[-1]
        for _ in range(rounds):
            y = y * 0.5 if y > stop else y + 1
        for value in [rounds, stop]:
            y += value
        return y

    compiled = make(program)
    for new_rounds, new_stop in ((3, 1.0), (0, 1.0), (100, 1.5), (2500, -1.0), (7, 3)):
        rounds, stop = new_rounds, new_stop
        agrees(compiled, X)


def test_recursion(make: Make) -> None:
    base = 1.0

    def power(x, n):
        if n == 0:
            return base
        return x * power(x, n - 1) if x > 0 else base

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += power(x[i], 3)
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    base = 2.0
    agrees(compiled, X, 6)
    assert count(compiled) == 1
    power.__code__ = (lambda x, n: x + power(x, n - 1) if n > 0 else base + power.__code__.co_argcount * 0).__code__
    agrees(compiled, X, 6)


# -- what is not there --------------------------------------------------------------------------------------


def test_absent_attributes(make: Make) -> None:
    class Plain:
        pass

    thing, module = Plain(), types.ModuleType("a_module_of_a_user")

    def program(x, n):
        total = 0.0
        for i in range(n):
            total += thing.bias if hasattr(thing, "bias") else x[i]
            total += module.rate if hasattr(module, "rate") else 0.5
            total += getattr(Plain, "slope", 2.0)
        return total

    compiled = make(program)
    agrees(compiled, X, 6)
    module.rate = 3.0
    agrees(compiled, X, 6)
    Plain.bias = 10.0
    agrees(compiled, X, 6)
    Plain.slope = 0.125
    agrees(compiled, X, 6)
    thing.bias = 20.0
    agrees(compiled, X, 6)
    del thing.bias, Plain.bias, Plain.slope, module.rate
    agrees(compiled, X, 6)


def test_a_class_that_comes_between(make: Make) -> None:
    class Base:
        def forward(self, x):
            return x + 1

    class Other:
        pass

    class Deep(Other, Base):
        def forward(self, x):
            return super().forward(x) if x > 2 else x

    model = Deep()

    def program(x):
        return model.forward(x[3]) + model.forward(x[4])

    compiled = make(program)
    agrees(compiled, X)
    Other.forward = lambda self, x: x * 10
    agrees(compiled, X)
    del Other.forward
    agrees(compiled, X)


def test_names_that_come(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x):
        try:
            scale = A_GLOBAL_THAT_COMES
        except NameError:
            scale = 1.0
        try:
            offset = later
        except NameError:
            offset = 0.0
        return x * scale + offset

    compiled = make(program)
    agrees(compiled, X)
    monkeypatch.setitem(globals(), "A_GLOBAL_THAT_COMES", 3.0)
    agrees(compiled, X)
    later = 5.0
    agrees(compiled, X)
    monkeypatch.delitem(globals(), "A_GLOBAL_THAT_COMES")
    agrees(compiled, X)
    del later
    agrees(compiled, X)


def test_objects_that_python_asks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Values:
        def __init__(self):
            self.data = [1.0, 2.0, 3.0]

        def __getitem__(self, i):
            return self.data[i] * 2

        def __len__(self):
            return len(self.data)

        def __bool__(self):
            return len(self.data) > 2

        def __iter__(self):
            return iter(self.data)

    values = Values()

    def program(x):
        total = x[0]
        for i in range(len(values)):
            total = total + values[i]
        if values:
            total = total * 2
        for value in values:
            total = total - value * 0.5
        return total

    compiled = make(program)
    agrees(compiled, X)
    values.data[1] = 9.0
    agrees(compiled, X)
    values.data.pop()
    agrees(compiled, X)
    for name, method in (
        ("__getitem__", lambda self, i: self.data[i] * 100),
        ("__len__", lambda self: 1),
        ("__bool__", lambda self: True),
        ("__iter__", lambda self: iter([4.0, 5.0])),
    ):
        setattr(Values, name, method)
        agrees(compiled, X)


def mine(x):
    return x + table[0]


table = np.array([100.0])


def sines(x):
    return np.sin(x) + np.linalg.norm(x) + math.sqrt(4.0) + np.pi


@pytest.mark.parametrize("put", [mine, np.cos, lambda x: x * 2])
def test_members_of_modules_are_read_at_every_call(monkeypatch: pytest.MonkeyPatch, put: Any):
    compiled, x = jitflow.function(sines), np.ones(2)
    own = compiled(x)
    with monkeypatch.context() as patch:
        patch.setattr(np, "sin", put)
        np.testing.assert_allclose(compiled(x), sines(x), rtol=1e-15)
        table[0] += 1.0
        np.testing.assert_allclose(compiled(x), sines(x), rtol=1e-15)
        patch.setattr(np.linalg, "norm", np.sum)
        patch.setattr(np, "pi", 3.0)
        np.testing.assert_allclose(compiled(x), sines(x), rtol=1e-15)
        patch.setattr(math, "sqrt", mine)
        np.testing.assert_allclose(compiled(x), sines(x), rtol=1e-15)
    np.testing.assert_array_equal(compiled(x), own)


def test_members_that_modules_of_ours_do_not_have():
    for program in (lambda x: jitflow.nn.nope(x), lambda x: jitflow.nope(x), lambda x: np.nope(x)):
        with pytest.raises(AttributeError, match=r"module '\w+(\.nn)?' has no attribute 'nope'") as caught:
            jitflow.function(program)(np.ones(2))
        assert str(caught.traceback[-1].path) == __file__

    def asked(x):
        try:
            return jitflow.nn.nope(x), hasattr(np, "nope")
        except AttributeError:
            return x, getattr(jitflow.nn, "nope", None) is None

    assert jitflow.function(asked)(2.0) == (2.0, True)


class Reflected:
    def __ror__(self, other):
        return 1


def test_unions_of_classes():
    def kinds(x):
        return isinstance(x, np.ndarray | Reflected), isinstance(x, Reflected | float), isinstance(x, Reflected | None)

    for argument in (np.ones(2), 2.0):
        assert jitflow.function(kinds)(argument) == kinds(argument)


class Documented:
    """Once."""


def test_texts_of_classes_are_their_own_and_those_of_the_moment() -> None:
    thing = Documented()

    @jitflow.function
    def run(x: float) -> tuple[float, str]:
        return x + len(thing.__doc__ or ""), Documented.__doc__ or ""

    assert run(1.0) == (6.0, "Once.")
    Documented.__doc__ = "Twice."
    assert run(1.0) == (7.0, "Twice.")
