"""Counters of the running program: dicts in which a key that is not there counts 0."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers import counter_programs
from jitflow.frontend.containers.containers import made
from jitflow.frontend.containers.held_items import KINDS
from jitflow.frontend.containers.program_dicts import ProgramDict
from jitflow.frontend.containers.program_lists import new_list
from jitflow.frontend.containers.reflected import reflected
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import Container

__all__ = ["ProgramCounter"]


def _alike(like: ProgramDict, other: Any) -> Any:
    """A counter, as one of the running program; None of what is none."""
    if isinstance(other, ProgramCounter):
        return other
    if not isinstance(other, collections.Counter):
        return None
    found = made("Counter", None, like.held if like.is_known else None)
    found.update(other)
    return found


def _made_of_two(program: Any, *, is_swapped: bool = False) -> Any:
    def combine(one: ProgramCounter, other: Any) -> Any:
        two = _alike(one, other)
        if two is None:
            return NotImplemented
        known = next((each.held for each in (one, two) if each.is_known), None)
        found = made("Counter", None, known)
        if known is not None:
            program(found, *((two, one) if is_swapped else (one, two)))
        return found

    return reflected(combine) if is_swapped else combine


def _changed_by(program: Any) -> Any:
    def change(one: ProgramCounter, other: Any) -> Any:
        two = _alike(one, other)
        if two is None:
            return NotImplemented
        if one.is_known or two.is_known:
            program(one, two)
        return one

    return change


def _compared(program: Any, otherwise: Any = None) -> Any:
    def compare(one: ProgramCounter, other: Any) -> Any:
        two = _alike(one, other)
        if two is None:
            return NotImplemented if otherwise is None else otherwise(one, other)
        return program(one, two)

    return compare


class ProgramCounter(ProgramDict):
    """A Counter of the running program."""

    held = Container(kind="Counter")

    def __getitem__(self, key: Any) -> Any:
        return self.get(key, 0)

    def update(self, *others: Any, **named: Any) -> None:
        """``Counter.update``: count once more."""
        self._count(others, named, lambda known, number: known + number)

    def subtract(self, *others: Any, **named: Any) -> None:
        """``Counter.subtract``."""
        self._count(others, named, lambda known, number: known - number)

    def _count(self, others: Any, named: Any, changed: Callable[[Any, Any], Any]) -> None:
        def turn(key: Any, number: Any) -> None:
            self[key] = changed(self[key], number)

        for other in others:
            if isinstance(other, dict | ProgramDict):
                own_loop(other.items(), lambda pair: turn(*pair))
            else:
                own_loop(other, lambda key: turn(key, 1))
        if named:
            self._refuse("update(name=...)")

    def total(self) -> Any:
        """``Counter.total``."""
        found = new_list("total()", None)
        own_loop(self.values(), found.append)
        return programs.total(found)

    def most_common(self, n: Any = None) -> Any:
        """``Counter.most_common``: what is counted as often stays in order."""
        found = surface.sorted_container(self.items(), lambda pair: pair[1], True)
        return found if n is None else found[:n]

    def elements(self) -> Any:
        """``Counter.elements``, in a list."""
        found = new_list("elements()", Container(item=self.held.key) if self.is_known else None)
        own_loop(self.items(), lambda pair: programs.repeat(found, *pair))
        return found

    def __delitem__(self, key: Any) -> None:
        self.pop(key, None)

    __add__ = _made_of_two(counter_programs.counters_added)
    __radd__ = _made_of_two(counter_programs.counters_added, is_swapped=True)
    __sub__ = _made_of_two(counter_programs.counters_subtracted)
    __rsub__ = _made_of_two(counter_programs.counters_subtracted, is_swapped=True)
    __and__ = _made_of_two(counter_programs.counters_met)
    __rand__ = _made_of_two(counter_programs.counters_met, is_swapped=True)
    __or__ = _made_of_two(counter_programs.counters_joined)
    __ror__ = _made_of_two(counter_programs.counters_joined, is_swapped=True)
    __iadd__ = _changed_by(counter_programs.add_counter)
    __isub__ = _changed_by(counter_programs.subtract_counter)
    __iand__ = _changed_by(counter_programs.meet_counter)
    __ior__ = _changed_by(counter_programs.join_counter)
    __eq__ = _compared(counter_programs.equal_counters, ProgramDict.__eq__)
    __le__ = _compared(lambda one, other: counter_programs.counters_within(one, other, False))
    __lt__ = _compared(lambda one, other: counter_programs.counters_within(one, other, True))
    __ge__ = _compared(lambda one, other: counter_programs.counters_within(other, one, False))
    __gt__ = _compared(lambda one, other: counter_programs.counters_within(other, one, True))

    def __pos__(self) -> Any:
        return self + collections.Counter[Any]()

    def __neg__(self) -> Any:
        return collections.Counter[Any]() - self

    __hash__ = None


KINDS.update(Counter=ProgramCounter)
