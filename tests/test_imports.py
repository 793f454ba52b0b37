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


LATE = """
import sys, tempfile
import numpy as np, jitflow

@jitflow.function
def step(w, x):
    value, gradient = jitflow.value_and_grad(lambda w: (np.exp(x @ w) ** 2).mean())(w)
    return value, w - np.float32(0.1) * gradient

step(np.ones((4, 3), "f4"), np.ones((5, 4), "f4"))
with tempfile.TemporaryDirectory() as folder:
    jitflow.save(folder + "/weights", jitflow.Variable(np.ones(3, "f4")))
print("ml_dtypes" in sys.modules)
import ml_dtypes
from ml_dtypes import bfloat16

number = jitflow.function(lambda x: bfloat16(x.sum()))(np.ones(3))
array = jitflow.function(lambda x: ml_dtypes.bfloat16(x + 1).astype(bfloat16))(np.ones(3))
applied = jitflow.function(lambda x: np.vectorize(lambda y: y + 1, otypes=[bfloat16])(x))(np.ones(3))
print(type(number) is bfloat16, number, array.dtype == applied.dtype == bfloat16, array.sum(), applied.sum())
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


def test_a_package_that_takes_long_to_import_waits_until_a_program_mentions_it() -> None:
    assert _printed(LATE) == "False\nTrue 3 True 6 6\n"
