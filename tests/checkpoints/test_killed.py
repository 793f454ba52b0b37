"""A process that is killed while it saves: whenever that is, there is a whole checkpoint to resume from."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow

ROOT = Path(__file__).parents[2]
SIZE = 30_000

TRAINING = f"""
import sys
import numpy as np
import jitflow

model = {{"a": jitflow.Variable(np.zeros({SIZE})), "b": jitflow.Variable(np.zeros({SIZE}, np.int64))}}

with jitflow.CheckpointManager(sys.argv[1], model, every_steps=1) as manager:
    found = manager.restore_latest()
    step = found.step if found else 0
    while True:
        model["a"].assign_add(1)
        model["b"].assign_sub(1)
        step += 1
        manager.step(step, metadata={{"step": step}})
        print(step, flush=True)
"""


def model() -> Any:
    return {"a": jitflow.Variable(np.ones(SIZE)), "b": jitflow.Variable(np.ones(SIZE, np.int64))}


def check(folder: Path) -> int:
    """The step of the latest checkpoint, which must be what that step left."""
    objects = model()
    found = jitflow.CheckpointManager(folder, objects).restore_latest()
    if found is None:
        return 0
    assert found.metadata == {"step": found.step}
    assert (objects["a"].numpy() == found.step).all()
    assert (objects["b"].numpy() == -found.step).all()
    assert list(folder.glob("*.partial")) == list(folder.glob(".*.partial")) == []
    return found.step


def kill_while_saving(folder: Path, times: int, seed: int) -> None:
    chance, reached = random.Random(seed), 0
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(folder)], stdout=subprocess.PIPE, cwd=ROOT, env=os.environ
        )
        assert process.stdout is not None
        with process, process.stdout:
            assert int(process.stdout.readline()) == reached + 1  # it goes on where the last one was killed
            time.sleep(chance.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        now = check(folder)
        assert now >= reached
        reached = now
    assert reached > 0


def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    kill_while_saving(tmp_path, 10, seed=1)


@pytest.mark.stress
def test_killed_two_hundred_times(tmp_path: Path) -> None:
    kill_while_saving(tmp_path, 200, seed=2)
