"""Methods of containers that are loops, written as Python would be: they are traced as the user's own functions are.

Comparisons and the like of items are methods of the containers, since items may be tuples.
"""

from __future__ import annotations

import collections
from functools import wraps
from typing import Any

from jitflow.frontend.tracers.surface import surface

__all__ = [
    "add_common",
    "bisect_left",
    "bisect_right",
    "contains",
    "copied_once",
    "copy_items",
    "count",
    "differ",
    "equal_dicts",
    "equal_in_order",
    "equal_lists",
    "index",
    "intersect",
    "is_disjoint",
    "is_subset",
    "move_to_front",
    "program",
    "remembered",
    "remove",
    "repeat",
    "reverse",
    "rotate",
    "sift_down",
    "sink",
    "sort_by",
    "toggle",
    "total",
]


def _message_of_removing() -> str:
    """What Python says of an item that is not in a deque, which differs between versions."""
    try:
        collections.deque[int]().remove(1234)
    except ValueError as error:
        return str(error).replace("1234", "{}")
    return ""


_NOT_IN_DEQUE = _message_of_removing()


def program(function: Any) -> Any:
    """A function that is traced as a user's is."""
    traceable: list[Any] = []

    @wraps(function)
    def run(*args: Any) -> Any:
        if not traceable:
            traceable.append(surface.program(function))
        return traceable[0](*args)

    return run


@program
def copied_once(item: Any, known: Any, copied: Any) -> Any:
    """The copy of a container; ``known`` has those that were made."""
    if item.address not in known:
        known[item.address] = copied(item)
    return known[item.address]


@program
def copy_items(found: Any, items: Any, copied: Any) -> None:
    """Put copies of what ``items`` holds in its place in ``found``."""
    for place in range(len(items)) if items.held.key is None else items:
        found[place] = copied(items[place])


