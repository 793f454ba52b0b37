"""What objects have by their classes: numbers that the program stores there, descriptors, properties, named tuples."""

from __future__ import annotations

from collections import namedtuple
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.whole.same import assert_does_what_python_does


class Bounded:
    """A descriptor whose number is in the object's own dict."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return self if thing is None else thing.__dict__[self.name]

    def __set__(self, thing: Any, value: Any) -> None:
        thing.__dict__[self.name] = min(max(value, self.low), self.high)


class Positive:
    """One whose number is in another attribute, and which counts."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return getattr(thing, self.name)

    def __set__(self, thing: Any, value: Any) -> None:
        if value < 0:
            raise ValueError(f"{self.name} is positive, not {value}")
        setattr(thing, self.name, value)

    def __delete__(self, thing: Any) -> None:
        setattr(thing, self.name, -1)


class Once:
    """One that gives way to what it has put into the object."""

    def __init__(self, function: Any) -> None:
        self.function, self.name = function, function.__name__

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        thing.__dict__[self.name] = value = self.function(thing)
        return value


class Knob:
    made = 0
    level = Bounded(0, 10)
    width = Positive()

    def __init__(self, level: Any, width: Any) -> None:
        self.level, self.width, self.asked = level, width, 0
        Knob.made += 1

    @classmethod
    def count(cls, number: Any) -> None:
        cls.made += number

    @Once
    def area(self) -> Any:
        self.asked += 1
        return self.level * self.width

    @property
    def half(self) -> Any:
        return self.width / 2

    @half.deleter
    def half(self) -> None:
        self.width = 0


def of_its_own(n, width):
    knob = Knob(n, 2)
    knob.level += 3
    found = [knob.level, knob.area, knob.area, knob.asked, knob.width, Knob.level.high, hasattr(knob, "area")]
    for i in range(n):
        knob.width = knob.width + i
    del knob.half
    found.append(knob.width)
    del knob.width
    knob.width = width - knob.width
    return found, knob.half


def of_the_callers(knob, width):
    knob.width += 1
    del knob.width
    knob.width = width
    return knob.width, knob.half, knob.made


def by_classes(n, knob):
    """What a class holds is seen in all its objects, but for those that have their own."""
    for i in range(n):
        Knob(i, 1)
        Knob.count(i)
    first = Knob.made, knob.made, type(knob).made
    knob.made += 1
    Knob.made = Knob.made / 2 if n > 2 else 5
    return first, knob.made, Knob(1, 1).made, Knob.made


@pytest.fixture(autouse=True)
def _count_anew(monkeypatch):
    monkeypatch.setattr(Knob, "made", 0)


@pytest.mark.parametrize("program", [of_its_own, of_the_callers])
@pytest.mark.parametrize("width", [4, -6])
def test_descriptors_and_properties(program, width):
    first = 3 if program is of_its_own else Knob(3, 2)
    Knob.made = 0
    assert_does_what_python_does(program, [(first, width), (first, width + 1)])


def test_numbers_that_classes_hold():
    compiled, knobs = jitflow.function(by_classes), [Knob(1, 1), Knob(1, 1)]
    for n in (3, 2, 4):
        Knob.made = 0
        found = compiled(n, knobs[0]), Knob.made, vars(knobs[0])
        Knob.made = 0
        assert found == (by_classes(n, knobs[1]), Knob.made, vars(knobs[1]))
        for knob in knobs:
            del knob.made


class Reading(NamedTuple):
    place: int
    value: float = 2.5

    def doubled(self) -> float:
        return self.value * 2


Pair = namedtuple("Pair", "x y")


def named_tuples(n):
    reading = Reading._make([1, n])
    pairs = [Pair._make(item) for item in ((n, 1), (n, n), range(2))]
    changed = Reading(n)._replace(value=n / 2), Reading(n) < reading, reading == (1, n), Reading(n)._asdict()
    try:
        Pair._make([n])
    except TypeError as error:
        message = str(error)
    return reading, pairs, changed, reading.doubled(), Reading._fields, Reading._field_defaults, message


def test_named_tuples():
    assert_does_what_python_does(named_tuples, [(3,), (0,)])


class Plate:
    def __init__(self, heat: Any) -> None:
        self.heat, self.steps = heat, 0

    @cached_property
    def first(self) -> float:
        return float(self.heat[0])

    @cached_property
    def total(self) -> Any:
        return self.heat.sum() * self.first


def found_behind_stores(plate, rise):
    plate.heat[0] += rise
    plate.steps += 1
    first = plate.total
    plate.heat[0] += rise
    return first, plate.total, plate.first


def found_in_front(plate, rise):
    first = plate.total
    plate.heat += rise
    return first, plate.total, plate.heat.sum()


@pytest.mark.parametrize("program", [found_behind_stores, found_in_front])
def test_cached_properties_are_found_where_the_program_reads_them_first(program):
    compiled, ours, theirs = jitflow.function(program), *(Plate(np.arange(1.0, 4)) for _ in range(2))
    for _ in range(2):
        assert compiled(ours, 2.0) == program(theirs, 2.0)
        assert vars(ours).pop("heat").tolist() == vars(theirs).pop("heat").tolist()
        assert vars(ours) == vars(theirs)
        ours.heat, theirs.heat = np.arange(3.0), np.arange(3.0)


def test_a_cached_property_that_only_one_path_finds_behind_stores_is_refused():
    def found(plate):
        plate.heat[0] += 1
        return plate.first if plate.heat[1] > 1 else 0.0

    with pytest.raises(UserError, match=r"on a decision of the run, the cached property plate\.first"):
        jitflow.function(found)(Plate(np.arange(3.0)))
