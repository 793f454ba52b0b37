"""The compiler is imported when it is first needed, by any thread, while others go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys, threading, types
import numpy as np, jitflow

w, generator = jitflow.Variable(np.zeros(3)), jitflow.random.Generator(1)
sys.modules["jitflow.frontend.recording.trace"] = types.ModuleType("half")  # what a thread sees that does not import it
w += generator.random(3)
del sys.modules["jitflow.frontend.recording.trace"]
print(jitflow.function(lambda: w.sum())() > 0)
"""


def test_variables_and_draws_while_another_thread_imports_the_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    assert done.stdout == "True\n", done.stderr
