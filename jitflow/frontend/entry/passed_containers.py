"""Containers from outside that are some of the running program.

They are nested lists of numbers, dicts with numbers as keys, sets, deques. Each is a wish: where the program needs to
know what is in one, it is traced once more with items that are inputs of their own, as those of all others are.
"""

from __future__ import annotations

import collections
from typing import Any

from jitflow.frontend.containers.containers import Guessed, ProgramContainer
from jitflow.frontend.containers.held_items import standing_for
from jitflow.frontend.containers.passed_types import type_of_passed
from jitflow.frontend.containers.passed_words import PassedWords
from jitflow.frontend.containers.slotted_dicts import SlottedDict
from jitflow.frontend.containers.slotted_lists import SlottedList
from jitflow.frontend.control.changing_lists import MadeHere, ProgramLists, slotted_site
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList
from jitflow.frontend.outside.stores import PASSED_TOGETHER, Stores
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.types import Container, containers_in
from jitflow.runtime.entry.plan import IsType

__all__ = ["PASSED", "may_be_passed", "outside_dict", "outside_list", "passed_container"]

PASSED = (list, dict, set, collections.deque, collections.defaultdict, collections.Counter)
"""The classes of containers that may be some of the running program."""

_LONG = 16
"""A list of more tuples is a container at once."""


def passed_container(inputs: Inputs, thing: Any, register: int) -> ProgramContainer | None:
    """What stands for a container of the caller's, if it can be one of the running program; else None."""
    path, choices = inputs.path(register), current_trace().choices
    site = Site(Choice.PASSED, path)
    held, guesses = type_of_passed(thing)
    answer = choices.answer(site)
    is_wanted = answer or choices.answer(PASSED_TOGETHER) or (held is not None and _is_eager(thing, held))
    if held is None or not is_wanted or not choices.wishes(site):
        return None
    if guesses:
        told, count = answer if isinstance(answer, tuple) else (answer, 0)
        if isinstance(told, Container):
            held, guesses = told, [*containers_in(told)]
        current_trace().state(Guessed).types.update((guess, (site, held, count)) for guess in guesses)
    inputs.guard(IsType(register, type(thing)))
    stores = current_trace().state(Stores)
    try:
        PassedWords([(thing, held)])
    except (TypeError, OverflowError):
        return None
    stores.table.convert = PassedWords
    found: ProgramContainer = standing_for(held, iter([stores.pass_container(register, thing, held)]))
    found.register = register
    return found


def may_be_passed(outside: Any) -> Any:
    """A list or dict that goes on as one of Python's, until the program asks what only the run knows."""
    trace = current_trace()
    trace.state(ProgramLists).made[id(outside)] = MadeHere(outside, Site(Choice.PASSED, outside.path), trace.scope)
    return outside


def outside_dict(items: dict[Any, Any], register: int, path: str) -> Any:
    """What stands for a dict of the caller's that goes on as one of Python's; with slots, if the last trace asks."""
    if not current_trace().choices.answer(slotted_site(Site(Choice.PASSED, path))):
        return OutsideDict(items, register, path)
    found = SlottedDict(path)
    found.update(items)
    return _of_caller(found, register)


def outside_list(items: list[Any], register: int, path: str) -> Any:
    """The same for a list."""
    if not current_trace().choices.answer(slotted_site(Site(Choice.PASSED, path))):
        return OutsideList(items, register, path)
    found = SlottedList(path)
    found.extend(items)
    return _of_caller(found, register)


def _of_caller(found: Any, register: int) -> Any:
    found.register, found.is_closed, found.home = register, True, current_trace().root
    return found


def _is_eager(thing: Any, held: Container) -> bool:
    """Whether it is taken as one of the running program without being asked to."""
    if type(thing) is list:
        is_long = isinstance(held.item, tuple) and len(thing) > _LONG
        return bool(thing) and (isinstance(held.item, Container) or is_long)
    return type(thing) is not dict or bool(thing)
