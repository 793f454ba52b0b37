"""The nodes of a cluster, whose devices programs may name: ``node:1/cpu:0``.

Node 0 is this process, so its devices are those that it has anyway. Each other node is a process: one for each further
machine of the cluster, or as many as `connect` was asked for, spread over its machines. They are started when a program
names one of them, or somebody asks which devices there are; one that has died is started again when it is needed next.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jitflow.cluster.actors import require_versions, start
from jitflow.cluster.connection import ray
from jitflow.cluster.lines import Messages, messages_to
from jitflow.cluster.memory import can_share, machine_name
from jitflow.cluster.node import Node
from jitflow.cluster.parcels import FORGOTTEN, Known
from jitflow.errors import UserRuntimeError
from jitflow.loaded import asked
from jitflow.machines.hardware import devices

__all__ = [
    "ActorProcess",
    "Died",
    "NodeHandle",
    "NodeProcess",
    "Talk",
    "forget",
    "known_names",
    "names",
    "node",
    "use",
    "want",
]

CONCURRENCY = 64
"""How many calls a node runs at once; others wait."""
_LONGEST_START = 120
"""Seconds in which a process has to start."""
_LOOK = 0.05
"""Seconds after which who waits for a node looks whether it is to go on."""


Look = Callable[[float], None]
"""What is called now and then while somebody waits, with the seconds that have gone by."""


class Died(Exception):
    """The process is no more."""


class NodeProcess(Protocol):
    """How the methods of a `Node` are called."""

    def ask(self, method: str, *arguments: Any) -> Any:
        """Begin a call."""

    def answer(self, asked: Any, seconds: float) -> Any:
        """What it gives. Raises TimeoutError while there is nothing yet, and `Died`."""

    def kill(self) -> None:
        """End the process."""


class ActorProcess:
    """An actor's."""

    def __init__(self, actor: Any) -> None:
        self._actor, self._ray = actor, ray()

    def ask(self, method: str, *arguments: Any) -> Any:
        """As in `NodeProcess`."""
        return getattr(self._actor, method).remote(*arguments)

    def answer(self, asked: Any, seconds: float) -> Any:
        """As in `NodeProcess`."""
        raised = self._ray.exceptions
        try:
            return self._ray.get(asked, timeout=seconds)
        except raised.GetTimeoutError:
            raise TimeoutError from None
        except (raised.RayActorError, raised.ObjectLostError, raised.RaySystemError) as error:
            raise Died(str(error).splitlines()[0]) from None

    def kill(self) -> None:
        """As in `NodeProcess`."""
        self._ray.kill(self._actor)


class NodeHandle:
    """A node as the driver sees it."""

    def __init__(self, number: int, process: NodeProcess) -> None:
        self.number, self._process = number, process
        place, versions, own = self.ask("about", look=_not_too_long)
        require_versions(versions, f"node:{number} runs other versions than this process")
        self.devices: tuple[str, ...] = own
        self.shares = can_share() and place.machine == machine_name()
        self.ask("share", self.shares)
        self.lives = True
        self.address = place.address if self.shares else None
        """Where calls connect to talk by a line, not by messages of Ray's."""
        self._idle: list[Messages] = []
        self._programs: set[int] = set()
        self._seen = len(FORGOTTEN)
        self._compiling, self._counting = threading.Lock(), threading.Lock()

    def ask(self, method: str, *arguments: Any, look: Look = lambda waited: None) -> Any:
        """Call a method. Raises `Died`."""
        try:
            asked = self._process.ask(method, *arguments)
            for turn in itertools.count(1):
                try:
                    return self._process.answer(asked, _LOOK)
                except TimeoutError:
                    look(turn * _LOOK)
        except Died:
            self.lives = False
            raise

    def talk(self, call: int, key: int, given: Sequence[Any], look: Look) -> Talk:
        """Begin a call of a partition."""
        if self.address is None:
            return _ByRay(self, call, key, given, look)
        try:
            messages = self._idle.pop()
        except IndexError:
            try:
                messages = messages_to(self.address)
            except OSError as error:
                self.lives = False
                raise Died(str(error)) from None
        return _OnLine(self, messages, call, key, given, look)

    def is_idle(self, messages: Messages) -> None:
        """A line may be used by the next call."""
        self._idle.append(messages)

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method whose answer nobody needs."""
        self._process.ask(method, *arguments)

    def kill(self) -> None:
        """End the process."""
        self.lives = False
        self._process.kill()

    def need(self, key: int, partition: Any) -> bytes | None:
        """See to it that the node has compiled a partition; what that raised, packed."""
        with self._compiling:
            if key in self._programs:
                return None
            error: bytes | None = self.ask("compile", key, partition)
            if error is None:
                self._programs.add(key)
            return error

    def forgotten(self) -> list[int]:
        """What the driver no longer has, and the node has not been told of."""
        with self._counting:
            news = FORGOTTEN[self._seen :]
            self._seen += len(news)
        self._programs.difference_update(news)
        return news


def _not_too_long(waited: float) -> None:
    if waited > _LONGEST_START:
        raise UserRuntimeError(
            f"a node has not started for {_LONGEST_START} s",
            mend="see whether all machines of the cluster live and have room: cluster.nodes()",
        )


class Talk(Protocol):
    """How a driver and a call of a partition talk. Both methods raise `Died`."""

    def events(self) -> Sequence[tuple[Any, ...]]:
        """What has happened since the last time; waits until there is something."""

    def answer(self, answer: Any) -> None:
        """Answer what the call has asked last."""

    def end(self, is_whole: bool) -> None:
        """It is over; before the call has ended unless all ``is_whole``."""


class _ByRay:
    """By messages of Ray's, each of which is answered when something has happened."""

    def __init__(self, node: NodeHandle, call: int, key: int, given: Sequence[Any], look: Look) -> None:
        self._node, self._call, self._look = node, call, look
        self._leaves = False
        """Whether the node waits to be told that its memory has been read."""
        self._next: tuple[Any, ...] = ("begin", call, key, given, node.forgotten())

    def events(self) -> Sequence[tuple[Any, ...]]:
        """As in `Talk`."""
        found: Sequence[tuple[Any, ...]] = self._node.ask(*self._next, look=self._look)
        self._next = "go_on", self._call, None
        self._leaves = any(isinstance(part, Known) for event in found for part in event)
        return found

    def answer(self, answer: Any) -> None:
        """As in `Talk`."""
        self._next = "go_on", self._call, answer

    def end(self, is_whole: bool) -> None:
        """As in `Talk`."""
        if not is_whole or self._leaves:
            self._node.tell("leave", self._call)


