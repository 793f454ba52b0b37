"""Calls that draw from NumPy's generators: whose locks they hold, and the generators that they make.

NumPy's own methods hold the lock of a bit generator while they draw, so a compiled function holds it for its run. Who
waits for it has released the GIL. NumPy's locks may be taken again by the thread that has them, so what the run calls
out to may draw as well.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from jitflow.ir.draws import bits_of

__all__ = ["drawing", "make"]


class _Made(threading.local):
    calls: list[list[Any]]

    def __init__(self) -> None:
        self.calls = []


_MADE = _Made()


class drawing:  # noqa: N801 - it reads as a word: with drawing(...)
    """A call that draws from some generators."""

    __slots__ = ("_locks", "_taken")

    def __init__(self, generators: Iterable[Any]) -> None:
        bits = {id(one): one for one in map(bits_of, generators)}
        self._locks = [bits[key].lock for key in sorted(bits)]
        self._taken: list[Any] = []

    def __enter__(self) -> None:
        _MADE.calls.append([])
        try:
            for lock in self._locks:  # in one order, so that no two calls wait for each other
                lock.acquire()
                self._taken.append(lock)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        _MADE.calls.pop()
        for lock in self._taken:
            lock.release()


def make(what: str, *seeds: Any) -> int:
    """Make a generator as ``numpy.random`` does, which lives as long as the call; returns its address."""
    import numpy.random as module

    name, _, inner = what.removesuffix(")").partition("(")
    given = [getattr(module, inner)(*seeds)] if inner else seeds
    made = getattr(module, name)(*given)
    _MADE.calls[-1].append(made)
    return id(made)
