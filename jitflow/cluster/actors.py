"""Ray's actors: the processes of a run, each of which holds parts that others call by name.

A call never raises across processes what belongs to the protocol: interruptions come back as answers. What a part
raises besides is the user's, and travels as Ray has it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.cluster.connection import ray
from jitflow.cluster.memory import machine_name
from jitflow.cluster.reducer import Reducer
from jitflow.cluster.rounds import Aborted, Interruption, Leader
from jitflow.cluster.shard import Shard
from jitflow.cluster.worker import Worker

__all__ = ["RayPeers", "Server", "Trainer", "start", "versions"]


def versions() -> dict[str, str]:
    """What must be the same in all processes of a run."""
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "NumPy": np.__version__, "jitflow": version("jitflow"), "Ray": ray().__version__}


class _Host:
    """Parts of a process by name."""

    parts: dict[str, Any]

    def call(self, part: str, method: str, *arguments: Any) -> tuple[bool, Any]:
        """Whether a call went through, and what it gave; or the interruption."""
        if part not in self.parts:
            return False, Aborted(f"there is no {part} here yet")
        try:
            return True, getattr(self.parts[part], method)(*arguments)
        except Interruption as interruption:
            return False, interruption

    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def about(self) -> tuple[str, dict[str, str]]:
        """The machine that this process is on, and the versions of what it runs."""
        return machine_name(), versions()


class Server(_Host):
    """A server: a shard, and on the first one the leader."""

    def __init__(
        self, number: int, count: int, every: int, replicas: int, leader: tuple[int, int, int | None] | None
    ) -> None:
        from jitflow.runtime.threads import set_num_threads

        set_num_threads(1)
        self.parts = {"shard": Shard(number, count, every, replicas)}
        if leader is not None:
            self.parts["leader"] = Leader(*leader)


class Trainer(_Host):
    """A replica. In an all-reduce it sums a part of the gradients for all, and the first one has the leader."""

    def __init__(
        self, make_model: Callable[[], Any], part: int, count: int, mode: str, delay: Any, threads: int
    ) -> None:  # fmt: skip
        from jitflow.runtime.threads import set_num_threads

        set_num_threads(threads)
        self.parts = {}
        self._given = (make_model, part, count, mode, delay)
        if mode == "allreduce":
            self.parts["shard"] = Reducer(part, count)
            if part == 0:
                self.parts["leader"] = Leader(count, count)

    def make(self) -> None:
        """Make the model, if there is none: not while the process starts, so that errors are the user's."""
        if "worker" not in self.parts:
            self.parts["worker"] = Worker(*self._given)

    def connect(self, actors: Sequence[Any], machines: Sequence[str], share: bool) -> None:
        """Say who the peers are."""
        self.parts["worker"].connect(RayPeers(actors, machines), share)


class RayPeers:
    """Peers that are actors. Who does not answer within ``timeout`` seconds counts as dead."""

    def __init__(self, actors: Sequence[Any], machines: Sequence[str], timeout: float | None = None) -> None:
        self.actors, self.machines, self._timeout = actors, machines, timeout

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        """As in `jitflow.cluster.exchange.Peers`."""
        return self.actors[where].call.remote(part, method, *arguments)

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """As in `jitflow.cluster.exchange.Peers`."""
        library = ray()
        try:
            found = library.get(list(asked), timeout=self._timeout)
        except (library.exceptions.RayActorError, library.exceptions.ObjectLostError) as error:
            raise Aborted(f"a process of the run has died: {error}") from None
        except library.exceptions.GetTimeoutError:
            raise Aborted(f"a process of the run has not answered for {self._timeout} s") from None
        for went_through, answer in found:
            if not went_through:
                raise answer
        return [answer for _, answer in found]


def start(kind: type, *arguments: Any, concurrency: int, cpus: float = 0, gpus: float = 0) -> Any:
    """Start an actor."""
    made = ray().remote(max_concurrency=concurrency, num_cpus=cpus, num_gpus=gpus, max_restarts=0)(kind)
    return made.remote(*arguments)
