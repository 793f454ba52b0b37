"""The borders: which part of jitflow may import which, and what `import jitflow` may load.

`frontend -> ir <- passes`, `ir <- backends`. These tests read the import statements themselves, those inside functions
too, so that a border cannot be crossed at a distance.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "jitflow"
MODULES = sorted(PACKAGE.rglob("*.py"))
ARMS = ("frontend", "passes", "backends")
LATE = ("typer", "rich", "scipy", "networkx", "matplotlib", "cupy", "safetensors")
"""What `import jitflow` must not load."""


def imports_of(path: Path) -> Iterator[str]:
    """Yield the full names of what a module imports, wherever in the file, but not for the type checker only."""
    package = ("jitflow", *path.relative_to(PACKAGE).parent.parts)
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            origin = ".".join(filter(None, [base, node.module]))
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def part_of(name: str) -> str:
    """Return the folder or module of jitflow that a full name lies in; empty for anything else."""
    parts = name.split(".")
    return parts[1] if parts[0] == "jitflow" and len(parts) > 1 else ""


def parts_imported_by(folder: str) -> dict[str, set[str]]:
    return {
        str(path.relative_to(PACKAGE)): {part_of(name) for name in imports_of(path)} - {"", folder}
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    }


@pytest.mark.parametrize("arm", ARMS)
def test_the_arms_never_import_each_other(arm: str) -> None:
    forbidden = set(ARMS) - {arm}
    crossings = {path: parts & forbidden for path, parts in parts_imported_by(arm).items() if parts & forbidden}
    assert crossings == {}


def test_the_ir_imports_only_errors_and_config() -> None:
    crossings = {path: parts for path, parts in parts_imported_by("ir").items() if parts - {"errors", "config"}}
    assert crossings == {}


def test_errors_import_only_tables() -> None:
    assert {part_of(name) for name in imports_of(PACKAGE / "errors.py")} - {"", "config", "mends"} == set()
    assert {part_of(name) for name in imports_of(PACKAGE / "mends.py")} - {""} == set()
    assert {part_of(name) for name in imports_of(PACKAGE / "config.py")} - {""} == set()


@pytest.mark.parametrize("folder", [*ARMS, "ir", "runtime"])
def test_nothing_below_imports_the_command_line(folder: str) -> None:
    above = {"cli", "doctor", "benchmarks"}
    crossings = {path: parts & above for path, parts in parts_imported_by(folder).items() if parts & above}
    assert crossings == {}


def test_only_the_config_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"})
    }
    assert readers <= {"config.py"}


def test_import_jitflow_loads_no_optional_library() -> None:
    program = f"import sys, jitflow; print([name for name in {LATE} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout.strip() == "[]"
