"""The reference of what partitions of a program do together: channels, meetings, and which error the user gets.

Each partition runs by itself in the order of the program. `send` never waits; `recv` waits for its message. A partition
that fails closes the channels on which it sends: messages that it has sent before arrive, who waits for another one
fails as well, with nothing to say (`Closed`), and closes its own. So what a partition comes to depends on the program
alone, never on who is faster.

Of several errors the user gets the one that comes first in his program. Each partition keeps a *record* of how far it
has come: the number of an op, or of a loop with the turn, then the number of an op in it, and so on. Numbers grow in
program order, so records are compared as words in a dictionary are. `progress {level=k, order=n}` writes the number
``n`` to entry ``k`` and clears what follows; `progress {level=k}` adds one to it, which counts turns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from jitflow.errors import CompilerBug

__all__ = ["Channels", "Closed", "run_together"]


class Closed(Exception):
    """What a partition waits for never comes, since another one has failed."""


class Channels:
    """The channels of one call, to which ``count`` partitions come; nobody waits longer than ``patience`` seconds."""

    def __init__(self, count: int = 1, patience: float = 10.0) -> None:
        self.count = count
        self.patience = patience
        self.changed = threading.Condition()
        self.queues: dict[int, deque[tuple[Any, ...]]] = {}
        self.closed: set[int] = set()
        self.meeting = 0
        self.failed = False
        self.sent: dict[int, int] = {}
        """How many messages each channel has carried."""

    def send(self, channel: int, message: tuple[Any, ...]) -> None:
        """Hand over copies of some values, or of none."""
        with self.changed:
            self.queues.setdefault(channel, deque()).append(tuple(map(copy, message)))
            self.sent[channel] = self.sent.get(channel, 0) + 1
            self.changed.notify_all()

    def receive(self, channel: int) -> tuple[Any, ...]:
        """The next message; raises `Closed` if there will be none."""
        with self.changed:
            queue = self.queues.setdefault(channel, deque())
            self.wait(lambda: bool(queue) or channel in self.closed, f"a message on channel {channel}")
            if queue:
                return queue.popleft()
            raise Closed

    def meet(self) -> None:
        """Wait for all partitions; raises `Closed` if one has failed."""
        with self.changed:
            self.meeting += 1
            goal = -(-self.meeting // self.count) * self.count
            self.changed.notify_all()
            self.wait(lambda: self.meeting >= goal or self.failed, "the other partitions")
            if self.meeting < goal:
                raise Closed

    def close(self, channels: Iterable[int]) -> None:
        """A partition has failed that sends on these channels."""
        with self.changed:
            self.closed.update(channels)
            self.failed = True
            self.changed.notify_all()

    def wait(self, ready: Callable[[], bool], what: str) -> None:
        if not self.changed.wait_for(ready, self.patience):
            raise CompilerBug(f"expected {what}, which never came")

    def left(self) -> list[int]:
        """The channels with messages that nobody has taken."""
        return sorted(channel for channel, queue in self.queues.items() if queue)


Runner = Callable[[Channels, list[int]], tuple[Any, ...]]


def run_together(partitions: Sequence[tuple[Runner, Iterable[int]]], channels: Channels) -> list[tuple[Any, ...]]:
    """Run partitions at once, each with the channels on which it sends; their results.

    A runner gets the channels and a record to write to. Raises the error that is first in program order.
    """
    results: list[tuple[Any, ...]] = [()] * len(partitions)
    failures: list[tuple[list[int], int, BaseException]] = []

    def run(number: int) -> None:
        runner, sending = partitions[number]
        record: list[int] = []
        try:
            results[number] = runner(channels, record)
        except BaseException as error:
            if not isinstance(error, Closed):
                failures.append((record, number, error))
            channels.close(sending)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, len(partitions))]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
    if failures:
        raise min(failures, key=lambda failure: failure[:2])[2]
    if channels.failed:
        raise CompilerBug("expected an error of the partition that has failed")
    if channels.left():
        raise CompilerBug(f"expected every message to be taken, got some on the channels {channels.left()}")
    return results
