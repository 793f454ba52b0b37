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


COMPLEX_PRODUCT = """
import sys
import numpy as np, jitflow
from jitflow.runtime.native.symbols import _library

x = np.random.default_rng(0).normal(size=(40, 30)) + 1j
found = jitflow.function(lambda x: x @ x.T)(x)
print(np.allclose(found, x @ x.T) and ("scipy.linalg" in sys.modules) == (_library() is None))
"""


def _printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_variables_and_draws_while_another_thread_imports_the_compiler() -> None:
    assert _printed(PROGRAM) == "True\n"


def test_blas_is_found_by_its_file() -> None:
    assert _printed(COMPLEX_PRODUCT) == "True\n"
