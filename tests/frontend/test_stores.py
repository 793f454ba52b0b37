"""Stores to objects of the caller's: in program order, also where the call fails, and by all paths to an object."""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from jitflow.frontend.control import handing_over
from tests.frontend.same_objects import check_objects
from tests.frontend.test_slotted_dicts import caught

PROGRAMS = []


def program(*calls):
    """Enter a program, and the arguments of its calls behind the object."""

    def enter(function):
        PROGRAMS.append((function, calls))
        return function

    return enter


class Thing:
    def __init__(self):
        self.n, self.total, self.mode = 0, 0.0, "a"
        self.x, self.other = np.arange(4.0), None
        self.history, self.state = [], {"step": 0, "rate": 0.5}
        self.layers = [np.ones(2), np.zeros(2)]

    @property
    def doubled(self):
        return self.total * 2

    @doubled.setter
    def doubled(self, value):
        self.total = value / 2

    @property
    def fixed(self):
        return 1


@program((0,), (7,), (1,), (9,))
def arrays_before_what_fails(self, i):
    self.x = self.x * 2
    self.n = 1
    y = self.x[i]
    self.n = 2
    return y


@program((np.eye(2),), (np.zeros((2, 2)),), (np.ones((2, 3)),), (2 * np.eye(2),))
def arrays_before_a_library_fails(self, matrix):
    for k in range(3):
        self.x = self.x + 1
        self.layers[0] = self.x[:2]
        self.history.append(self.x.copy())
        self.layers[1] = np.linalg.solve(matrix, self.layers[0])
        self.total = np.linalg.qr(matrix - k)[1][0, 0]
    return self.total


@program((0,), (7,), (1,))
def an_array_that_is_written_to_later(self, i):
    w = np.zeros(3)
    self.x = w
    w[0] = 5
    v = w[i]
    w[1] = 7
    return v, w


@program((0,), (4,), (7,), (1,))
def other_things(self, i):
    self.pair = (self.n, self.x)
    self.table = {"a": 1.5, "b": [i, i + 1]}
    self.mode = "b" if i > 3 else None
    if i > 5:
        raise ValueError("no")
    self.mode = self.pair[0]


@program((0,), (4,), (0,))
def what_was_not_there(self, i):
    if i > 3:
        self.new = i
    return self.new


@program((0,), (4,), (20,), (3,))
def in_a_loop(self, k):
    for j in range(k):
        self.x = self.x + j
        self.n += j
        if self.n > 50:
            raise ValueError("too much")
        if j % 2:
            self.last = self.total = j / 2
    return self.x.sum()


@program((), ())
def until_it_is_large(self):
    while self.n < 100:
        self.n = self.n * 2 + 1
    return self.n


@program((0,), (3,), (4,))
def swapped(self, k):
    self.y = self.x
    for _ in range(k):
        self.x, self.y = self.y + 1, self.x
    return self.x


@program((2.0,), (3.0,))
def properties(self, w):
    self.total = w
    first = self.doubled
    self.doubled = first + 1
    return first, self.total, self.doubled


@program(())
def a_property_without_a_setter(self):
    self.n = 1
    self.fixed = 2


@program((1,), (2.5,), (np.float32(3),), (True,))
def of_several_types(self, v):
    self.n, self.total = v, self.n
    return self.total


@program((3.0,), (-1.0,))
def an_object_in_an_object(self, v):
    if v > 0:
        self.other = Point(v, self.n)
        self.other.x += 1
    return self.other


@program((1,), (5,), (2,))
def items_of_dicts(self, i):
    self.state["step"] += 1
    self.state["rate"] *= 0.5
    if i > 1:
        self.state["rate"] = i / 2
    y = self.x[i]
    self.state["last"] = y
    return list(self.state)


