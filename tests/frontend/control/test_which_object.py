"""``is``, and what Python takes for it: of what paths and turns leave, the running program knows which object it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.sampled import sampled


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x


class Equal(Plain):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and bool(self.x == other.x)

    __hash__ = None  # type: ignore[assignment]


class Slots:
    __slots__ = ("unset", "x")

    def __init__(self, x: Any) -> None:
        self.x = x


@dataclass(slots=True)
class Record:
    x: Any


def of_a_branch(n: Any, make: Any) -> Any:
    a = x = make(1.0)
    if n > 2:
        x = make(2.0)
    b = make(3.0)
    y = a if n > 2 else b
    return x is a, x == a, x != a, x in [a], x not in (b, a), [a, x].count(a), y is a, y is b, y is x


def of_turns(n: Any, make: Any) -> Any:
    a = b = first = last = make(0.0)
    c = make(7.0)
    seen = 0
    for i in range(n):
        seen += (a is first) + 2 * (a is last) + 4 * (b is c)
        last = a
        a = make(i + 1.0)
        b, c = c, b
    return seen, last is first, a is last, a is first, b is first, c is first


def the_best(n: Any, make: Any) -> Any:
    things = [make(1.0), make(2.0), make(3.0)]
    best = min(things, key=lambda one: abs(one.x - n))
    rest = [one.x for one in things if one is not best]
    place = things.index(best)
    things.remove(best)
    return rest, place, best in things, [one.x for one in things]


def an_attribute(n: Any, make: Any) -> Any:
    held, things = Plain(None), [make(1.0), make(2.0)]
    for one in things:
        if one.x > n - 3:
            held.x = one
    return held.x is None, held.x is things[0], held.x is things[1], held.x == things[1]


def what_changes_behind_it(n: Any, make: Any) -> Any:
    p = q = make(0.0)
    for i in range(n):
        p.x += 1.0
        if i > 2:
            p = p
    if p is q:
        q.x += 5.0
    return p.x, q.x, p is q


def first_with(things: Any, x: Any) -> Any:
    for one in things:
        if one.x == x:
            return one
    return None


def what_a_function_finds(n: Any, make: Any) -> Any:
    things = [make(1.0), make(5.0), make(3.0)]
    found = first_with(things, n)
    return found is None, found is things[0], found is things[1], found is things[2], found in things


@pytest.mark.parametrize("make", sampled([Plain, Equal, Slots, Record], 2))
@pytest.mark.parametrize("program", [of_a_branch, of_turns, the_best, an_attribute, what_changes_behind_it,
                                     what_a_function_finds])  # fmt: skip
def test_objects(program: Any, make: Any) -> None:
    compiled = jitflow.function(program)
    for n in (5, 0, 3, 1):
        assert compiled(n, make) == program(n, make)


@pytest.mark.parametrize("asked", [lambda x, a: hash(x) == hash(a), lambda x, a: {a: 1.0}[x], lambda x, a: len({x, a})])
def test_what_only_python_can_tell_is_refused(asked: Any) -> None:
    def program(n: Any) -> Any:
        a, b = Plain(1.0), Plain(2.0)
        return asked(a if n > 2 else b, a)

    with pytest.raises(jitflow.UserError, match="whether an object is another one"):
        jitflow.function(program)(3)


def test_arrays_lists_and_dicts() -> None:
    def program(a: Any, b: Any, n: Any) -> Any:
        x = a if n > 2 else b
        y = z = np.zeros(2)
        one = other = [1.0, 2.0]
        first = second = {"k": 1.0}
        if n > 3:
            other = [3.0, 4.0]
            second = {"k": 2.0}
        p, q = a, b
        for _ in range(n):
            y = y + 1
            p, q = q, p
        return x is a, x is b, y is z, one is other, first is second, p is a, q is a, y[:] is y, x is not p

    compiled = jitflow.function(program)
    for n in (5, 0, 3, 4):
        assert compiled(np.zeros(2), np.ones(2), n) == program(np.zeros(2), np.ones(2), n)
