"""``match`` with patterns that name classes, sequences and mappings, and guards of what they bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does

X = np.linspace(0.5, 2, 4)


@dataclass
class Point:
    x: Any
    y: Any = 1.0


@dataclass
class Solid(Point):
    z: Any = 2.0


class Pair(NamedTuple):
    u: Any
    v: Any = 3.0


class Circle:
    __match_args__ = ("radius",)

    def __init__(self, radius):
        self.radius = radius


def kinds(x, shape):
    match shape:
        case Solid(a, b, c):
            return x * a + b - c
        case Point(x=w):
            return x * w
        case Pair(u, 3.0):
            return u * 2
        case Pair(u, v):
            return u * v
        case Circle(radius) if radius > 2:
            return x * radius
        case Circle() as circle:
            return x - circle.radius
        case Point() | int() | float() as other:
            return x + other
        case str(text):
            return x * len(text)
        case None:
            return x
    return -x


def made_and_nested(x, n):
    match Point(Point(x[n], 2.0), Pair(3.0, n)):
        case Point(Point(a, b), Pair(u, v)) if a > 1.2 and v:
            return a * b + u
        case Point(Point(a), Pair(v=2)):
            return a
        case Point(y=Pair(u)) if u < 0:
            return u
    return x[0]


def chosen(x, n):
    shape = Point(x[n]) if n > 1 else Solid(x[n])
    match shape, n % 2:
        case Solid(a), 0:
            return a * 2
        case Point(a), _:
            return a * 3


def in_a_loop(x, n):
    for i in range(n):
        match Point(x[i % 4], i):
            case Point(a) if a > 1:
                x[0] += a
                continue
            case Point(_, 3):
                break
            case Point(y=k) if k == 2:
                x[1] += k
    else:
        x[2] = 99
    return x


def too_many(x):
    match Point(x):
        case Point(a, b, c):
            return a, b, c


def what_it_has_not(x):
    match Point(x):
        case Point(radius=2):
            return x
    return -x


SHAPES = [Point(2.0), Solid(1.0, 2.0, 3.0), Pair(X), Pair(X, 9.0), Circle(1.0), Circle(5.0), 3, 2.5, "ab", None, (1,)]


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (kinds, [(X, shape) for shape in SHAPES]),
        (made_and_nested, [(X, n) for n in range(4)]),
        (chosen, [(X, n) for n in range(4)]),
        (in_a_loop, [(X, n) for n in (0, 1, 3, 4, 9)]),
        (too_many, [(X,)]),
        (what_it_has_not, [(X,)]),
    ],
)
def test_patterns_that_name_classes(program, calls):
    assert_does_what_python_does(program, calls)


def in_the_callers_list(items, n):
    match items:
        case []:
            items.append(n)
        case [first]:
            items[0] = first + n
        case [first, second] if first > n:
            items[1] += 2
        case [_, (2 | 3) as second, *others]:
            items[0] = second
            return others
        case [first, *others, last]:
            return first, others, last, len(items)
    return items


def of_a_list_that_grows(x, n):
    items = [1]
    for i in range(n):
        items.append(i)
    match items:
        case [one]:
            return one
        case [one, *others]:
            items[0] = 5
            return one, others, items


def of_several_kinds(x, n):
    thing = None if n > 2 else (x[0], n) if n else [x[1], 3, n]
    match thing:
        case None:
            return x
        case [a, b]:
            return a + b
        case [a, [] | 3 as b, *c]:
            return b, c


def what_is_no_sequence(thing):
    match thing:
        case [a, b]:
            return a, b
        case {"a": [a, *_], **others}:
            others["new"] = a
            return others
        case {"b": b}:
            return b
        case {}:
            return "a mapping"
    return "another"


LISTS = [[], [3], [9, 1], [1, 2], [1, 3, 4], [1, 5, 6, 7], [0.5, 2.0], [0.5, 1, 2.5]]
THINGS = [(1, 2), [1, 2], [X, 2], range(2), {}, {"b": 2}, {"a": (1, 2), "c": 3}, {"a": 1, "b": 2}, "ab", X, 3, None,
          Pair(1), Circle(2.0)]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (in_the_callers_list, [(items, n) for items in LISTS for n in (1, 20)]),
        (of_a_list_that_grows, [(X, n) for n in range(4)]),
        (of_several_kinds, [(X, n) for n in (0, 1, 3)]),
        (what_is_no_sequence, [(thing,) for thing in THINGS]),
    ],
)
def test_patterns_of_sequences_and_mappings(program, calls):
    assert_does_what_python_does(program, calls)
