"""Comprehensions, and what goes through a generator expression: Python's own turns, or a loop of the program.

Python takes the turns one by one, which the trace follows where it knows how many there are and which items are left
out. Elsewhere the other form runs that the comprehension has (`jitflow.frontend.syntax.comprehensions`).
"""

from __future__ import annotations

import builtins
import collections
import math
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.containers.made_containers import is_of_program, made_container
from jitflow.frontend.containers.program_lists import new_list
from jitflow.frontend.control.loop import MANY_TURNS, own_loop
from jitflow.frontend.control.retracing import traced_again
from jitflow.frontend.control.sources import as_source
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python.builtin_functions import replaced_by
from jitflow.frontend.python.gathering import array_of, is_countable, is_long
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.texts import join
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.base import located

__all__ = ["consumed", "gathered", "listed", "rows"]

_Function = Callable[..., Any]
_FOLDS = ("all", "any", "next", "sum")
_OF_MATH, _OF_COLLECTIONS = ("fsum", "prod"), ("Counter", "deque")


def listed(iterable: Any, plain: _Function | None, loop: _Function, leaves_out: bool | None, name: str) -> Any:
    """``[... for ... in iterable]``, which goes by its text. Of a set or dict nobody is told what it leaves out.

    It has no ``plain`` form, and is a loop, if it assigns names of the function around.
    """
    iterable = iterator_of(iterable)
    if _is_gone_through_apart(iterable):
        return iterable.each(lambda items: listed(items, plain, loop, leaves_out, name))

    def made() -> Any:
        if plain is None or _is_a_loop(iterable, leaves_out) or is_of_program(name):
            return loop(iterable)
        return made_container(_turn_by_turn(plain, iterable, leaves_out), name)

    return _found_out(made, leaves_out, (plain, loop, iterable))


def consumed(
    function: _Function,
    name: str,
    iterable: Any,
    plain: _Function | None,
    loop: _Function,
    leaves_out: bool,
    *others: Any,
    **keywords: Any,
) -> Any:
    """``function(... for ... in iterable)``, which is to go by this name."""
    iterable = iterator_of(iterable)
    if _is_gone_through_apart(iterable):
        return iterable.each(
            lambda items: consumed(function, name, items, plain, loop, leaves_out, *others, **keywords)
        )
    reached = function, plain, loop, iterable, *others, *keywords.values()
    return _found_out(
        lambda: _consumed(function, name, iterable, plain, loop, leaves_out, others, keywords), leaves_out, reached
    )


