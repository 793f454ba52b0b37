"""Frozen records whose methods are shared, as Python's `dataclasses` and `match` see them."""

from __future__ import annotations

import dataclasses
from dataclasses import field

import pytest

from jitflow.records import field_names, record, value_record


@value_record
class Base:
    """A record with a field of each kind."""

    x: int
    names: list[str] = field(default_factory=list)


@value_record
class Derived(Base):
    """One more field."""

    z: int = 3


@record
class Identified:
    """A record that is like no other."""

    x: int


def test_dataclasses_know_records() -> None:
    assert dataclasses.is_dataclass(Base)
    assert [one.name for one in dataclasses.fields(Base)] == field_names(Base) == ["x", "names"]
    assert [one.type for one in dataclasses.fields(Derived)] == ["int", "list[str]", "int"]
    assert dataclasses.asdict(Derived(1)) == {"x": 1, "names": [], "z": 3}
    assert dataclasses.replace(Derived(1), x=2) == Derived(2)


def test_records_are_frozen_and_compared_as_they_say() -> None:
    assert Derived(1) == Derived(1, z=3) != Derived(2)
    assert Identified(1) != Identified(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Base(1).x = 2  # type: ignore[misc]
    first, second = Base(1), Base(1)
    assert first.names is not second.names


def test_records_are_matched_by_position() -> None:
    match Derived(1, ["a"]):
        case Derived(x, names, z):
            assert (x, names, z) == (1, ["a"], 3)
        case _:
            raise AssertionError
