"""`itertools.combinations` and its like: choices of places, of which one follows from the one before.

What else than a loop goes through them goes through a list of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.containers.made_containers import begun_list
from jitflow.frontend.containers.program_lists import new_list
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.comparisons import compared
from jitflow.frontend.control.iterators import GIVEN
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.sources import Once, as_source
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.recording.budget import MOST_KNOWN_TURNS
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers.base import located

__all__ = ["COUNTED", "combinations", "list_of", "once", "permutations", "with_replacement"]


def list_of(items: Any, name: str = "list(...)") -> Any:
    """A new list of the items, which goes by a name."""
    found = begun_list(name)
    own_loop(items, found.append)
    return found


def once(found: Any) -> Once:
    """The items of a list, to be gone through once."""
    source = as_source(found)
    assert source is not None
    return Once(source)


class _Choices(Recorded, Source):
    """The items at some places, then at the next ones; the places are in a list.

    A loop makes a choice for each turn. What else goes through them, or takes some, goes through a list of all.
    """

    def __init__(self, kind: Any, items: Any, length: Any, advance: Callable[..., Any], first: int) -> None:
        if type(length) is not int:
            raise located(UserNotImplementedError(
                "combinations or permutations of a number of items that only the running program knows",
                mend="give the number as it is: combinations(items, 2), permutations(items, len) with len in static=",
            ))  # fmt: skip
        self._kind, self._items, self._length, self._advance, self._first = kind, items, length, advance, first
        self._all: Source | None = None

    @property
    def may_change(self) -> bool:  # type: ignore[override]
        return self._all is None

    def entered(self) -> Any:
        self.begin()
        self._pool = list_of(self._items, "pool")
        self._places = new_list("places", None)
        if self._kind is itertools.permutations:
            own_loop(traced_range(0, self._pool.length), self._places.append)
        else:
            for place in range(self._length):
                self._places.append(self._first * place)
        return self

    def gone_through(self) -> Source:
        if self._all is None:
            each = _Choices(self._kind, self._items, self._length, self._advance, self._first)
            self._all = once(list_of(each, f"{self._kind.__name__}(...)"))
            self._all.used = self.used
        return self._all

    def __iter__(self) -> Any:
        source = self if self._all is None else self._all
        source.begin()
        found = COUNTED[self._kind]([*self._items], self._length)
        return itertools.islice(found, int(source.taken), None)

    def __len__(self) -> int:
        raise located(UserTypeError(f"object of type 'itertools.{self._kind.__name__}' has no len()"))

    def holds_position(self, position: Any) -> Any:
        count = self._pool.length
        least = self._length if self._first else min(self._length, 1)
        if not self._length:
            return position == 0
        return choose(compared("==", position, 0), lambda: count >= least,
                      lambda: self._advance(self._places, count, self._length))  # fmt: skip

    def item(self, position: Any) -> Any:
        return tuple(self._pool[self._places[place]] for place in range(self._length))


def combinations(items: Any, r: Any) -> Any:
    """`itertools.combinations`."""
    return _Choices(itertools.combinations, items, r, programs.advanced_combination, 1)


def with_replacement(items: Any, r: Any) -> Any:
    """`itertools.combinations_with_replacement`."""
    return _Choices(itertools.combinations_with_replacement, items, r, programs.advanced_repetition, 0)


def permutations(items: Any, r: Any = None) -> Any:
    """`itertools.permutations`."""
    if r is None:  # tuples of as many items as there are
        return COUNTED[itertools.permutations](items)
    return _Choices(itertools.permutations, items, r, programs.advanced, 1)


def _counted(kind: Any) -> Any:
    """A class of iterators that say how far they are, and end where they would give more than a loop goes through."""

    @raising_for_the_program
    def give(iterator: Any) -> Any:
        given = getattr(iterator, GIVEN, 0)
        if given >= MOST_KNOWN_TURNS and active_trace() is not None:
            raise located(UserNotImplementedError(
                f"Python goes through more than {MOST_KNOWN_TURNS} items of itertools.{kind.__name__} while tracing",
                mend="call what goes through them with jitflow.callback",
            ))  # fmt: skip
        item = kind.__next__(iterator)
        setattr(iterator, GIVEN, given + 1)
        return item

    return type(kind.__name__, (kind,), {"__next__": give})


COUNTED = {kind: _counted(kind) for kind in (
    itertools.combinations, itertools.combinations_with_replacement, itertools.permutations, itertools.product,
)}  # fmt: skip
