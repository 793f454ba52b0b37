"""Dicts of which the run decides which of their keys are there: ``if x > 0: found["last"] = x``.

The keys are known while tracing. What is under each, whether it is there and when it was put there stand in `Slots`,
which branches merge and loops carry as they do what any dict of the program holds (`control.mutables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.absent import UNBOUND

__all__ = ["ITEM", "NEXT", "ORDER", "THERE", "Open", "Slots", "Slotted", "class_of", "holder_of"]

ITEM, THERE, ORDER = "item", "there", "order"
"""What is known of a key: what is under it, whether it is there, and its number in the order of insertion."""
NEXT = ("next", 0)
"""Where slots have the number that the next key gets that is put there."""


class Open(dict[Any, Any]):
    """What an object holds, where more may come to be known of it than at the moments that it is compared with."""

    @property
    def path(self) -> str:
        """What messages call the object."""
        raise NotImplementedError

    def complete(self, content: dict[Any, Any]) -> None:
        """Add to what it held at some moment what has come to be known since then."""
        raise NotImplementedError


class Slots(Open):
    """What a dict holds, by the numbers of its keys. A key that is known is there, or is not, or the run knows."""

    def __init__(self, path: str, *, grows: bool = False) -> None:
        super().__init__({NEXT: 0})
        self.grows = grows
        """Whether keys are positions, of which each turn of a loop has others."""
        self._path = path
        self.keys_known: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self.is_in_sequence = True
        """Whether what is there is known to have been put there in the order of the numbers."""

    @property
    def path(self) -> str:
        return self._path

    def number_of(self, key: Any) -> int | None:
        """The number of a key, if it is known."""
        return self._numbers.get(key)

    def add(self, key: Any) -> int:
        """The number of a key that is new, and is not there yet."""
        self._numbers[key] = len(self.keys_known)
        self.keys_known.append(key)
        self.complete(self)
        return self._numbers[key]

    def complete(self, content: dict[Any, Any]) -> None:
        for number in range(len(content) // 3, len(self.keys_known)):
            for what, absent in ((ITEM, UNBOUND), (THERE, False), (ORDER, 0)):
                content[what, number] = absent

    def emptied(self) -> dict[Any, Any]:
        """What it holds if no key is there."""
        found: dict[Any, Any] = {NEXT: 0}
        self.complete(found)
        return found

    def put_last(self, number: int) -> None:
        """A key is put there that may not have been: it stands behind all others then."""
        self.is_in_sequence &= all(other <= number for other in self.possible())

    def possible(self) -> list[int]:
        """The numbers of the keys that may be there."""
        return [number for number in range(len(self.keys_known)) if self[THERE, number] is not False]


class Slotted(Recorded):
    """A dict of which the run decides which keys are there."""

    may_change = True
    kind: type = dict
    """Python's class."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.slots = Slots(
            f"the {self.kind.__name__} {path}" if path else f"a {self.kind.__name__}", grows=self.kind is list
        )
        self.is_closed = False
        """Whether it is the caller's, and not changed yet."""
        self.home: Any = None
        """The region in which it was made."""

    def like(self) -> Slotted:
        """One of the same kind that holds nothing."""
        return type(self)()

    @property
    def form(self) -> Any:
        """What those have in common that differ in what they hold alone."""
        return type(self)

    def maker(self, keys: Sequence[Any]) -> Callable[..., Any]:
        """What makes Python's object of all parts of these keys but the first."""
        raise NotImplementedError

    def gone_through(self) -> Any:
        """What a loop over it goes through, with as many turns as there are entries when it begins."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[list[Any], list[Any]]:
        """The keys that may be there, and for each of them whether it is, its order, and what is under it."""
        slots, possible = self.slots, self.slots.possible()
        keys = [slots.keys_known[number] for number in possible]
        return keys, [slots[what, number] for number in possible for what in (THERE, ORDER, ITEM)]

    def holding(self, keys: Sequence[Any], parts: Sequence[Any]) -> Slotted:
        """A dict like this with other parts."""
        made = self.like()
        made.home = current_trace().scope
        given: Iterator[Any] = iter(parts)
        made.slots[NEXT] = next(given)
        made.slots.is_in_sequence = False  # since parts may be of several
        for key in keys:
            number = made.slots.add(key)
            for what in (THERE, ORDER, ITEM):
                made.slots[what, number] = next(given)
        return made

    def copy(self) -> Any:
        """The same as a new one of the program's."""
        made = self.snapshot()
        made.home = current_trace().scope
        return made

    def snapshot(self) -> Slotted:
        """A dict of the program's with the same entries."""
        made = self.like()
        for key in self.slots.keys_known:
            made.slots.add(key)
        made.slots.update(self.slots)
        made.slots.is_in_sequence = self.slots.is_in_sequence
        return made

    def returned(self) -> Any:
        return self

    def settled(self) -> Any:
        return self


def class_of(thing: Any) -> Any:
    """The class of a list or dict that the program changes as Python's own; None for other things."""
    if isinstance(thing, Slotted):
        return thing.kind
    return list if isinstance(thing, list) else dict if isinstance(thing, dict) else None


def holder_of(thing: Any) -> Any:
    """The object that has what a thing holds."""
    return thing.slots if isinstance(thing, Slotted) else thing
