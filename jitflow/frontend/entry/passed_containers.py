"""Containers from outside that are some of the running program.

They are nested lists of numbers, dicts with numbers as keys, sets, deques. Each is a wish: where the program needs to
know what is in one, it is traced once more with items that are inputs of their own, as those of all others are.
"""

from __future__ import annotations

import collections
from typing import Any

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.stores import PASSED_TOGETHER, Stores
from jitflow.frontend.python.containers import ProgramContainer, made
from jitflow.frontend.python.held_items import standing_for
from jitflow.frontend.python.passed_words import PassedWords, type_of_passed
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.types import Container, Scalar
from jitflow.runtime.plan import HasLength, IsType

__all__ = ["PASSED", "passed_container"]

PASSED = (list, dict, set, collections.deque, collections.defaultdict, collections.Counter)
"""The classes of containers that may be some of the running program."""

_LONG = 16
"""A list of more tuples is a container at once."""


def passed_container(inputs: Inputs, thing: Any, register: int) -> ProgramContainer | None:
    """What stands for a container of the caller's, if it can be one of the running program; else None."""
    path, choices = inputs.path(register), current_trace().choices
    site = Site(Choice.PASSED, path)
    held = type_of_passed(thing)
    if held is None or (not choices.answer(site) and not _is_eager(thing, held)) or not choices.wishes(site):
        return None
    answer = choices.answer(site)
    if not held.words and isinstance(answer, Container):
        held = answer
    inputs.guard(IsType(register, type(thing)))
    stores = current_trace().state(Stores)
    if not held.words:
        inputs.guard(HasLength(register, 0))
        found: ProgramContainer = made(held.kind, site, None)
        found.register = register
        return found
    try:
        PassedWords([(thing, held)])
    except (TypeError, OverflowError):
        return None
    stores.table.convert = PassedWords
    found = standing_for(held, iter([stores.pass_container(register, thing, held)]))
    found.register = register
    return found


def _is_eager(thing: Any, held: Container) -> bool:
    """Whether it is taken as one of the running program without being asked to."""
    if type(thing) is list:
        item = held.item
        if isinstance(item, Scalar) and not isinstance(item, Container):
            return bool(current_trace().choices.answer(PASSED_TOGETHER))
        return item is not None and (isinstance(item, Container) or len(thing) > _LONG)
    return type(thing) is not dict or bool(thing)
