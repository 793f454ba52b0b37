"""Calls that draw from NumPy's generators: whose locks they hold, and the generators that they make.

NumPy's own methods hold the lock of a bit generator while they draw, so a compiled function holds it for its run. Who
waits for it has released the GIL. NumPy's locks may be taken again by the thread that has them, so what the run calls
out to may draw as well.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

from jitflow.ir.draws import bits_of

__all__ = ["Drawing", "begin", "make"]


class Drawing:
    """A call that draws from some generators. It ends when nobody holds this any more, or by `end`."""

    __slots__ = ("_taken", "made")

    def __init__(self, generators: Sequence[Any]) -> None:
        self.made: list[Any] = []
        """The generators that the call has made."""
        self._taken: list[Any] = []
        for lock in _locks(generators):
            lock.acquire()
            self._taken.append(lock)
        _CALLS.open.append(self)

    def end(self) -> None:
        """Give the locks back."""
        taken, self._taken = self._taken, []
        for lock in taken:
            lock.release()
        if self in _CALLS.open:
            _CALLS.open.remove(self)

    __del__ = end


def _locks(generators: Sequence[Any]) -> list[Any]:
    """The locks of the bit generators, in one order, so that no two calls wait for each other."""
    if len(generators) == 1:
        return [bits_of(generators[0]).lock]
    bits = {id(one): one for one in map(bits_of, generators)}
    return [bits[key].lock for key in sorted(bits)]


class _Calls(threading.local):
    def __init__(self) -> None:
        self.open: list[Drawing] = []


_CALLS = _Calls()


def begin(*generators: Any) -> Drawing:
    """A call begins that draws from generators: wait until it may."""
    return Drawing(generators)


def make(what: str, *seeds: Any) -> int:
    """Make a generator as ``numpy.random`` does, which lives as long as the call; returns its address."""
    module = importlib.import_module("numpy.random")
    name, _, inner = what.removesuffix(")").partition("(")
    given = [getattr(module, inner)(*seeds)] if inner else seeds
    made = getattr(module, name)(*given)
    _CALLS.open[-1].made.append(made)
    return id(made)
