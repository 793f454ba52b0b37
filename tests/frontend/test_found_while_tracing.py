"""Mistakes that are found while tracing are raised where the program raises: what it stored before stays stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow

HERE = Path(__file__)


class OwnError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def raises(a: Any) -> Any:
    a[0] = 7.0
    raise ValueError("x")


def raises_its_own(a: Any) -> Any:
    a[0] = 7.0
    raise OwnError(3, "own")


def misses_a_function(a: Any) -> Any:
    a[0] = 7.0
    return np.linalg.nope(a)


def misses_an_attribute(a: Any) -> Any:
    def helper(b: Any) -> Any:
        b[1] = 3.0
        return b.nope

    a[0] = 7.0
    return helper(a)


def misses_a_name(a: Any) -> Any:
    a[0] = 7.0
    return nowhere  # noqa: F821


def misses_a_key(a: Any) -> Any:
    a[0] = 7.0
    return {"a": a}["b"]


def joins_other_ranks(a: Any) -> Any:
    a += 1
    return np.concatenate([a, np.ones((2, 2))])


def sums_another_axis(a: Any) -> Any:
    for i in range(len(a)):
        a[i] = i * a[i]
    return a.sum(axis=3)


def unpacks(a: Any) -> Any:
    if a[1] > 0:
        a[1] = 9.0
    b, _ = a
    return b


def divides(a: Any) -> Any:
    a[0] = 7.0
    return 1 / 0


def adds_none(a: Any) -> Any:
    a[0] = 7.0
    return None + 1


def inverts(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    finally:
        a[0] = 7.0


def casts(a: Any) -> Any:
    a[0] = 7.0
    w = np.zeros(2, np.int8)
    w += 2.5
    return w


def casts_in_a_turn(a: Any) -> Any:
    for i in range(len(a)):
        a[i] = 9.0
        if i > 1:
            w = np.zeros(2, np.int8)
            w += 2.5


def goes_through_a_number(a: Any) -> Any:
    a[0] = 7.0
    for _ in a[1]:
        pass


def adds_none_on_a_path(a: Any) -> Any:
    if a[1] > 0:
        a[1] = 9.0
        return None + 1
    return 1


def indexes_by_a_float(a: Any) -> Any:
    a[0] = 7.0
    return a[1.5]


def takes_the_largest_of_nothing(a: Any) -> Any:
    if a[1] > 0:
        a[1] = 9.0
        return max([])
    return 1


def goes_on_while_an_array_is_true(a: Any) -> Any:
    a[0] = 7.0
    while a:
        a[1] = 1.0


def asks_for_a_name_that_no_turn_has_bound(a: Any) -> Any:
    a[0] = 7.0
    for v in a[:0]:  # noqa: B007  which is read below
        raise KeyError
    while v:
        pass


def converts_infinity_in_an_attempt(a: Any) -> Any:
    try:
        a[1] = a[int(a[0])]
    except IndexError:
        return 1
    else:
        return int(np.inf)


@pytest.mark.parametrize(
    "program",
    [asks_for_a_name_that_no_turn_has_bound,
     goes_on_while_an_array_is_true, indexes_by_a_float, takes_the_largest_of_nothing, converts_infinity_in_an_attempt,
     casts, casts_in_a_turn, goes_through_a_number, adds_none_on_a_path, raises, raises_its_own, misses_a_function,
     misses_an_attribute, misses_a_name, misses_a_key, joins_other_ranks, sums_another_axis, unpacks, divides,
     adds_none, inverts],
)  # fmt: skip
def test_what_was_stored_before_stays(program: Any) -> None:
    theirs = np.arange(1.0, 4.0)
    with pytest.raises(Exception) as expected:
        program(theirs)
    compiled = jitflow.function(program)
    for _ in range(2):
        ours = np.arange(1.0, 4.0)
        with pytest.raises(Exception) as found:
            compiled(ours)
        np.testing.assert_array_equal(ours, theirs)
        assert (found.type, found.value.args) == (expected.type, expected.value.args)
        assert str(found.value) == str(expected.value)
        assert getattr(found.value, "code", None) == getattr(expected.value, "code", None)
        assert found.traceback[-1].lineno == [entry.lineno for entry in expected.traceback if entry.path == HERE][-1]
    assert compiled.cache_info().misses == 1


def appends(a: Any) -> Any:
    a.append(7.0)
    raise ValueError("x")


def appends_and_misses(a: Any) -> Any:
    a.append(7.0)
    return getattr(a, "__nope__")  # noqa: B009


def sorts_and_indexes(a: Any) -> Any:
    a.sort()
    return a[99]


@pytest.mark.parametrize("program", [appends, appends_and_misses, sorts_and_indexes])
@pytest.mark.parametrize("items", [[3.0, 1.0, 2.0], []])
def test_what_was_done_to_a_list_before_stays(program: Any, items: list[float]) -> None:
    theirs, ours = [*items], [*items]
    with pytest.raises(Exception) as expected:
        program(theirs)
    with pytest.raises(expected.type):
        jitflow.function(program)(ours)
    assert ours == theirs


def test_what_jitflow_refuses_changes_nothing() -> None:
    def refused(a: Any) -> Any:
        a[0] = 7.0
        return a.ctypes

    a = np.ones(3)
    with pytest.raises(NotImplementedError):
        jitflow.function(refused)(a)
    assert a.tolist() == [1.0, 1.0, 1.0]


def test_what_is_printed_before_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(a: Any) -> Any:
        print("first")
        return a.nope

    with pytest.raises(AttributeError, match="nope"):
        jitflow.function(prints)(np.ones(3))
    assert capsys.readouterr().out == "first\n"


def test_a_mistake_on_a_path_that_is_not_taken_is_not_told() -> None:
    @jitflow.function
    def program(a: Any, c: Any) -> Any:
        if c:
            w = np.zeros(2, np.int8)
            w += 2.5
        if len(a) > 7:
            return a[2.5], max([])
        return a if c else round(np.array(1, np.uint8)) if len(a) > 5 else 1

    assert program(np.ones(2), False) == 1
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        program(np.ones(2), True)
    with pytest.raises(TypeError, match=r"type numpy\.ndarray doesn't define __round__ method"):
        program(np.ones(6), False)
