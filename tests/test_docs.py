"""The documentation: every block of code runs on two CPU devices, and shows what comes out; so do its pictures.

``pytest -n0 --bless tests/test_docs.py`` rewrites the outputs and ``docs/placement.svg``; ``docs/timeline.svg`` is a
recording, which the page says how to make.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jitflow import hardware, machine
from jitflow.config import CONFIG
from tests.documents import check

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "devices.md"


def test_the_page_on_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    shutil.copy(ROOT / "examples" / "two_devices.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(hardware, "CONFIG", replace(CONFIG, cpu_devices=2))
    monkeypatch.setattr(machine, "read_profile", lambda: None)  # what this machine was measured to do is not the page's
    bless = request.config.getoption("--bless")
    try:
        check(PAGE, bless=bless)
    finally:
        sys.modules.pop("two_devices", None)
    assert (tmp_path / "timeline.svg").read_text().startswith("<svg")
    if bless:
        shutil.copy(tmp_path / "placement.svg", PAGE.parent)
    assert (tmp_path / "placement.svg").read_text() == (PAGE.parent / "placement.svg").read_text()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    targets = [*re.findall(r"\]\((?!http)([^)#]+)\)", text), *re.findall(r"\{literalinclude\} (\S+)", text)]
    assert all((page.parent / target).exists() for target in targets)
