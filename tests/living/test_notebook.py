"""Compiled functions in the cells of a notebook."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="needs IPython")
def test_cells(tmp_path: Path) -> None:
    """Cells that are run again, timed, sent to other processes, and changed modules that are loaded again."""
    script, root = Path(__file__).parent / "notebook.py", Path(__file__).parents[2]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, script, tmp_path], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")
