"""Items of Python's lists at an index that the turns of a loop make: each of them knows it if the loop is written out.

So such an index is asked for its number, unless it is made of what an array holds. Where the loop cannot be written
out, the trace starts anew, and the running program chooses the item (`jitflow.frontend.python.chosen_items`). Where
writing it out would make a long program, for its turns are many or depend on the data, the trace starts anew with the
list as one of the running program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from jitflow.errors import UserError
from jitflow.frontend.control.changing_lists import ProgramLists
from jitflow.frontend.control.lessons import Nest
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.location import Loc
from jitflow.ir.records import free_values
from jitflow.ir.types import Container, Scalar, dims_of

__all__ = ["asks_for_number", "begin_anew_choosing", "begin_anew_with_asked", "writing_out"]


_MANY_TURNS = 24
"""Turns of a nest of loops that are written out for the items of lists at the most, if these can be of the program."""


class _AskedItems(dict[Site, list[Any]]):
    """Where an item would have been chosen, and of what."""

    def __init__(self) -> None:
        super().__init__()
        self.around: list[tuple[int, list[Any]]] = []
        """The loops that are being written out for such an item, outermost first: their turns, and the lists."""

    def of(self, error: UserError) -> list[Any]:
        """What is asked for an item where an error stands."""
        return self.get(_site(error.location), []) if isinstance(error.location, Loc) else []


def asks_for_number(index: Value | Dim, items: Any = None) -> bool:
    """Whether an index of ``items`` is asked for its number, because it may be known in each turn of a loop."""
    trace = current_trace()
    rounds = trace.state(Nest).rounds
    if not rounds:
        return False
    if isinstance(index, Value):
        if index in trace.parameters or _is_told_by_data(index):
            return False
        if any(index in op.results for scope in rounds[0].outside.around() for op in scope.builder.ops):
            return False
    elif trace.is_visible_in(rounds[0].outside)(index):
        return False
    site = _site(trace.here())
    asked = trace.state(_AskedItems).setdefault(site, [])
    if items is not None and not any(items is other for other in asked):
        asked.append(items)
    return not trace.choices.answer(site)


def _is_told_by_data(index: Value) -> bool:
    """Whether an index is made of an element of an array or of a random number: no turn knows it before it runs."""
    wanted = {index}
    for scope in current_trace().scope.around():
        for op in reversed(scope.builder.ops):
            if wanted.isdisjoint(op.results):
                continue
            if op.name == "draw" or any(effect.kind == "external" for effect in op.own_effects):
                return True
            needed = free_values(op)
            if any(dims_of(value.type) for value in needed):
                return True
            wanted.update(needed)
    return False


@contextmanager
def writing_out(turns: int, error: UserError) -> Iterator[None]:
    """While a loop is written out because of an ``error``."""
    asked = current_trace().state(_AskedItems)
    asked.around.append((turns, asked.of(error)))
    try:
        yield
    finally:
        asked.around.pop()


def begin_anew_with_asked(error: UserError, turns: int | None) -> None:
    """Start the trace anew with lists of the running program, if a loop is not to be written out for their items.

    ``turns`` are those that it would be written out for; None if nobody knows how many there will be.
    """
    trace = current_trace()
    asked = trace.state(_AskedItems)
    here = asked.of(error)
    if not here or any(scope.is_differentiated for scope in trace.scope.around()):
        return
    if turns is not None and turns * prod(number for number, _ in asked.around) <= _MANY_TURNS:
        return
    found: list[Restart] = []
    for items in (items for lists in (here, *(lists for _, lists in asked.around)) for items in lists):
        made = trace.state(ProgramLists).made.get(id(items))
        held = None if made is None else surface.container_type(items)
        if made is None or not isinstance(held, Container) or not held.words or trace.choices.is_settled(made.site):
            continue
        found.append(trace.begin_anew(Restart(made.site, held, is_wish=True)))
    if found:
        raise found[0]
    site = _site(error.location) if isinstance(error.location, Loc) else None
    is_quick = any(_is_chosen_quickly(items, turns) for items in here)
    if site is not None and is_quick and not trace.choices.is_settled(site):
        raise trace.begin_anew(Restart(site, is_wish=True))


def _is_chosen_quickly(items: Any, turns: int | None) -> bool:
    """Whether to choose takes no longer than an item of an array: characters, or numbers that turns choose again."""
    if type(items) is str:
        return True
    is_again = turns is not None and isinstance(items, list | tuple) and 0 < len(items) < turns
    kinds = {kind_of(item) for item in items} if is_again else set()
    return len(kinds) == 1 and isinstance(kinds.pop(), Scalar)


def begin_anew_choosing(error: UserError) -> None:
    """Start the trace anew if all that keeps a loop from being a native one is the number of an index."""
    trace = current_trace()
    site = _site(error.location) if isinstance(error.location, Loc) else None
    if site is not None and site in trace.state(_AskedItems) and not trace.choices.answer(site):
        raise trace.begin_anew(Restart(site))


def _site(place: Loc) -> Site:
    return Site(Choice.ITEM_CHOSEN, place.file, place.line)
