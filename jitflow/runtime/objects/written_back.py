"""What the program has made of the caller's containers, written back: see `jitflow.frontend.containers.passed_words`.

An item is written where its words are others than they were; all others stay the very objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jitflow.runtime.objects.python_set_tables import lay_out
from jitflow.runtime.objects.set_orders import fill_in_order
from jitflow.runtime.objects.stores import replace_content
from jitflow.runtime.objects.told_words import Entries, Told

__all__ = ["lay_out_set", "write_back"]

_Things = Sequence[Any]
_Words = Sequence[int]


def write_back(
    thing: Any, entries: Entries, told: Told, places: range, before: Sequence[int], now: Sequence[int]
) -> None:
    """Let an object hold the entries at some places, whose words are those ``now``; it held those ``before``."""
    keys, items = entries.keys(told, places), entries.items(told, places)
    _WRITERS[entries.held.family](thing, entries, keys, items, before, now)


def _others(width: int, first: int, before: Sequence[int], now: Sequence[int], rows: int) -> Iterator[int]:
    """Which of some entries are others than before, from a word on."""
    if width == 1:
        return (number for number, (one, other) in enumerate(zip(now[:rows], before, strict=False)) if one != other)
    starts = range(0, width * rows, width)
    return (
        number
        for number, start in enumerate(starts)
        if now[start + first : start + width] != before[start + first : start + width]
    )


def _write_list(thing: Any, entries: Entries, _: _Things, items: _Things, before: _Words, now: _Words) -> None:
    same = min(len(before) // (entries.width or 1), len(items), len(thing))
    for number in _others(entries.width, 0, before, now, same):
        thing[number] = items[number]
    while len(thing) > same:
        thing.pop()
    thing.extend(items[same:])


def _write_dict(thing: Any, entries: Entries, keys: _Things, items: _Things, before: _Words, now: _Words) -> None:
    width, words = entries.width, len(entries.held.keys)
    known = len(before) // width
    keys_are_there = known == len(thing) and known <= len(keys) and all(
        now[start : start + words] == before[start : start + words] for start in range(0, width * known, width)
    )  # fmt: skip
    if keys_are_there:
        for number in _others(width, words, before, now, known):
            thing[keys[number]] = items[number]
        dict.update(thing, zip(keys[known:], items[known:], strict=True))  # a Counter would count the pairs
    else:
        replace_content(thing, dict(zip(keys, items, strict=True)))


def lay_out_set(thing: Any, entries: Entries, told: Told, places: range, table: _Words) -> None:
    """Let a set of the caller's hold the keys at some places, in a table that is told behind them."""
    known = {key: key for key in thing}
    keys = [known.get(key, key) for key in entries.keys(told, places)]
    size, taken, finger = table[:3]
    lay_out(thing, keys, table[3 : 3 + size], taken, finger)


def _write_set(thing: Any, _: Entries, keys: _Things, *__: Any) -> None:
    """One that the program has made, of which the order is told."""
    thing.clear()
    fill_in_order(thing, keys)


_WRITERS: Mapping[str, Callable[..., None]] = {
    "list": _write_list, "deque": _write_list, "dict": _write_dict, "set": _write_set,
}  # fmt: skip
