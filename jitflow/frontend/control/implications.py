"""What conditions say of the kinds of values, and what is known of these behind branches.

A test of a kind (``x is None``, `isinstance`) is a condition of the program, and so is what ``and``, ``or`` and ``not``
make of it. Each says what the numbers of kinds may be if it holds, and if it does not; a branch knows that inside.
Behind a branch is known what all paths know that lead there: a kind that raises on its path is none any more behind it,
or each further use of the value would ask for it once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.recording.regions import Knowledge
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.alternatives import Facts, Kinds
from jitflow.ir.core import Value

__all__ = ["assume", "assume_ends", "holds_if", "in_other_words", "learnt_in", "note_chosen", "note_opposite",
           "note_same"]  # fmt: skip


def holds_if(condition: Value, answer: bool) -> Facts:
    """What is known of kinds where a condition holds, or does not."""
    return current_trace().state(Kinds).implied.get(condition, ({}, {}))[0 if answer else 1]


def note_same(made: Value, condition: Value) -> None:
    """A condition says what another one says."""
    if condition in (implied := current_trace().state(Kinds).implied):
        implied[made] = implied[condition]


def note_opposite(made: Value, condition: Value) -> None:
    """A condition says what another one says if that does not hold."""
    if condition in (implied := current_trace().state(Kinds).implied):
        implied[made] = implied[condition][::-1]


def assume(facts: Facts) -> None:
    """Know something of kinds from here on."""
    known = current_trace().knowledge.kinds
    known.update({tag: numbers & known.get(tag, numbers) for tag, numbers in facts.items()})


def assume_ends(ends: Sequence[Knowledge]) -> None:
    """Know what all paths know at their ends that lead here."""
    assume(_either([learnt_in(end) for end in ends]))


def learnt_in(inside: Knowledge) -> dict[Value, frozenset[int]]:
    """What is known of kinds in a region that is not known here."""
    here = current_trace().knowledge.kinds
    return {tag: numbers for tag, numbers in inside.kinds.items() if here.get(tag) != numbers}


def in_other_words(facts: Facts, values: Mapping[Value, Value]) -> Facts:
    """The same of what stands for the values elsewhere, as parameters of another region."""
    return {values.get(tag, tag): numbers for tag, numbers in facts.items()}


def note_chosen(condition: Value, ends: Sequence[Knowledge | None], things: Sequence[Any], chosen: Value) -> None:
    """A bool that is one of two ``things``, as a condition holds or not, says what these and their paths do.

    What is known at the ``ends`` of the paths is None for those that do not lead here.
    """
    said: list[Facts] = []
    for answer in (True, False):
        cases = [
            _both(learnt_in(end), _said(thing, answer))
            for end, thing, holds in zip(ends, things, (True, False), strict=True)
            if end is not None and _may_be(thing, answer, condition, holds)
        ]
        said.append(_either(cases))
    if any(said):
        current_trace().state(Kinds).implied[chosen] = said[0], said[1]


def _may_be(thing: Any, answer: bool, condition: Value, holds: bool) -> bool:
    """Whether a bool may be true, or false, where a condition holds, or where it does not."""
    if type(thing) is bool:
        return thing is answer
    is_condition = isinstance(thing, tracers.ScalarTracer) and thing.value is condition
    return answer is holds if is_condition else True


def _said(thing: Any, answer: bool) -> Facts:
    return holds_if(thing.value, answer) if isinstance(thing, tracers.ScalarTracer) else {}


def _both(one: Facts, other: Facts) -> Facts:
    return {**one, **{tag: numbers & one.get(tag, numbers) for tag, numbers in other.items()}}


def _either(cases: Sequence[Facts]) -> Facts:
    """What is known in each of some cases, one of which there is."""
    if not cases:
        return {}
    first, *others = cases
    common = [tag for tag in first if all(tag in other for other in others)]
    return {tag: first[tag].union(*(other[tag] for other in others)) for tag in common}
