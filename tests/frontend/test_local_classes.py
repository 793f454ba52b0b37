"""Classes that a compiled function defines: their methods are compiled as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.truth.whole.same import assert_does_what_python_does

U = np.array([3.0, 1.0, 4.0, 2.0])


def decides_in_methods(u, k):
    class Base:
        def __init__(self, value):
            self.__value = value

        def get(self, big=2.0):
            return self.__value if self.__value > big else -self.__value

        @property
        def sum(self):
            total = 0.0
            for i in range(k):
                total += self.__value * i
            return total

        @staticmethod
        def half_of(value):
            if value < 0:
                return -value / 2
            return value / 2

    class Derived(Base):
        def __init__(self, value):
            super().__init__(value + 1)

        def get(self):
            if k > 2:
                return super().get() + 1
            return super().get()

    thing = Derived(u[1])
    return thing.get(), thing.sum, Derived.half_of(thing.get())


def writes_to_names_outside(u, k):
    total = np.float64(0)

    class Adder:
        limit = k

        def add(self, value):
            nonlocal total
            if value > self.limit:
                total += value

    adder = Adder()
    for value in u:
        adder.add(value)
    return total


START = 2.5


def reads_globals_in_its_body(u, k):
    class Constants:
        start = START
        powers = np.array([1.0, START])

    return u * Constants.start + Constants.powers[0] * k


def adds_data(u, k):
    @dataclass
    class Point:
        x: float
        y: float = np.float64(2)

        def __add__(self, other):
            return Point(self.x + other.x, self.y + other.y if other.y > k else other.y)

        def largest(self):
            return max(self.x, self.y)

    point = Point(u[0], u[1]) + Point(u[2])
    return point.x, point.y, point.largest()


@pytest.mark.parametrize("program", [decides_in_methods, writes_to_names_outside, reads_globals_in_its_body, adds_data])
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(U, k) for k in (2, 1, 5)])


def changes_on_a_decision(u):
    class Counter:
        def __init__(self):
            self.count = 0

        def step(self, value):
            if value > 2:
                self.count += 1

    counter = Counter()
    counter.step(u[0])
    return counter.count


def test_an_object_changes_on_a_decision():
    for u in (U, -U):
        assert_same(jitflow.function(changes_on_a_decision)(u), changes_on_a_decision(u))


def test_a_global_that_a_class_reads_is_never_stale(monkeypatch):
    compiled = jitflow.function(reads_globals_in_its_body)
    for start in (2.5, 3.5):
        monkeypatch.setitem(globals(), "START", start)
        np.testing.assert_array_equal(compiled(U, 1), reads_globals_in_its_body(U, 1))


class Documented:
    """Says what it is."""

    def __init__(self, x):
        self.x = x
        self.before = self.__doc__
        self.__doc__ = self.__doc__.upper()


def test_an_object_has_the_documentation_of_its_class():
    def program(x):
        made = Documented(x)
        return made.x, made.before, made.__doc__, Documented.__doc__

    assert jitflow.function(program)(3) == program(3)
