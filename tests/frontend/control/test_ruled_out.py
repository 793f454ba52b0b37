"""Kinds of values that a path rules out by raising, or a condition by what it says, are none behind it or in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


class Node:
    def __init__(self, key: Any, left: Any) -> None:
        self.key, self.left = key, left


def raising(x: Any, k: int, m: int) -> Any:
    a = None if k > 3 else x
    if a is None:
        raise ValueError("nothing")
    return a + 1, a[0] * 2


def used_twice(x: Any, k: int, m: int) -> Any:
    a = None if k > 3 else x
    if m > 3:
        if a is None:
            raise ValueError("nothing")
    elif a is None:
        raise KeyError(m)
    return a + 1, a[0] * 2


def asserted(x: Any, k: int, m: int) -> Any:
    a = None if k > 3 else x
    assert a is not None
    return a + 1


def both(x: Any, k: int, m: int) -> Any:
    a, b = None if k > 3 else x, None if m > 3 else x * 2
    if a is not None and b is not None:
        return a + b * (a[0] + b[1])
    return x


def either(x: Any, k: int, m: int) -> Any:
    a, b = None if k > 3 else x, None if m > 3 else x * 2
    if a is None or b is None or a[0] > 9:
        return x
    return a + b * (a[0] + b[1])


def negated(x: Any, k: int, m: int) -> Any:
    a, b = None if k > 3 else x, None if m > 3 else x * 2
    known = not (a is None or b is None)
    if m < 9 and known:
        return a + b
    return x


PROGRAMS = [raising, used_twice, asserted, both, either, negated]


def outcome(program: Any, *arguments: Any) -> Any:
    try:
        return program(*arguments)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_ruled_out_is_asked_no_more(program: Any) -> None:
    x = np.arange(1.0, 5.0)
    compiled = jitflow.function(program)
    for k, m in ((1, 1), (4, 1), (1, 4), (4, 4), (1, 10)):
        wanted, got = (outcome(call, x, k, m) for call in (program, compiled))
        if isinstance(wanted, type):
            assert got == wanted
        else:
            assert_same(got, wanted)
    assert "TypeError" not in str(compiled.ir(x, 1, 1, stage="traced"))


def test_what_lacks_an_attribute_is_asked_for_one_once() -> None:
    def program(keys: Any, wanted: float) -> Any:
        head = None
        for key in keys:
            head = Node(key, head)
        while head.key > wanted:
            head = head.left
        return head.key, head.key + 1, head.left.key

    compiled, keys = jitflow.function(program), [1.0, 2.0, 3.0, 4.0]
    for arguments in ((keys, 2.5), (keys, 1.5), (keys, 0.5)):
        assert outcome(compiled, *arguments) == outcome(program, *arguments)
    assert str(compiled.ir(keys, 2.5, stage="traced")).count("has no attribute") == 2 + 1


def test_a_turn_knows_what_the_condition_of_its_loop_says() -> None:
    def program(keys: Any, wanted: float) -> Any:
        head, total = None, 0.0
        for key in keys:
            head = Node(key, head)
        while head is not None and head.key > wanted:
            total += head.key
            head = head.left
        return total

    compiled, keys = jitflow.function(program), [1.0, 2.0, 3.0, 4.0]
    for arguments in ((keys, 2.5), (keys, 0.5)):
        assert compiled(*arguments) == program(*arguments)
    assert "has no attribute" not in str(compiled.ir(keys, 2.5, stage="traced"))


def test_a_handler_knows_no_more_than_the_op_that_raised() -> None:
    def program(x: Any, k: int) -> Any:
        a = None if k > 3 else x
        b = c = 0.0
        try:
            b = x[k]
            c = a[0]
        except (IndexError, TypeError):
            c = 7.0 if a is None else 8.0
        if a is None:
            return b, c
        return b, c + a[1]

    x = np.arange(1.0, 6.0)
    compiled = jitflow.function(program)
    for k in (0, 3, 4, 9, -9):
        assert_same(compiled(x, k), program(x, k))
