"""`Queue`: elements handed from threads to threads, in order or shuffled; the faster side waits."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator
from threading import Condition
from typing import Any

import numpy as np

from jitflow.errors import UserValueError

__all__ = ["Queue", "QueueClosed"]


class QueueClosed(Exception):
    """The queue has been closed: nothing can be put into it, or nothing is left in it."""

    __module__ = "jitflow.data"


class Queue:
    """A queue of at most ``capacity`` elements between any number of threads.

    Without a ``seed`` elements come out as they went in. With one, each that comes out is drawn from those that are in
    the queue, of which there are at least ``minimum`` until it is closed: the more, the better they are mixed. `put`
    waits while the queue is full and `get` while it has nothing to give: so nobody runs away from anybody. A queue is
    an iterable, whose elements go to whoever asks first; it is a source for a `Dataset`.

    Raises ValueError if ``minimum`` is not below ``capacity``, which would wait for ever.
    """

    __module__ = "jitflow.data"

    def __init__(self, capacity: int, *, seed: int | None = None, minimum: int = 0) -> None:
        if operator.index(capacity) < 1:
            raise UserValueError(f"a queue has a capacity of {capacity}", expected="at least 1")
        if not 0 <= minimum < capacity:
            raise UserValueError(f"a queue of {capacity} elements keeps {minimum}", expected="less than its capacity")
        self.capacity, self.minimum = operator.index(capacity), minimum if seed is not None else 0
        self._draw = None if seed is None else np.random.Generator(np.random.Philox(seed))
        self._elements: list[Any] = []
        self._closed = False
        self._error: BaseException | None = None
        self._changed = Condition()

    def put(self, element: Any, timeout: float | None = None) -> None:
        """Add an element. Raises QueueClosed, and TimeoutError after ``timeout`` seconds without room."""
        with self._changed:
            self._wait(lambda: self._closed or len(self._elements) < self.capacity, timeout)
            if self._closed:
                raise QueueClosed("an element was put into a closed queue")
            self._elements.append(element)
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> Any:
        """Take an element. Raises QueueClosed if the queue is closed and empty, TimeoutError after ``timeout`` seconds.

        If it was closed with an error, that is its cause, and what an iteration over the queue ends with.
        """
        with self._changed:
            self._wait(lambda: self._closed or len(self._elements) > self.minimum, timeout)
            if not self._elements:
                raise QueueClosed("the queue is closed and empty") from self._error
            place = 0 if self._draw is None else int(self._draw.integers(len(self._elements)))
            if self._draw is not None:  # any order will do, and the end is cheap to take
                self._elements[place], self._elements[-1] = self._elements[-1], self._elements[place]
                place = -1
            element = self._elements.pop(place)
            self._changed.notify_all()
            return element

    def close(self, error: BaseException | None = None) -> None:
        """Say that nothing more comes. Who waits to `put` is told; who takes gets what is left, and then ``error``."""
        with self._changed:
            self._closed, self._error = True, error or self._error
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                element = self.get()
            except QueueClosed as closed:
                if closed.__cause__ is not None:
                    raise closed.__cause__ from None
                return
            yield element

    def _wait(self, ready: Any, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not ready():
            left = None if deadline is None else deadline - time.monotonic()
            if (left is not None and left <= 0) or not self._changed.wait(left):
                if ready():
                    return
                raise TimeoutError(f"nothing happened in the queue for {timeout} s")
