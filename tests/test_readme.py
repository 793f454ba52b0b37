"""The README: every block of code runs, and shows what comes out; its lists are those of the code.

``pytest -n0 --bless tests/test_readme.py`` rewrites the outputs that it shows and the list of what is missing.
"""

from __future__ import annotations

import linecache
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import jitflow
from jitflow.cli import STAGES, app
from jitflow.frontend.numpy.ufuncs import SPECIAL_LOOPS
from tests.array_api import NAMES, missing

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    file: str | None
    start: int
    end: int


def blocks() -> Iterator[Block]:
    for match in BLOCK.finditer(README.read_text()):
        yield Block(match["language"], match["text"], match["file"], match.start("text"), match.end("text"))


def test_every_block_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace: dict[str, Any] = {"__name__": "example"}
    edits: list[tuple[Block, str]] = []
    printed = ""
    for block in blocks():
        if block.language == "python":
            printed = _run_program(block, namespace)
        elif block.language in ("text", "console"):
            now = printed if block.language == "text" else _run_commands(block.text)
            if _steady(now) != _steady(block.text):
                edits.append((block, now))
        elif block.language != "py":
            assert block.text.startswith("pip install"), f"a block of no language: {block.text}"
    if request.config.getoption("--bless"):
        _rewrite((block.start, block.end, text) for block, text in edits)
        return
    for block, now in edits:
        assert _steady(now) == _steady(block.text), "if this is right: pytest -n0 --bless tests/test_readme.py"


def _run_program(block: Block, namespace: dict[str, Any]) -> str:
    """Run a block as a file, so that errors can show its lines, and return what it prints."""
    file = Path(block.file or "example.py")
    file.write_text(block.text)
    linecache.checkcache()
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(block.text, str(file), "exec"), namespace)
    return output.getvalue()


def _run_commands(text: str) -> str:
    """Run the commands of a transcript and return the transcript as it is now."""
    shown = []
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line.removeprefix("$ "))
            assert program == "jitflow"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            shown.append(f"{line}\n{result.output.rstrip()}\n")
    return "\n".join(shown)


def _steady(text: str) -> str:
    """The text without times, which differ, and without the column they stand in."""
    return re.sub(r" *\d+\.\d+ ms", " ... ms", text).strip()


def _rewrite(edits: Iterator[tuple[int, int, str]]) -> None:
    text = README.read_text()
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    README.write_text(text)


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
    programs = [block.text for block in blocks() if block.language == "py"]
    assert programs
    assert all(any(program in example for example in examples) for program in programs)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def _section(title: str) -> str:
    return README.read_text().partition(f"\n## {title}")[2].partition("\n## ")[0]
