"""What Python's ``range`` does with its numbers, written in Python: traced as a helper of the user's is."""

from __future__ import annotations

from typing import Any

__all__ = ["bounds", "contains", "contains_complex", "equal", "index", "part", "place"]


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
    first, last = (most, least) if step < 0 else (least, most)
    start = first if start is None else clamped(start, length, least, most)
    stop = last if stop is None else clamped(stop, length, least, most)
    return start, stop, step


def clamped(bound: Any, length: Any, least: Any, most: Any) -> Any:
    """A bound counted from the front, neither below ``least`` nor above ``most``."""
    if bound < 0:
        return max(bound + length, least)
    return min(bound, most)


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


def equal(length: Any, start: Any, step: Any, others: Any, other_start: Any, other_step: Any) -> Any:
    """Whether two ranges have the same numbers."""
    if length != others:
        return False
    return length == 0 or (start == other_start and (length == 1 or step == other_step))
