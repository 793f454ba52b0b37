"""Dataclasses that are made quickly: as those of `dataclasses`, from the first object on and once they are compiled."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from jitflow.records import OFTEN, cached, dataclass, field_names

_OPTIONS = [
    {"frozen": frozen, "eq": eq, "slots": slots} for frozen in (False, True) for eq in (False, True)
    for slots in (False, True)
]  # fmt: skip


def classes(make: Any, **options: bool) -> tuple[type[Any], type[Any]]:
    """A class with a field of each kind, and one that goes on from it."""

    @make(**options)
    class Base:
        kinds: ClassVar[int] = 7
        x: int
        names: list[str] = field(default_factory=list)
        aside: Any = field(default=None, compare=False, repr=False)
        made: tuple[int] = field(init=False, default_factory=lambda: (1,))
        later: int = field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "later", self.x + 1)

    @make(**options)
    class Derived(Base):
        z: int = 3
        x: int = 5

    return Base, Derived


def outcome(function: Any) -> Any:
    """What a function returns, or the type of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error)


def observed(base: Any, derived: Any) -> list[Any]:
    """What is seen of the classes and of their objects."""
    one, other = base(1, ["a"]), derived(z=4)
    questions: list[Any] = [
        lambda: repr(one), lambda: repr(other), lambda: one == base(1, ["a"], 9), lambda: one == base(2),
        lambda: one == derived(1, ["a"]), lambda: other == derived(5, z=4), lambda: (one.x, one.later, one.made),
        lambda: one.names is base(1).names, lambda: hash(derived(1, (), z=2)) is not None,
        lambda: hash(base(1, ())) == hash(base(1, (), 5)), lambda: setattr(one, "x", 2), lambda: delattr(one, "x"),
        base, lambda: base(1, 2, 3, 4), lambda: base(1, x=2), lambda: base(1, made=2),
        lambda: base(y=1), lambda: hasattr(one, "__dict__"), lambda: base.kinds, lambda: hasattr(base, "x"),
        lambda: derived.__match_args__, lambda: dataclasses.asdict(derived(1)),
        lambda: [f.type for f in dataclasses.fields(derived)],
        lambda: dataclasses.replace(derived(1), x=2).later, lambda: dataclasses.replace(one, made=[]),
        lambda: list(inspect.signature(derived).parameters), lambda: copy.deepcopy(derived(1)).later,
        lambda: inspect.signature(base).parameters["x"].default, lambda: dataclasses.is_dataclass(one),
    ]  # fmt: skip
    return [outcome(question) for question in questions]


@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_dataclasses_are_those_of_python(options: dict[str, bool]) -> None:
    expected = observed(*classes(dataclasses.dataclass, **options))
    mine = classes(dataclass, **options)
    assert observed(*mine) == expected
    for _ in range(OFTEN):
        first, second = (kind(1, ()) for kind in mine)
        if options["eq"]:
            assert first != second
            assert not options["frozen"] or hash(first) == hash(mine[0](1, ()))
    assert mine[0].__init__.__name__ == mine[1].__init__.__name__ == "__init__"  # they are compiled
    assert observed(*mine) == expected


@dataclass(frozen=True, slots=True)
class Pickled:
    """A record that goes through a file."""

    x: int
    y: Any = field(default=2, compare=False)


def test_they_are_pickled_and_told_by_their_fields() -> None:
    again = pickle.loads(pickle.dumps(Pickled(1, 3)))
    assert (again.x, again.y) == (1, 3)
    assert field_names(Pickled) == ["x", "y"]
    match Pickled(1, ["a"]):
        case Pickled(x, names):
            assert (x, names) == (1, ["a"])
        case _:
            raise AssertionError


def test_a_field_may_have_the_name_of_what_methods_are_handed() -> None:
    @dataclass(frozen=True, slots=True)
    class Record:
        known: int
        args: int = 2

    assert [Record(known=1), dataclasses.replace(Record(1), known=3)] == [Record(1), Record(3, 2)]


def test_what_is_cached_is_found_once_and_is_no_field() -> None:
    found = []

    @dataclass(frozen=True)
    class Record:
        x: int

        @cached
        def twice(self) -> int:
            """Two of them."""
            found.append(self.x)
            return 2 * self.x

    one = Record(3)
    assert (one.twice, one.twice, found) == (6, 6, [3])
    assert dataclasses.replace(one, x=4).twice == 8
    assert one == Record(3)
    assert Record.twice.__doc__ == "Two of them."
