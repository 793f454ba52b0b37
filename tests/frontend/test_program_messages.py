"""A catalogue of mistakes in whole programs: what the user is told, to the letter.

Each message names the file and the line, what was found, and how to mend it. It is a file under ``messages/programs/``;
``pytest -n0 --bless tests/frontend`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.frontend import program_mistakes
from tests.frontend.catalogue import check, told, told_twice
from tests.frontend.program_mistakes import CASES, KINDS, Function, X

MESSAGES = Path(__file__).parent / "messages" / "programs"
FILE = program_mistakes.__file__


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_what_the_user_is_told(program: Function, arguments: tuple[Any, ...], request: pytest.FixtureRequest):
    check(MESSAGES / f"{program.__name__}.txt", told_twice(program, arguments, FILE), request)


@pytest.mark.parametrize("program", KINDS, ids=[program.__name__ for program in KINDS])
def test_what_cannot_be_decorated(program: Function, request: pytest.FixtureRequest):
    with pytest.raises(UserError) as caught:
        jitflow.function(program)
    check(MESSAGES / f"{program.__name__}.txt", told(caught.value, FILE), request)


def test_each_message_says_where_and_how_to_mend_it():
    texts = {path.stem: path.read_text() for path in MESSAGES.glob("*.txt")}
    assert texts.keys() == {program.__name__ for program in [*(program for program, _ in CASES), *KINDS]}
    assert len(texts) >= 40
    for name, text in texts.items():
        assert "--> program_mistakes.py:" in text, name
        assert "to mend it:" in text or not text.startswith("User"), name


def test_the_process_works_on():
    np.testing.assert_array_equal(jitflow.function(lambda x: x * 2)(X), X * 2)
