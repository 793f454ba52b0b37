"""``super()``: members of a base class are bound as Python binds them, to the object and to its own class."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import jitflow


class Base:
    scale = 2.0

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @classmethod
    def scaled(cls, x: float) -> Any:
        return cls.scale * x

    @classmethod
    def make(cls, weight: float) -> Any:
        return cls(weight)

    @jitflow.function
    def decides(self, x: float) -> Any:
        return self.weight * x if x > 0 else -self.weight

    @functools.cached_property
    def cached(self) -> Any:
        return self.weight * 3

    def line(self, slope: float, x: float) -> Any:
        return self.weight + slope * x

    steep = functools.partialmethod(line, 10.0)


class Derived(Base):
    scale = 5.0

    def by_the_object(self, x: float) -> Any:
        return super().scaled(x)

    @classmethod
    def scaled(cls, x: float) -> Any:
        return super().scaled(x) + 1

    @classmethod
    def make(cls, weight: float) -> Any:
        return super().make(weight + 1)

    def decides(self, x: float) -> Any:
        return super().decides(x) + 1

    @functools.cached_property
    def cached(self) -> Any:
        return super().cached + 1

    def steeper(self, x: float) -> Any:
        return super().steep(x) * 2


def reads(thing: Any, x: float) -> Any:
    made = type(thing).make(x)
    return (thing.by_the_object(x), type(thing).scaled(x), type(made) is type(thing), made.weight, thing.decides(x),
            thing.decides(-x), thing.cached, thing.steeper(x), Base.steep(thing, x))  # fmt: skip


def reads_of_a_made_one(weight: float, x: float) -> Any:
    return reads(Derived(weight), x)


def test_members_are_bound_to_the_object_and_its_class() -> None:
    """Class methods got the base class, compiled functions no object, and ``super()`` in a class method was refused."""
    assert jitflow.function(reads)(Derived(2.0), 3.0) == reads(Derived(2.0), 3.0)
    assert jitflow.function(reads_of_a_made_one)(2.0, 3.0) == reads_of_a_made_one(2.0, 3.0)


def test_of_something_else() -> None:
    @jitflow.function
    def of_another(thing: Any) -> Any:
        return super(Derived, thing).scaled(1.0)

    with pytest.raises(TypeError, match="obj must be an instance or subtype of type"):
        of_another(Base(1.0))
