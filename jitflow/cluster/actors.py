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
from jitflow.cluster.lines import Answering, Asked, Place, line_to
from jitflow.cluster.memory import can_share, machine_name
from jitflow.cluster.reducer import Reducer
from jitflow.cluster.rounds import Aborted, Interruption, Leader
from jitflow.cluster.shard import Shard
from jitflow.cluster.table import Tables
from jitflow.cluster.worker import Worker
from jitflow.errors import UserRuntimeError

__all__ = ["NearPeers", "RayPeers", "Server", "TableServer", "Trainer", "require_versions", "start", "versions"]


def versions() -> dict[str, str]:
    """What must be the same in all processes of a run."""
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "NumPy": np.__version__, "jitflow": version("jitflow"), "Ray": ray().__version__}


def require_versions(there: dict[str, str], found_where: str) -> None:
    """Raise RuntimeError where another process runs other versions than this one."""
    here = versions()
    if there != here:
        found, expected = (", ".join(f"{name} {version}" for name, version in one.items()) for one in (there, here))
        raise UserRuntimeError(found_where, found=found, expected=expected)


class _Host:
    """Parts of a process by name, and what it answers of them."""

    parts: dict[str, Any]

    def __init__(self, parts: dict[str, Any], threads: int) -> None:
        from jitflow.runtime.parallel.threads import set_num_threads

        set_num_threads(threads)
        self.parts = parts
        self._address = Answering(self.call).address if can_share() else None

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

    def about(self) -> tuple[Place, dict[str, str]]:
        """Where this process is, and the versions of what it runs."""
        return Place(machine_name(), self._address), versions()


class Server(_Host):
    """A server: a shard, and on the first one the leader."""

    def __init__(
        self, number: int, count: int, every: int, replicas: int, leader: tuple[int, int, int | None] | None
    ) -> None:
        super().__init__({"shard": Shard(number, count, every, replicas)}, 1)
        if leader is not None:
            self.parts["leader"] = Leader(*leader)


class Trainer(_Host):
    """A replica. In an all-reduce it sums a part of the gradients for all, and the first one has the leader."""

    def __init__(
        self, make_model: Callable[[], Any], part: int, count: int, mode: str, delay: Any, threads: int
    ) -> None:  # fmt: skip
        super().__init__({}, threads)
        self._given = (make_model, part, count, mode, delay)
        if mode == "allreduce":
            self.parts["shard"] = Reducer(part, count)
            if part == 0:
                self.parts["leader"] = Leader(count, count)

    def make(self) -> None:
        """Make the model, if there is none: not while the process starts, so that errors are the user's."""
        if "worker" not in self.parts:
            self.parts["worker"] = Worker(*self._given)

    def connect(self, actors: Sequence[Any], places: Sequence[Place], share: bool) -> None:
        """Say who the peers are."""
        self.parts["worker"].connect(NearPeers(actors, places) if share else RayPeers(actors, places), share)


class TableServer(_Host):
    """The server that holds parts of tables."""

    def __init__(self) -> None:
        super().__init__({"tables": Tables()}, 1)


class RayPeers:
    """Peers that are actors. Who does not answer within ``timeout`` seconds counts as dead."""

    def __init__(self, actors: Sequence[Any], places: Sequence[Place], timeout: float | None = None) -> None:
        self.actors, self.machines, self._timeout = actors, [place.machine for place in places], timeout

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        """As in `jitflow.cluster.exchange.Peers`."""
        return self.actors[where].call.remote(part, method, *arguments)

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """As in `jitflow.cluster.exchange.Peers`."""
        library = ray()
        try:
            found = self._found(asked)
        except (library.exceptions.RayActorError, library.exceptions.ObjectLostError, EOFError, OSError) as error:
            raise Aborted(f"a process of the run has died: {error}") from None
        except library.exceptions.GetTimeoutError:
            raise Aborted(f"a process of the run has not answered for {self._timeout} s") from None
        for went_through, answer in found:
            if not went_through:
                raise answer
        return [answer for _, answer in found]

    def _found(self, asked: Sequence[Any]) -> Sequence[tuple[bool, Any]]:
        found: Sequence[tuple[bool, Any]] = ray().get(list(asked), timeout=self._timeout)
        return found


class NearPeers(RayPeers):
    """Peers of which those of this machine are asked by lines."""

    def __init__(self, actors: Sequence[Any], places: Sequence[Place]) -> None:
        super().__init__(actors, places)
        self._addresses = [place.address if place.machine == machine_name() else None for place in places]

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        """As in `jitflow.cluster.exchange.Peers`."""
        address = self._addresses[where]
        if address is None:
            return super().ask(where, part, method, *arguments)
        try:
            return line_to(address).ask(part, method, *arguments)
        except (EOFError, OSError) as error:
            raise Aborted(f"a process of the run has died: {error}") from None

    def _found(self, asked: Sequence[Any]) -> Sequence[tuple[bool, Any]]:
        far = iter(super()._found([one for one in asked if not isinstance(one, Asked)]))
        return [one.answer() if isinstance(one, Asked) else next(far) for one in asked]


def start(
    kind: type, *arguments: Any, concurrency: int, cpus: float = 0, gpus: float = 0, where: Any = "DEFAULT"
) -> Any:
    """Start an actor; ``where`` is a strategy of Ray's."""
    made = ray().remote(
        max_concurrency=concurrency, num_cpus=cpus, num_gpus=gpus, max_restarts=0, scheduling_strategy=where
    )(kind)
    return made.remote(*arguments)
