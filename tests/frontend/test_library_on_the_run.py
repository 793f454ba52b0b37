"""`filter` and its like call their function where an item is asked for; the library on lists of the run."""

from __future__ import annotations

import heapq
import itertools
import operator
import re
import statistics
import textwrap

import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.whole.same import assert_does_what_python_does


def _made(n):
    found = []
    for i in range(n):
        found.append(i * 7 % 5 - 1)
    return found


def calls_between_the_turns(n):
    """The function ran for all items before the first turn."""
    items, seen = _made(n), []

    def test(v):
        seen.append(v)
        return v < 2

    for v in filter(test, items):
        seen.append(v + 100)
        if v == 0:
            break
    for v in itertools.takewhile(test, items):
        seen.append(v + 200)
    for v in itertools.dropwhile(test, items):
        seen.append(v + 300)
    for i, v in enumerate(itertools.filterfalse(test, items)):
        seen.append(v + 400 + i)
    return seen


def takes_some(n):
    items, seen = _made(n), []

    def test(v):
        seen.append(v)
        return v > 0

    found = filter(test, items)
    seen.append(100)
    return next(found, -7), next(found, -8), seen, list(zip(filter(test, items), items, strict=False)), seen


def taken_apart(x, n):
    one, other = filter(lambda v: v < n, x)
    return one, other


def test_what_is_left_is_taken_apart() -> None:
    assert_does_what_python_does(taken_apart, [([1, 5, 2, 8], 4), ([7, 1, 8, 2], 5)])


def accumulated(n):
    seen = []

    def added(one, other):
        seen.append(other)
        return one + other

    for v in itertools.accumulate(_made(n), added):
        seen.append(v)
    return seen


@pytest.mark.parametrize("program", [calls_between_the_turns, takes_some, accumulated])
def test_functions_are_called_where_an_item_is_asked_for(program) -> None:
    assert_does_what_python_does(program, [(6,), (0,)])


def paired(n, m, k):
    return [a + b + c for a, b, c in zip(_made(n), _made(m), range(k), strict=True)]


def test_zip_is_strict_about_lists_of_the_run() -> None:
    """It stopped at the shortest of them."""
    assert_does_what_python_does(paired, [(3, 3, 3), (3, 4, 3), (4, 3, 2), (4, 4, 3), (3, 3, 4)])


def merged(n, m):
    items, others = sorted(_made(n)), sorted(_made(m))
    ties = heapq.merge([(v, "a") for v in items], [(v, "b") for v in others], key=lambda t: t[0])
    down = heapq.merge(items[::-1], others[::-1], reverse=True)
    return list(heapq.merge(_made(n), range(m), others)), [name for _, name in ties], list(down)


def counted(n):
    return operator.methodcaller("count", 1)(_made(n))


def summarised(n):
    items = _made(n)
    floats = [v / 3 for v in items]
    return (statistics.mean(items), statistics.mean(floats), statistics.median(items), statistics.median_low(items),
            statistics.mode(items), statistics.multimode(items), statistics.fmean(items),
            statistics.quantiles(floats, n=4))  # fmt: skip


@pytest.mark.parametrize(("program", "args"), [(merged, (6, 3)), (counted, (6,)), (summarised, (8,))])
def test_functions_of_the_library_take_lists_of_the_run(program, args) -> None:
    assert_does_what_python_does(program, [args])


def mean(x):
    return statistics.mean(x)


def test_a_mean_is_the_number_next_to_the_exact_one() -> None:
    lists = [1e16, 1.0, -1e16], [0.7, 0.1, 1.3], [5e-324, 0.0, 5e-324]
    assert_does_what_python_does(mean, [(numbers,) for numbers in lists])


PAIR = re.compile(r"(\w+)=(\d+)")


def of_known_texts(text, n):
    found = PAIR.search(text)
    first = None if found is None else (found[1], int(found.group(2)) * n, found.span())
    return first, [int(v) + n for _, v in PAIR.findall(text)], re.sub(r"\d", "#", text), textwrap.shorten(text, 6)


def of_a_text_of_the_run(n):
    return PAIR.findall(f"a={n}")


def test_expressions_are_asked_about_known_texts() -> None:
    assert_does_what_python_does(of_known_texts, [("a=1 b=22", 2), ("a=1 b=22", 3), ("none", 2)])
    with pytest.raises(UserError, match=r"Pattern.findall\(\) of a text that the running program makes"):
        jitflow.function(of_a_text_of_the_run)(3)
