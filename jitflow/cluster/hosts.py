"""Where the shards of variables lie: servers on a cluster, or objects of this process; shard ``k`` on server ``k``.

The servers of a process are started when they are first needed, and shared by all of its variables: so what is asked of
one server about several variables is one request, and a machine has as many processes as there are shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitflow.cluster.connection import connect, ray
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


class TableServer:
    """The actor that holds parts of tables. Its requests come one at a time."""

    def __init__(self) -> None:
        from jitflow.runtime.threads import set_num_threads

        set_num_threads(1)
        self._tables = Tables()

    def several(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """As in `Tables`."""
        return self._tables.several(calls)


class _ActorServer:
    """A server that is an actor."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor

    def begin(self, calls: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """As in `jitflow.remote.Server`."""
        asked = self.actor.several.remote(calls)
        return lambda: _answer(asked)


def _answer(asked: Any) -> list[Any]:
    library = ray()
    try:
        found: list[Any] = library.get(asked)
    except library.exceptions.RayActorError as error:
        _STARTED.clear()  # variables that are made from now on get servers that live
        raise RuntimeError(
            f"a server of a variable has died: {error}; make the variable anew, and restore a checkpoint"
        ) from None
    except library.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    return found


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
    while len(started) < count:
        started.append(_ActorServer(library.remote(num_cpus=0, max_restarts=0)(TableServer).remote()))
    return started[:count]
