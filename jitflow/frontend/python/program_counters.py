"""Counters of the running program: dicts in which a key that is not there counts 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.python import container_programs as programs
from jitflow.frontend.python.containers import made
from jitflow.frontend.python.held_items import KINDS
from jitflow.frontend.python.program_dicts import ProgramDict
from jitflow.frontend.python.program_lists import new_list
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import Container

__all__ = ["ProgramCounter"]


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

    def _new(self, *others: Any) -> Any:
        known = next((each.held for each in (self, *others) if isinstance(each, ProgramDict) and each.is_known), None)
        return made("Counter", None, known)

    def _with(self, other: Any, program: Any) -> Any:
        if not isinstance(other, ProgramCounter):
            return NotImplemented
        found = self._new(other)
        if self.is_known or other.is_known:
            program(found, self, other)
        return found

    def __add__(self, other: Any) -> Any:
        return self._with(other, programs.counters_added)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, programs.counters_subtracted)

    def __and__(self, other: Any) -> Any:
        return self._with(other, programs.counters_met)

    def __or__(self, other: Any) -> Any:
        return self._with(other, programs.counters_joined)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, ProgramCounter):
            return super().__eq__(other)
        return programs.equal_counters(self, other)

    __hash__ = ProgramDict.__hash__


KINDS.update(Counter=ProgramCounter)
