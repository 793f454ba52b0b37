"""``with`` statements around what may fail when the compiled code runs."""

from __future__ import annotations

import contextlib
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does


class Noting:
    """Notes in a list that it is entered and left."""

    def __init__(self, notes: list[Any]) -> None:
        self.notes = notes

    def __enter__(self) -> Noting:
        self.notes.append("in")
        return self

    def __exit__(self, *about: object) -> None:
        self.notes.append("out")


class Swallowing:
    def __enter__(self) -> int:
        return 5

    def __exit__(self, kind: Any, *about: object) -> bool:
        return kind is not None


def of_the_caller(x: Any, d: Any, notes: Any) -> Any:
    with Noting(notes):
        return x // d


def of_its_own(x: Any, d: Any, notes: Any) -> Any:
    mine: list[Any] = []
    with Noting(mine) as manager:
        x = x // d
    return x, mine, manager.notes is mine


def that_swallows(x: Any, d: Any, notes: Any) -> Any:
    with Swallowing() as five:
        x = x // d
    return x + five


def that_cannot_fail(x: Any, d: Any, notes: Any) -> Any:
    with Noting(notes), Swallowing() as five:
        x = x * d
    return x + five


def test_what_nobody_would_miss() -> None:
    compiled = jitflow.function(of_its_own)
    assert compiled(7, 2, []) == of_its_own(7, 2, [])
    with pytest.raises(ZeroDivisionError):
        compiled(7, 0, [])


def test_what_cannot_fail() -> None:
    for program in (jitflow.function(that_cannot_fail), that_cannot_fail):
        notes: list[Any] = []
        assert program(7, 0, notes) == 5
        assert notes == ["in", "out"]


@pytest.mark.parametrize(
    ("program", "why"), [(of_the_caller, "would store to what the caller sees"), (that_swallows, "might swallow it")]
)
def test_what_a_manager_would_see(program: Any, why: str) -> None:
    with pytest.raises(jitflow.UserError, match=f"may raise ZeroDivisionError .* where __exit__ {why}"):
        jitflow.function(program)(7, 2, [])
    np.testing.assert_equal(jitflow.function(program)(7.0, np.float64(2.0), []), program(7.0, np.float64(2.0), []))


def in_turns(x: Any, n: Any) -> Any:
    total, log = 0, []
    for place in range(6):
        with suppress(IndexError, ZeroDivisionError):
            log.append(place)
            total += 10 // int(x[place])
            log.append(total)
    return total, log


def returns(x: Any, n: Any) -> Any:
    table = {int(item): number for number, item in enumerate(x)}
    with contextlib.suppress(KeyError):
        del table[2]
    with suppress(KeyError) as nothing:
        return table[n], nothing
    return table, nothing


def of_another_kind(x: Any, n: Any) -> Any:
    kinds = KeyError, IndexError
    try:
        with suppress(*kinds):
            if n > 3:
                raise ValueError(n)
            x[0] = x[n]
    except ValueError as error:
        x[1] = error.args[0]
    with suppress(KeyError):
        first: float = x[n]
        x[1] = first


def leaves_a_loop(x: Any, n: Any) -> Any:
    for item in x:
        with suppress(ZeroDivisionError), suppress(IndexError):
            if 1 // int(item) > 0 or x[n] > 4:
                break
    return item


@pytest.mark.parametrize("program", [in_turns, returns, of_another_kind, leaves_a_loop])
def test_what_suppresses(program: Any) -> None:
    arrays = [3.0, -1.0, 2.0, 5.0, 0.5], [1.0, 2.0], [-4.0, 2.0, 7.0, 0.0]
    assert_does_what_python_does(program, [(np.array(items), n) for items in arrays for n in (4, 0, 2)])


def test_what_is_called_suppress() -> None:
    def program(x: Any, d: Any, suppress: Any) -> Any:
        with suppress(ZeroDivisionError):
            return x // d

    with pytest.raises(jitflow.UserError, match="a manager that is called suppress and is none of contextlib's"):
        jitflow.function(program)(7, 2, Noting)


@contextlib.contextmanager
def noted(log: Any, scale: Any) -> Any:
    log.append("in")
    try:
        yield scale * 2
    finally:
        log.append("out")


@contextlib.contextmanager
def moved(x: Any) -> Any:
    x[0] += 1
    yield
    x[0] += 2


@contextlib.contextmanager
def replaced_by_one(x: Any) -> Any:
    try:
        yield 1
    except IndexError:
        x[0] = 1


def of_generators(x: Any, n: Any) -> Any:
    log: list[Any] = []
    for item in x:
        with noted(log, item) as twice:
            if item > 2:
                continue
            log.append(twice)
    with moved(x):
        item = x[n]
    return log, item


def test_managers_made_of_generators() -> None:
    assert_does_what_python_does(of_generators, [(np.array([3.0, -1.0, 2.0]), n) for n in (0, 2, 5)])


def test_what_a_generator_would_see() -> None:
    def program(x: Any, n: Any) -> Any:
        with replaced_by_one(x) as one:
            return x[n] + one

    with pytest.raises(jitflow.UserError, match=r"may raise IndexError .* might swallow it"):
        jitflow.function(program)(np.zeros(3), 2)


class Logged:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self.name

    def __exit__(self, *told):
        self.log.append(f"leave {self.name}")

    def close(self):
        self.log.append(f"close {self.name}")


def stacks(n):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, n)
        names = [stack.enter_context(Logged(log, name)) for name in "ab"]
        with contextlib.nullcontext(n + 1) as more, contextlib.nullcontext(), contextlib.closing(Logged(log, "c")):
            log.append(more)
    return names, log


def indexes_inside(n):
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.nullcontext())
        return np.arange(3)[n]


@pytest.mark.parametrize("program", [stacks, indexes_inside])
def test_managers_of_contextlib(program):
    assert_does_what_python_does(program, [(2,), (5,)])
