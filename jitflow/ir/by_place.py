"""Things kept by the storage that they have to do with.

A pass that walks down a program and knows something at each point, such as which loads still hold, asks at each op
what of it the op affects. Asked one by one, that takes as long as the program times what is known. Here each variable
leads to what has to do with it, so an op that writes to one variable finds that alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from jitflow.ir.effects import ANYTHING, PlaceSet
from jitflow.ir.records import Value

__all__ = ["ByPlace"]

_Entry = TypeVar("_Entry", bound=Hashable)


class ByPlace(Generic[_Entry]):
    """Entries in the order in which they were added, each with the storage that it has to do with."""

    def __init__(self) -> None:
        self._places: dict[_Entry, PlaceSet] = {}
        self._at: dict[Value, dict[_Entry, None]] = {}

    def copy(self) -> ByPlace[_Entry]:
        """One that changes by itself."""
        other = ByPlace[_Entry]()
        other._places = dict(self._places)
        other._at = {place: dict(entries) for place, entries in self._at.items()}
        return other

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self._places)

    def __contains__(self, entry: object) -> bool:
        return entry in self._places

    def add(self, entry: _Entry, places: PlaceSet) -> None:
        """Note an entry, which has to do with some storage; if it is there, it has to do with this from now on."""
        self.discard(entry)
        self._places[entry] = places
        for place in places:
            self._at.setdefault(place, {})[entry] = None

    def discard(self, entry: _Entry) -> None:
        """Forget an entry, if it is there."""
        for place in self._places.pop(entry, ()):
            entries = self._at[place]
            del entries[entry]
            if not entries:
                del self._at[place]

    def meeting(self, places: PlaceSet) -> list[_Entry]:
        """The entries that may have to do with some of the storage."""
        if ANYTHING in places:
            return list(self._places)
        found: dict[_Entry, None] = {}
        for place in (*places, ANYTHING):
            found.update(self._at.get(place, {}))
        return list(found)
