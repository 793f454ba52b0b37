"""Hooks as strict as tracing is about the names that they are told.

What a block changes must be among the names of its statement. A temporary holds nothing of use when a statement is
over, or when the next turn of a loop begins: it is overwritten here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from types import CellType
from typing import Any

from tests.frontend.syntax.reference import (
    again,
    and_,
    assert_,
    attempt,
    attribute,
    both,
    bound,
    caught,
    caught_error,
    chain,
    choose,
    compared,
    contains,
    either,
    exception,
    finishing,
    free,
    gathered,
    has_length,
    in_arrays,
    indexed,
    is_,
    is_mapping,
    is_of,
    is_sequence,
    known_error,
    made_container,
    made_dict,
    made_set,
    managed,
    method,
    not_,
    or_,
    part_of,
    percent,
    raise_,
    raised_again,
    recursive,
    repeated,
    spread,
    suppressing,
    text,
    trying,
    unpacked,
    watched,
)

__all__ = ["again", "and_", "assert_", "attempt", "attempts", "attribute", "both", "bound", "caught", "caught_error",
           "chain", "choose", "compared", "consumed", "contains", "either", "exception", "finishing", "for_", "free",
           "gathered", "has_length", "if_", "in_arrays", "indexed", "is_", "is_mapping", "is_of", "is_sequence",
           "known_error", "listed", "made_container", "made_dict", "made_set", "managed", "method", "not_", "or_",
           "part_of", "percent", "raise_", "raised_again", "recursive", "repeated", "spread", "suppressing", "text",
           "trying", "unpacked", "watched", "while_"]  # fmt: skip


def attempts(number: int, about: str = "") -> bool:
    """Every ``try`` statement that can be is attempted part by part."""
    return True


def listed(iterable: Any, plain: Any, loop: Any, leaves_out: bool, name: str) -> Any:
    """A comprehension as a loop."""
    return loop(iterable)


def consumed(
    function: Any, name: str, iterable: Any, plain: Any, loop: Any, leaves_out: bool, *others: Any, **keywords: Any
) -> Any:
    """What Python's own functions go through as a loop, or as a list that one makes."""
    if function is not getattr(builtins, name, None):
        return function(plain(iterable), *others, **keywords)
    if name == "sum":
        return loop(iterable, *others or (keywords.get("start", 0),))
    if name == "next":
        return loop(iterable, *others or (None,))
    return loop(iterable) if name in ("all", "any") else function(loop(iterable), *others, **keywords)


class Nothing:
    """What is left of a temporary."""

    def __repr__(self) -> str:
        return "<nothing>"


UNBOUND, NOTHING = object(), Nothing()
Names = tuple[str, ...]


class Cells:
    def __init__(self, state: Names, temporaries: Names, *functions: Callable[..., Any] | None) -> None:
        assert state == tuple(sorted(set(state)))
        assert temporaries == tuple(sorted(set(temporaries)))
        assert not set(state) & set(temporaries)
        self.names = {*state, *temporaries}
        self.temporaries = temporaries
        self.cells: dict[str, CellType] = {}
        for function in filter(None, functions):
            self.cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        assert self.names <= set(self.cells)

    def contents(self) -> dict[str, Any]:
        found = {}
        for name, cell in self.cells.items():
            try:
                found[name] = cell.cell_contents
            except ValueError:
                found[name] = UNBOUND
        return found

    def run(self, block: Callable[..., Any], *args: Any) -> Any:
        """Run a block, and see what it changed."""
        before = self.contents()
        result = block(*args)
        changed = {name for name, now in self.contents().items() if now is not before[name]}
        assert changed <= self.names, changed - self.names
        return result

    def forget(self) -> None:
        for name in self.temporaries:
            self.cells[name].cell_contents = NOTHING


def if_(
    condition: Any, then: Callable[[], None], otherwise: Callable[[], None], state: Names, temporaries: Names
) -> None:
    cells = Cells(state, temporaries, then, otherwise)
    both = {*then.__code__.co_freevars} & {*otherwise.__code__.co_freevars}
    assert cells.names <= both
    cells.run(then if condition else otherwise)
    cells.forget()


def while_(test: Callable[[], Any], body: Callable[[], None], state: Names, temporaries: Names) -> None:
    cells = Cells(state, temporaries, test, body)
    while cells.run(test):
        cells.run(body)
        cells.forget()
    cells.forget()


def for_(
    source: Iterable[Any], body: Callable[[Any], None], test: Callable[[], Any] | None, state: Names, temporaries: Names
) -> None:
    cells = Cells(state, temporaries, body, test)
    items = iter(source)
    while test is None or cells.run(test):
        try:
            item = next(items)
        except StopIteration:
            break
        cells.run(body, item)
        cells.forget()
    cells.forget()
