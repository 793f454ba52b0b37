"""Where the shards of variables lie: servers on a cluster, or objects of this process; shard ``k`` on server ``k``.

The servers of a process are started when they are first needed, and shared by all of its variables: so what is asked of
one server about several variables is one request, and a machine has as many processes as there are shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from jitflow.cluster.actors import NearPeers, TableServer, start
from jitflow.cluster.connection import connect, ray
from jitflow.cluster.lines import Place
from jitflow.cluster.rounds import Aborted
from jitflow.cluster.table import Tables
from jitflow.errors import UserValueError
from jitflow.remote import Server

__all__ = ["LocalServer", "servers_of"]


class LocalServer:
    """A server that is an object of this process."""

    def __init__(self) -> None:
        self.tables = Tables()

    def begin(self, calls: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """As in `jitflow.remote.Server`; it is done at once."""
        found = self.tables.several(calls)
        return lambda: found

    def drop(self, key: str) -> None:
        """As in `jitflow.remote.Server`."""
        self.tables.drop(key)


class _ActorServer:
    """A server that is an actor, asked by a line where it is on the same machine, or else by Ray."""

    def __init__(self, actor: Any, place: Place) -> None:
        self.actor, self._place = actor, place

    def begin(self, calls: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """As in `jitflow.remote.Server`."""
        (asked,) = self._answered(lambda: [self._peers.ask(0, "tables", "several", calls)])
        return lambda: self._answered(lambda: self._peers.answers([asked])[0])

    def drop(self, key: str) -> None:
        """As in `jitflow.remote.Server`."""
        self.actor.call.remote("tables", "drop", key)

    @cached_property
    def _peers(self) -> NearPeers:
        return NearPeers([self.actor], [self._place])

    def _answered(self, ask: Callable[[], list[Any]]) -> list[Any]:
        library = ray()
        try:
            return ask()
        except Aborted as error:
            _STARTED.clear()  # variables that are made from now on get servers that live
            raise RuntimeError(
                f"a server of a variable has died: {error}; make the variable anew, and restore a checkpoint"
            ) from None
        except library.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _ActorServer, (self.actor, self._place)


_STARTED: dict[str, list[_ActorServer]] = {}
"""The servers of this process, by the job that it is to Ray."""


def servers_of(where: str | None, count: int) -> Sequence[Server]:
    """So many servers: objects of this process, if ``where`` is ``"local"``, else those of the cluster."""
    if where == "local":
        return [LocalServer() for _ in range(count)]
    if where is not None:
        raise UserValueError(f"expected servers to be 'local' or nothing, got {where!r}")
    library = ray()
    if not library.is_initialized():
        connect()
    started = _STARTED.setdefault(library.get_runtime_context().get_job_id(), [])
    actors = [start(TableServer, concurrency=1) for _ in range(len(started), count)]
    found = library.get([actor.about.remote() for actor in actors])
    started += [_ActorServer(actor, place) for actor, (place, _) in zip(actors, found, strict=True)]
    return started[:count]
