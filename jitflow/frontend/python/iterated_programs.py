"""What `itertools` does over things of the running program and keeps in lists: written as Python would, and traced."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.container_programs import program

__all__ = ["accumulated", "advanced", "advanced_combination", "advanced_repetition", "grouped", "item_at", "item_or",
           "merged", "next_sifted", "require_length"]  # fmt: skip


@program
def accumulated(found: Any, items: Any, function: Any) -> Any:
    """`itertools.accumulate`."""
    for item in items:
        if len(found) == 0:
            found.append(item)
        else:
            found.append(function(found[-1], item))


@program
def item_at(items: Any, place: Any, length: Any) -> Any:
    """`next`."""
    if place >= length:
        raise StopIteration
    return items[place]


@program
def item_or(items: Any, place: Any, length: Any, default: Any) -> Any:
    """`next`, with a default."""
    if place >= length:
        return default
    return items[place]


@program
def grouped(found: Any, items: Any, key: Any) -> Any:
    """`itertools.groupby`."""
    for item in items:
        name = key(item)
        if len(found) == 0 or found[-1][0] != name:
            group = [item]
            found.append((name, group))
        else:
            found[-1][1].append(item)


@program
def merged(found: Any, one: Any, other: Any, key: Any, reverse: Any) -> Any:
    """`heapq.merge` of two lists, of which items of the first come first where they are equal."""
    place = 0
    for item in one:
        name = key(item)
        while place < len(other) and (name < key(other[place]) if reverse else key(other[place]) < name):
            found.append(other[place])
            place += 1
        found.append(item)
    while place < len(other):
        found.append(other[place])
        place += 1


@program
def next_sifted(sifted: Any, steps: Any) -> Any:
    """`next` of `filter` and its like."""
    while not sifted.ended and steps.has_next():
        gives, thing = sifted.sifted(steps.following())
        if gives:
            return thing
        sifted.ended = sifted.ends
    raise StopIteration


@program
def require_length(length: Any, wanted: Any, at_least: Any) -> Any:
    """Raise as Python does where a list is taken apart into another number of names."""
    if length < wanted:
        least = "at least " if at_least else ""
        raise ValueError(f"not enough values to unpack (expected {least}{wanted}, got {length})")
    if not at_least and length > wanted:
        raise ValueError(f"too many values to unpack (expected {wanted})")


@program
def advanced_combination(places: Any, count: Any, length: Any) -> Any:
    """Go on to the next combination of so many places; whether there is one."""
    place = length - 1
    while place >= 0 and places[place] == place + count - length:
        place -= 1
    if place < 0:
        return False
    places[place] += 1
    for other in range(place + 1, length):
        places[other] = places[other - 1] + 1
    return True


@program
def advanced_repetition(places: Any, count: Any, length: Any) -> Any:
    """The same of combinations in which a place may stand several times."""
    place = length - 1
    while place >= 0 and places[place] == count - 1:
        place -= 1
    if place < 0:
        return False
    following = places[place] + 1
    for other in range(place, length):
        places[other] = following
    return True


@program
def advanced(places: Any, count: Any, length: Any) -> Any:
    """Go on to the permutation of all places whose first ones are the next; whether there is one."""
    low, high = length, count - 1
    while low < high:
        other = places[low]
        places[low] = places[high]
        places[high] = other
        low += 1
        high -= 1
    place = count - 2
    while place >= 0 and places[place] > places[place + 1]:
        place -= 1
    if place < 0:
        return False
    other = count - 1
    while places[other] < places[place]:
        other -= 1
    held = places[place]
    places[place] = places[other]
    places[other] = held
    low, high = place + 1, count - 1
    while low < high:
        held = places[low]
        places[low] = places[high]
        places[high] = held
        low += 1
        high -= 1
    return True
