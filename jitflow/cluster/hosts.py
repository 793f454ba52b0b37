"""Where the shards of variables lie: servers on a cluster, or objects of this process; shard ``k`` on server ``k``.

The servers of a process are started when they are first needed, and shared by all of its variables: so what is asked of
one server about several variables is done by one process, and a machine has as many processes as there are shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from jitflow.cluster.connection import connect, ray
from jitflow.cluster.table import Tables
from jitflow.errors import UserValueError

__all__ = ["Hosts", "hosts_of"]


class Hosts(Protocol):
    """The first ``count`` servers."""

    count: int

    def ask(self, where: int, method: str, *arguments: Any) -> Any:
        """Begin a call of a method of the `Tables` of a server. Calls of one process come in their order."""

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """What calls give, when all have been answered."""

    def forget(self, key: str) -> None:
        """Let the servers drop a table, whenever they come to it."""


class _Local:
    """Objects of this process."""

    def __init__(self, tables: Sequence[Tables]) -> None:
        self.tables, self.count = tables, len(tables)

    def ask(self, where: int, method: str, *arguments: Any) -> Any:
        return getattr(self.tables[where], method)(*arguments)

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        return list(asked)

    def forget(self, key: str) -> None:
        for table in self.tables:
            table.drop(key)


class TableServer:
    """The actor that holds parts of tables. Its calls come one at a time."""

    def __init__(self) -> None:
        from jitflow.runtime.threads import set_num_threads

        set_num_threads(1)
        self._tables = Tables()

    def call(self, method: str, *arguments: Any) -> Any:
        """A method of the tables."""
        return getattr(self._tables, method)(*arguments)


class _Actors:
    def __init__(self, actors: Sequence[Any]) -> None:
        self.actors, self.count = actors, len(actors)

    def ask(self, where: int, method: str, *arguments: Any) -> Any:
        return self.actors[where].call.remote(method, *arguments)

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        library = ray()
        try:
            return list(library.get(list(asked)))
        except library.exceptions.RayActorError as error:
            _STARTED.clear()  # variables that are made from now on get servers that live
            raise RuntimeError(
                f"a server of a variable has died: {error}; make the variable anew, and restore a checkpoint"
            ) from None
        except library.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None

    def forget(self, key: str) -> None:
        with suppress(Exception):  # the cluster may have ended before
            if ray().is_initialized():
                for actor in self.actors:
                    actor.call.remote("drop", key)


_STARTED: dict[str, list[Any]] = {}
"""The servers of this process, by the job that it is to Ray."""


def hosts_of(servers: str | None, count: int) -> Hosts:
    """So many servers. ``servers`` is ``"local"`` for objects of this process."""
    if servers == "local":
        return _Local([Tables() for _ in range(count)])
    if servers is not None:
        raise UserValueError(f"expected servers to be 'local' or nothing, got {servers!r}")
    library = ray()
    if not library.is_initialized():
        connect()
    job = library.get_runtime_context().get_job_id()
    started = _STARTED.setdefault(job, [])
    while len(started) < count:
        started.append(library.remote(num_cpus=0, max_restarts=0)(TableServer).remote())
    return _Actors(started[:count])
