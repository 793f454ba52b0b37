"""Documents with blocks of code: each runs, and shows what comes out."""

from __future__ import annotations

import linecache
import re
import shlex
import traceback
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from jitflow.cli import app

BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>[\w{}-]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    file: str | None
    start: int
    end: int
    first_line: int
    """Of its text in the document, from 1."""

    @property
    def last_line(self) -> int:
        return self.first_line + self.text.count("\n") - 1


def blocks(document: Path) -> Iterator[Block]:
    text = document.read_text()
    for match in BLOCK.finditer(text):
        start, end = match.span("text")
        yield Block(match["language"], match["text"], match["file"], start, end, text.count("\n", 0, start) + 1)


def check(document: Path, *, bless: bool) -> None:
    """Run all blocks in the current folder, and compare what they show, or rewrite it.

    ``python`` blocks run one after the other; ``text`` behind one is what it printed, a traceback at its end included.
    ``console`` blocks are commands with what they print. ``py`` and ``c`` blocks are shown only, so are directives, and
    ``sh`` blocks, which are commands of other programs.
    """
    namespace: dict[str, Any] = {"__name__": "example"}
    edits: list[tuple[Block, str]] = []
    printed = ""
    page = list(blocks(document))
    for block, behind in zip_longest(page, page[1:]):
        if block.language == "python":
            printed = _run_program(block, namespace, may_raise=behind is not None and behind.language == "text")
        elif block.language in ("text", "console"):
            now = printed if block.language == "text" else _run_commands(block.text)
            if _steady(now) != _steady(block.text):
                edits.append((block, now))
        else:
            assert block.language in ("py", "sh", "c", "{eval-rst}"), f"a block of no language: {block.text}"
    if bless:
        rewrite(document, ((block.start, block.end, text) for block, text in edits))
        return
    for block, now in edits:
        assert _steady(now) == _steady(block.text), f"if this is right: pytest -n0 --bless ({document.name})"


def rewrite(document: Path, edits: Iterable[tuple[int, int, str]]) -> None:
    text = document.read_text()
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    document.write_text(text)


def _run_program(block: Block, namespace: dict[str, Any], *, may_raise: bool) -> str:
    """Run a block as a file, so that errors can show its lines, and return what it prints."""
    file = Path(block.file or "example.py")
    file.write_text(block.text)
    linecache.checkcache()
    output = StringIO()
    with redirect_stdout(output):
        try:
            exec(compile(block.text, str(file), "exec", dont_inherit=True), namespace)
        except Exception as error:
            if not may_raise:
                raise
            output.write(_traceback(error, str(file)))
    return output.getvalue()


def _traceback(error: Exception, file: str) -> str:
    """What Python prints, without the frames of other files, and without carets, which differ between its versions."""
    report = traceback.TracebackException.from_exception(error)
    report.stack = traceback.StackSummary.from_list([frame for frame in report.stack if frame.filename == file])
    lines = "".join(report.format(chain=False)).splitlines(keepends=True)
    return "".join(line for line in lines if set(line.strip()) - set("~^"))


def _run_commands(text: str) -> str:
    """Run the commands of a transcript and return the transcript as it is now."""
    shown = []
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line.removeprefix("$ "))
            assert program == "jitflow"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            shown.append(f"{line}\n{result.output.rstrip()}\n".replace("\n\n", "\n"))
    return "\n".join(shown)


def _steady(text: str) -> str:
    """The text without times, which differ, and without the column they stand in."""
    return re.sub(r" *\d+\.\d+ [mu]s\b", " ... s", text).strip()
