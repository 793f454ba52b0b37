"""Functions of `heapq` and `bisect`, of lists of the running program, and searches in arrays."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.lists import Listed
from jitflow.frontend.containers.made_containers import list_of_program
from jitflow.frontend.containers.program_lists import ProgramList
from jitflow.frontend.containers.slotted_lists import SlottedList
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.comparisons import compared
from jitflow.frontend.outside.pooled_objects import compared_in_python, is_pooled
from jitflow.frontend.outside.proxies import OutsideList
from jitflow.frontend.python.heaps import HEAP_FUNCTIONS
from jitflow.frontend.texts.traced import is_known

__all__ = ["ON_LISTS", "holds_tracer"]


def _on_list(function: Callable[..., Any], program: Callable[..., Any], items: Any, *args: Any, **keywords: Any) -> Any:
    """A function of `heapq` or `bisect`."""
    is_passed, is_outside = hasattr(type(items), "become_container"), isinstance(items, OutsideList)
    if is_outside and function in _SEARCHES and all(map(is_known, (*items, *args, *keywords.values()))):
        return function(items, *args, **keywords)
    if is_passed:
        items.become_container()
    is_computed = type(items) is list and any(map(holds_tracer, (*items, *args)))
    if is_outside or is_computed:
        begin_anew_with(items)
    if is_outside or is_passed:
        raise refusal(f"{function.__name__}() of {items.path}, a list that the caller passes",
                      f"use a copy of it: items = {items.path}[:]")  # fmt: skip
    if isinstance(items, SlottedList):
        raise items.refusal(f"{function.__name__}()")
    if isinstance(items, ProgramList):
        return program(items, *args, **keywords)
    if function in _SEARCHES and isinstance(items, tracers.ArrayTracer) and items.ndim == 1:
        return program(_Items(items), *args, **keywords)
    if isinstance(items, Listed):
        items.change()
    if is_computed:  # by a function of Python's, as `sorted` is
        made, longer = list_of_program(items), _LONGER.get(function, 0)
        found = program(made, *args, **keywords)
        items[:] = [made[place] for place in range(len(items) + longer)]
        return found
    return compared_in_python(function, items, *args, **keywords)


def holds_tracer(thing: Any) -> bool:
    """Whether it is a number of the running program, an object in a pool, or a tuple with one."""
    return (
        isinstance(thing, tracers.Tracer)
        or is_pooled(thing)
        or (isinstance(thing, tuple) and any(map(holds_tracer, thing)))
    )


class _Items:
    """The numbers of an array, as what searches in lists asks for them."""

    def __init__(self, array: tracers.ArrayTracer) -> None:
        self._array, self.length = array, tracers.size_of(array.type.dims[0])

    def __getitem__(self, place: Any) -> Any:
        return self._array[place]

    def is_less(self, one: Any, other: Any) -> Any:
        return one < other


class _Keys:
    """The keys of items, as what searches in lists asks for them."""

    def __init__(self, items: Any, key: Callable[[Any], Any]) -> None:
        self._items, self._key = items, key

    def __getitem__(self, place: Any) -> Any:
        return self._key(self._items[place])

    def is_less(self, one: Any, other: Any) -> Any:
        return compared("<", one, other)


def _bisect(program: Callable[..., Any], items: Any, item: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    return program(items if key is None else _Keys(items, key), item, lo, items.length if hi is None else hi)


def _insort(
    program: Callable[..., Any], items: Any, item: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
) -> None:
    items.insert(_bisect(program, items, item if key is None else key(item), lo, hi, key=key), item)


_LEFT, _RIGHT = programs.bisect_left, programs.bisect_right
_PROGRAMS: Mapping[Any, Callable[..., Any]] = {
    **HEAP_FUNCTIONS,
    bisect.bisect_left: partial(_bisect, _LEFT),
    bisect.bisect_right: partial(_bisect, _RIGHT),
    bisect.insort_left: partial(_insort, _LEFT),
    bisect.insort_right: partial(_insort, _RIGHT),
}
_SEARCHES = (bisect.bisect_left, bisect.bisect_right)
_LONGER: Mapping[Any, int] = {
    bisect.insort_left: 1,
    bisect.insort_right: 1,
    heapq.heappush: 1,
    heapq.heappop: -1,
}
"""By how many items a function makes a list longer."""
ON_LISTS = {function: partial(_on_list, function, program) for function, program in _PROGRAMS.items()}
"""What runs in the place of functions of `heapq` and `bisect`."""
