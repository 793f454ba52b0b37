"""Dicts of which the run decides which keys are there, and in which order: the caller's and the program's own."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.frontend.same_objects import check_objects

PROGRAMS = []
NUMBERS = (-2.0, -1.0, 1.0, 3.0)


class Box:
    def __init__(self, table):
        self.table = table

    def __repr__(self):
        return f"Box({vars(self)})"


def program(*make):
    """Enter a program of a number and of what each of some functions makes."""

    def enter(function):
        PROGRAMS.append((function, make or (dict, lambda: {"b": 1, "a": 2})))
        return function

    return enter


def caught(function):
    """The result of a call, or the exception that ends it."""

    def call(*args):
        try:
            return [function(*args)]
        except (KeyError, ValueError, RuntimeError, IndexError) as error:
            assert not isinstance(error, jitflow.UserError), error.render()
            return [repr(error)]

    return call


@program()
def a_key_that_may_be_missing(d, x):
    if x > 0:
        d["a"] = x
    d["z"] = 2
    d["c"] = d["a"]
    return d["c"]


@program()
def the_order_of_insertion(d, x):
    if x > 1:
        d["a"] = 1
    elif x > 0:
        d["b"], d["a"] = 2, 1
    elif x < -1:
        d["c"] = 0
    d["b"] = 5
    if x < 0:
        d.pop("b")
        d["a"], d["b"] = 3, 4
    return list(d), list(d.values()), [k + "!" for k, v in d.items() if v > 1], len(d), sorted(d), "c" in d, bool(d)


@program()
def keys_of_loops(d, x):
    for i in range(6):
        if x > i:
            d["above"] = d.get("above", 0) + 1
        if x < i and "above" in d:
            del d["above"]
        key = "even" if i > x else "odd"
        d[key] = i
        if i > x + 4:
            d["left"] = i
            break
    return d.setdefault("left", x), d.pop("none", None), d.pop("b", 9)


@program()
def changes_before_what_fails(d, x):
    if x > 0:
        d.setdefault("list", []).append(x)
    if x > 2:
        raise ValueError(f"bad {x}")
    d["n"] = {"x": [x]} if x > 0 else None
    if "a" in d:
        d.clear()
    if x < -1:
        raise KeyError("no")
    d["m"] = 1


@program(lambda: {"k": 1})
def two_names(d, x):
    other = d
    if x > 0:
        other["new"] = x
    if x > 1:
        d["self"] = [other["k"]]
    return other, d is other


@program(lambda: [{"k": 1}, {"k": 2}])
def one_of_two(dicts, x):
    one, other = dicts
    if x < 0:
        one["left"] = x
    chosen = one if x > 0 else other
    chosen["k"] += 1
    chosen["new"] = x
    return chosen


@program(lambda: [{"k": 1}] * 2, lambda: [{"k": 1}, {"k": 1}])
def one_by_two_paths(dicts, x):
    if x > 0:
        dicts[0]["new"] = x
    dicts[1]["other"] = 1
    return "new" in dicts[1], len(dicts[0])


@program(lambda: {"in": {"k": 1}})
def dicts_in_dicts(d, x):
    inner = d["in"]
    if x > 0:
        inner["new"] = x
    if x > 2:
        d["again"] = inner
    else:
        d["fresh"] = {"a": 1}
    inner["k"] += 1
    if "fresh" in d:
        d["fresh"]["b"] = x
    return inner


@program(lambda: Box({"a": 1}))
def of_an_object(box, x):
    if x > 0:
        box.table["b"] = x
    if x > 2:
        box.table = {"fresh": 1}
    box.table["c"] = 1
    return box.table


@program(lambda: {"a": np.arange(3.0)})
def arrays(d, x):
    old = d["a"]
    if x > 0:
        d["b"] = old
    d["c"] = old * x
    old += 1
    if x > 2:
        del d["a"]
    return d.get("b")


@program()
def several_kinds(d, x):
    if x > 0:
        d["a"] = "text"
    if x > 2:
        d["a"] = None
    if x < 0:
        d[1], d[2.5], d["t", 1] = (1, x), "b", x
    return d.get("a")


@program(dict)
def whole_dicts(d, x):
    e = {"q": 1}
    if x > 0:
        d.update(b=x, a=2)
    if x < 0:
        e["r"] = 2
    if x > 2:
        d.update({"c": 1}, a=4)
    d.update(e)
    d |= {"end": 1}
    return d | {"x": 1}, {**d, "b": 2}, dict(d), {"y": 0} | e, e == {"q": 1}, e != {"r": 2, "q": 1}, max(d.values())


@program(dict)
def what_the_turns_of_a_loop_change(d, x):
    if x > 0:
        d["a"] = 1
    d["b"] = 2
    for key in d:
        if x > 1:
            d["new"] = 1
        if x < -1:
            del d[key]
    return len(d)


@program()
def in_a_try(d, x):
    if x > 0:
        d["k"] = x
    try:
        found = d["k"]
    except KeyError as error:
        d["missing"] = str(error)
        found = None
    finally:
        d["done"] = True
    return found


@program()
def of_the_program(_, x):
    found, last = [], {}
    for i in range(3):
        d = {"i": i}
        if x > i:
            d["big"] = x
        if "big" in d:
            last = d
        found.append(d)
    if x > 2:
        return found, last, last
    return found, last, {}


@program(lambda: {"low": 1.0, "high": None}, lambda: {"low": [2]})
def one_list_under_a_chosen_key(d, x):
    own = ["own"]
    d["high" if x > 0 else "low"] = own
    return own, [own]


@program(lambda: [{"k": 1}, {"k": [2]}], lambda: [["k"], {"k": 1}])
def one_list_in_a_chosen_thing(things, x):
    own = ["own"]
    thing = things[0] if x > 0 else things[1]
    thing[0 if isinstance(thing, list) else "k"] = own
    return own, [own]


@program(lambda: {"low": 1.0}, lambda: {"low": [2], "last": None}, dict)
def takes_what_came_last(d, x):
    if x > 0:
        d["last"] = x
    if x > 2:
        d["low"] = d.pop("low", 0)
    own = {"a": 1, "b": 2}
    if x > 1:
        own.popitem()
    return d.popitem(), own.popitem(), own


@program(dict)
def takes_all(d, x):
    for i in range(3):
        d["k"] = i
        if x > i:
            d["m"] = x + i
    found = []
    while d:
        found.append(d.popitem())
    return found


@pytest.mark.parametrize(("run", "make"), PROGRAMS, ids=[run.__name__ for run, _ in PROGRAMS])
def test_dicts_are_pythons(run, make):
    compiled = caught(jitflow.function(run))
    for each in make:
        for x in (*NUMBERS, NUMBERS[0]):
            check_objects(compiled, caught(run), lambda each=each: (each(),), (x,))