@program
def reverse(items: Any) -> Any:
    """``items.reverse()``."""
    last = len(items) - 1
    for place in range(len(items) // 2):
        other = items[place]
        items[place] = items[last - place]
        items[last - place] = other


@program
def sort_by(items: Any, compare: Any) -> None:
    """``items.sort(key=cmp_to_key(compare))``: runs of twice as many items at a time, merged."""
    length, width = len(items), 1
    while width < length:
        merged = items.copy()
        for start in range(0, length, 2 * width):
            middle, end = min(start + width, length), min(start + 2 * width, length)
            left, right = start, middle
            for place in range(start, end):
                if left < middle and (right >= end or not compare(items[right], items[left]) < 0):
                    merged[place] = items[left]
                    left += 1
                else:
                    merged[place] = items[right]
                    right += 1
        for place in range(length):
            items[place] = merged[place]
        width *= 2


@program
def rotate(items: Any, number: Any) -> Any:
    """``items.rotate(number)``."""
    if len(items) > 0:
        for _ in range(number % len(items)):
            items.appendleft(items.pop())


@program
def make_room(items: Any, most: Any, front: Any) -> Any:
    """Let an item at one end go from a deque that has as many as it may have."""
    if len(items) >= most:
        if front:
            items.popleft()
        else:
            items.pop()


@program
def require_room(items: Any, most: Any) -> Any:
    """Raise what ``deque.insert`` raises if there are as many items as there may be."""
    if len(items) >= most:
        raise IndexError("deque already at its maximum size")


@program
def sift_down(items: Any, start: Any, place: Any) -> None:
    """Let an item of a heap go towards ``start`` until it is in order, as ``heapq`` does."""
    item = items[place]
    while place > start:
        parent = (place - 1) >> 1
        other = items[parent]
        if not items.is_less(item, other):
            break
        items[place] = other
        place = parent
    items[place] = item


@program
def sink(items: Any, place: Any) -> Any:
    """Let an item of a heap go to a leaf, as ``heapq`` does first; returns where that is."""
    item, end = items[place], len(items)
    child = 2 * place + 1
    while child < end:
        right = child + 1
        if right < end and not items.is_less(items[child], items[right]):
            child = right
        items[place] = items[child]
        place = child
        child = 2 * place + 1
    items[place] = item
    return place


@program
def remove(items: Any, wanted: Any) -> Any:
    """``items.remove(wanted)``."""
    place = 0
    while place < len(items) and not items.equals(place, wanted):
        place += 1
    if place == len(items):
        if items.held.kind == "deque":
            raise ValueError(_NOT_IN_DEQUE.format(wanted))
        raise ValueError("list.remove(x): x not in list")
    del items[place]


@program
def index(items: Any, wanted: Any, start: Any, stop: Any) -> Any:
    """``items.index(wanted, start, stop)``, of bounds that are in the list."""
    place = start
    while place < stop and not items.equals(place, wanted):
        place += 1
    if place >= stop:
        if items.held.kind == "deque":
            raise ValueError(f"{wanted} is not in deque")
        raise ValueError(f"{wanted} is not in list")
    return place


@program
def count(items: Any, wanted: Any) -> Any:
    """``items.count(wanted)``."""
    total = 0
    for place in range(len(items)):
        if items.equals(place, wanted):
            total += 1
    return total


@program
def contains(items: Any, wanted: Any) -> Any:
    """``wanted in items``."""
    place = 0
    while place < len(items) and not items.equals(place, wanted):
        place += 1
    return place < len(items)


@program
def equal_lists(one: Any, other: Any) -> Any:
    """``one == other``."""
    if len(one) != len(other):
        return False
    place = 0
    while place < len(one) and one.equals(place, other[place]):
        place += 1
    return place == len(one)


@program
def equal_dicts(one: Any, other: Any) -> Any:
    """``one == other``."""
    if len(one) != len(other):
        return False
    answer = True
    for key, item in one.items():
        if key not in other or other[key] != item:
            answer = False
            break
    return answer


@program
def equal_in_order(one: Any, other: Any) -> Any:
    """``one == other`` of two ordered dicts."""
    if len(one) != len(other):
        return False
    answer = True
    for (key, item), (also, another) in zip(one.items(), other.items(), strict=True):
        if key != also or item != another:
            answer = False
    return answer


@program
def move_to_front(found: Any, key: Any) -> None:
    """``found.move_to_end(key, last=False)``."""
    item = found.pop(key)
    others = found.copy()
    found.clear()
    found[key] = item
    for other in others:
        found[other] = others[other]


@program
def intersect(found: Any, one: Any, other: Any) -> Any:
    """The keys of both, in the order of the one with fewer; a copy of one that is both."""
    if one is other:
        found.update(one)
    else:
        few, many = (one, other) if len(other) > len(one) else (other, one)
        for key in few:
            if key in many:
                found.add(key)


@program
def join(found: Any, one: Any, other: Any) -> Any:
    """Add the keys of a set to those of another one, which are there already."""
    if one is not other:
        found.update(other)


@program
def add_common(found: Any, one: Any, key: Any) -> Any:
    """Add a key that a set has."""
    if key in one:
        found.add(key)


@program
def differ(found: Any, one: Any, other: Any) -> Any:
    """The keys of one set that another has not: what is left of a copy, where the other one is much smaller."""
    if len(one) >> 2 > len(other):
        found.update(one)
        found.difference_update(other)
    else:
        for key in one:
            if key not in other:
                found.add(key)


@program
def take_off(held: Any, other: Any) -> Any:
    """``held -= other``."""
    if held is other:
        held.clear()
    else:
        for key in other:
            held.discard(key)


@program
def toggle_all(held: Any, other: Any) -> Any:
    """``held ^= other``."""
    if held is other:
        held.clear()
    else:
        for key in other:
            toggle(held, key)


@program
def toggle(held: Any, key: Any) -> Any:
    """Remove a key that is there, or add it."""
    if key in held:
        held.discard(key)
    else:
        held.add(key)


@program
def is_subset(one: Any, other: Any) -> Any:
    """``one <= other``."""
    if len(one) > len(other):
        return False
    answer = True
    for key in one:
        if key not in other:
            answer = False
            break
    return answer


@program
def is_disjoint(one: Any, others: Any) -> Any:
    """``one.isdisjoint(others)``."""
    answer = True
    for key in others:
        if key in one:
            answer = False
            break
    return answer


@program
def bisect_left(items: Any, item: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_left`."""
    while low < high:
        middle = (low + high) // 2
        if items.is_less(items[middle], item):
            low = middle + 1
        else:
            high = middle
    return low


@program
def bisect_right(items: Any, item: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_right`."""
    while low < high:
        middle = (low + high) // 2
        if items.is_less(item, items[middle]):
            high = middle
        else:
            low = middle + 1
    return low


@program
def total(numbers: Any) -> Any:
    """``sum(numbers)``."""
    found = 0
    for number in numbers:
        found += number
    return found


@program
def repeat(found: Any, key: Any, number: Any) -> Any:
    """``found.extend([key] * number)``."""
    for _ in range(number):
        found.append(key)


@program
def remembered(memory: Any, key: Any, compute: Any) -> Any:
    """What is in a dict under the key, which is computed if it is not there."""
    if key not in memory:
        memory[key] = compute()
    return memory[key]
