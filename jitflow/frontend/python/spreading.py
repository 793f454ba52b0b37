"""What is taken apart: ``x, *y = z`` and ``[*x, y]``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.containers.made_containers import CONSTRUCTORS, is_of_run, like_of, list_at, made_container
from jitflow.frontend.containers.program_lists import ProgramList
from jitflow.frontend.control.changing_lists import site_of_making
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.control.sources import is_open
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.python.arrangements import list_of
from jitflow.frontend.python.iterated import is_running
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.texts.characters import characters_of
from jitflow.frontend.tracers.base import located

__all__ = ["listed_steps", "spread", "unpacked"]


def spread(thing: Any, before: int, behind: int | None, name: str = "") -> Any:
    """What ``x, *y = thing`` takes apart, into names before and behind one with a star, if there is one."""
    if type(thing) is tracers.Alternatives:
        return thing.each(lambda one: _of_known_length(spread(one, before, behind, name), before, behind))
    thing = iterator_of(characters_of(thing))
    is_source = (isinstance(thing, Recorded | Range) and is_running(thing)) or is_open(thing)
    if active_trace() is not None and (is_source or is_stepwise(thing)):
        items = thing if isinstance(thing, ProgramList) and thing.held.kind != "tuple" else list_of(thing)
        programs.require_length(items.length, before + (behind or 0), behind is not None)
    elif behind is None:
        return thing
    else:
        [*items] = thing
        if len(items) < before + behind:
            message = f"not enough values to unpack (expected at least {before + behind}, got {len(items)})"
            raise located(UserValueError(message))
    first = [items[place] for place in range(before)]
    if behind is None:
        return tuple(first)
    length = len(items) if isinstance(items, list) else items.length
    rest = made_container(items[before : length - behind], name)
    return (*first, rest, *(items[place - behind] for place in range(behind)))


def _of_known_length(thing: Any, before: int, behind: int | None) -> Any:
    """What is taken apart, of one kind among several: Python would ask for the items where nobody knows the kind."""
    if behind is not None or (type(thing) is tuple and len(thing) == before):
        return thing
    if not (isinstance(thing, Iterable) or hasattr(type(thing), "__getitem__")):
        raise located(UserTypeError(f"cannot unpack non-iterable {type(thing).__name__} object"))
    items = tuple(thing)
    if len(items) > before:
        raise_(ValueError(f"too many values to unpack (expected {before})"))
    if len(items) < before:
        raise_(ValueError(f"not enough values to unpack (expected {before}, got {len(items)})"))
    return items


def listed_steps(items: Any) -> Any:
    """A list of what an iterator of the program's own classes gives; all else is itself."""
    iterator = iterator_of(items)
    return CONSTRUCTORS[list](iterator) if is_stepwise(iterator) else iterator


def unpacked(name: str, *parts: tuple[bool, Any]) -> Any:
    """``[*items, item]``, which goes by its text: things, and whether each is one whose items are taken."""
    parts = tuple((is_taken, listed_steps(thing) if is_taken else thing) for is_taken, thing in parts)
    for number, (is_taken, thing) in enumerate(parts):
        if is_taken and type(thing) is tracers.Alternatives:
            before, behind = parts[:number], parts[number + 1 :]
            return thing.each(partial(_unpacked_between, name, before, behind))
    if active_trace() is None or not any(is_taken and is_of_run(thing) for is_taken, thing in parts):
        return [item for is_taken, thing in parts for item in (thing if is_taken else (thing,))]
    like = next(thing for is_taken, thing in parts if is_taken and is_of_run(thing))
    found = list_at(site_of_making(name), like_of(like, "list"))
    for is_taken, thing in parts:
        if is_taken:
            found.extend(thing)
        else:
            found.append(thing)
    return found


def _unpacked_between(name: str, before: Any, behind: Any, thing: Any) -> Any:
    return unpacked(name, *before, (True, thing), *behind)
