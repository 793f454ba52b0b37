"""Python's own objects that a program changes in loops and branches: as Python does, or an error, never once."""

from __future__ import annotations

import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_same


@dataclass
class Point:
    x: float
    y: float = 0.0


def counts_with_an_iterator(u):
    counter, total = itertools.count(), 0.0
    for item in u:
        total += item * next(counter)
    return total


def asks_an_iterator_on_a_path(u):
    items, first = iter([1.0, 2.0, 3.0]), 0.0
    if u[0] > 0:
        first = next(items)
    return first + next(items)


def asks_a_generator_on_a_path(u):
    def items():
        yield 1.0
        yield 2.0

    made, first = items(), 0.0
    if u[0] > 0:
        first = next(made)
    return first + next(made)


def asks_a_zip_in_some_turns(u):
    pairs, total = zip([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], strict=True), 0.0
    for item in u:
        if item > 1:
            total += next(pairs)[0]
    return total


def chooses_what_a_list_gives(u):
    items = [1.0, 2.0, 3.0]
    first = items.pop() if u[0] > 0 else 0.0
    return first + items[-1]


def adds_to_a_set_on_a_path(u):
    found = {1}
    if u[0] > 0:
        found.add(2)
    return len(found)


def sets_an_item_on_a_path(u):
    found = OrderedDict(a=1.0)
    if u[0] > 0:
        found["a"] = 3.0
    return found["a"]


def sets_a_field_on_a_path(u):
    point = Point(0.0)
    if u.sum() > 0:
        point.x = 1.0
    else:
        point.y = 2.0
    return point.x, point.y


def sets_a_field_while(u):
    point = Point(0.0)
    while point.x < u[0]:
        point.x += 1
    return point.x


def sets_a_field_in_its_test(u):
    point = Point(0.0)

    def moves():
        point.x += u[0]
        return point.x < 9.0

    while moves():
        point.y += 1.0
    return point.x, point.y


def keeps_the_last_three(u):
    last = deque([0.0], maxlen=3)
    for item in u:
        last.append(item)
    return sum(last)


def counts_turns(u):
    counts, sums = Counter(), defaultdict(float)
    for item in u:
        counts["turns"] += 1
        sums["all"] += item
    return counts["turns"], sums["all"]


def sums_in_an_object(u):
    sums, point = SimpleNamespace(x=0.0), Point(1.0)
    for item in u:
        sums.x += item
        point.y += sums.x
    return sums.x, point.y


def stores_in_a_default(u):
    def stored(item, items=[]):  # noqa: B006
        items.append(item)
        return len(items)

    total = 0
    for item in u:
        total += stored(item)
    return total


def stores_in_a_function_and_a_class(u):
    def function():
        pass

    class Class:
        count = 0

    function.count = 0
    for _ in u:
        function.count += 1
        Class.count += 2
    return function.count, Class.count


def stores_through_a_closure(u):
    lists = [[0.0], [1.0]]

    def add(item):
        lists[0].append(item)

    for item in u:
        add(item)
    return len(lists[0])


def makes_points(u):
    point = first = Point(0.0)
    for item in u:
        point = Point(point.x + item, item)
    return point.x, first.x


def takes_from_a_list_in_its_test(u):
    items, turns = [1, 2, 3, 4], 0
    while items.pop() > 1:
        turns += 1
    return turns, len(items), u[0]


def leaves_the_rest_of_an_iterator(u):
    items = iter([1, 2, 3])
    for item in items:
        if item == 2:
            break
    return next(items) + u[0]


REFUSED = [
    counts_with_an_iterator,
    asks_an_iterator_on_a_path,
    asks_a_generator_on_a_path,
    asks_a_zip_in_some_turns,
]
COMPILED = [
    adds_to_a_set_on_a_path,
    sets_a_field_while,
    sets_a_field_in_its_test,
    sets_an_item_on_a_path,
    sets_a_field_on_a_path,
    chooses_what_a_list_gives,
    keeps_the_last_three,
    counts_turns,
    sums_in_an_object,
    stores_in_a_default,
    stores_in_a_function_and_a_class,
    stores_through_a_closure,
    makes_points,
    takes_from_a_list_in_its_test,
    leaves_the_rest_of_an_iterator,
]


@pytest.mark.parametrize("program", COMPILED, ids=lambda program: program.__name__)
def test_objects_change_as_in_python(program: Callable[..., Any]) -> None:
    for turns in (2, 9):
        u = np.arange(1.0, turns)
        assert_same(jitflow.function(program)(u), program(u))


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_what_only_python_could_do_is_an_error(program: Callable[..., Any]) -> None:
    with pytest.raises(UserNotImplementedError, match=r"moves on in it|that changes on a decision|changes in the loop"):
        jitflow.function(program)(np.arange(1.0, 9.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: itertools.permutations(range(3)), lambda: itertools.product(range(3), repeat=2),
        lambda: itertools.combinations(range(4), 2), lambda: itertools.combinations_with_replacement(range(4), 2),
        lambda: itertools.cycle([1, 2]), lambda: itertools.chain([1, 2], [3]), lambda: itertools.islice([1, 2, 3], 3),
        lambda: itertools.chain.from_iterable([[1], [3]]), lambda: itertools.accumulate([1, 2, 3]),
        lambda: itertools.pairwise([1, 2, 3]), lambda: itertools.zip_longest([1, 2], [3]), lambda: itertools.count(),
        lambda: itertools.takewhile(bool, [1, 2]), lambda: itertools.compress([1, 2, 3], [1, 1, 1]),
        lambda: itertools.tee([1, 2, 3])[0], lambda: itertools.starmap(max, [(1, 2), (3, 4)]),
        lambda: itertools.filterfalse(math.isnan, [1, 2]),
    ],
)  # fmt: skip
def test_iterators_of_itertools_tell_how_far_they_are(make: Callable[[], Any]) -> None:
    def program(x):
        items = make()
        if x > 0:
            next(items)
        return next(items)

    with pytest.raises(UserNotImplementedError, match="moves on in it"):
        jitflow.function(program)(-1)


