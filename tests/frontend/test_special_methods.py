"""Methods that Python looks up on the class: operators in place, conversions, items, truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.frontend.outside.special_methods import NUMBERS
from tests.truth.whole.same import assert_does_what_python_does


class Counter:
    """An object that answers to whatever Python asks."""

    def __init__(self, value: Any) -> None:
        self.value, self.items = value, [0, 1, 2]

    def __iadd__(self, other: Any) -> Any:
        self.value += other
        return self

    def __isub__(self, other: Any) -> Any:
        return NotImplemented

    def __sub__(self, other: Any) -> Any:
        return Counter(self.value - other)

    def __imul__(self, other: Any) -> Any:
        return self.value * other

    def __imatmul__(self, other: Any) -> Any:
        self.value *= other.value
        return self

    def __setitem__(self, place: int, item: Any) -> None:
        self.items[place] = item

    def __delitem__(self, place: int) -> None:
        del self.items[place]

    def __getitem__(self, place: int) -> Any:
        return self.items[place]

    def __len__(self) -> int:
        return 3

    def __bool__(self) -> bool:
        return self.value > 3

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return self.value * 1.5

    def __complex__(self) -> complex:
        return self.value * 1j

    def __round__(self, digits: int = 7) -> Any:
        return self.value + digits

    def __trunc__(self) -> Any:
        return self.value + 1

    def __floor__(self) -> Any:
        return self.value + 2

    def __hash__(self) -> int:
        return self.value


class Reversible(Counter):
    def __reversed__(self) -> Any:
        return [self.value, 1]


class Index:
    """An object of which Python makes floats by its index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def adds_in_place(x):
    y = x
    for k in range(x.value):
        x += k
    return x.value, y is x


def goes_on_with_the_other(x):
    x -= 2
    return x.value


def becomes_a_number(x):
    x *= 2
    return x


def multiplies_itself(x):
    x @= x
    return x.value


def changes_items(x):
    x[0] += 3
    x[1] = 2.5
    del x[2]
    return x.items


def converts(x):
    return float(x), int(x), complex(x), math.floor(x)


def rounds(x):
    return round(x), round(x, 2), math.trunc(x), [*reversed(x)]


def decides(x):
    return (1 if x else 2), bool(x), not x, [*range(x)], np.arange(9)[x], hash(x)


def converts_an_index(x):
    return float(x), int(x), complex(x), math.ceil(x), [7, 8, 9, 10][x]


PROGRAMS = (adds_in_place, goes_on_with_the_other, becomes_a_number, multiplies_itself, changes_items, converts, rounds,
            decides)  # fmt: skip


def test_objects_answer_as_python_asks_them() -> None:
    made = [converts, decides, adds_in_place]
    for program in PROGRAMS:
        compiled = jitflow.function(program)
        for kind in (Counter, Reversible):
            for value in (3, 4):
                thing, plain = kind(value), kind(value)
                assert repr(compiled(thing)) == repr(program(plain))
                assert vars(thing) == vars(plain)
    for program in made:
        compiled = jitflow.function(lambda value, program=program: program(Counter(value)))
        for value in (3, 4):
            assert repr(compiled(value)) == repr(program(Counter(value)))
    assert jitflow.function(converts_an_index)(Index(3)) == converts_an_index(Index(3))
    assert not [name for name in NUMBERS if name != "__index__" and not hasattr(Counter, name)]


class Wrong:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> Any:
        return self.value + 1

    def __float__(self) -> Any:
        return self.value


@pytest.mark.parametrize("program", [float, bool, round, lambda x: 3 if x else 4, lambda x: int(x)])
def test_answers_that_python_does_not_take(program: Any) -> None:
    for call in (program, lambda x: program(Wrong(x.value))):
        with pytest.raises(TypeError) as expected:
            call(Wrong(3))
        with pytest.raises(type(expected.value)):
            jitflow.function(lambda x, call=call: call(x))(Wrong(3))


class Stack:
    """Its length is that of a list that the running program makes longer."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __len__(self) -> int:
        return len(self.items)


def lengths_that_are_found(x):
    class Sized:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

        def __int__(self):
            return self.n + 1

    stack, sized = Stack(), Sized(np.int64(3))
    for value in x:
        if value > 0:
            stack.items.append(value)
    found = Sized(int(x.sum()))
    return len(stack) + 1, 1 if stack else 2, bool(stack), len(sized), len(found), bool(found), int(found)


@pytest.mark.parametrize("x", [np.array([-1.0, 2, 3]), -np.zeros(2), np.array([-2.0])])
def test_lengths_that_the_running_program_finds(x):
    compiled = jitflow.function(lengths_that_are_found)
    compiled(np.ones(3))
    try:
        expected = lengths_that_are_found(x)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).partition("(")[0]):
            compiled(x)
        return
    found = compiled(x)
    assert found == expected
    assert [*map(type, found)] == [*map(type, expected)]


class Point:
    """Is equal to others of its kind, and leaves the question to the others otherwise, as Python advises."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> Any:
        return self.x == other.x if isinstance(other, Point) else NotImplemented

    def __hash__(self) -> int:
        return 1


