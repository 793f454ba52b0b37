"""The README and the pages in `docs/`: every block of code runs, and shows what comes out; so do the pictures.

``pytest -n0 --bless tests/test_docs.py`` rewrites the outputs, the list of what is missing and ``docs/placement.svg``;
``docs/timeline.svg`` is a recording, which the page on devices says how to make. The idioms have tests of their own, in
``tests/frontend/test_idioms.py``.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import jitflow
from jitflow.cli import STAGES
from jitflow.config import CONFIG
from jitflow.frontend.numpy.ufuncs import SPECIAL_LOOPS
from jitflow.machines import hardware, machine
from tests.array_api import NAMES, missing
from tests.documents import blocks, check

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
SCREENS, LINES_OF_A_SCREEN = 10, 30

of_all_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "idioms"], ids=lambda page: page.stem)
def test_every_block_shows_what_comes_out(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    known = set(sys.modules)
    bless = request.config.getoption("--bless")
    if page.stem == "devices":
        _prepare_devices(tmp_path, monkeypatch)
    try:
        check(page, bless=bless)
    finally:
        for name in set(sys.modules) - known:
            if not hasattr(sys.modules[name], "__path__") and str(tmp_path) in str(sys.modules[name]):
                del sys.modules[name]
    if page.stem == "devices":
        _check_pictures(tmp_path, bless=bless)


def _prepare_devices(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the page its program, two CPU devices, and a machine that nobody has measured."""
    shutil.copy(ROOT / "examples" / "two_devices.py", folder)
    monkeypatch.setattr(hardware, "CONFIG", replace(CONFIG, cpu_devices=2))
    monkeypatch.setattr(machine, "read_profile", lambda: None)


def _check_pictures(folder: Path, *, bless: bool) -> None:
    assert (folder / "timeline.svg").read_text().startswith("<svg")
    if bless:
        shutil.copy(folder / "placement.svg", DOCS)
    assert (folder / "placement.svg").read_text() == (DOCS / "placement.svg").read_text()


@of_all_pages
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    targets = [
        *re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text),
        *re.findall(r"\{(?:literalinclude|include)\} (\S+)", text),
    ]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_fits_ten_screens() -> None:
    assert README.read_text().count("\n") <= SCREENS * LINES_OF_A_SCREEN


def test_every_section_of_the_programs_has_a_page() -> None:
    sections = re.findall(r"^## (.*)$", (ROOT / "examples" / "programs" / "README.md").read_text(), re.MULTILINE)
    titles = [path.read_text().partition("\n")[0] for path in (DOCS / "gallery").glob("*.md")]
    assert {f"# {section}" for section in sections} | {"# Gallery"} == set(titles)


def test_programs_that_are_not_run_here_are_those_of_examples() -> None:
    examples = [path.read_text() for path in (ROOT / "examples").glob("*.py")]
    programs = [
        block.text for page in PAGES for block in blocks(page) if block.language == "py" and "cupy" not in block.text
    ]
    assert all(any(program in example for example in examples) for program in programs)


@pytest.mark.parametrize("namespace", NAMES)
def test_what_is_missing_of_the_array_api_is_listed(namespace: str, request: pytest.FixtureRequest) -> None:
    page = DOCS / "supported.md"
    text = page.read_text()
    row = re.search(rf"^\| `{re.escape(namespace)}` \| (.*) \|$", text, re.MULTILINE)
    assert row is not None
    names = " ".join(f"`{name}`" for name in missing(namespace)) or "none"
    if request.config.getoption("--bless"):
        page.write_text(text[: row.start(1)] + names + text[row.end(1) :])
        return
    assert row[1] == names, "if this is right: pytest -n0 --bless tests/test_docs.py"


def test_lists_are_those_of_the_code() -> None:
    reference = (DOCS / "api.md").read_text()
    assert set(re.findall(r"^\.\. \w+:: jitflow\.(\w+)(?:\(\))?$", reference, re.MULTILINE)) == set(jitflow.__all__)
    supported = " ".join((DOCS / "supported.md").read_text().split())
    assert f"of `scipy.special`: `{' '.join(SPECIAL_LOOPS)}`" in supported
    stages = re.findall(r"^\| (`.*?) \|", (DOCS / "reading.md").read_text(), re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", " ".join(stages))) == STAGES


@pytest.mark.parametrize("mark", ["performance", "accuracy"])
def test_generated_sections_are_marked(mark: str) -> None:
    text = (DOCS / "performance.md").read_text()
    assert text.count(f"<!-- {mark}: begin -->") == text.count(f"<!-- {mark}: end -->") == 1
