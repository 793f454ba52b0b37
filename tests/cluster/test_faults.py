"""Faults at random moments: 100 runs in which a process dies, hangs or is slow, the driver among them.

``JITFLOW_CACHE=1 pytest -m stress -n0 tests/cluster/test_faults.py`` takes half an hour, and without what was
compiled before more than an hour; the suite has one run of each kind in `test_replicas.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import cluster
from tests.cluster.models import Classifier, batches, now_and_then, same, slowly, trained_alone, wait_for_step

pytestmark = [pytest.mark.stress, pytest.mark.filterwarnings("ignore")]

STEPS, RUNS = 60, 100
FAULTS = ("worker dies", "server dies", "leader dies", "worker hangs", "worker is slow", "driver dies")


@pytest.fixture(scope="module")
def alone() -> Any:
    return trained_alone(STEPS, 2)[0]


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    pytest.importorskip("ray")
    with cluster.connect() as connected:
        yield connected


def options(mode: str, folder: Path) -> dict[str, Any]:
    return {"workers": 2, "servers": 2, "mode": mode, "checkpoint": folder, "every": 5, "progress": False}


@pytest.mark.parametrize("seed", [seed for seed in range(RUNS) if FAULTS[seed % 6] != "driver dies"])
def test_a_run_ends_with_the_right_model(connection: Any, alone: Any, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fault, mode = FAULTS[seed % len(FAULTS)], ("sync", "allreduce", "async")[seed // len(FAULTS) % 3]
    delay = now_and_then if fault == "worker is slow" else slowly
    patience = 20 if fault == "worker hangs" else 600
    with cluster.Replicas(Classifier, delay=delay, patience=patience, **options(mode, tmp_path)) as replicas:
        step = int(rng.integers(0, STEPS - 5))
        thread = threading.Thread(target=_harm, args=(replicas, fault, step, float(rng.uniform(0, 0.1))), daemon=True)
        thread.start()
        run = replicas.run(STEPS, batches())
        thread.join()
        if mode == "async":
            assert run.losses[-10:].mean() < run.losses[:10].mean()
        else:
            assert same(replicas.model, alone)
        with jitflow.CheckpointManager(tmp_path, fresh := Classifier()) as manager:
            assert manager.restore_latest().step == STEPS
        assert same(fresh, replicas.model)


def _harm(replicas: Any, fault: str, step: int, wait: float) -> None:
    import ray

    if fault == "worker is slow":
        return
    wait_for_step(replicas, step)
    time.sleep(wait)
    place = {"leader dies": 0, "server dies": 1}.get(fault)
    victim = replicas._trainers[1] if place is None else replicas._hosts[place]
    os.kill(ray.get(victim.pid.remote()), signal.SIGSTOP if fault == "worker hangs" else signal.SIGKILL)


DRIVER = """
import sys
from jitflow import cluster
from tests.cluster.models import Classifier, batches, slowly
mode, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = {"workers": 2, "servers": 2, "mode": mode, "checkpoint": folder, "every": 5, "progress": False}
with cluster.Replicas(Classifier, delay=slowly, **options) as replicas:
    print("begins", flush=True)
    replicas.run(steps - replicas.step, batches())
"""


@pytest.mark.parametrize("seed", [seed for seed in range(RUNS) if FAULTS[seed % 6] == "driver dies"])
def test_a_driver_that_dies_leaves_a_checkpoint_and_nothing_else(alone: Any, tmp_path: Path, seed: int) -> None:
    pytest.importorskip("ray")
    rng, mode = np.random.default_rng(seed), ("sync", "allreduce", "async")[seed // len(FAULTS) % 3]
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", DRIVER, mode, str(tmp_path), str(STEPS)]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"begins\n"
        time.sleep(float(rng.uniform(0, 12)))
        family = _descendants(driver.pid)
        driver.kill()
    deadline = time.monotonic() + 120
    while (left := [process for process in family if _lives(process)]) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left == []
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    with jitflow.CheckpointManager(tmp_path, fresh := Classifier()) as manager:
        assert manager.restore_latest().step == STEPS
    assert mode == "async" or same(fresh, alone)


def _descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