class Odd:
    """What `==` and `!=` answer need be no bool."""

    def __eq__(self, other: object) -> Any:
        return "equal"

    def __ne__(self, other: object) -> Any:
        return "unequal"

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("other", [Point(1.0), Point(2.0), Odd(), object(), None, 1.0, np.float64(1.0), "x", Point])
def test_equality_is_what_the_methods_say(other: Any) -> None:
    def program(one: Any, other: Any) -> Any:
        return one == other, one != other, one == "x", one != "x", 1 if one == other else 2, one == one, one in ["x"]

    for one in (Point(1.0), Odd(), Point):
        assert jitflow.function(program)(one, other) == program(one, other)
    arrays = Point(np.arange(3.0)), Point(np.ones(3))
    np.testing.assert_array_equal(jitflow.function(lambda a, b: a == b)(*arrays), [False, True, False])


class Cell:
    """Says by ``__array__`` which array it is."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


class CarefulCell(Cell):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.array * 2, dtype, copy=copy)


class OldCell(Cell):
    def __array__(self, dtype: Any = None) -> Any:  # type: ignore[override]
        return self.array if dtype is None else self.array.astype(dtype)


@pytest.mark.parametrize("make", [Cell, CarefulCell, OldCell])
@pytest.mark.parametrize("program", [
    np.asarray, np.array, np.copy, np.sum, np.shape, np.atleast_2d, np.zeros_like, lambda c: np.array(c, np.float32),
    lambda c: np.array([c, c]), lambda c: np.multiply(c, 2), lambda c: c.array @ c, lambda c: c * c.array,
    lambda c: np.stack([c.array, c]), lambda c: np.array(c, copy=False), lambda c: np.asarray(c, np.float32),
    lambda c: np.linalg.norm(c, axis=1), lambda c: np.array(c, order="F", ndmin=3),
    lambda c: np.where(c.array > 1, c, 0),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_objects_that_say_which_array_they_are(program: Any, make: Any) -> None:
    answers = []
    for each in (program, jitflow.function(lambda thing: program(thing))):
        thing = make(np.array([[2.0, 1.0], [0.0, 3.0]]))
        try:
            found = each(thing)
            array = np.asarray(found)
            answers.append((array.tolist(), type(found), array.dtype, found is thing.array))
        except ValueError as error:
            answers.append(str(error).partition("\n")[0])
    assert answers[0] == answers[1]


def test_what_an_object_says_is_an_array() -> None:
    class Wrong:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return 3

    class Summed(Cell):
        def sum(self, **keywords: Any) -> int:
            return 42

    with pytest.raises(ValueError, match="object __array__ method not producing an array"):
        jitflow.function(lambda thing: np.cos(thing))(Wrong())
    with pytest.raises(jitflow.UserError, match=r"numpy\.sum of an object of type Summed"):
        jitflow.function(lambda thing: np.sum(thing))(Summed(np.ones(2)))


class Scored:
    def __init__(self, score: Any, number: Any) -> None:
        self.score, self.number = score, number

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, Scored) and self.score == other.score and self.number == other.number

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: Any) -> Any:
        return self.score < other.score

    def __contains__(self, item: Any) -> Any:
        return item in (self.score, self.number)


def compares(x, n):
    one, other = Scored(x[0], n), Scored(x[1], 2)
    again = Scored(x[0], n)
    places = [other, one].index(again), [one, other, again].count(again)
    return one == other, one != again, again in [other, one], places, x[1] in one, max(one, other).score


def are_sorted(x, n):
    found = [Scored(score, number % n) for number, score in enumerate(x)]
    by_score = [one.number for one in sorted(found, key=lambda one: one.score)]
    found.sort(key=lambda one: (one.number, -one.score))
    return by_score, [one.score for one in found], min(found).number


@pytest.mark.parametrize("program", [compares, are_sorted])
def test_comparisons_of_objects_that_the_run_decides(program):
    assert_does_what_python_does(program, [(np.array(x), 2) for x in ([3.0, -1.0, 2.0], [1.0, 1.0, 0.5])])
