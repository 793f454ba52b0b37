"""Replicas in processes of their own, on a Ray that the test starts on this machine: right numbers, faults, errors.

One test, so that one worker of the suite starts one Ray.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jitflow
from jitflow import cluster
from tests.cluster.models import Classifier, batches, same, slowly, trained_alone, wait_for_step

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

STEPS = 60


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    pytest.importorskip("ray")
    with cluster.connect() as connected:
        yield connected


def kill_when(replicas: Any, step: int, victim: Callable[[], Any]) -> threading.Thread:
    """Kill a process of a run once the leader is at a step."""
    import ray

    def wait() -> None:
        wait_for_step(replicas, step)
        os.kill(ray.get(victim().pid.remote()), signal.SIGKILL)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def run_with_a_death(mode: str, victim: str, folder: Path, step: int = 12) -> tuple[Any, Any]:
    with cluster.Replicas(
        Classifier, workers=2, servers=2, mode=mode, checkpoint=folder, every=10, delay=slowly, progress=False
    ) as replicas:
        who = {"worker": lambda: replicas._trainers[1], "server": lambda: replicas._hosts[1]}[victim]
        thread = kill_when(replicas, step, who)
        run = replicas.run(STEPS, batches())
        thread.join()
        return replicas.model, run


def test_replicas_survive_and_give_the_bits_of_one_process(connection: Any, tmp_path: Path) -> None:
    alone, losses = trained_alone(STEPS, 2)
    for mode, victim in (("sync", "server"), ("allreduce", "worker")):
        model, run = run_with_a_death(mode, victim, tmp_path / mode)
        assert run.restarts == 1
        assert same(model, alone)
        assert [float(row[0]) for row in run.results] == [row[0] for row in losses]
        assert all(row[1] in (None, loss[1]) for row, loss in zip(run.results, losses, strict=True))  # it may have died
        with jitflow.CheckpointManager(tmp_path / mode, fresh := Classifier()) as manager:
            assert manager.restore_latest().step == STEPS
        assert same(fresh, alone)
    the_users_mistakes_reach_the_driver(tmp_path)


def the_users_mistakes_reach_the_driver(folder: Path) -> None:
    class Failing(Classifier):
        def _step(self, images: Any, labels: Any) -> Any:
            if self.index == 1:
                raise ArithmeticError("not here")
            return super()._step(images, labels)

        def __init__(self) -> None:
            super().__init__()
            self.index = cluster.replica().index

    with cluster.Replicas(Failing, workers=2, mode="allreduce", progress=False) as replicas:
        with pytest.raises(ArithmeticError, match="not here") as caught:
            replicas.run(3, batches())
        assert "replica 1" in "".join(caught.value.__notes__)
        assert "in _step" in "".join(caught.value.__notes__)
    lock = threading.Lock()
    with pytest.raises(TypeError, match="make_model cannot be sent to other processes"):
        cluster.Replicas(lambda: [lock, Classifier()][1], workers=1)
    with pytest.raises(ValueError, match="there is no mode 'both'"):
        cluster.Replicas(Classifier, mode="both")
    with pytest.raises(RuntimeError, match="need 4 GPUs, and the cluster has 0"):
        cluster.Replicas(Classifier, workers=4, gpus=1).run(1, batches())
