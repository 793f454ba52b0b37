"""Exceptions that compiled code raises where the program says so: the class and the message of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function


class OddError(ValueError):
    pass


class StrangeError(Exception):
    def __str__(self) -> str:
        return f"strange: {self.args[0]}"


def singular(x: Any) -> Any:
    if x.sum() > 3:
        raise np.linalg.LinAlgError("the matrix is singular")
    return x * 2


def odd(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 1:
            raise OddError(f"more than {1}")
    return x


def strange(x: Any) -> Any:
    if x.sum() > 3:
        raise StrangeError(7)
    return x


def bare(x: Any) -> Any:
    if x.sum() > 3:
        raise StopIteration
    return x


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        (singular, np.linalg.LinAlgError, "the matrix is singular"),
        (odd, OddError, "more than 1"),
        (strange, StrangeError, "strange: 7"),
        (bare, StopIteration, ""),
    ],
)
def test_the_class_is_the_programs(program: Any, kind: type[Exception], message: str):
    compiled = jitflow.function(program)
    np.testing.assert_array_equal(compiled(np.zeros(3)), program(np.zeros(3)))
    for _ in range(2):
        with pytest.raises(kind) as caught:
            compiled(np.full(3, 5.0))
        assert str(caught.value) == message
        lines = [entry.lineno for entry in caught.traceback if str(entry.path) == __file__]
        first = program.__code__.co_firstlineno
        assert first < lines[-1] + 1 <= first + 5


def test_what_is_computed_cannot_be_in_a_message():
    def program(x: Any) -> Any:
        if x.sum() > 3:
            raise OddError("more", x)
        return x

    with pytest.raises(UserNotImplementedError, match="these arguments"):
        jitflow.function(program)(np.zeros(3))


def test_the_class_is_its_name_in_text():
    text = jitflow.function(odd).ir(np.zeros(3))
    assert 'error="OddError"' in text
    function = parse(text)
    assert print_function(function) == text
    with pytest.raises(Exception, match="more than 1") as caught:
        interpret(function, np.full(3, 5.0))
    assert type(caught.value).__name__ == "OddError"
