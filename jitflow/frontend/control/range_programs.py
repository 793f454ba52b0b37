"""What Python's ``range`` does with its numbers, written in Python: traced as a helper of the user's is."""

from __future__ import annotations

from typing import Any

__all__ = ["bounds", "contains", "contains_complex", "count", "equal", "index", "part", "place"]


def place(length: Any, index: Any) -> Any:
    """The position from the front."""
    if index < 0:
        index += length
    if index < 0 or index >= length:
        raise IndexError("range object index out of range")
    return index


def bounds(length: Any, start: Any, stop: Any, step: Any) -> Any:
    """``slice(start, stop, step).indices(length)``."""
    if step is None:
        step = 1
    if step == 0:
        raise ValueError("slice step cannot be zero")
    least = -1 if step < 0 else 0
    most = length + least
    if start is None:
        start = most if step < 0 else least
    elif start < 0:
        start = max(start + length, least)
    else:
        start = min(start, most)
    if stop is None:
        stop = least if step < 0 else most
    elif stop < 0:
        stop = max(stop + length, least)
    else:
        stop = min(stop, most)
    return start, stop, step


def part(first: Any, last: Any, pace: Any, start: Any, stop: Any, step: Any) -> Any:
    """The bounds of the range of the positions from ``start`` to ``stop`` by ``step``."""
    return first + start * pace, first + stop * pace, step * pace


def contains(start: Any, stop: Any, step: Any, item: Any) -> Any:
    """Whether a real number is one of the range's."""
    inside = start <= item < stop if step > 0 else stop < item <= start
    if not inside:
        return False
    number = int(item)
    return number == item and (number - start) % step == 0


def contains_complex(start: Any, stop: Any, step: Any, item: Any) -> Any:
    """Whether a complex number is one of the range's."""
    return item.imag == 0 and contains(start, stop, step, item.real)


def index(start: Any, stop: Any, step: Any, item: Any, found: Any) -> Any:
    """The position of a number."""
    if not found:
        raise ValueError(f"{item} is not in range" if type(item) is int else "sequence.index(x): x not in sequence")
    return (int(item) - start) // step


def count(found: Any) -> Any:
    """How often a number is there."""
    return 1 if found else 0


def equal(length: Any, start: Any, step: Any, others: Any, other_start: Any, other_step: Any) -> Any:
    """Whether two ranges have the same numbers."""
    if length != others:
        return False
    return length == 0 or (start == other_start and (length == 1 or step == other_step))
