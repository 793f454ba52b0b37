"""`heapq` on lists of the running program: the steps of Python's, with sifting as one op."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.held_items import python_int, size_of
from jitflow.frontend.containers.merging import compares_in_python
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64

__all__ = ["HEAP_FUNCTIONS"]


def _sift(heap: Any, place: Value, *, down: bool = False) -> None:
    """Put an item in its place, by an op where these are numbers, and else as Python's ``heapq`` does."""
    if compares_in_python(heap.held.item):
        start = python_int(place)
        programs.sift_down(heap, 0 if down else start, start if down else programs.sink(heap, start))
        return
    heap.require_order("heap order")
    heap.op("sift_item", place, **({"down": True} if down else {}))


def _push(heap: Any, item: Any) -> None:
    heap.append(item)
    if heap.is_known:
        _sift(heap, values.emit("subtract", heap.number(), values.constant(1, I64)), down=True)


def _require_item(heap: Any) -> None:
    if not heap.is_known:
        fail(IndexError, "index out of range")
    values.check(heap.truth(), IndexError, "index out of range")


def _pop(heap: Any) -> Any:
    if not heap.is_known and heap.sample is not None:
        return heap.sample[1]
    _require_item(heap)
    last = heap.pop()
    return choose(tracers.wrap(heap.truth()), lambda: _replaced(heap, last), lambda: last)


def _replaced(heap: Any, item: Any) -> Any:
    """Put an item in the place of the smallest, which it returns."""
    found = heap[0]
    heap[0] = item
    _sift(heap, values.constant(0, I64))
    return found


def _replace(heap: Any, item: Any) -> Any:
    _require_item(heap)
    return _replaced(heap, item)


def _push_pop(heap: Any, item: Any) -> Any:
    def some() -> Any:
        return choose(heap.is_less(heap[0], item), lambda: _replaced(heap, item), lambda: item)

    return choose(tracers.wrap(heap.truth()), some, lambda: item) if heap.is_known else item


def _heapify(heap: Any) -> None:
    if not heap.is_known:
        return
    half = values.emit("floor_divide", heap.number(), values.constant(2, I64))
    less = values.emit("subtract", half, values.constant(1, I64))
    last = tracers.wrap(less)
    own_loop(traced_range(0, size_of(half)),
             lambda turn: _sift(heap, values.emit("subtract", tracers.lift(last), integer(turn))))  # fmt: skip


HEAP_FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    heapq.heappush: _push,
    heapq.heappop: _pop,
    heapq.heapify: _heapify,
    heapq.heapreplace: _replace,
    heapq.heappushpop: _push_pop,
}
