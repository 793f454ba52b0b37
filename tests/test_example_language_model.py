"""The language model learns what its text has in it, and a sampled softmax makes it read faster."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "language_model.py"


def run(folder: Path, *options: str) -> tuple[float, float]:
    command = [sys.executable, "-W", "error", EXAMPLE, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"([\d,]+) words per second\nperplexity of new text: ([\d,]+)", done.stdout)
    assert found, done.stdout
    speed, perplexity = (float(number.replace(",", "")) for number in found.groups())
    return speed, perplexity


def test_it_learns(tmp_path: Path) -> None:
    _, perplexity = run(tmp_path, "--steps", "80")
    assert perplexity < 25_000  # of 40,000 words


@pytest.mark.stress
def test_a_sampled_softmax_is_five_times_as_fast(tmp_path: Path) -> None:
    full, _ = run(tmp_path, "--softmax", "full", "--steps", "20")
    sampled, perplexity = run(tmp_path, "--steps", "1000")
    assert sampled > 5 * full
    assert perplexity < 4000  # 8,800 for one who knows how frequent each word is, and nothing else


@pytest.mark.stress
def test_its_tables_lie_on_servers(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    _, perplexity = run(tmp_path, "--shards", "2", "--steps", "200")
    assert perplexity < 20_000