class _OnLine:
    """On a line, which a call has for itself."""

    def __init__(
        self, node: NodeHandle, messages: Messages, call: int, key: int, given: Sequence[Any], look: Look
    ) -> None:  # fmt: skip
        self._node, self._messages, self._call, self._look = node, messages, call, look
        self.answer((call, key, given, node.forgotten()))

    def events(self) -> Sequence[tuple[Any, ...]]:
        """As in `Talk`."""
        for turn in itertools.count(1):
            if self._messages.arrives(_LOOK):
                break
            self._look(turn * _LOOK)
        try:
            return [self._messages.receive()]
        except (EOFError, OSError) as error:
            raise self._died(error) from None

    def answer(self, answer: Any) -> None:
        """As in `Talk`."""
        try:
            self._messages.send(answer)
        except (EOFError, OSError) as error:
            raise self._died(error) from None

    def end(self, is_whole: bool) -> None:
        """As in `Talk`."""
        if is_whole:
            self._node.is_idle(self._messages)
        else:
            self._messages.close()
            self._node.tell("stop", self._call, None)

    def _died(self, error: Exception) -> Died:
        self._node.lives = False
        return Died(str(error))


class _Nodes:
    """Those of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.count: int | None = None
        """How many `connect` was asked for."""
        self.start: Callable[[int], NodeProcess] | None = None
        """What starts a node, where it is not an actor of the cluster."""
        self.handles: dict[int, NodeHandle] = {}
        self.names: tuple[str, ...] = ()


_NODES = _Nodes()


def want(count: int | None) -> None:
    """How many nodes there are to be, this process among them; as many as machines if nothing is said."""
    with _NODES.lock:
        if count != _NODES.count:
            _NODES.count, _NODES.names = count, ()


def use(start: Callable[[int], NodeProcess], count: int) -> None:
    """Have nodes that are started so."""
    forget()
    _NODES.start, _NODES.count = start, count


def forget() -> None:
    """There are no nodes any more; programs that name some are refused until there are again."""
    with _NODES.lock:
        for handle in _NODES.handles.values():
            handle.lives = False
        _NODES.handles, _NODES.names, _NODES.count, _NODES.start = {}, (), None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)  # the lines are the parent's


def known_names() -> tuple[str, ...]:
    """The devices that somebody has asked for by now."""
    return _NODES.names


def names() -> tuple[str, ...]:
    """The devices of all nodes; none where this process is connected to nothing. Starts the nodes."""
    with _NODES.lock:
        if not _NODES.names and _is_connected():
            count = _NODES.count or (1 if _NODES.start else len(_machines()))
            found = [f"node:0/{device.name}" for device in devices()]
            for number in range(1, count):
                found += [f"node:{number}/{device}" for device in node(number).devices]
            _NODES.names = tuple(found)
        return _NODES.names


def node(number: int) -> NodeHandle:
    """A node that lives. Raises RuntimeError where this process is connected to none, and `Died`."""
    with _NODES.lock:
        handle = _NODES.handles.get(number)
        if handle is not None and handle.lives:
            return handle
        if not _is_connected():
            raise UserRuntimeError(
                f"this process is no longer connected to node:{number}",
                mend="connect again: cluster = jitflow.cluster.connect(nodes=...)",
            )
        process = _NODES.start(number) if _NODES.start is not None else _start(number)
        handle = _NODES.handles[number] = NodeHandle(number, process)
        return handle


def _is_connected() -> bool:
    return _NODES.start is not None or bool(asked("ray", "is_initialized"))


def _machines() -> list[str]:
    """Ray's names of the machines, that of this process first."""
    library = ray()
    own = library.get_runtime_context().get_node_id()
    others = [found["NodeID"] for found in library.nodes() if found["Alive"] and found["NodeID"] != own]
    return [own, *sorted(others)]


def _start(number: int) -> NodeProcess:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    machines = _machines()
    count = _NODES.count or len(machines)
    place = number % len(machines)
    beside = len(range(place, count, len(machines)))
    where = NodeAffinitySchedulingStrategy(machines[place], soft=False)
    return ActorProcess(start(Node, beside, concurrency=CONCURRENCY, where=where))
