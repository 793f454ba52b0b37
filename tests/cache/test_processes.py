"""Real processes: the second one traces nothing, its errors are the same, and any number of them may write at once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jitflow.cache.store import Store
from jitflow.runtime.native import object_files
from tests.gallery import PROGRAMS

ROOT = Path(__file__).parents[2]

PROGRAM = """\
import sys, json, traceback
import numpy as np
import jitflow

KINDS = {"exp", "log", None}

def helper(x, i):
    return x[i] * 2 if "exp" in KINDS else x[i]

@jitflow.function
def run(x, i):
    total = getattr(helper, "start", 0.0)
    for k in range(i + 1):
        total += helper(x, k)
    return np.exp(x) + total + np.linalg.solve(np.diag(x + 1), x)  # the library is called

x = np.arange(5.0)
found = {"result": run(x, 2).tolist(), "expected": run.__wrapped__(x, 2).tolist()}
found["traced"] = any(name.startswith("jitflow.frontend") for name in sys.modules)
compilers = ("jitflow.passes", "jitflow.backends", "jitflow.ir.ops", "jitflow.ir.records", "jitflow.ir.types")
found["passes"] = any(name.startswith(compilers) for name in sys.modules)
found["misses"] = run.cache_info().misses
found["llvm"] = "llvmlite.binding" in sys.modules
try:
    run(x, 9)
except IndexError as error:
    found["error"] = traceback.format_exc()
print(json.dumps(found))
"""

SWITCHES = {"JITFLOW_CACHE": "1", "JITFLOW_THREADS": "2", "JITFLOW_ENTRY": "native", "JITFLOW_VERIFY": "0",
            "JITFLOW_DUMP": "0", "JITFLOW_CPU_DEVICES": "1", "JITFLOW_CPU": "host"}  # fmt: skip


def environment(folder: Path, **switches: str) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **SWITCHES, "JITFLOW_CACHE_DIR": str(folder), "PYTHONPATH": paths, **switches}


def ran(program: Path, folder: Path, *arguments: str, **switches: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(program), *arguments], env=environment(folder, **switches), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_second_process_traces_nothing(tmp_path: Path) -> None:
    program, folder = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)
    first, second = ran(program, folder), ran(program, folder, PYTHONHASHSEED="7")
    assert (first["traced"], first["misses"]) == (True, 1)
    assert (second["traced"], second["passes"], second["misses"]) == (False, False, 0)
    assert second["llvm"] is not object_files.are_known()
    assert first["result"] == second["result"]
    assert second["error"] == first["error"]
    assert "in helper" in second["error"]
    assert ran(program, folder, JITFLOW_ENTRY="python")["misses"] == 1
    assert ran(program, folder, JITFLOW_ENTRY="python")["misses"] == 0
    assert ran(program, folder, JITFLOW_CACHE="0")["misses"] == 1
    assert ran(program, folder, JITFLOW_THREADS="1")["misses"] == 1
    moved = tmp_path / "elsewhere.py"
    program.rename(moved)
    elsewhere = ran(moved, folder)
    assert elsewhere["misses"] == 1
    assert "elsewhere.py" in elsewhere["error"]


PROGRAM_THAT_LEARNS = """\
import random, sys, json
import numpy as np
import jitflow

weights = [jitflow.Variable(np.ones((3, 3), np.float32)), jitflow.Variable(np.ones(3, np.float32))]
adam, x, rng = jitflow.optim.Adam(0.1), np.ones((2, 3), np.float32), np.random.default_rng(3)

def loss(weights, x):
    return ((np.tanh(x @ weights[0] + weights[1]) - 1) ** 2).sum()

@jitflow.function
def step(x, rng):
    noisy = x + rng.standard_normal(3).astype(np.float32) * rng.random()
    value, gradients = jitflow.value_and_grad(loss)(weights, noisy)
    adam.apply(gradients, weights)
    return value

@jitflow.function
def chance(n):
    new, old, items = np.random.default_rng([n, 1]), random.Random(n), [1.5, 2.5, 4.5]
    table = new.permuted(np.arange(6).reshape(2, 3), axis=1)
    new.shuffle(table, axis=1)
    old.shuffle(items)
    return float(new.gamma(2.0)) + table[0, 0] + items[0] + old.sample(items, 2)[1]

