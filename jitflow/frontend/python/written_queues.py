"""The queues of `queue`, as a user would write them for one thread: programs are traced through these classes.

A compiled program is one thread. So nothing is locked, and where a queue of Python's waits for another thread, for an
item or for room, what follows the longest wait is raised at once, whether or not the program says how long it waits.
"""

from __future__ import annotations

import heapq
import queue
from collections import deque
from collections.abc import Mapping
from queue import Empty, Full
from types import MappingProxyType
from typing import Any

__all__ = ["WRITTEN_QUEUES"]


class Queue:
    """`queue.Queue`."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self.unfinished_tasks = 0
        self.queue: Any = deque()

    def qsize(self) -> int:
        return len(self.queue)

    def empty(self) -> bool:
        return not self.queue

    def full(self) -> bool:
        return 0 < self.maxsize <= len(self.queue)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if block and timeout is not None and self.maxsize > 0 and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if 0 < self.maxsize <= len(self.queue):
            raise Full
        self._put(item)
        self.unfinished_tasks += 1

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if not self.queue:
            raise Empty
        return self._get()

    def join(self) -> None:
        if self.unfinished_tasks:
            raise NotImplementedError("Queue.join() would wait for another thread")

    def put_nowait(self, item: Any) -> None:
        self.put(item)

    def get_nowait(self) -> Any:
        return self.get()

    def task_done(self) -> None:
        if self.unfinished_tasks <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1

    def _put(self, item: Any) -> None:
        self.queue.append(item)

    def _get(self) -> Any:
        return self.queue.popleft()


class LifoQueue(Queue):
    """`queue.LifoQueue`."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self.queue = []

    def _get(self) -> Any:
        return self.queue.pop()


class PriorityQueue(Queue):
    """`queue.PriorityQueue`."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self.queue = []

    def _put(self, item: Any) -> None:
        heapq.heappush(self.queue, item)

    def _get(self) -> Any:
        return heapq.heappop(self.queue)


WRITTEN_QUEUES: Mapping[type, type] = MappingProxyType(
    {queue.Queue: Queue, queue.LifoQueue: LifoQueue, queue.PriorityQueue: PriorityQueue}
)
"""By the class of Python's."""