def test_what_has_no_next_item_is_told_when_the_program_asks() -> None:
    def program(x):
        try:
            if x > 0:
                next(iter([]))
        except StopIteration:
            return 5
        return 2 if x < 0 else next(iter([]))

    compiled = jitflow.function(program)
    assert [compiled(x) for x in (-1, 1)] == [2, 5]
    with pytest.raises(StopIteration):
        compiled(0)


def test_iterators_inside_of_a_turn() -> None:
    def program(u):
        total = 0.0
        for item in u:
            pair = iter((item, 2.0))
            total += next(pair) * next(pair)
        return total

    u = np.arange(9.0)
    assert_same(jitflow.function(program)(u), program(u))


def changes_an_object_by_two_names(u, turns):
    point = Point(0.0)
    pair, other = (point, {"z": 1.0}), point
    for index in range(turns):
        point.x = point.x + u[index % 3]
        pair[1]["z"] *= 1.5
        other.y += pair[0].x
    return point.x, pair[0].y, other is point, pair[1]["z"]


def changes_objects_in_branches(u, turns):
    best, row = {"value": -1, "where": None, "name": "none"}, [0.0, 1, "a"]
    for index in range(turns):
        row[0] += u[index % 3]
        if u[index % 3] > best["value"]:
            best["value"], best["where"] = u[index % 3], index
            best["name"] = "found"
        elif index > 2000:
            row[1] = 7
            break
    return best["value"], best["where"], best["name"], row


def changes_objects_in_a_nest(u, turns):
    sums, point = {"inner": 0, "outer": 0}, Point(1.0)
    for _ in range(turns // 8):
        made = [0.0, u]
        for index in range(turns):
            made[0] += u[index % 3]
            made[1] = made[1] * 0.5
            sums["inner"] += 1
        point.x, point.y = point.y, point.x + made[0]
        sums["outer"] += made[1][0]
    return sums, point.x, point.y


def swaps_arrays_in_a_list(u, turns):
    rows = first, second = [np.zeros(3), np.ones(3)]
    for index in range(turns):
        rows[0][index % 3] += u[0]
        rows[0], rows[1] = rows[1], rows[0]
    return rows[0], rows[1], first, second


def goes_through_the_list_that_it_changes(u, turns):
    items, total = [0.0] * 6, 0.0
    for item, other in zip(items, u, strict=False):
        items[2] += other
        total += item * turns
    return items, total


def changes_the_form_later(u, turns):
    items, rest = [0], Point(turns)
    for index in range(9):
        if type(items[0]) is int:
            items[0] = u[0]
        elif index < 2:
            items.append(u[1])
        rest.x += u[0]
    return items, rest.x


def counts_until_it_is_done(u, turns):
    state = SimpleNamespace(turn=0, sum=0.0, keys=("a", "b"))
    while True:
        if state.turn >= turns:
            break
        state.turn += 1
        state.sum += len(state.keys) * u[state.turn % 3]
    return state.turn, state.sum


CARRYING = [
    changes_an_object_by_two_names,
    changes_objects_in_branches,
    changes_objects_in_a_nest,
    swaps_arrays_in_a_list,
    goes_through_the_list_that_it_changes,
    changes_the_form_later,
    counts_until_it_is_done,
]


@pytest.mark.parametrize("program", CARRYING, ids=lambda program: program.__name__)
def test_native_loops_carry_what_objects_hold(program: Callable[..., Any]) -> None:
    u, compiled = np.array([0.5, 2.0, 1.0]), jitflow.function(program)
    for turns in (0, 1, 60) if program is changes_objects_in_a_nest else (0, 1, 3500):
        assert_same(compiled(u.copy(), turns), program(u.copy(), turns))


def test_gradients_of_what_objects_hold() -> None:
    def carried(u, turns):
        point, held, row = Point(0.0), {"scale": 1.0, "row": u * 0.5}, [0.0]
        for index in range(turns):
            point.x = point.x + u[index] * held["scale"]
            if u[index] > 2:
                held["scale"] = held["scale"] * u[index]
            held["row"] = held["row"] * u
            row[0] += held["row"][index]
        return point.x + row[0]

    u, step = np.array([1.0, 2.5, 0.3, 4.0]), 1e-6 * np.eye(4)
    expected = [(carried(u + one, 4) - carried(u - one, 4)) / 2e-6 for one in step]
    np.testing.assert_allclose(jitflow.grad(carried)(u, 4), expected, rtol=1e-7)


def test_what_python_says_is_told_where_a_loop_carries_objects() -> None:
    def program(u):
        point = Point(0.0)
        for _ in range(3500):
            point.x += u[0]
        return point.x + point.z

    with pytest.raises(AttributeError, match="z"):
        jitflow.function(program)(np.ones(3))
