"""Loops that Python takes turn by turn: compiled for the number of turns, which the arguments' sizes decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_same


def rows(x: Any) -> Any:
    found = {}
    for place in range(x.shape[0]):
        found[place] = x[:place].sum(), x
    return found


def grows(x: Any) -> Any:
    out = []
    total = 0.0
    for place, item in enumerate(x[:, 0]):
        total += item
        if total > 2:
            total = 0.0
        out.append(total / (place + 1))
    return np.array(out)


def grows_over_a_range(x: Any) -> Any:
    parts = []
    for place in range(1, x.shape[0]):
        parts.append(x[:place].sum())
    return parts


def unpacks(x: Any) -> Any:
    (count, width), first, *rest = x.shape, *x[:3]
    return count * width, first, rest


@pytest.mark.parametrize(
    ("program", "compilations"),
    [(rows, 2), (grows, 1), (grows_over_a_range, 1), (unpacks, 1)],
)
def test_each_number_of_turns_is_compiled_once(program: Any, compilations: int):
    compiled = jitflow.function(program)
    for size, width in ((5, 2), (7, 2), (5, 2), (7, 2)):
        x = np.arange(1.0, 1.0 + size * width).reshape(size, width)
        assert_same(compiled(x), program(x))
    assert compiled.cache_info().misses == compilations


def test_the_number_of_turns_is_a_fact_that_explain_shows():
    assert "a loop that cannot be one native loop" in str(jitflow.function(rows).explain(np.ones((5, 1))))


def test_a_loop_of_too_many_turns_is_refused():
    with pytest.raises(UserNotImplementedError, match="3000 turns are too many"):
        jitflow.function(rows)(np.ones((3000, 1)))


def in_a_loop(x: Any, count: int) -> Any:
    parts = [x, x]
    for _ in range(count):
        for _ in range(count):
            parts[0] = parts[0] + 1
    return parts[0]


@pytest.mark.parametrize("first", [0, 1, 2, 4])
def test_turns_that_the_first_call_never_comes_to(first: int):
    """Inside, the number is known to be at least 1; the program that is made for 0 is guarded all the same."""
    compiled = jitflow.function(in_a_loop)
    for count in (first, 0, 1, 2, 3, 5):
        assert_same(compiled(np.arange(3.0), count), in_a_loop(np.arange(3.0), count))


class Link:
    def __init__(self, item: Any, behind: Any = None) -> None:
        self.item, self.behind = item, behind


def a_chain_that_is_turned(x: Any) -> Any:
    """Each turn leaves objects of another form; that there is another one is known while tracing."""
    first = None
    for item in x:
        first = Link(item, first)
    before, link = None, first
    while link:
        behind = link.behind
        link.behind = before
        before, link = link, behind
    items = []
    while before is not None:
        items.append(before.item)
        before = before.behind
    return items


def test_a_loop_through_objects_that_are_known() -> None:
    compiled = jitflow.function(a_chain_that_is_turned)
    for x in ([3.0, 1.0, 2.0], [3.0], [3.0, 1.0, 2.0]):
        assert compiled(x) == a_chain_that_is_turned(x)
