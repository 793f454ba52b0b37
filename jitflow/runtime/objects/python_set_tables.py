"""The tables of Python's own sets, remembered and laid out entry by entry.

The order in which a set goes through its keys, and which one `pop` takes next, follow from all that was ever done to
it: removed keys leave their places behind, a table that has grown stays large, and `pop` goes on where it was. The keys
tell nothing of that. So what a trace does to a set in vain is taken back in its memory, as CPython lays it out: the
header of ``setobject.h``, and the table of keys and hashes. Sets of the caller's are read and written there, too.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from jitflow.runtime.native.object_layout import layout_is_known
from jitflow.runtime.objects.set_orders import fill_in_order

__all__ = ["RememberedSet", "give_back", "lay_out", "table_of"]

_ENTRY = 2 * ctypes.sizeof(ctypes.c_ssize_t)
_SMALLEST = 8
"""Entries of the table of an empty set."""


class _Header(ctypes.Structure):
    _fields_ = [
        ("fill", ctypes.c_ssize_t),
        ("used", ctypes.c_ssize_t),
        ("mask", ctypes.c_ssize_t),
        ("table", ctypes.c_void_p),
        ("hash", ctypes.c_ssize_t),
        ("finger", ctypes.c_ssize_t),
    ]


class RememberedSet(set[Any]):
    """What a set held, and how it lay. Equal to what lies alike."""

    def __init__(self, thing: set[Any]) -> None:
        super().__init__(thing)
        self.table = table_of(thing) or (0, 0, repr([*thing]).encode())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RememberedSet) and self.table == other.table

    def __ne__(self, other: object) -> bool:
        return not self == other


def give_back(thing: set[Any], remembered: RememberedSet) -> None:
    """Let a set hold what it held, as it lay. The keys are those that are remembered."""
    thing.clear()
    if not _lay(thing, remembered, *remembered.table):
        fill_in_order(thing, [*remembered])


def lay_out(thing: set[Any], keys: Sequence[Any], states: Sequence[int], fill: int, finger: int) -> None:
    """Let a set hold keys that lie as told: of each place of the table whether a key is there (1), or was there (2)."""
    places, following = array("q"), iter(keys)
    for state in states or bytes(_SMALLEST):
        if state == 1:
            key = next(following)
            places.extend((id(key), hash(key)))
        else:
            places.extend((_dummy(), -1) if state else (0, 0))
    thing.clear()
    if not _lay(thing, keys, fill, finger, places.tobytes()):
        fill_in_order(thing, keys)


def _lay(thing: set[Any], keys: Collection[Any], fill: int, finger: int, entries: bytes) -> bool:
    """Give an empty set a table. False if nothing is known of tables here, and nothing was done."""
    size = len(entries) // _ENTRY
    if not _is_known():
        return False
    if size > _SMALLEST:  # so many keys at once get a table of this size, which stays when each is removed by itself
        passing = dict.fromkeys(range(size // 2 - 1))
        thing.update(passing)
        for key in passing:
            thing.discard(key)
    header = _header(thing)
    if header.mask + 1 != size:
        thing.clear()
        return False
    for key in keys:  # first, so that what is interrupted here leaves no key that nobody holds
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(key))
    ctypes.memmove(header.table, entries, len(entries))
    header.fill, header.used, header.finger = fill, len(keys), finger
    return True


def _header(thing: set[Any]) -> _Header:
    return _Header.from_address(id(thing) + object.__basicsize__)


def table_of(thing: set[Any]) -> tuple[int, int, bytes] | None:
    """The number of taken places, where `pop` goes on, and the entries; None if nothing is known of tables here."""
    if not _is_known():
        return None
    header = _header(thing)
    return header.fill, header.finger, _entries_of(header)


def _entries_of(header: _Header) -> bytes:
    return ctypes.string_at(header.table, (header.mask + 1) * _ENTRY)


@cache
def _is_known() -> bool:
    """Whether sets lie as expected: asked of one with keys that want one place, of which some are removed."""
    if not layout_is_known():
        return False
    thing = {0, 64, 3, 128, 5, 192, 7, 256, 11}
    thing.discard(64)
    popped = thing.pop()
    header = _header(thing)
    if (header.used, header.fill - header.used) != (len(thing), 2) or header.mask + 1 not in (16, 32, 64):
        return False
    entries = _entries(thing)
    living = [id(key) for key in thing]
    is_in_order = [key for key, _ in entries if key in living] == living
    return is_in_order and entries[header.finger - 1][1] == -1 and popped == 0


def _entries(thing: set[Any]) -> list[tuple[int, int]]:
    """The keys and hashes as they stand."""
    return [*struct.iter_unpack("qq", _entries_of(_header(thing)))]


@cache
def _dummy() -> int:
    """What stands where a key was removed."""
    thing = {1}
    thing.discard(1)
    return next(address for address, hashed in _entries(thing) if hashed == -1)
