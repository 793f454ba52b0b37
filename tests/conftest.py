"""What all tests share: the flag that re-blesses golden files."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import Section, read_sections, write_sections


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what the code gives now")


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[Path, str, str], None]:
    """``check(path, section, text)``: the text must be what the section of the golden file says comes out.

    With ``--bless`` the file is rewritten instead; look at the diff before you commit it.
    """

    def check(path: Path, name: str, after: str) -> None:
        sections = read_sections(path)
        before = sections[name]
        if before.after == after:
            return
        if request.config.getoption("--bless"):
            sections[name] = Section(before.title, before.before, after)
            write_sections(path, sections)
            return
        diff = difflib.unified_diff(before.after.splitlines(), after.splitlines(), "golden", "now", lineterm="")
        mend = "if this is right: pytest -n0 --bless tests/passes"
        pytest.fail("\n".join([f"{path.name}, section {name}:", *diff, mend]), pytrace=False)

    return check
