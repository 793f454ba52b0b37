"""Methods of containers that are loops, written as Python would be: they are traced as the user's own functions are.

Comparisons and the like of items are methods of the containers, since items may be tuples.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from jitflow.frontend.tracers.surface import surface

__all__ = [
    "add_common",
    "bisect_left",
    "bisect_right",
    "contains",
    "count",
    "differ",
    "equal_dicts",
    "equal_lists",
    "index",
    "intersect",
    "is_disjoint",
    "is_subset",
    "remove",
    "reverse",
    "toggle",
]


def _program(function: Any) -> Any:
    """A function that is traced as a user's is."""
    traceable: list[Any] = []

    @wraps(function)
    def run(*args: Any) -> Any:
        if not traceable:
            traceable.append(surface.program(function))
        return traceable[0](*args)

    return run


@_program
def reverse(items: Any) -> Any:
    """``items.reverse()``."""
    last = len(items) - 1
    for place in range(len(items) // 2):
        other = items[place]
        items[place] = items[last - place]
        items[last - place] = other


@_program
def remove(items: Any, wanted: Any) -> Any:
    """``items.remove(wanted)``."""
    place = 0
    while place < len(items) and not items.equals(place, wanted):
        place += 1
    if place == len(items):
        raise ValueError("list.remove(x): x not in list")
    del items[place]


@_program
def index(items: Any, wanted: Any) -> Any:
    """``items.index(wanted)``."""
    place = 0
    while place < len(items) and not items.equals(place, wanted):
        place += 1
    if place == len(items):
        raise ValueError(f"{wanted} is not in list")
    return place


@_program
def count(items: Any, wanted: Any) -> Any:
    """``items.count(wanted)``."""
    total = 0
    for place in range(len(items)):
        if items.equals(place, wanted):
            total += 1
    return total


@_program
def contains(items: Any, wanted: Any) -> Any:
    """``wanted in items``."""
    place = 0
    while place < len(items) and not items.equals(place, wanted):
        place += 1
    return place < len(items)


@_program
def equal_lists(one: Any, other: Any) -> Any:
    """``one == other``."""
    if len(one) != len(other):
        return False
    place = 0
    while place < len(one) and one.equals(place, other[place]):
        place += 1
    return place == len(one)


@_program
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


@_program
def intersect(found: Any, one: Any, other: Any) -> Any:
    """The keys of both, in the order of the one with fewer."""
    few, many = (one, other) if len(other) > len(one) else (other, one)
    for key in few:
        if key in many:
            found.add(key)


@_program
def add_common(found: Any, one: Any, key: Any) -> Any:
    """Add a key that a set has."""
    if key in one:
        found.add(key)


@_program
def differ(found: Any, one: Any, other: Any) -> Any:
    """The keys of one set that another has not: what is left of a copy, where the other one is much smaller."""
    if len(one) >> 2 > len(other):
        found.update(one)
        found.difference_update(other)
    else:
        for key in one:
            if key not in other:
                found.add(key)


@_program
def toggle(held: Any, key: Any) -> Any:
    """Remove a key that is there, or add it."""
    if key in held:
        held.discard(key)
    else:
        held.add(key)


@_program
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


@_program
def is_disjoint(one: Any, others: Any) -> Any:
    """``one.isdisjoint(others)``."""
    answer = True
    for key in others:
        if key in one:
            answer = False
            break
    return answer


@_program
def bisect_left(items: Any, item: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_left`."""
    while low < high:
        middle = (low + high) // 2
        if items.is_less(items[middle], item):
            low = middle + 1
        else:
            high = middle
    return low


@_program
def bisect_right(items: Any, item: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_right`."""
    while low < high:
        middle = (low + high) // 2
        if items.is_less(item, items[middle]):
            high = middle
        else:
            low = middle + 1
    return low
