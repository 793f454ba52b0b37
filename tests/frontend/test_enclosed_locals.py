"""Locals of functions that are over, to which functions that they made assign: branches and loops may change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow


def counter(start: int = 0) -> Callable[..., int]:
    count = start

    def add(n: int = 1) -> int:
        nonlocal count
        count += n
        return count

    return add


def averages() -> tuple[Callable[..., Any], Callable[..., Any]]:
    total, number = 0.0, 0

    def add(x: float) -> float:
        nonlocal total, number
        total += x
        number += 1
        return total / number

    return add, lambda: (total, number)


class Holder:
    def __init__(self) -> None:
        self.add = counter(10)


def in_loops(n: int, x: Any) -> Any:
    first, second = counter(), counter(5)
    for i in range(n):
        first(i)
        if i % 2:
            second()
    return first(0), second(0)


def in_branches(n: int, x: Any) -> Any:
    add = counter()
    if x[0] > 0.5:
        add(3)
    else:
        add(7)
    return add(0) + (add(1) if x[1] > 0.5 else 0)


def of_several_locals(n: int, x: Any) -> Any:
    add, read = averages()
    for v in x:
        add(v)
    return read(), add(1.0)


def in_lists_and_objects(n: int, x: Any) -> Any:
    adders, holder = [counter(i) for i in range(3)], Holder()
    while n > 0:
        for add in adders:
            add(n)
        holder.add(n)
        n -= 1
    return [add(0) for add in adders], holder.add(0)


def turns_of(add: Callable[..., Any], n: int) -> None:
    for i in range(n):
        add(i)


def by_helpers(n: int, x: Any) -> Any:
    count = 0

    def add(k: int) -> None:
        nonlocal count
        count += k

    turns_of(add, n)
    if n > 2:
        turns_of(add, 2)
    return count


def in_tries(n: int, x: Any) -> Any:
    add = counter()
    try:
        for i in range(n):
            add(i)
            x[i]
    except IndexError:
        add(100)
    return add(0)


def of_random_numbers(n: int, x: Any) -> Any:
    def drawn_from(seed: int) -> Callable[[], float]:
        def draw() -> float:
            nonlocal seed
            seed = (1103515245 * seed + 12345) % 2**31
            return seed / 2**31

        return draw

    draw, inside = drawn_from(n), 0
    for _ in range(50):
        if draw() ** 2 + draw() ** 2 < 1:
            inside += 1
    return inside, draw()


@pytest.mark.parametrize(
    "program",
    [in_loops, in_branches, of_several_locals, in_lists_and_objects, by_helpers, in_tries, of_random_numbers],
)
def test_they_change_when_the_program_runs(program: Any) -> None:
    compiled = jitflow.function(program)
    for n, x in ((4, np.array([0.25, 0.75])), (0, np.array([0.75, 0.25, 1.0])), (2, np.array([0.5, 2.0]))):
        assert repr(compiled(n, x)) == repr(program(n, x))
