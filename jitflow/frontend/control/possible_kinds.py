"""Of which kinds a value may be here: branches on the number of its kind tell, its own or one that it follows from."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.logic import as_python_bool
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives, Tracer, lift
from jitflow.frontend.tracers.alternatives import Kinds
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64

__all__ = ["is_among", "is_of_kind", "narrowed", "possible_numbers"]


def possible_numbers(thing: Alternatives) -> list[int]:
    """The kinds that the value may be of here."""
    if not isinstance(thing.chosen, Tracer):
        return [int(thing.chosen)]
    return sorted(_possible(lift(thing.chosen), thing.options))


def _possible(tag: Value, numbers: Iterable[int]) -> set[int]:
    """Which of these the number of a kind may be here."""
    found, follows = set(numbers), current_trace().state(Kinds).follows
    found &= current_trace().knowledge.kinds.get(tag, found)
    if tag in follows:
        other, by_other = follows[tag]
        found &= set().union(*(by_other[number] for number in _possible(other, by_other)))
    return found


def narrowed(thing: Any) -> Any:
    """The thing of its one kind, if it may be of no other one here."""
    numbers = possible_numbers(thing) if type(thing) is Alternatives else ()
    return option(thing, numbers[0]) if len(numbers) == 1 else thing


def is_among(thing: Alternatives, numbers: Collection[int]) -> Any:
    """Whether a value is of one of some kinds, as the program's bool, unless that is known of all that it may be."""
    possible = possible_numbers(thing)
    held, others = ([number for number in possible if (number in numbers) is wanted] for wanted in (True, False))
    if not held or not others:
        return bool(held)
    few = min(held, others, key=len)
    answer = functools.reduce(partial(values.emit, "logical_or"), [is_of_kind(thing, number) for number in few])
    if few is others:
        answer = values.emit("logical_not", answer)
    tag = lift(thing.chosen)
    current_trace().state(Kinds).implied[answer] = {tag: frozenset(held)}, {tag: frozenset(others)}
    return as_python_bool(answer)


def is_of_kind(thing: Alternatives, number: int) -> Value:
    """Whether a value is of one kind, as a bool of the program; branches on it know the kind."""
    tag = lift(thing.chosen)
    answer = values.emit("equal", values.cast(tag, I64), values.constant(number, I64))
    others = frozenset(thing.options) - {number}
    current_trace().state(Kinds).implied[answer] = {tag: frozenset({number})}, {tag: others}
    return answer