assert chance(3) == chance.__wrapped__(3)
print(json.dumps({"losses": [float(step(x, rng)) for _ in range(3)],
                  "misses": step.cache_info().misses + chance.cache_info().misses,
                  "traced": any(name.startswith("jitflow.frontend") for name in sys.modules),
                  "llvm": "llvmlite.binding" in sys.modules}))
"""


def test_a_step_of_training_that_draws(tmp_path: Path) -> None:
    """What jitflow imports late, code that calls NumPy's C functions and generators that a program makes are found."""
    program, folder = tmp_path / "learning.py", tmp_path / "cache"
    program.write_text(PROGRAM_THAT_LEARNS)
    first, second = ran(program, folder), ran(program, folder)
    assert (first["misses"], second["misses"], second["llvm"]) == (2, 0, not object_files.are_known())
    assert not second["traced"]
    assert first["losses"] == second["losses"]


PROGRAM_OF_GALLERY = """\
import hashlib, json, pickle, sys
import numpy as np
from benchmarks.gallery import load

found = {}
for name in sys.argv[1:]:
    module = load(name)
    function, arguments = getattr(module, name), module.example("small", 0)
    result = function(*arguments)
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    bits = hashlib.sha256(pickle.dumps((result, arrays))).hexdigest()
    found[name] = (bits, function.cache_info().misses)
print(json.dumps(found))
"""

NOT_KEPT = {"maze", "sparse_life", "pi_by_chance"}
"""Two that make sets, and one that calls Python's own generator."""


def compare_gallery(names: list[str], tmp_path: Path) -> None:
    program, folder = tmp_path / "gallery.py", tmp_path / "cache"
    program.write_text(PROGRAM_OF_GALLERY)
    first = ran(program, folder, *names)
    second = ran(program, folder, *names)
    assert {name: bits for name, (bits, _) in first.items()} == {name: bits for name, (bits, _) in second.items()}
    assert {name for name, (_, misses) in second.items() if misses} == NOT_KEPT & {*names}


def test_programs_of_the_gallery(tmp_path: Path) -> None:
    compare_gallery(["black_scholes", "nbody", "kalman", "quicksort", "histogram_of_words", "gillespie"], tmp_path)


@pytest.mark.stress
def test_all_programs_of_the_gallery(tmp_path: Path) -> None:
    compare_gallery(PROGRAMS, tmp_path)


WRITER = """\
import sys
import numpy as np
import jitflow

@jitflow.function
def run(x, kind):
    return x * len(kind) + 1

seed = int(sys.argv[1])
random = np.random.default_rng(seed)
x = np.arange(5.0)
for turn in range(int(sys.argv[2])):
    kind = "k" * int(random.integers(1, 9))
    run.cache_clear()
    assert run(x, kind).tolist() == (x * len(kind) + 1).tolist()
print("[]", flush=True)
"""


def race(tmp_path: Path, processes: int, turns: int, deaths: int) -> None:
    """Processes that write and read the same entries, some of which are killed in the middle."""
    program, folder, draw = tmp_path / "writer.py", tmp_path / "cache", random.Random(3)
    program.write_text(WRITER)
    Store(folder).set_limit(60_000)  # so that they evict as well
    running: list[subprocess.Popen[str]] = []
    for number in range(processes):
        command = [sys.executable, str(program), str(number), str(turns)]
        running.append(subprocess.Popen(command, env=environment(folder), stderr=subprocess.PIPE, text=True))
        if number < deaths:
            time.sleep(draw.uniform(0.3, 1.2))
            running[number].send_signal(signal.SIGKILL)
    for number, process in enumerate(running):
        _, errors = process.communicate(timeout=300)
        assert process.returncode in ((-signal.SIGKILL, 0) if number < deaths else (0,)), errors
    assert Store(folder).verify() == []
    assert sum(file.size for file in Store(folder).files()) < 200_000
    ran(program, folder, "1", "5")


def test_processes_that_write_at_once(tmp_path: Path) -> None:
    race(tmp_path, processes=4, turns=12, deaths=2)


@pytest.mark.stress
def test_many_processes_that_write_at_once_and_die(tmp_path: Path) -> None:
    race(tmp_path, processes=60, turns=60, deaths=50)
