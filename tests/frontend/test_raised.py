"""Exceptions that compiled code raises where the program says so: the class, message and line of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from tests.frontend import raising
from tests.frontend.interpreted import interpreted
from tests.frontend.raising import (
    MadeError,
    OddError,
    asks_what_is_wrong,
    asserts,
    asserts_elements,
    asserts_what_is_no_text,
    bare,
    catches_other_things,
    catches_what_may_be_singular,
    catches_what_tracing_raises,
    decides_on_a_shape,
    empty,
    has_arguments,
    judges_sizes,
    makes_itself,
    odd,
    raises_after_all,
    raises_always,
    shows_a_choice,
    shows_arrays,
    shows_many,
    shows_numbers,
    shows_small_numbers,
    shows_what_may_fail,
    singular,
    strange,
)

PROGRAMS = [singular, odd, strange, bare, empty, shows_numbers, shows_small_numbers, shows_arrays, shows_many,
            shows_a_choice, has_arguments, makes_itself, asserts, asserts_elements, asserts_what_is_no_text,
            raises_always, raises_after_all, judges_sizes]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_raises_what_python_raises(program: Any):
    compiled = jitflow.function(program)
    for number in (5.0, 0.0, 4.5):
        x, y = np.full(3, number), np.full(3, number)
        try:
            expected = program(x)
        except Exception as error:
            kind, text, arguments = type(error), str(error), error.args
            with pytest.raises(kind) as caught:
                compiled(y)
            assert (str(caught.value), repr(caught.value.args)) == (text, repr(arguments))
            lines = [entry.lineno for entry in caught.traceback if str(entry.path) == raising.__file__]
            first = program.__code__.co_firstlineno
            assert first < lines[-1] + 1 <= first + 5
        else:
            np.testing.assert_array_equal(compiled(y), expected)
        np.testing.assert_array_equal(y, x)


def is_not_there(x):
    raise NotImplementedError("not yet")


def test_the_very_class_is_raised():
    with pytest.raises(MadeError) as caught:
        jitflow.function(makes_itself)(np.full(3, 2.0))
    assert type(caught.value) is MadeError
    assert type(caught.value.value) is np.float64
    with pytest.raises(NotImplementedError) as known:
        jitflow.function(is_not_there)(np.full(3, 2.0))
    assert type(known.value) is NotImplementedError
    with pytest.raises(OddError) as odd_one:
        jitflow.function(odd)(np.full(3, 2.0))
    assert type(odd_one.value) is OddError


def test_numbers_in_a_message_cost_no_call():
    text = jitflow.function(shows_numbers).ir(np.ones(3))
    assert text.count("check ") >= 1
    assert "host_call" not in text
    assert 'routine="jitflow.runtime.objects.texts.raise_error"' in jitflow.function(shows_arrays).ir(np.ones(3))


def test_a_message_is_made_only_where_it_is_needed():
    program = jitflow.function(shows_what_may_fail)
    assert program(np.arange(3.0), 0) == 0.0
    with pytest.raises(AssertionError, match=r"beyond 1\.0"):
        program(np.arange(3.0), 4)


def test_what_an_exception_holds():
    def program(x: Any, held: Any) -> Any:
        if x.sum() > 3:
            raise OddError("more", [x, 2.5])
        if x.sum() > 2:
            raise OddError(held)
        return x

    with pytest.raises(OddError) as caught:
        jitflow.function(program)(np.full(3, 2.0), 1)
    np.testing.assert_equal(caught.value.args, ("more", [np.full(3, 2.0), 2.5]))
    with pytest.raises(UserNotImplementedError, match="these arguments"):
        jitflow.function(lambda x: program(x, slice(x[0])))(np.zeros(3))


@pytest.mark.parametrize(("program", "name"), [(odd, "OddError"), (shows_arrays, "OddError")])
def test_the_class_is_its_name_in_text(program: Any, name: str):
    text = jitflow.function(program).ir(np.zeros(3))
    assert f'"{name}"' in text
    function = parse(text)
    assert print_function(function) == text
    with pytest.raises(Exception, match=r"more than 1|the array") as caught:
        interpret(function, np.full(3, 5.0))
    assert type(caught.value).__name__ == name


# -- try ------------------------------------------------------------------------------------------------


def test_what_would_not_be_caught_is_refused():
    with pytest.raises(UserNotImplementedError, match="where nothing catches it") as caught:
        jitflow.function(asks_what_is_wrong)(np.ones(3))
    assert caught.value.location is not None
    assert caught.value.location.line > asks_what_is_wrong.__code__.co_firstlineno


def test_what_may_be_singular_is_caught():
    compiled = jitflow.function(catches_what_may_be_singular)
    for x in (np.ones(3), np.zeros(3), np.array([1.0, 0.0, 2.0]), np.array([1.0, 4.0, 2.0])):
        np.testing.assert_array_equal(compiled(x), catches_what_may_be_singular(x))


@pytest.mark.parametrize("run", [jitflow.function, interpreted], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("program", [decides_on_a_shape, catches_other_things, catches_what_tracing_raises])
def test_what_is_caught_while_tracing(program: Any, run: Any):
    for size in (3, 4):
        np.testing.assert_equal(run(program)(np.ones(size)), program(np.ones(size)))
