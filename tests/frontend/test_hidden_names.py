"""Attributes of the program's objects by names that what stands for values has for the compiler alone."""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest

import jitflow
import jitflow.frontend
from jitflow.frontend.syntax.methods import HIDDEN
from jitflow.frontend.tracers import Tracer


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Rule:
    def __init__(self, name: str, options: Any, value: float) -> None:
        self.name, self.options, self.value = name, options, value


FIRST, SECOND = Rule("first", 2, 0.5), Rule("second", 5, 1.5)


def spelled(thing: Any) -> Any:
    return thing.name


def of_members(x: Any) -> Any:
    color = Color.GREEN if x[0] > 0.5 else Color.RED
    found: dict[str, Any] = {}
    found[color.name] = x[1]
    return found, color.name, color.value * x, spelled(color), getattr(color, "name"), f"{color.name}!"  # noqa: B009


def of_objects(x: Any) -> Any:
    rule = FIRST if x[0] > 0.5 else SECOND
    return spelled(rule), rule.options + 1, rule.value * x, operator.attrgetter("options", "value.real")(rule)


def that_are_stored(x: Any) -> Any:
    first, second = Rule("a", 1, 0.5), Rule("b", 2, 1.5)
    held = [first, second]
    rule = first if x[0] > 0.5 else second
    rule.name, rule.options = "c", 4
    return [one.name for one in held], [one.options for one in held], rule.value


@pytest.mark.parametrize("program", [of_members, of_objects, that_are_stored])
def test_they_are_the_program_s(program: Any) -> None:
    compiled = jitflow.function(program)
    for x in (np.array([0.25, 3.0]), np.array([0.75, 4.0])):
        assert repr(compiled(x)) == repr(program(x))


@pytest.mark.parametrize("read", [lambda x: x.value, lambda x: x.type, lambda x: x.owned, lambda x: x.finish])
def test_arrays_and_numbers_have_none(read: Any) -> None:
    compiled = jitflow.function(read)
    for thing in (np.ones(2), 3, 2.5):
        with pytest.raises(AttributeError) as expected:
            read(thing)
        with pytest.raises(AttributeError) as found:
            compiled(thing)
        assert str(found.value) == str(expected.value)


def classes(kind: type) -> Iterator[type]:
    yield kind
    for other in kind.__subclasses__():
        yield from classes(other)


def test_all_are_known() -> None:
    for module in walk_packages(jitflow.frontend.__path__, "jitflow.frontend."):
        import_module(module.name)
    public = {name for kind in (np.ndarray, np.float64, int, jitflow.Variable) for name in dir(kind)}
    own = {name for kind in classes(Tracer) for name in dir(kind) if not name.startswith("_")}
    assert own - public - HIDDEN == set()