def _consumed(
    function: _Function,
    name: str,
    iterable: Any,
    plain: _Function | None,
    loop: _Function,
    leaves_out: bool,
    others: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    is_decision = name in ("any", "all") and active_trace() is not None
    if is_decision and replaced_by(function) is getattr(builtins, name) and current_trace().choices.answer(_site()):
        return loop(iterable)
    if plain is None:
        return _gone_through(function, name, loop, iterable, others, keywords)
    if name == "join":
        if getattr(function, "func", None) is not join or not _is_a_loop(iterable, leaves_out):
            return _turn_by_turn(lambda items: function(plain(items)), iterable, leaves_out)
        return function(loop(iterable))
    if not _is_meant(function, name) or not _is_a_loop(iterable, leaves_out, name in _FOLDS):
        may_leave = None if is_decision and leaves_out is False else leaves_out
        return _turn_by_turn(lambda items: function(plain(items), *others, **keywords), iterable, may_leave)
    return _gone_through(function, name, loop, iterable, others, keywords)


def _found_out(make: Callable[[], Any], leaves_out: bool | None, reached: Sequence[Any]) -> Any:
    """What a comprehension gives. Which form does is found out where it stands, if it leaves items out by a test."""
    trace = active_trace() if leaves_out is not False else None
    return make() if trace is None else traced_again(trace, make, reached)


def _is_meant(function: _Function, name: str) -> bool:
    """Whether a function is Python's own of that name."""
    meant = getattr(math if name in _OF_MATH else collections if name in _OF_COLLECTIONS else builtins, name)
    return replaced_by(function) is meant


def _gone_through(
    function: _Function, name: str, loop: _Function, iterable: Any, others: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """What a function makes of the items that the loop goes through."""
    if name == "join":
        return function(loop(iterable))
    if not _is_meant(function, name):
        raise located(UserNotImplementedError(
            f"a generator expression that assigns a name, for another function than Python's {name}",
            mend="make a list first: [...]",
        ))  # fmt: skip
    if name == "sum":
        return loop(iterable, *others, **keywords) if others else loop(iterable, keywords.get("start", 0))
    if name == "next":
        return loop(iterable, *(others or (None,)))
    return loop(iterable) if name in (*_FOLDS, "list") else function(loop(iterable), *others, **keywords)


def _is_gone_through_apart(iterable: Any) -> bool:
    """Whether it is of several kinds that are gone through one by one: arrays, lists of several lengths, iterators."""
    if type(iterable) is not Alternatives:
        return False
    several = iterable.options.values()
    items = [thing for thing in several if isinstance(thing, list | tuple) and not isinstance(thing, Recorded)]
    return len(items) < len(several) or len({*map(len, items)}) > 1


def _is_a_loop(iterable: Any, leaves_out: bool | None, is_fold: bool = False) -> bool:
    """Whether the program goes through it in a loop. A fold needs no list for that."""
    if active_trace() is None:
        return False
    if isinstance(iterable, Recorded) or is_stepwise(iterable):
        return True
    source = as_source(iterable)
    if leaves_out is not False:
        most = MANY_TURNS if leaves_out else sys.maxsize
        few = source is None or (isinstance(source.count, int) and source.count <= most)
        return not few or bool(current_trace().choices.answer(_site()))
    return source is not None and is_long(source, MANY_TURNS if isinstance(source.count, int) else 0)


def _turn_by_turn(plain: _Function, iterable: Any, leaves_out: bool | None) -> Any:
    """What Python makes. Where only the run knows which items are left out, the trace starts anew with a loop."""
    try:
        return plain(iterable)
    except UserError as error:
        if leaves_out is False or not error.needs_number or current_trace().choices.answer(_site()):
            raise
        raise current_trace().begin_anew(Restart(_site())) from None


def _site() -> Site:
    place = current_trace().here()
    return Site(Choice.LEFT_OUT, place.file, place.line)


def gathered(
    function: Callable[..., Any], iterable: Any, item_of: Callable[..., Any], names: int, *rest: Any, **keywords: Any
) -> Any:
    """``function([item_of(item) for item in iterable], ...)``, where an item is unpacked into several names."""

    def made_of(item: Any) -> Any:
        return item_of(item) if names == 1 else item_of(*item)

    def element_of(item: Any) -> Any:
        made = made_of(item)
        return function(made) if isinstance(made, list | tuple) else made

    makes_arrays = _makes_arrays(function)
    source = as_source(iterable) if (makes_arrays or function is list) and active_trace() is not None else None
    found = array_of(source, element_of, item_of) if makes_arrays and source is not None else None
    if found is None and source is not None and not is_countable(source):
        found = _list_of(source, made_of)
    if found is not None and not makes_arrays:
        return found
    return function([made_of(item) for item in iterable] if found is None else found, *rest, **keywords)


def rows(function: Callable[..., Any]) -> Any:
    """What has an ``array`` for the lists in a list that a function is given: itself, if it makes an array of all."""
    are_arrays = _makes_arrays(function) and active_trace() is not None and not current_trace().state(_Lists).depth
    return SimpleNamespace(array=function if are_arrays else list)


class _Lists:
    """How many lists are made in each other whose items are lists rather than rows of an array."""

    depth = 0


def _list_of(source: Source, made_of: Callable[[Any], Any]) -> Any:
    """A list of the running program, where nobody knows how many items there are."""
    found, state = new_list("[...]", None), current_trace().state(_Lists)
    state.depth += 1
    try:
        own_loop(source, lambda item: found.append(made_of(item)))
    finally:
        state.depth -= 1
    return found


def _makes_arrays(function: Callable[..., Any]) -> bool:
    return replaced_by(function) in (np.array, np.asarray)
