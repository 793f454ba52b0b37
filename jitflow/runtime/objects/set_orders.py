"""Sets of Python's that have to go through their keys in an order that is given.

Which place a key takes in CPython's table depends on the keys that were there before it, so keys that are added in the
order in which another set has them may stand in another one: where two want one place, the second had to go on. So
places are found for a size of the table that could be those of the other set, and each key is added when all places
that it would rather have are taken: by keys, or by others that are removed in the end. A set to which many are joined
at once has a table of another size than one that has grown key by key, so the first keys may be joined at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, permutations
from typing import Any

import numpy as np

__all__ = ["fill_in_order", "frozen_in_order", "has_lasting_order", "order_of_adding", "out_of_order"]

_LASTING = {int, float, bool, complex, *({type(None)} if sys.version_info >= (3, 12) else ())}
"""What has the same hash in all processes; None had its address before Python 3.12."""

_SIZES = tuple(1 << power for power in range(3, 24))
_MOST_PROBES = 16
_ATTEMPTS = 400
_FEW = 6
"""So few keys may come in every order there is."""
_LARGEST = 500
"""For so many keys an order is searched for that nothing tells."""


class _Filler:
    """A key that is removed in the end."""

    def __init__(self, hashed: int) -> None:
        self._hashed = hashed

    def __hash__(self) -> int:
        return self._hashed


def has_lasting_order(keys: Iterable[Any]) -> bool:
    """Whether Python goes through a set of these in one order in all processes.

    Texts have other hashes in each process, and most objects, nan among them, hash by their address.
    """
    return all(map(_has_lasting_hash, keys))


def _has_lasting_hash(key: Any) -> bool:
    if type(key) in (tuple, frozenset):
        return has_lasting_order(key)
    is_number = type(key) in _LASTING or (isinstance(key, np.number | np.bool_) and type(key).__module__ == "numpy")
    return is_number and bool(key == key)


def out_of_order() -> NotImplementedError:
    """The error for a set that nobody can make."""
    return NotImplementedError("a set is returned whose order tells of keys that were removed: return sorted(...)")


class _AtOnce:
    """Keys that are joined to an empty set, which gets a table that is large enough for all of them."""

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
    if order is not None:
        made.clear()
        _add(made, order)
        return
    for first, joined in _joined(keys):
        made.clear()
        made.update(first)
        made.update(joined)
        if [*made] == [*keys]:
            return
    raise out_of_order()


def frozen_in_order(made: set[Any], keys: Sequence[Any]) -> frozenset[Any]:
    """A frozenset that goes through these keys as they stand here, of a set that does.

    Nothing can be removed from one, and a copy of a set may have another order.
    """
    for found in chain((frozenset(made),), (frozenset(first).union(joined) for first, joined in _joined(keys))):
        if [*found] == [*keys]:
            return found
    raise out_of_order()


def _joined(keys: Sequence[Any]) -> Iterator[tuple[Sequence[Any], dict[Any, None]]]:
    """Keys that come one by one, and those that are joined to them at once, for which the table is made large enough.

    Few keys come in every order there is, more as they would stand in tables of any size.
    """
    orders = permutations(keys) if len(keys) <= _FEW else (order for _, _, order in _by_places(keys))
    for order in chain((keys,), orders):
        if len(order) == len(keys):
            yield order, {}
            counts = ((count, known) for count in range(len(order) + 1) for known in range(count + 1))
            yield from ((order[:count], dict.fromkeys(order[known:])) for count, known in counts)


def _orders(keys: Sequence[Any]) -> Iterator[list[Any]]:
    """Orders that do, with keys that are removed in the end."""
    starts, joined = [[*keys]], []
    for size, places, order in _by_places(keys):
        free = (place for place in range(size - 1, -1, -1) if place not in {*places})
        wide = [_Filler(place) for place in islice(free, size * 3 // 20 + 1)]
        starts += [order, [*wide, *order]]  # the table comes to its size as it would, or is as large from there on
        joined.append(_begun_at_once(places, order, size))
    yield from (start for start in (*starts, *joined) if not _wrong(keys, start))
    if len(keys) <= _LARGEST:
        yield from filter(None, (_searched(keys, start) for start in starts))


def _by_places(keys: Sequence[Any]) -> Iterator[tuple[int, list[int], list[Any]]]:
    """Sizes that the table may have, places for the keys there, and an order in which they come to stand there."""
    for size in _SIZES:
        if len(keys) < size <= 64 * (len(keys) + 8) and (places := _places(keys, size)) is not None:
            yield size, places, _in_turn(keys, places, size)


def _searched(keys: Sequence[Any], order: list[Any]) -> list[Any] | None:
    """An order where one key after the other that stands wrong is moved, as long as no more stand wrong."""
    import random  # which the start of a process that finds its code would wait for

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


def _begun_at_once(places: Sequence[int], order: Sequence[Any], size: int) -> list[Any]:
    """The order, where so many keys are joined at once that the table gets this size."""
    joined = [*order[: size // 2 - 1]]
    free = (place for place in range(size) if place not in {*places})
    joined += [_Filler(place) for place in islice(free, max(0, size // 4 + (size == 16) - len(joined)))]
    return [_AtOnce(joined), *order[size // 2 - 1 :]]


def _add(made: set[Any], order: Sequence[Any]) -> None:
    for key in order:
        if type(key) is _AtOnce:
            made.update(dict.fromkeys(key.keys))
        else:
            made.add(key)
    made.difference_update([key for key in made if type(key) is _Filler])


def _wrong(keys: Sequence[Any], order: Sequence[Any]) -> list[int]:
    """The places in the order whose keys stand elsewhere than they are to."""
    made: set[Any] = set()
    _add(made, order)
    wrong = {id(key) for key, other in zip(keys, made, strict=True) if key is not other}
    return [place for place, key in enumerate(order) if id(key) in wrong or type(key) is _AtOnce] if wrong else []
