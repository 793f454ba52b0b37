"""What is refused, and that its advice works: the mended program is compiled, and does what plain Python does.

The messages are in ``messages/refused.txt``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.frontend import program_mistakes, raised_by_python, refused
from tests.frontend.catalogue import check, copies, told, told_twice

MESSAGES = Path(__file__).parent / "messages"
FILE = refused.__file__


def test_what_is_refused_says_how_to_mend_it(request: pytest.FixtureRequest) -> None:
    texts = []
    for program, arguments, _, _ in refused.CASES:
        text = told_twice(program, arguments, FILE)
        assert text.startswith("User"), program.__name__
        assert "--> refused.py:" in text, program.__name__
        assert "to mend it: " in text, program.__name__
        texts.append(f"{program.__name__}\n{text}")
    for program, _, _ in refused.DECORATED:
        with pytest.raises(UserError) as caught:
            jitflow.function(program)
        texts.append(f"{program.__name__}\n{told(caught.value, FILE)}")
    check(MESSAGES / "refused.txt", "\n".join(texts), request)


def test_the_advice_works() -> None:
    cases = [(program, mended, arguments) for program, _, mended, arguments in refused.CASES]
    for program, mended, arguments in [*cases, *refused.DECORATED]:
        assert mended.__name__ == f"{program.__name__}_mended"
        np.testing.assert_equal(jitflow.function(mended)(*copies(arguments)), mended(*copies(arguments)))


def test_each_piece_of_advice_is_followed_by_a_mended_program() -> None:
    """Those that other programs get, too; but for what is no program: what a call is given, and a tracer that leaks."""
    followed = _advice((MESSAGES / "refused.txt").read_text())
    for path in MESSAGES.rglob("*.txt"):
        if not path.name.startswith(("argument_", "leaked_")):
            assert _advice(path.read_text()) <= followed, path.name


def _advice(text: str) -> set[str]:
    return set(re.findall(r"to mend it: (.*)", text))


def test_the_catalogue_has_120_mistakes() -> None:
    assert len(refused.CASES) + len(raised_by_python.CASES) + len(program_mistakes.CASES) >= 120
