"""``sorted``, ``list.sort``, ``min`` and ``max`` by keys of the running program: of numbers, objects, arrays."""

from __future__ import annotations

import dataclasses
import functools
import heapq

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([3.0, 1.0, 5.0, 2.0, 1.0])
LONG = np.random.default_rng(0).integers(0, 9, 40).astype(float)


@dataclasses.dataclass
class Runner:
    name: str
    seconds: float


def by_tuples_of_numbers(a):
    back = list(a)
    back.sort(key=lambda v: (v % 2, -v))
    return back, sorted(a, key=lambda v: (-v, v)), sorted(a, key=lambda v: (v > 2, v % 2), reverse=True)


def by_parts_that_python_knows(a):
    return (
        sorted([a[0], a[1], a[2]], key=lambda v: ("x", (None, v))),
        sorted([2, 0, 1], key=lambda i: [a[i] > 2, -i]),
        sorted([("b", a[1]), ("a", a[1]), ("c", a[0])], key=lambda pair: (pair[1], pair[0])),
    )


def by_several_keys_of_one_line(a):
    pairs = [*zip(a, a[::-1], strict=True)]
    return sorted(pairs, key=lambda p: p[0] * p[1]), sorted(pairs, key=lambda p: (p[1], p[0]), reverse=True)


def names_by_their_scores(a):
    score = {name: 2 * v for name, v in zip("abcd", a, strict=False)}
    return (
        sorted(score, key=score.get),
        sorted(score, key=lambda name: (-score[name], name)),
        sorted("abcd", key=lambda name: -score[name])[0],
        max(score, key=lambda name: (score[name], name)),
    )


def objects_by_their_attributes(a):
    runners = [Runner(name, v) for name, v in zip("abcd", a, strict=False)]
    first = sorted(runners, key=lambda one: one.seconds)[0]
    first.seconds += 10
    runners.sort(key=lambda one: (-one.seconds, one.name))
    return [(one.name, one.seconds) for one in runners]


def arrays_by_what_they_hold(a):
    rows = a[:4].reshape(2, 2)
    return sorted([rows[0], rows[1]], key=lambda row: -row.sum()), sorted([a, a[:2]], key=len)[0]


def places_by_texts(a):
    return sorted(range(3), key=lambda i: (str(a[i]), i)), heapq.nsmallest(2, a, key=lambda v: (-v, v))


@pytest.mark.parametrize(
    "program",
    [by_tuples_of_numbers, by_parts_that_python_knows, by_several_keys_of_one_line, names_by_their_scores,
     objects_by_their_attributes, arrays_by_what_they_hold, places_by_texts],
)  # fmt: skip
@pytest.mark.parametrize("make", [np.array, np.ndarray.tolist], ids=["array", "list"])
def test_keys(program, make) -> None:
    if program is arrays_by_what_they_hold and make is not np.array:
        return
    compiled = jitflow.function(program)
    for numbers in (X, X[::-1].copy()):
        expected = program(make(numbers))
        assert repr(compiled(make(numbers))) == repr(expected)


def test_many_numbers_by_tuples() -> None:
    program = jitflow.function(by_tuples_of_numbers)
    assert repr(program(LONG)) == repr(by_tuples_of_numbers(LONG))


def test_keys_that_have_no_order() -> None:
    def by(key):
        return lambda a: sorted(a, key=key)

    with pytest.raises(TypeError, match="not supported between instances of 'NoneType'"):
        jitflow.function(by(lambda v: None))(X)
    with pytest.raises(NotImplementedError):
        jitflow.function(by(lambda v: np.array([v, 1.0])))(X)
    with pytest.raises(NotImplementedError, match="nan"):
        jitflow.function(by(lambda v: (1, v)))(np.array([1.0, np.nan]))


def lists_of_lists(a, turns):
    rows = []
    for place, v in enumerate(a):
        rows.append([v, float(place)])
        if v < 3:
            rows[-1].append(1.0)
    for _ in range(turns):
        rows.append([rows[0][0], 0.5])
        rows.sort()
        rows.reverse()
    first = rows[-1]
    ordered = sorted(rows, reverse=True)
    first[0] = 100.0
    return rows, ordered, ordered[-1] is first


def test_lists_of_lists() -> None:
    compiled = jitflow.function(lists_of_lists)
    for numbers, turns in ((LONG, 3), (np.append(X, X), 0)):
        assert repr(compiled(numbers, turns)) == repr(lists_of_lists(numbers, turns))
    with pytest.raises(NotImplementedError, match="nan"):
        compiled(np.append(np.nan, LONG), 1)


def test_lists_of_the_caller_by_their_items() -> None:
    def program(rows):
        ordered = sorted(rows)
        ordered[0][1] += 5
        return [first + second for first, second in ordered], sorted(rows, key=lambda row: row[1])[0], rows

    def made():
        return [[8, 10], [1, 3], [2, 6]]

    assert repr(jitflow.function(program)(made())) == repr(program(made()))


def compares_by_parity(one, other):
    return other % 2 - one % 2 if one % 2 != other % 2 else one - other


def sorts_by_a_function(numbers):
    pairs = [(int(number) % 3, place) for place, number in enumerate(numbers)]
    key = functools.cmp_to_key(lambda one, other: (one[0] > other[0]) - (one[0] < other[0]))
    pairs.sort(key=key)
    large = [number for number in numbers.tolist() if number > 1]
    large.sort(key=functools.cmp_to_key(compares_by_parity))
    return pairs, sorted(pairs, key=key, reverse=True), large


def takes_the_best_by_a_function(numbers):
    key = functools.cmp_to_key(lambda one, other: other - one)
    return max([*numbers.tolist(), 3], key=key), min([2, 5], key=key), key(numbers[0]) < key(4)


@pytest.mark.parametrize("program", [sorts_by_a_function, takes_the_best_by_a_function])
def test_a_function_compares(program):
    """A comparison was a decision that Python asked for."""
    assert_does_what_python_does(program, [(np.array([3, 1, 2, 5, 2, 7, 3]),), (np.array([1, 1]),)])
