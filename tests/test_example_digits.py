"""The example that trains: it learns, resumes where it stopped, and says what it needs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "digits.py"
has_data = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")


def run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-W", "error", EXAMPLE, "--folder", folder, *options]
    kept = os.environ | {"JITFLOW_CACHE": "1", "JITFLOW_CACHE_DIR": str(folder.parent / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=kept, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def share(output: str) -> float:
    return float(output.partition("test images:")[2].partition("%")[0])


@has_data
@pytest.mark.parametrize(("model", "least"), [("dense", 95.0), ("rnn", 94.0)])
def test_it_learns_and_resumes_as_if_it_had_not_stopped(model: str, least: float, tmp_path: Path) -> None:
    options = ("--model", model)
    once, twice = tmp_path / "once", tmp_path / "twice"
    for folder in (once, twice):
        folder.mkdir()
    first = run(twice, *options, "--epochs", "3")
    assert "training from epoch 0" in first
    assert (twice / "step-0000000003.safetensors").exists()
    second = run(twice, *options, "--epochs", "6")
    assert "training from epoch 3" in second
    assert share(second) >= least
    straight_on = once if model == "dense" else twice  # where nothing is left to train
    assert share(run(straight_on, *options, "--epochs", "6")) == share(second)
    if straight_on is once:
        safetensors = pytest.importorskip("safetensors.numpy")
        stopped, straight = (safetensors.load_file(folder / "step-0000000006.safetensors") for folder in (twice, once))
        assert all((stopped[name] == straight[name]).all() for name in straight)


def test_without_the_data_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("raise ImportError('no')\n")
    source = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['digits.py']\n"
    source += f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')\n"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "pip install 'jitflow[examples]'" in done.stderr
