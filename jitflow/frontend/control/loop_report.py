"""What became of each loop, and why: `explain` tells it.

A loop inside of a loop is traced in every attempt to trace the outer one. What was noted in attempts that are given up
is taken back (`Trace.trial`), so that only what came of it is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from jitflow.frontend.control.cells import statement_of
from jitflow.frontend.recording.trace import Undoable, current_trace
from jitflow.ir.dims import Dim
from jitflow.ir.location import Loc
from jitflow.records import dataclass

__all__ = ["LoopDecision", "LoopReport", "note_rolled", "note_unrolled", "what_it_runs_over"]

_MADE_UP = re.compile(r"\w+__\d+")
"""Names of the rewriting: flags that stand for ``break`` and the like."""


@dataclass(frozen=True, slots=True)
class LoopDecision:
    """What became of a loop of the program, where, in words."""

    location: Loc
    text: str


class LoopReport(list[LoopDecision], Undoable):
    """What became of each loop, inner ones first; not of jitflow's ``own``, such as what finds where a mask holds."""

    def __init__(self) -> None:
        super().__init__()
        self.own: set[CodeType] = set()
        """The code of their bodies."""

    def mark(self) -> Callable[[], None]:
        """What is noted in a trial that is given up is not told."""
        length = len(self)
        return lambda: self.__delitem__(slice(length, None))


def note_rolled(body: Callable[..., Any], kind: str, count: Dim | None, carried: Sequence[str]) -> None:
    """A loop became one native loop: of ``count`` turns, or of as many as its test wants."""
    turns = "" if count is None else f" of {_turns(count)}"
    names = [name for name in carried if not _MADE_UP.fullmatch(name)]
    carries = f", which carries {', '.join(names)}" if names else ""
    _note(body, f"{kind} is one native loop{turns}{carries}")


def note_unrolled(body: Callable[..., Any], kind: str, turns: int, reason: str) -> None:
    """A loop was written out, turn by turn."""
    _note(body, f"{kind} is unrolled into {_turns(turns)}, because {reason}")


def _turns(count: Dim) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _note(body: Callable[..., Any], text: str) -> None:
    trace = current_trace()
    if statement_of(body).__code__ in trace.state(LoopReport).own:
        return
    trace.state(LoopReport).append(LoopDecision(trace.here(), text))


def what_it_runs_over(thing: Any) -> str:
    """What a loop runs over that is no range or array, in words."""
    name = type(thing).__name__
    for kind in ("list", "tuple", "dict", "set", "str"):
        if kind in name.lower():
            return f"a {kind}"
    return f"what Python gives item by item ({name})"
