"""The README: every block of code runs, and shows what comes out; its lists are those of the code.

``pytest -n0 --bless tests/test_readme.py`` rewrites the outputs that it shows and the list of what is missing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jitflow
from jitflow.cli import STAGES
from jitflow.frontend.numpy.ufuncs import SPECIAL_LOOPS
from tests.array_api import NAMES, missing
from tests.documents import blocks, check

README = Path(__file__).parents[1] / "README.md"


def test_every_block_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    check(README, bless=request.config.getoption("--bless"))


@pytest.mark.parametrize("namespace", NAMES)
def test_what_is_missing_of_the_array_api_is_listed(namespace: str, request: pytest.FixtureRequest) -> None:
    text = README.read_text()
    row = re.search(rf"^\| `{re.escape(namespace)}` \| (.*) \|$", text, re.MULTILINE)
    assert row is not None
    names = " ".join(f"`{name}`" for name in missing(namespace)) or "none"
    if request.config.getoption("--bless"):
        README.write_text(text[: row.start(1)] + names + text[row.end(1) :])
        return
    assert row[1] == names, "if this is right: pytest -n0 --bless tests/test_readme.py"


def test_lists_are_those_of_the_code() -> None:
    text = README.read_text()
    public = set(re.findall(r"`jitflow\.(\w+)", _section("Public names")))
    assert public == set(jitflow.__all__)
    assert f"of `scipy.special`: `{' '.join(SPECIAL_LOOPS)}`" in " ".join(text.split())
    stages = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", _section("Reading what"), re.MULTILINE)))
    assert tuple(stages) == STAGES


@pytest.mark.parametrize("mark", ["performance", "accuracy"])
def test_generated_sections_are_marked(mark: str) -> None:
    text = README.read_text()
    assert text.count(f"<!-- {mark}: begin -->") == text.count(f"<!-- {mark}: end -->") == 1


def test_programs_that_are_not_run_here_are_those_of_examples() -> None:
    examples = [path.read_text() for path in (README.parent / "examples").glob("*.py")]
    programs = [block.text for block in blocks(README) if block.language == "py"]
    assert programs
    assert all(any(program in example for example in examples) for program in programs)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def _section(title: str) -> str:
    return README.read_text().partition(f"\n## {title}")[2].partition("\n## ")[0]
