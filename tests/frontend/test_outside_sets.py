"""Sets from outside: known while tracing, looked at by each call, and gone through in the order that they have."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.frontend.interpreted import interpreted

X = np.arange(3.0)
NAMES: Any = set()
OTHERS: Any = frozenset()
TABLE: dict[str, Any] = {"kinds": {"f", "i"}, "pairs": [{("a", 1)}, frozenset({("b", None)})]}


def shown(thing: Any) -> Any:
    """A result with all that can be told of it: classes, and the order of sets."""
    if isinstance(thing, np.ndarray):
        return thing.dtype, thing.tolist()
    if isinstance(thing, set | frozenset | tuple | list):
        return type(thing), [shown(item) for item in thing]
    return type(thing), thing


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return shown(function(*args))
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins"), str(error).splitlines()[0]


def agrees(function: Callable[..., Any], *args: Any) -> None:
    """Compiled and plain do the same now, in native code and by the Python entry."""
    for compiled in made(function):
        found, expected = outcome(compiled, *copy.deepcopy(args)), outcome(function, *copy.deepcopy(args))
        assert found == expected or found[1] == f"error: {expected[1]}", function


def made(function: Callable[..., Any]) -> tuple[Any, Any]:
    if function not in _MADE:
        _MADE[function] = jitflow.function(function), interpreted(function)
    return _MADE[function]


_MADE: dict[Any, Any] = {}


def checks(x, kind):
    if kind not in NAMES:
        raise ValueError(f"unknown {kind!r}, expected one of {sorted(map(str, NAMES))}")
    return x * len(NAMES) if kind in OTHERS or not OTHERS else x


def asks(names):
    unknown = set(names) - NAMES
    left = {"a", "q", 7}
    left -= NAMES
    told = set(names) >= NAMES, NAMES.issuperset(names), {*names} == NAMES, NAMES != OTHERS, NAMES.isdisjoint(names)
    kinds = type(NAMES) is set, isinstance(OTHERS, frozenset), isinstance(NAMES, list), {OTHERS: 1}[OTHERS]
    return told, kinds, OTHERS < NAMES, len(unknown), len(left), NAMES - {"a": 1}.keys()


def goes_through(name):
    order = []
    for one in NAMES:
        order.append(one)
    grown = {name}
    same = grown
    grown |= NAMES
    grown.update(OTHERS)
    made_of = [NAMES | {name}, {name} | NAMES, NAMES & {name, "b", 17}, NAMES ^ OTHERS, OTHERS | NAMES, set(NAMES),
               frozenset(NAMES), NAMES.copy(), {*NAMES}, {name}.union(NAMES), copy.copy(NAMES)]  # fmt: skip
    return order, same is grown, grown, made_of, list(NAMES), f"{NAMES} {OTHERS}", [len(str(one)) for one in NAMES]


@pytest.mark.parametrize("program", [checks, asks, goes_through])
def test_what_is_in_a_set_is_seen_at_each_call(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {checks: (X, "a"), asks: (["a", "b"],), goes_through: ("q",)}[program]
    for names, others in [({"a", "b"}, frozenset()), ({"a", "b", "c", "d", "e", "f"}, frozenset({"a", None}))]:
        monkeypatch.setitem(globals(), "NAMES", names)
        monkeypatch.setitem(globals(), "OTHERS", others)
        agrees(program, *arguments)
        names.add("c")
        agrees(program, *arguments)
        names.discard("a")
        agrees(program, *arguments)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_types_and_order_are_part_of_what_is_seen(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = 1, True, 1.0, np.float64(1), 0.0, -0.0
    pairs = [("a", 1)], [("a", True)], [frozenset({1}), "a"], [frozenset({True}), "a"]
    for items in (*([number, "a"] for number in numbers), [1, 9, 17, "a"], [17, 9, 1, "a"], *pairs):
        monkeypatch.setitem(globals(), "NAMES", kind(items))
        agrees(order_of)


def order_of():
    return [str(one) + type(one).__name__ for one in NAMES], list(NAMES)


def is_there(thing):
    return thing in NAMES


def test_numbers_and_texts_of_the_run_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NAMES", {None, "auto", 1, 2.5, (1, 2)})
    for thing in (1, 2, 2.5, True, np.int64(1), np.float32(2), None, "auto", "1", (1, 2), (1, 3), X[:1], [1], {}):
        agrees(is_there, thing)

    def some(x, names):
        return [str(int(v)) in NAMES for v in x], sum(name in NAMES for name in names), x[1] in NAMES

    agrees(some, X, ["auto", "x"])


def within():
    return "f" in TABLE["kinds"], ("a", 1) in TABLE["pairs"][0], [len(pairs) for pairs in TABLE["pairs"]]


def test_sets_inside_of_other_objects() -> None:
    agrees(within)
    TABLE["kinds"].discard("f")
    agrees(within)
    TABLE["pairs"][0].clear()
    agrees(within)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_classes_functions_and_objects_are_items(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [int, np.float64, np.mean, np.dtype("f4"), Color.RED, test_sets_inside_of_other_objects, Color]
    monkeypatch.setitem(globals(), "NAMES", {*items})
    for compiled in made(is_there):
        for thing in (*items, np.float32, np.std, np.dtype("f8"), Color.BLUE):
            assert compiled(thing) == is_there(thing)


class Thing:
    pass


def test_objects_as_keys_are_told_apart_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    things = [Thing() for _ in range(3)]
    monkeypatch.setitem(globals(), "NAMES", {things[0]})

    def among(one, other):
        return one in NAMES, one in {other}, len({one, other}), {things[0]: 1, things[1]: 2}.get(one)

    compiled = jitflow.function(among)
    for one in things:
        for other in things:
            assert compiled(one, other) == among(one, other)
    NAMES.clear()
    NAMES.add(things[2])
    assert [compiled(one, one)[0] for one in things] == [False, False, True]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NAMES", {"a", "b"})
    with pytest.raises(UserError, match="changing NAMES"):
        jitflow.function(lambda: NAMES.add("c"))()
    with pytest.raises(UserError, match="let the set stand first"):
        jitflow.function(lambda: {"a": 1}.keys() & NAMES)()
    monkeypatch.setitem(globals(), "NAMES", {Thing, "b"})
    with pytest.raises(UserError, match="whose order would tell where objects lie"):
        jitflow.function(lambda: NAMES | {"c"})()
    monkeypatch.setitem(globals(), "NAMES", {*map(str, range(5000))})
    with pytest.raises(UserError, match="make it a frozenset"):
        jitflow.function(is_there)("a")
    monkeypatch.setitem(globals(), "NAMES", frozenset(NAMES))
    agrees(is_there, "4999")
