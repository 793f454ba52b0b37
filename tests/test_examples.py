"""The examples: each runs as a script, gives NumPy's result, and its commands work."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jitflow.cli import app
from jitflow.config import CONFIG
from jitflow.machines import hardware

EXAMPLES = Path(__file__).parents[1] / "examples"
TRAINED = {"convnets", "digits", "language_model", "replicas", "two_nodes"}
"""Examples with tests of their own."""
FILES = sorted(path for path in EXAMPLES.glob("*.py") if path.stem not in TRAINED)

EXPECTED = {
    "black_scholes": "spot 100: call  8.9118, put  7.9168",
    "heat_step": "compilations: 1",
    "image_normalise": "uint8(1080, 1920, 3) became float32(3, 1080, 1920)",
    "layer_norm": "4096 rows: mean 0.0000, standard deviation 1.0000",
    "two_devices": "the same bits: True",
}

RANDOM = np.random.default_rng(0)
CALLS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "black_scholes": ("black_scholes", lambda: (*RANDOM.uniform(1.0, 2.0, (3, 1001)), 0.02, 0.3)),
    "heat_step": ("step", lambda: (RANDOM.random((13, 17)), 0.2)),
    "image_normalise": ("normalise", lambda: (RANDOM.integers(0, 256, (11, 7, 3), np.uint8),)),
    "layer_norm": ("layer_norm", lambda: tuple(RANDOM.random(shape, np.float32) for shape in ((5, 33), (33,), (33,)))),
    "two_devices": ("both", lambda: (RANDOM.random(101), 3)),
}


@pytest.fixture(autouse=True)
def two_devices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the example asks for when jitflow is imported, which it was long ago here."""
    if "two_devices" in request.node.name:
        monkeypatch.setattr(hardware, "CONFIG", replace(CONFIG, cpu_devices=2))


def load(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    assert {path.stem for path in FILES} == set(EXPECTED) == set(CALLS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_runs_as_a_script(path: Path) -> None:
    command = [sys.executable, "-W", "error", path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES.parent, check=False)
    assert done.returncode == 0, done.stderr
    assert EXPECTED[path.stem] in done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_gives_the_result_of_numpy(path: Path) -> None:
    name, make_arguments = CALLS[path.stem]
    compiled, arguments = getattr(load(path), name), make_arguments()
    found, expected = compiled(*arguments), compiled.__wrapped__(*arguments)
    assert type(found) is type(expected)
    tolerance = 1e-5 if np.asarray(expected).dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, tolerance, tolerance, strict=True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_commands_that_it_names_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = path.read_text().partition('"""')[2].partition('"""')[0].replace("\\\n", " ")
    (command,) = re.findall(r"^ *jitflow ((?:ir|explain) .*)$", text, re.MULTILINE)
    result = CliRunner().invoke(app, shlex.split(command))
    sys.modules.pop(path.stem, None)
    assert result.exit_code == 0, result.output