@program((3,), (30,), (200,))
def items_in_loops(self, k):
    for i in range(k):
        self.layers[0] = self.layers[0] + self.layers[1]
        self.layers[i % 2] = self.layers[1] + i
        self.state["step"] += i
        if self.state["step"] > 1000:
            raise ValueError("too far")
    self.layers[0], self.layers[1] = self.layers[1], self.layers[0]
    return self.layers[0].sum()


@program((3,), (5,), (100,), (2,))
def lists_that_are_appended_to(self, k):
    total = 0.0
    for i in range(k):
        total += self.x[i % 5]
        if i % 3 == 0:
            self.history.append(total)
    self.history.append(-1.0)
    return len(self.history)


@program((1.0,), (2.0,))
def lists_that_change_and_are_read(self, v):
    self.history.append(v)
    self.history += [v + 1, v + 2]
    self.layers.pop(0)
    self.layers.insert(0, self.x * v)
    self.state.pop("rate", None)
    self.state.update(rate=v)
    return self.history[-1], sum(self.history), self.layers


@dataclass
class Point:
    x: float
    y: int = 0

    def move(self, by):
        self.x += by
        self.y += 1
        return self


def outcome(function, thing, arguments):
    arguments = copy.deepcopy(arguments)
    try:
        return function(thing, *arguments), None, ""
    except Exception as error:
        return None, error, str(error).split("\n")[0]


def state(thing):
    """What an object holds, with its class, all the way down, as text."""
    held = vars(thing) if hasattr(thing, "__dict__") else None
    if isinstance(thing, dict | tuple | list):
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        return f"{type(thing).__name__}({[(key, state(item)) for key, item in items]})"
    return repr(thing) if held is None else f"{type(thing).__name__}: {state(held)}"


@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_stores_are_those_of_python(function, calls):
    compiled, ours, theirs = jitflow.function(function), Thing(), Thing()
    for arguments in calls:
        found, expected = outcome(compiled, ours, arguments), outcome(function, theirs, arguments)
        assert found[1] is None or isinstance(found[1], type(expected[1]))
        assert found[2] == expected[2]
        assert state(found[0]) == state(expected[0])
        assert state(ours) == state(theirs)


def test_an_object_is_one_by_all_its_paths():
    @jitflow.function
    def both(one, other, v):
        one.n = v
        other.n += 1
        return one.n

    a, b = Thing(), Thing()
    assert (both(a, a, 3), both(a, b, 5), both(a, a, 7), a.n, b.n) == (4, 5, 8, 8, 1)


def test_a_list_that_is_appended_to_compiles_once():
    @jitflow.function
    def note(self, v):
        self.history.append(v * 2)

    thing = Thing()
    for v in range(20):
        note(thing, float(v))
    assert thing.history == [v * 2.0 for v in range(20)]
    assert note.cache_info().misses == 1


def test_callbacks_see_what_was_stored_before_and_change_what_is_stored_no_more():
    thing, seen = Thing(), []

    def look():
        seen.append((thing.n, thing.x.tolist(), thing.mode, hasattr(thing, "late"), [*thing.history], {**thing.state}))
        thing.mode = "changed"

    def calls(self, k):
        self.n, self.mode = k, "stored"
        self.history.append(k)
        self.state["step"] = k
        jitflow.callback(look)()
        self.x = self.x + 1
        if k > 3:
            jitflow.callback(look)()
        self.late = 1
        self.history.append(k + 1)

    compiled = jitflow.function(calls)
    compiled(thing, 3), compiled(thing, 4)
    found, ours = seen[:], state(thing)
    seen.clear()
    thing = Thing()
    calls(thing, 3), calls(thing, 4)
    assert found == seen
    assert ours == state(thing)


def test_what_is_not_stored_to_keeps_its_identity():
    @jitflow.function
    def step(self, c):
        if c:
            self.total = 2.5
        self.n = 1
        self.other = self.x

    thing = Thing()
    total, x = thing.total, thing.x
    step(thing, False)
    assert thing.total is total
    assert thing.other is x
    assert thing.x is x


