"""The borders: which part of jitflow may import which, and what `import jitflow` may load.

`frontend -> ir <- passes`, `ir <- backends`. These tests read the import statements themselves, those inside functions
too, so that a border cannot be crossed at a distance.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "jitflow"
MODULES = sorted(PACKAGE.rglob("*.py"))
ARMS = ("frontend", "passes", "backends")
LATE = ("typer", "rich", "scipy", "networkx", "matplotlib", "cupy", "ray", "safetensors")
"""What `import jitflow` must not load."""


@cache
def imports_of(path: Path) -> list[str]:
    """The full names of what a module imports, late or for the type checker only as well."""
    package, found = ("jitflow", *path.relative_to(PACKAGE).parent.parts), []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            origin = ".".join(filter(None, [base, node.module]))
            found += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return found


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


def test_the_ir_imports_only_what_has_no_imports() -> None:
    leaves = {"errors", "config", "records"}
    crossings = {path: parts for path, parts in parts_imported_by("ir").items() if parts - leaves}
    assert crossings == {}


def test_errors_import_only_tables() -> None:
    assert {part_of(name) for name in imports_of(PACKAGE / "errors.py")} - {
        "",
        "config",
        "mends",
        "user_lines",
    } == set()
    assert {part_of(name) for name in imports_of(PACKAGE / "user_lines.py")} - {""} == set()
    assert {part_of(name) for name in imports_of(PACKAGE / "mends.py")} - {""} == set()
    assert {part_of(name) for name in imports_of(PACKAGE / "config.py")} - {""} == {"records"}
    assert {part_of(name) for name in imports_of(PACKAGE / "records.py")} - {""} == set()


@pytest.mark.parametrize("folder", [*ARMS, "ir", "runtime"])
def test_nothing_below_imports_the_command_line(folder: str) -> None:
    above = {"cli", "doctor", "benchmarks"}
    crossings = {path: parts & above for path, parts in parts_imported_by(folder).items() if parts & above}
    assert crossings == {}


def test_only_the_config_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if re.search("environ|getenv", text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"})
    }
    assert readers <= {"config.py"}


def test_import_jitflow_loads_no_optional_library() -> None:
    program = f"import sys, jitflow; print([name for name in {LATE} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout.strip() == "[]"


LAYERS = ("syntax", "recording", "tracers", "outside", "texts", "arrays", "control", "containers",
          "python", "numpy", "transforms", "entry")  # fmt: skip
"""The folders of the frontend, each of which stands on those before it."""


WITHOUT_CIRCLES = ("frontend", "ir", "passes.lower", "passes.plan")
"""The folders of which no two modules import each other, on whatever way."""


def modules_of(folder: str) -> dict[str, set[str]]:
    """From each module of a folder to the modules of it that it imports: anywhere, late, or for types only."""
    paths = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in MODULES}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items() if name.startswith(f"{folder}.")}
    return {
        name: {short for full in imports_of(path) if (short := full.removeprefix("jitflow.")) in paths} - {name}
        for name, path in paths.items()
    }


def test_the_frontend_has_layers() -> None:
    upward = [
        f"{name} imports {other}"
        for name, imported in modules_of("frontend").items()
        for other in imported
        if LAYERS.index(name.split(".")[1]) < LAYERS.index(other.split(".")[1])
    ]
    assert upward == []


@pytest.mark.parametrize("folder", WITHOUT_CIRCLES)
def test_no_modules_import_each_other_in_a_circle(folder: str) -> None:
    left = modules_of(folder)
    while ready := {name for name, imported in left.items() if not imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in ready}
    assert sorted(left) == []


ROOMS = ("frontend", "backends.llvm", "runtime", "passes.lower")
"""The folders whose folders stand on each other: what lies in the folder itself is one of them."""


@pytest.mark.parametrize("folder", ROOMS)
def test_no_folders_import_each_other_in_a_circle(folder: str) -> None:
    homes = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path.parent for path in MODULES}
    homes = {name.removesuffix(".__init__"): home for name, home in homes.items()}
    left: dict[Path, set[Path]] = {}
    for name, imported in modules_of(folder).items():
        left.setdefault(homes[name], set()).update({homes[other] for other in imported} - {homes[name]})
    while ready := {home for home, imported in left.items() if not imported & left.keys()}:
        left = {home: imported for home, imported in left.items() if home not in ready}
    assert sorted(left) == []


def test_no_module_is_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert {str(path.relative_to(PACKAGE)): length for path, length in lengths.items() if length > 400} == {}


def names_of(tree: ast.Module) -> Iterator[str]:
    """Yield what a module binds: its functions, classes and constants."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_everything_is_used() -> None:
    root, listed = PACKAGE.parent, Counter[str]()
    folders = (PACKAGE, root / "tests", root / "benchmarks", root / "docs", root / "examples")
    texts = (path.read_text() for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md"))
    words = Counter(word for text in texts for word in re.findall(r"\w+", text))
    bound = [(path, name) for path in MODULES for name in names_of(ast.parse(path.read_text()))]
    for path in MODULES:
        listed.update(re.findall(r"\w+", (re.search(r"__all__ = [\[(](.*?)[\])]", path.read_text(), re.S) or [""])[0]))
    unused = [f"{path.relative_to(PACKAGE)}: {name}" for path, name in bound if words[name] - listed[name] < 2]
    assert [one for one in unused if not one.endswith("__")] == []


DECIDING = ("passes/schedule/*.py", "passes/lower/**/*.py", "passes/plan/*.py", "passes/fusion/*.py",
            "backends/llvm/emission/emit_*.py", "backends/llvm/products/*.py",
            "backends/cuda/emit_*.py", "backends/cuda/grid.py")  # fmt: skip
"""Where loops are decided and emitted. Numbers that decide a schedule stand in `cost.py`, and what is known of
processors in `target.py`."""

FACTS = {
    "passes/schedule/folding.py": "what a reduction means, whatever its schedule: its tree of additions",
    "passes/schedule/scheduled.py: RUNNERS_UP": "how many schedules are shown",
    "passes/schedule/tiles.py: _ITEMSIZES": "bytes of a number",
    "passes/schedule/text.py: _COLUMN": "where the user's lines are printed",
    "passes/fusion/group.py": "how many bytes an i32 has, and how far signed ones are from those without a sign",
    "passes/fusion/snapshot.py: _MOST_SLICES": "which of two programs a copy is in, not how its loop runs",
    "passes/lower/kernels/offset_tables.py: TABLE_BYTES": "bytes of an offset",
    "passes/lower/kernels/slid_rows.py: _FIELDS": "how many numbers are told of a run",
    "passes/lower/poll.py": "how soon Ctrl-C ends a program",
    "passes/lower/scopes.py: _LONG_SUM": "how the host program computes a size",
    "backends/cuda/emit_control.py: ERROR_WORDS": "words of the error record",
    "backends/cuda/grid.py": "how many threads a launch has, under any number of which a kernel is right",
    "backends/llvm/emission/emit_calls.py: _WORDS": "how large records of the runtime are",
    "backends/llvm/emission/emit_device.py: _NO_MEMORY": "an error of the driver",
    "backends/llvm/emission/emit_elementwise.py: LARGEST": "the largest integer of 64 bits",
    "backends/llvm/products/byte_text.py": "how many bytes an instruction multiplies and adds up",
    "backends/llvm/products/emit_gathered_panels.py: _LINE": "bytes of a line of a cache",
    "backends/llvm/products/panel_writing.py: _LEAST_BYTES": "a register of processors without masks",
    "backends/llvm/emission/emit_loops.py: _LARGEST": "the largest integer of 64 bits",
    "backends/llvm/emission/emit_loops.py: _PIECE": "how soon Ctrl-C ends a program",
    "backends/llvm/emission/emit_memory.py": "which instructions read and write lanes apart, and where registers end",
    "backends/llvm/emission/emit_poll.py: PERIOD": "how soon Ctrl-C ends a program",
    "backends/llvm/emission/emit_select.py: _DEPTH": "how far an instruction is looked for",
    "backends/llvm/emission/emit_sharing.py": "where a failure has its fields",
    "backends/llvm/emission/emit_short_rows.py": "rows that a routine sorts instead of NumPy's",
    "backends/llvm/products/vector_text.py": "bytes of a line of a cache, and of the shortest vectors",
}
"""Files, or names in them, whose numbers decide no schedule, and what they are."""
OF_A_TYPE = ("itemsize", "bits", "rank", "lanes")
"""What is compared with numbers that a format or an instruction has."""


def numbers_in(node: ast.AST, largest: int) -> list[float]:
    """The numbers of an expression that are larger than the trivial ones."""
    found = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
    return [one for one in found if isinstance(one, int | float) and one is not True and abs(one) > largest]


def figures_of(path: Path) -> Iterator[str]:
    """Yield the names of a module that are numbers, and the comparisons with a number written out."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and numbers_in(node.value, 1):
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not any(isinstance(inner, ast.Lambda | ast.Call | ast.JoinedStr) for inner in ast.walk(node.value)):
                yield ast.unparse(target)
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, ast.Compare) else ""
        if text and numbers_in(node, 2) and not any(word in text for word in OF_A_TYPE):
            yield text


def test_numbers_that_decide_a_schedule_stand_in_one_file() -> None:
    known = {"passes/schedule/cost.py", "passes/schedule/target.py"}
    paths = {path for pattern in DECIDING for path in PACKAGE.glob(pattern)}
    assert len(paths) > 100
    found = {(str(path.relative_to(PACKAGE)), name) for path in paths for name in figures_of(path)}
    used = {key for path, name in found for key in (path, f"{path}: {name}") if key in FACTS}
    left = {(path, name) for path, name in found if not {path, f"{path}: {name}"} & used and path not in known}
    assert sorted(left) == []
    assert used == FACTS.keys()
