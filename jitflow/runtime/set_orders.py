"""Sets of Python's that have to go through their keys in an order that is given.

Which place a key takes in CPython's table depends on the keys that were there before it, so keys that are added in the
order in which another set has them may stand in another one: where two want one place, the second had to go on. So
places are found for a size of the table that could be those of the other set, and each key is added when all places
that it would rather have are taken: by keys, or by others that are removed in the end. A copy of a set has a table of
another size than one that has grown, so keys in the places that they would rather have all others may come by a copy.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

__all__ = ["fill_in_order", "order_of_adding", "out_of_order"]

_SIZES = tuple(1 << power for power in range(3, 24))
_MOST_PROBES = 16
_ATTEMPTS = 400
_LARGEST = 500
"""For so many keys an order is searched for that nothing tells."""


class _Filler:
    """A key that is removed in the end."""

    def __init__(self, hashed: int) -> None:
        self._hashed = hashed

    def __hash__(self) -> int:
        return self._hashed


def out_of_order() -> NotImplementedError:
    """The error for a set that nobody can make."""
    return NotImplementedError("a set is returned whose order tells of keys that were removed: return sorted(...)")


class _Copied:
    """Keys that are copied from another set, before any are added."""

    def __init__(self, keys: Sequence[Any]) -> None:
        self.keys = keys


def order_of_adding(keys: Sequence[Any]) -> list[Any] | None:
    """An order in which these keys are added to an empty set that goes through them as they stand here."""
    return next((order for order in _orders(keys) if len(order) == len(keys)), None)


def fill_in_order(made: set[Any], keys: Sequence[Any]) -> None:
    """Add keys that are all different to an empty set, so that it goes through them as they stand here."""
    made.update(keys)
    if [*made] == keys:
        return
    order = next(_orders(keys), None)
    if order is None:
        raise out_of_order()
    made.clear()
    _add(made, order)


def _orders(keys: Sequence[Any]) -> Iterator[list[Any]]:
    """Orders that do, with keys that are removed in the end."""
    starts, copies = [[*keys]], []
    for size in _SIZES:
        if len(keys) < size <= 64 * (len(keys) + 8) and (places := _places(keys, size)) is not None:
            order = _in_turn(keys, places, size)
            free = (place for place in range(size - 1, -1, -1) if place not in {*places})
            wide = [_Filler(place) for place in islice(free, size * 3 // 20 + 1)]
            starts += [order, [*wide, *order]]  # the table comes to its size as it would, or is as large from there on
            copies.append(_begun_by_copy(keys, places, order, size))
    yield from (start for start in (*starts, *copies) if not _wrong(keys, start))
    if len(keys) <= _LARGEST:
        yield from filter(None, (_searched(keys, start) for start in starts))


def _searched(keys: Sequence[Any], order: list[Any]) -> list[Any] | None:
    """An order where one key after the other that stands wrong is moved, as long as no more stand wrong."""
    draw, wrong = random.Random(0), _wrong(keys, order)
    for _ in range(_ATTEMPTS):
        if not wrong:
            return order
        moved = [*order]
        moved.insert(draw.randrange(len(order)), moved.pop(draw.choice(wrong)))
        if len(now := _wrong(keys, moved)) <= len(wrong):
            order, wrong = moved, now
    return None


def _probes(hashed: int, size: int) -> Iterator[int]:
    """The places that a key of this hash would like to have, as CPython goes through them."""
    mask, perturb = size - 1, hashed & (1 << 64) - 1
    place = perturb & mask
    while True:
        yield from range(place, place + 10 if place + 9 <= mask else place + 1)
        perturb >>= 5
        place = place * 5 + 1 + perturb & mask


def _places(keys: Sequence[Any], size: int) -> list[int] | None:
    """A place for each key, one behind the other, so that all have as few others before it as can be."""
    ways: list[tuple[int, int, Any]] = [(-1, 0, None)]  # the last place, the cost, and the way there
    for key in keys:
        wanted = sorted((place, depth) for depth, place in enumerate(islice(_probes(hash(key), size), _MOST_PROBES)))
        found: list[tuple[int, int, Any]] = []
        before, best = iter([*ways, (size, 0, None)]), None
        way = next(before)
        for place, depth in wanted:
            while way[0] < place:
                best = way if best is None or way[1] < best[1] else best
                way = next(before)
            if best is not None and not (found and found[-1][0] == place):
                found.append((place, best[1] + depth * depth, best))
        if not found:
            return None
        ways = found
    way, places = min(ways, key=lambda way: way[1]), []
    while way[2] is not None:
        places.append(way[0])
        way = way[2]
    return places[::-1]


def _in_turn(keys: Sequence[Any], places: Sequence[int], size: int) -> list[Any]:
    """The keys, each behind all that have places that it would rather have; what is free there is filled."""
    waiting = dict(zip(places, keys, strict=True))
    order: list[Any] = []
    taken: set[int] = set()

    def take(place: int, around: tuple[int, ...]) -> None:
        key = waiting.pop(place)
        for other in _probes(hash(key), size):
            if other == place:
                break
            if other in waiting and other not in around:
                take(other, (*around, place))
            if other not in taken:
                order.append(_Filler(other))
                taken.add(other)
        order.append(key)
        taken.add(place)

    for place in places:
        if place in waiting:
            take(place, ())
    return order


def _begun_by_copy(keys: Sequence[Any], places: Sequence[int], order: Sequence[Any], size: int) -> list[Any]:
    """An order that begins with a copied set of so many keys that the table gets this size."""
    copied = [key for key, place in zip(keys, places, strict=True) if hash(key) % size == place][: size // 2 - 1]
    free = (place for place in range(size) if place not in {*places})
    copied += [_Filler(place) for place in islice(free, max(0, size // 4 + (size == 16) - len(copied)))]
    known = {id(key) for key in copied}
    return [_Copied(copied), *(key for key in order if id(key) not in known)]


def _add(made: set[Any], order: Sequence[Any]) -> None:
    for key in order:
        if type(key) is _Copied:
            made.update({*key.keys})
        else:
            made.add(key)
    made.difference_update([key for key in made if type(key) is _Filler])


def _wrong(keys: Sequence[Any], order: Sequence[Any]) -> list[int]:
    """The places in the order whose keys stand elsewhere than they are to."""
    made: set[Any] = set()
    _add(made, order)
    wrong = {id(key) for key, other in zip(keys, made, strict=True) if key is not other}
    return [place for place, key in enumerate(order) if id(key) in wrong] if wrong else []
