"""The locals of functions around one: the cells of its closure, and of those of the functions that it reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from jitflow.frontend.control.cells import content_of
from jitflow.frontend.outside.proxies import counterpart
from jitflow.frontend.syntax import CELL

__all__ = ["cells_around", "cells_of", "is_same_function", "reassigned"]


def is_same_function(one: FunctionType, other: FunctionType) -> bool:
    """Whether two functions have the same code and the same locals of functions around them."""
    if one.__code__ != other.__code__:
        return False
    ours, theirs = one.__closure__ or (), other.__closure__ or ()
    return all(a is b or content_of(a) is content_of(b) for a, b in zip(ours, theirs, strict=True))


def cells_of(function: FunctionType) -> Iterator[CellType]:
    """The locals of functions around it that a function, and those that it can reach by them, may change."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        for name, cell in zip(current.__code__.co_freevars, current.__closure__ or (), strict=True):
            if id(cell) in seen or name == CELL:
                continue
            seen.add(id(cell))
            content = _plain(content_of(cell))
            if type(content) is FunctionType:
                waiting.append(content)
            else:
                yield cell


def cells_around(fn: Any) -> list[tuple[CellType, Any]]:
    """The locals of functions around one that it can assign to, and what they are."""
    fn = counterpart(fn)  # of which nothing is read here that a call would have to find again
    plain = _plain(fn.__func__ if isinstance(fn, MethodType) else fn)
    return [(cell, content_of(cell)) for cell in cells_of(plain)] if type(plain) is FunctionType else []


def _plain(thing: Any) -> Any:
    """A function itself, in the place of what stands for it."""
    thing = counterpart(thing)
    return getattr(thing, "__wrapped__", thing) if type(thing) is FunctionType else thing


def reassigned(cells: Iterable[tuple[CellType, Any]]) -> list[tuple[CellType, Any]]:
    """Those locals that are something else by now, and what they were."""
    return [(cell, before) for cell, before in cells if content_of(cell) is not before]