def test_calls_on_other_objects_compile_nothing_and_may_run_at_the_same_time():
    @jitflow.function
    def run(self, x, k):
        for i in range(k):
            self.n += 1
            self.total += float(x[i])
        return self

    x, things = np.ones(1000), [Thing() for _ in range(8)]
    assert run(things[0], x, 0) is things[0]

    def call(thing):
        for _ in range(20):
            with pytest.raises(IndexError):
                run(thing, x, 1001)

    threads = [threading.Thread(target=call, args=(thing,)) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(thing.n, thing.total) for thing in things] == [(20020, 20000.0)] * 8
    assert run.cache_info().misses == 1


def test_what_cannot_be_stored_to_is_said():
    class Careful:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

    def store(thing, x):
        thing.x = x

    with pytest.raises(UserError, match="__setattr__ of the class's own"):
        jitflow.function(store)(Careful(), 1.0)

    def store_among_attributes(thing, x):
        thing.__dict__["x"] = x
        return thing.x

    with pytest.raises(UserError, match=r"changing thing\.__dict__"):
        jitflow.function(store_among_attributes)(Thing(), 1.0)

    def loss(thing, x):
        thing.n = 1
        return x * x

    with pytest.raises(UserError, match="in what is differentiated"):
        jitflow.grad(loss, argnums=1)(Thing(), 2.0)
    assert jitflow.function(Point.move)(Point(1.0), 2.0) == Point(3.0, 1)


def shown_twice(d, items, x, k):
    y = x * 2
    d["y"], d["part"], d["copy"] = y, y[1:], y.copy()
    items.append(y)
    return d[k]


def lists_in_two_places(d, items, x, k):
    y = [x * 2, x]
    d["y"] = y
    items.append(y)
    return d[k]


def views_of_arguments(d, items, x, k):
    d["whole"], d["part"], d["copy"] = x[:], x[1:], x.copy()
    items.append(d["part"][:1])
    if x[0] > 1:
        raise KeyError(k)
    return d[k]


def one_of_several(d, items, x, k):
    y = x * 2
    v, z, w, e = y[1:], y, y, [1.0]
    if x[0] > 1:
        v, z, w, e = y[:1], x, x * 3, e + e
    d["v"], d["z"], d["w"], d["x"], d["e"] = v, z, w, x, e
    items.append(y)
    items.append(e)
    return d[k]


def of_turns(d, items, x, k):
    for i in range(int(x[1])):
        z = x * i
        d["z"] = z
        if x[0] > 1 or i < 2:
            d["w"] = z
    return d[k] if x[0] > 1 else d


@pytest.mark.parametrize("run", [shown_twice, lists_in_two_places, views_of_arguments, one_of_several, of_turns])
def test_what_is_one_object_or_memory_is_so_behind_a_call_that_fails(run):
    compiled = caught(jitflow.function(run))
    for first in (1.0, 2.0):
        check_objects(compiled, caught(run), lambda first=first: ({"a": 1}, [2], np.array([first, 3.0])), ("q",))


def test_nothing_is_handed_over_where_a_power_raises_nothing(monkeypatch):
    """A loop of powers behind a store handed the object over in each turn, by a call of Python's."""
    handed = []
    held_things = handing_over.held_things
    monkeypatch.setattr(handing_over, "held_things", lambda *args: handed.append(1) or held_things(*args))

    def powers(d, x, n):
        d["x"], total = x * 2, 0.0
        for i in range(len(x)):
            total += float(x[i]) ** 3 + (i + 1) ** n
        d["total"] = total
        return total

    def attempted(function):
        def call(*args):
            try:
                return [function(*args)]
            except OverflowError as error:
                return [type(error)]

        return call

    compiled = attempted(jitflow.function(powers))
    for x, count in (([1.0, 2.0, 3.0], 0), ([1.0, 1e200], 1)):
        check_objects(compiled, attempted(powers), lambda x=x: ({}, np.array(x), 2))
        assert len(handed) == count
