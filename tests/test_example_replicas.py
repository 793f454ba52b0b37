"""The examples of several processes: one command, which starts Ray, trains, and leaves nothing behind."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "replicas.py"
NEEDED = ("ray", "sklearn")


@pytest.mark.stress
@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason="needs ray and scikit-learn")
@pytest.mark.parametrize("options", [(), ("--mode", "allreduce"), ("--mode", "async"), ("--backup", "1")], ids=" ".join)
def test_it_reads_digits(options: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE, *options], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.rpartition("accuracy on the test set: ")[2].rstrip("%\n")) >= 97


@pytest.mark.stress
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray")
def test_a_function_over_two_processes_learns(tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLE.with_name("two_nodes.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    devices, losses = done.stdout.splitlines()
    assert devices.split()[-1] == "node:1/cpu:0"
    first, last = (float(word) for word in losses.split() if word[0].isdigit())
    assert last < first / 2
