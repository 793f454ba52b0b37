"""Golden rewritings: functions before and after, as text.

``pytest -n0 --bless tests/frontend/syntax`` rewrites what comes after the arrows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitflow.frontend.syntax import rewritten, why_not
from tests.frontend.syntax.rebuilt import defined
from tests.golden import read_sections

FILE = Path(__file__).with_name("rewritings.txt")


@pytest.mark.parametrize("name", read_sections(FILE))
def test_rewriting(name: str, check_golden: Callable[[Path, str, str], None]) -> None:
    section = read_sections(FILE)[name]
    function = defined(section.before, f"<{name}>")["f"]
    found = rewritten(function)
    assert found is not None, why_not(function)
    check_golden(FILE, name, found.text + "\n")
