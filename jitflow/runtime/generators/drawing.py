"""Calls that draw from NumPy's generators: whose locks they hold, and the generators that they make.

NumPy's own methods hold the lock of a bit generator while they draw, so a compiled function holds it for its run. Who
waits for it has released the GIL. The lock may be taken again by the thread that has it, so what the run calls out to
may draw as well. Where an older NumPy has locks for which that is not so, the run waits until the lock is free.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

__all__ = ["Drawing", "begin", "make"]

_REENTRANT = type(threading.RLock())


class Drawing:
    """A call that draws from some generators. It ends when nobody holds this any more, or by `end`."""

    __slots__ = ("_made", "_taken")

    def __init__(self, generators: Sequence[Any]) -> None:
        self._made: list[Any] = []
        self._taken: list[Any] = []
        for lock in _locks(generators):
            lock.acquire()
            if isinstance(lock, _REENTRANT):
                self._taken.append(lock)
            else:
                lock.release()
        _CALLS.made.append(self._made)

    def end(self) -> None:
        """Give the locks back."""
        taken, self._taken = self._taken, []
        for lock in taken:
            lock.release()
        _CALLS.made = [made for made in _CALLS.made if made is not self._made]

    __del__ = end


def _locks(generators: Sequence[Any]) -> list[Any]:
    """The locks of the bit generators, in one order, so that no two calls wait for each other.

    A `random.Random` has none: who draws from it has the GIL.
    """
    bits = {id(one): one for one in map(_bits_of(), generators) if hasattr(one, "lock")}
    return [bits[key].lock for key in sorted(bits)]


class _Calls(threading.local):
    def __init__(self) -> None:
        self.made: list[list[Any]] = []
        """The generators that each of the thread's calls has made, the innermost last."""


_CALLS = _Calls()


def begin(*generators: Any) -> Drawing:
    """A call begins that draws from generators: wait until it may."""
    return Drawing(generators)


def make(what: str, *seeds: Any) -> int:
    """Make a generator as ``numpy.random`` or ``random`` does, which lives as long as the call; returns its address."""
    module = importlib.import_module("random" if what == "Random" else "numpy.random")
    name, _, inner = what.removesuffix(")").partition("(")
    given = [getattr(module, inner)(*seeds)] if inner else seeds
    made = getattr(module, name)(*given)
    _CALLS.made[-1].append(made)
    return id(made)


@cache
def _bits_of() -> Callable[[Any], Any]:
    from jitflow.ir.draws import bits_of  # asked for when something is drawn, not when a process starts

    return bits_of
