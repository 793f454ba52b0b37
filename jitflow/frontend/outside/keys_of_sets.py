"""Whether the sets that a trace makes are gone through in one order in all processes, which the cache on disk asks.

A trace that goes through a set of texts writes the order of its process out; of numbers, and of tuples of numbers, it
is the same everywhere. What the functions that are rewritten put into Python's sets is looked at where they do so:
displays, comprehensions, calls and methods are hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jitflow.frontend.recording.trace import active_trace
from jitflow.runtime.objects.set_orders import has_lasting_order

__all__ = ["KeysOfSets", "note_keys", "noting_keys"]


class KeysOfSets:
    """The sets of a trace (`Trace.state`)."""

    def __init__(self) -> None:
        self.changing = ""
        """What was found in one whose order is another one in each process; empty if there is nothing of the kind."""


def note_keys(thing: Any) -> None:
    """Look into a set that the program makes; all else is none."""
    if type(thing) in (set, frozenset):
        _note(thing)


def _note(keys: Iterable[Any]) -> None:
    trace = active_trace()
    state = None if trace is None else trace.state(KeysOfSets)
    if state is None or state.changing:
        return
    other = next((key for key in keys if not has_lasting_order((key,))), state)
    if other is not state:
        state.changing = f"a set that holds an object of the class {type(other).__qualname__}"


def noting_keys(owner: Any, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of that name, which may be one that puts keys into a set, or makes one: they are looked at."""
    if type(owner) not in (set, frozenset) or active_trace() is None:
        return method

    def call(*args: Any, **keywords: Any) -> Any:
        result = method(*args, **keywords)
        note_keys(result)
        if name == "add":
            _note(args[:1])
        elif name in _FILLING:
            _note(owner)
        return result

    return call


_FILLING = ("update", "symmetric_difference_update", "__ior__", "__ixor__")
"""Methods that put keys of others into a set; `add` puts the one that it is given."""
