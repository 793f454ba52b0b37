"""Slices of lists of the running program that are stored to or deleted, comparisons of lists, and unpacking them."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.python.container_programs import program
from jitflow.frontend.python.containers import refusal
from jitflow.frontend.python.held_items import python_int
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64

__all__ = ["delete_slice", "is_before", "steps_of", "store_slice"]


def steps_of(position: slice, length: Value) -> tuple[Any, int, Any]:
    """Where a slice begins, its step, and how many positions it has, of a list of some length."""
    step = 1 if position.step is None else position.step
    if type(step) is not int or step == 0:
        raise refusal("a slice of a list by a step that only the running program knows", "write a loop")
    zero, one = values.constant(0, I64), values.constant(1, I64)
    low, high = (zero, length) if step > 0 else (values.constant(-1, I64), values.emit("subtract", length, one))

    def bound(item: Any, otherwise: Value) -> Value:
        if item is None:
            return otherwise
        return values.emit("maximum", values.emit("minimum", from_front(integer(item), length), high), low)

    start, stop = bound(position.start, low if step > 0 else high), bound(position.stop, high if step > 0 else low)
    span = values.emit("subtract", *((stop, start) if step > 0 else (start, stop)))
    ahead = values.emit("add", span, values.constant(abs(step) - 1, I64))
    turns = values.emit("floor_divide", ahead, values.constant(abs(step), I64))
    return python_int(start), step, python_int(values.emit("maximum", turns, zero))


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
    if step == 1:
        _replace(items, start, start + count, items[:0])
    elif step > 0:
        _delete_steps(items, start, step, count)
    else:
        _delete_steps(items, start + (count - 1) * step, -step, count)


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
    for place in range(len(items)):
        ahead = place - start
        if ahead < 0 or ahead % step != 0 or ahead >= count * step:
            kept.append(items[place])
    items.clear()
    items.extend(kept)


@program
def is_before(one: Any, other: Any, or_equal: Any) -> Any:
    """``one < other``, or ``one <= other``."""
    place = 0
    while place < len(one) and place < len(other) and one.equals(place, other[place]):
        place += 1
    if place == len(one) or place == len(other):
        return len(one) <= len(other) if or_equal else len(one) < len(other)
    return one.is_less(one[place], other[place])
