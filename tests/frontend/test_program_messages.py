"""A catalogue of mistakes in whole programs: what the user is told, to the letter.

Each message names the file and the line, what was found, and how to mend it. It is a file under ``messages/programs/``;
``pytest -n0 --bless tests/frontend`` writes it anew.
"""

from __future__ import annotations

import copy
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.frontend import program_mistakes
from tests.frontend.program_mistakes import CASES, KINDS, Function, X

MESSAGES = Path(__file__).parent / "messages" / "programs"
FILE = Path(program_mistakes.__file__)


def message(error: BaseException) -> str:
    """What the error says, and the lines of the program that its traceback shows if it is not a user error."""
    head = f"{type(error).__name__} ({public_class(error).__name__})\n"
    if isinstance(error, UserError):
        return head + error.render().replace(f"{FILE.parent}/", "") + "\n"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(FILE)]
    lines = [f"  --> {FILE.name}:{frame.lineno}, in {frame.name}\n      {frame.line}\n" for frame in frames]
    return head + f"error: {error}\n" + "".join(lines)


def public_class(error: BaseException) -> type[BaseException]:
    return next(kind for kind in type(error).__mro__ if kind.__module__ in ("builtins", "numpy.linalg"))


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the arguments, which may be written to where they may."""
    made = copy.deepcopy(arguments)
    for new, old in zip(made, arguments, strict=True):
        if isinstance(new, np.ndarray):
            new.flags.writeable = old.flags.writeable
    return made


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_what_the_user_is_told(program: Function, arguments: tuple[Any, ...], request: pytest.FixtureRequest):
    compiled = jitflow.function(program)
    found = []
    for _ in range(2):
        with pytest.raises(Exception) as caught:
            compiled(*copies(arguments))
        found.append(message(caught.value))
    assert found[0] == found[1]
    check(program.__name__, found[0], request)


@pytest.mark.parametrize("program", KINDS, ids=[program.__name__ for program in KINDS])
def test_what_cannot_be_decorated(program: Function, request: pytest.FixtureRequest):
    with pytest.raises(UserError) as caught:
        jitflow.function(program)
    check(program.__name__, message(caught.value), request)


def check(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = MESSAGES / f"{name}.txt"
    if request.config.getoption("--bless"):
        path.write_text(text)
    assert path.exists(), "no message yet: pytest -n0 --bless tests/frontend"
    assert text == path.read_text(), "if this is right: pytest -n0 --bless tests/frontend"


def test_each_message_says_where_and_how_to_mend_it():
    texts = {path.stem: path.read_text() for path in MESSAGES.glob("*.txt")}
    assert texts.keys() == {program.__name__ for program in [*(program for program, _ in CASES), *KINDS]}
    assert len(texts) >= 40
    for name, text in texts.items():
        assert f"--> {FILE.name}:" in text, name
        assert "to mend it:" in text or text.startswith(
            ("AssertionError", "UserTypeError (TypeError)\nerror: unsup")
        ), name


def test_the_class_is_that_of_python():
    """Where plain Python fails as well, with an exception of the same class."""
    for program, arguments in CASES:
        path = MESSAGES / f"{program.__name__}.txt"
        if "NotImplementedError" in path.read_text() or program.__name__ in DIFFERENT:
            continue
        with pytest.raises(Exception) as plain:
            program(*copies(arguments))
        with pytest.raises(public_class(plain.value)):
            jitflow.function(program)(*copies(arguments))


DIFFERENT = {"overflows", "raises_to_a_negative", "returns_an_array_or_nothing",
             "carries_another_rank", "carries_a_tuple_that_grows", "writes_text"}  # fmt: skip
"""Programs that mean something in Python, where ints have no end, a name may be anything, and text is read."""


def test_the_process_works_on():
    np.testing.assert_array_equal(jitflow.function(lambda x: x * 2)(X), X * 2)
