"""Slices of lists of the running program that are stored to or deleted, comparisons of lists, and unpacking them."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.container_programs import program
from jitflow.frontend.containers.held_items import python_int
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import length_of, range_of, traced_range
from jitflow.ir.core import Value

__all__ = ["delete_slice", "is_before", "repeat_items", "require_memory", "steps_of", "store_slice", "take_slice"]


def steps_of(position: slice, length: Value) -> tuple[Any, Any, Any]:
    """Where a slice begins, its step, and how many positions it has, of a list of some length."""
    places = range_of(0, python_int(length), 1)[position]
    return places.start, places.step, length_of(places)


def take_slice(items: Any, position: slice, found: Any) -> None:
    """``found.extend(items[start:stop:step])``."""
    start, step, count = steps_of(position, items.number())
    own_loop(traced_range(count), lambda turn: found.append(items.item(start + turn * step)))


def store_slice(items: Any, position: slice, others: Any) -> None:
    """``items[start:stop:step] = others``."""
    start, step, count = steps_of(position, items.number())
    copy = items[:0]
    own_loop(others, copy.append)
    if position.step is None or step == 1:
        _replace(items, start, start + count, copy)
    else:
        _store_steps(items, start, step, count, copy)


def delete_slice(items: Any, position: slice) -> None:
    """``del items[start:stop:step]``."""
    if not items.is_known:
        return
    start, step, count = steps_of(position, items.number())
    if type(step) is int and step == 1:
        _replace(items, start, start + count, items[:0])
    else:
        _delete_steps(items, start, step, count)


@program
def _replace(items: Any, start: Any, stop: Any, others: Any) -> Any:
    rest = items[stop:]
    while len(items) > start:
        items.pop()
    items.extend(others)
    items.extend(rest)


@program
def _store_steps(items: Any, start: Any, step: Any, count: Any, others: Any) -> Any:
    if len(others) != count:
        raise ValueError(f"attempt to assign sequence of size {len(others)} to extended slice of size {count}")
    for number in range(count):
        items[start + number * step] = others[number]


@program
def _delete_steps(items: Any, start: Any, step: Any, count: Any) -> Any:
    kept = items[:0]
    if step < 0:
        start, step = start + (count - 1) * step, -step
    for place in range(len(items)):
        ahead = place - start
        if ahead < 0 or ahead % step != 0 or ahead >= count * step:
            kept.append(items[place])
    items.clear()
    items.extend(kept)


@program
def require_memory(number: Any, length: Any) -> None:
    """Raise what Python raises for a list of more items than a processor has addresses for, 2 ** 47 bytes."""
    if length > 0 and number > (1 << 44) // length:
        raise MemoryError


@program
def repeat_items(items: Any, number: Any) -> Any:
    """``items *= number``."""
    require_memory(number, len(items))
    once = items.copy()
    if number < 1:
        items.clear()
    for _ in range(number - 1):
        items.extend(once)
    return items


@program
def is_before(one: Any, other: Any, or_equal: Any) -> Any:
    """``one < other``, or ``one <= other``."""
    place = 0
    while place < len(one) and place < len(other) and one.equals(place, other[place]):
        place += 1
    if place == len(one) or place == len(other):
        return len(one) <= len(other) if or_equal else len(one) < len(other)
    return one.is_less(one[place], other[place])
