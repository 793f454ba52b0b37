"""Whether the sets that a trace makes are gone through in one order in all processes, which the cache on disk asks.

Texts have other hashes in each process, and most objects hash by their address. A trace that goes through a set of them
writes the order of its process out; of numbers, and of tuples of numbers, it is the same everywhere. What the functions
that are rewritten put into Python's sets is looked at where they do so: displays, comprehensions, calls and methods are
hooks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from jitflow.frontend.recording.trace import active_trace

__all__ = ["KeysOfSets", "has_lasting_order", "note_keys", "noting_keys"]

_LASTING = {int, float, bool, complex, *({type(None)} if sys.version_info >= (3, 12) else ())}
"""What has the same hash in all processes; None had its address before Python 3.12."""


class KeysOfSets:
    """The sets of a trace (`Trace.state`)."""

    def __init__(self) -> None:
        self.changing = ""
        """What was found in one whose order is another one in each process; empty if there is nothing of the kind."""


def has_lasting_order(keys: Set[Any]) -> bool:
    """Whether Python goes through these in one order in all processes."""
    return all(map(_has_lasting_hash, keys))


def _has_lasting_hash(key: Any) -> bool:
    if type(key) in (tuple, frozenset):
        return all(map(_has_lasting_hash, key))
    return type(key) in _LASTING or (isinstance(key, np.number | np.bool_) and type(key).__module__ == "numpy")


def note_keys(thing: Any) -> None:
    """Look into a set that the program makes or changes; all else is none."""
    trace = active_trace()
    if trace is None or type(thing) not in (set, frozenset):
        return
    for key in thing:
        if not _has_lasting_hash(key):
            trace.state(KeysOfSets).changing = f"a set that holds an object of the class {type(key).__qualname__}"


def noting_keys(owner: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method, which may be one that makes or changes a set: what is in that is looked at."""
    if type(owner) not in (set, frozenset) or active_trace() is None:
        return method

    def call(*args: Any, **keywords: Any) -> Any:
        result = method(*args, **keywords)
        note_keys(owner)
        note_keys(result)
        return result

    return call
