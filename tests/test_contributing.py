"""CONTRIBUTING.md and ARCHITECTURE.md: the files and names that they send people to exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:jitflow|tests|benchmarks|examples)/[\w./]+)`", CONTRIBUTING)))
WALKTHROUGHS = ("Add an op", "Add a pass", "Add a schedule", "Add a backend", "Add a benchmark")

NAMES = {
    "jitflow/frontend/numpy/composites.py": ("def rel_entr", "@through_f32"),
    "jitflow/frontend/numpy/ufuncs.py": (
        "LOOPS",
        "SPECIAL_LOOPS",
        '"rel_entr": composites.rel_entr',
        'np.hypot: _op("hypot")',
    ),
    "jitflow/frontend/numpy/elementwise.py": ("np.sinc: sinc", "FUNCTIONS"),
    "jitflow/ir/ops/elementwise.py": ("_ROWS", '"hypot"'),
    "jitflow/passes/expand/floats.py": ("def hypot",),
    "jitflow/passes/expand/arithmetic.py": ("ARITHMETIC", '"hypot": floats.hypot'),
    "jitflow/passes/expand/__init__.py": ("FUNCTIONS",),
    "jitflow/passes/expand/primitives.py": ("PRIMITIVES",),
    "jitflow/passes/schedule/cost.py": ("_COSTS", '"hypot"'),
    "jitflow/passes/schedule/target.py": ("class Target",),
    "jitflow/passes/pipeline.py": ("PASSES",),
    "jitflow/passes/schedule/transform.py": ("def _candidates", "def with_lanes"),
    "jitflow/passes/schedule/products.py": ("class Blocks",),
    "jitflow/passes/schedule/scheduled_product.py": ("def _choices",),
    "jitflow/compilation/stages.py": ("STAGES",),
    "benchmarks/accuracy.py": ('Subject("hypot"',),
}
"""What the walkthroughs name, and where it is."""


def test_files_are_mentioned_that_exist() -> None:
    assert len(PATHS) > 30
    missing = [path for path in PATHS if not (ROOT / path).exists()]
    assert missing == []


@pytest.mark.parametrize("path", NAMES)
def test_names_are_where_the_walkthroughs_say(path: str) -> None:
    assert path in PATHS
    text = (ROOT / path).read_text()
    assert [name for name in NAMES[path] if name not in text] == []


def test_every_walkthrough_is_there() -> None:
    for title in WALKTHROUGHS:
        section = CONTRIBUTING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert len(section.split()) > 50, title


def test_options_of_the_commands_exist() -> None:
    conftest = (ROOT / "tests/conftest.py").read_text()
    assert "--bless" in CONTRIBUTING
    assert "--bless" in conftest
    assert '"wild"' in conftest


def test_the_architecture_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in re.findall(r"`((?:ir|passes|backends|runtime|frontend)/[\w./]*)`", text):
        assert (ROOT / "jitflow" / path).exists(), path
