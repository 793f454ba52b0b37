"""The two kinds of error: how they read, what they are, and where their traceback ends."""

from __future__ import annotations

import linecache
import pickle
import traceback
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from jitflow.errors import (
    USER_ERRORS,
    CompilerBug,
    UserAxisError,
    UserError,
    UserIndexError,
    UserNotImplementedError,
    UserTypeError,
    UserZeroDivisionError,
    as_user_error,
)
from jitflow.ir.location import NOWHERE, Loc
from jitflow.mends import mend_of
from jitflow.user_lines import with_user_frames

FILE = "train.py"
SOURCE = """\
import numpy as np

def step(x):
    if x.sum() > 0:
        return x
\tß = x[3, 4]

def outer(x):
    return step(x)
"""
CONDITION = Loc(FILE, 4, "step", 7, 18)
CALLED = replace(CONDITION, caller=Loc(FILE, 9, "outer", 11, 18))


@pytest.fixture(autouse=True)
def source_file() -> Iterator[None]:
    """Let Python read `train.py` from memory."""
    linecache.cache[FILE] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), FILE)
    yield
    del linecache.cache[FILE]


def test_a_user_error_shows_the_line_and_how_to_mend_it() -> None:
    error = UserTypeError(
        "cannot decide an if on a traced value",
        found="pybool, computed from x: f32[n]",
        expected="a value known while tracing",
        mend="use np.where(x.sum() > 0, a, b)",
        location=CALLED,
    )
    assert error.render() == (
        "error: cannot decide an if on a traced value\n"
        "  --> train.py:4, in step\n"
        "    |\n"
        "  4 |     if x.sum() > 0:\n"
        "    |        ^^^^^^^^^^^\n"
        "  called from train.py:9, in outer\n"
        "  found: pybool, computed from x: f32[n]\n"
        "  expected: a value known while tracing\n"
        "  to mend it: use np.where(x.sum() > 0, a, b)"
    )


def test_the_message_alone_is_the_text_of_the_exception() -> None:
    error = UserIndexError("index 9 is out of bounds for axis 0 with size 3", found="f32[3]", location=CONDITION)
    assert str(error) == "index 9 is out of bounds for axis 0 with size 3"
    found, mend = error.__notes__[0].splitlines()[-2:]
    assert found == "  found: f32[3]"
    assert mend.startswith("  to mend it: stay from 0 to size - 1, or from -3 on")


def test_advice_is_for_messages_that_say_what_is_wrong() -> None:
    assert mend_of("index 0 is out of bounds for axis 1 with size 0").startswith("test the size")
    assert mend_of("not today") == ""
    assert UserIndexError("too many indices for array", mend="my own").mend == "my own"


def test_a_caret_counts_characters_though_columns_count_bytes() -> None:
    lines = UserError("odd", location=Loc(FILE, 6, "step", 6, 13)).render().splitlines()
    assert lines[-1] == "    | \t    ^^^^^^^"


def test_without_columns_or_source_the_place_is_still_named() -> None:
    assert UserError("odd", location=Loc(FILE, 4, "step")).render().splitlines()[-1] == "  4 |     if x.sum() > 0:"
    assert UserError("odd", location=Loc("gone.py", 4)).render() == "error: odd\n  --> gone.py:4"
    assert UserError("odd", location=NOWHERE).render() == "error: odd"


def test_the_first_location_stays() -> None:
    error = UserError("odd").at(None).at(NOWHERE).at(CONDITION).at(Loc(FILE, 9))
    assert error.location == CONDITION
    assert len(error.__notes__) == 1


@pytest.mark.parametrize(("python_class", "user_class"), USER_ERRORS.items())
def test_a_user_error_is_also_python_s_own_class(python_class: type[Exception], user_class: type[UserError]) -> None:
    error = user_class("odd", mend="do it", location=CONDITION)
    assert isinstance(error, python_class)
    assert isinstance(error, UserError)
    assert str(error) == "odd"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is user_class
    assert copy.render() == error.render()


def test_numpy_s_error_becomes_a_user_error_with_its_words() -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        np.sum(np.ones((2, 3)), axis=5)
    error = as_user_error(caught.value, location=CONDITION)
    assert type(error) is UserAxisError
    assert str(error) == str(caught.value)
    assert error.location == CONDITION


def test_a_mistake_is_raised_as_python_s_own() -> None:
    assert type(UserAxisError("axis 2 is out of bounds").as_raised()) is np.exceptions.AxisError
    key = KeyError(("a", 1))
    assert as_user_error(key).as_raised() is key
    refused = UserTypeError("no", mend="do it")
    assert refused.as_raised() is refused


def test_the_nearest_class_decides() -> None:
    class Special(ZeroDivisionError):
        pass

    assert type(as_user_error(Special("division by zero"))) is UserZeroDivisionError
    assert type(as_user_error(UnicodeError("odd"))) is USER_ERRORS[ValueError]
    assert type(as_user_error(StopIteration())) is UserError
    assert str(as_user_error(KeyError("name"))) == "name"
    already = UserNotImplementedError("no")
    assert as_user_error(already) is already


def test_the_traceback_ends_at_the_users_lines() -> None:
    error = UserTypeError("odd", location=CALLED)
    with pytest.raises(UserTypeError) as caught:
        raise with_user_frames(error, error.location)
    here, outer, step = traceback.extract_tb(caught.value.__traceback__)
    assert here.name == "test_the_traceback_ends_at_the_users_lines"
    assert (outer.filename, outer.lineno, outer.name) == (FILE, 9, "outer")
    assert (step.filename, step.lineno, step.name, step.line) == (FILE, 4, "step", "if x.sum() > 0:")
    assert (step.colno, step.end_colno) == (7, 18)
    assert "        if x.sum() > 0:\n" not in str(caught.value)


def test_any_exception_can_be_given_a_user_frame() -> None:
    error = with_user_frames(ZeroDivisionError("division by zero"), Loc(FILE, 5, "step"))
    (frame,) = traceback.extract_tb(error.__traceback__)
    assert (frame.lineno, frame.line) == (5, "return x")
    assert "^" not in "".join(traceback.format_exception(error))


def test_a_place_that_is_unknown_adds_no_frame() -> None:
    assert with_user_frames(UserError("odd"), None).__traceback__ is None
    assert with_user_frames(ValueError("odd"), NOWHERE).__traceback__ is None


def test_a_compiler_bug_carries_its_reproducer() -> None:
    bug = CompilerBug(
        "expected f32[n], got f64[n]",
        pass_name="fuse",
        operation="%3: f64[n] = add %1, %2",
        surrounding="%1: f32[n] = exp %0\n%3: f64[n] = add %1, %2",
        reproducer="jitflow opt bug.ir -p fuse",
        location=CONDITION,
    )
    assert str(bug) == (
        "expected f32[n], got f64[n]\n"
        "  pass: fuse\n"
        "  op: %3: f64[n] = add %1, %2\n"
        "  --> train.py:4, in step\n"
        "    |\n"
        "  4 |     if x.sum() > 0:\n"
        "    |        ^^^^^^^^^^^\n"
        "  the IR around it:\n"
        "    %1: f32[n] = exp %0\n"
        "    %3: f64[n] = add %1, %2\n"
        "  this is a bug in jitflow, not in your program\n"
        "  to reproduce it:\n"
        "    jitflow opt bug.ir -p fuse"
    )
    assert not isinstance(bug, UserError)
