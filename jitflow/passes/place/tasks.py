"""What is placed: groups of ops, in order, with the values that flow between them.

Branches and loops are *spans*, whose tasks may be on several devices, if that could pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from jitflow.ir.core import Function, Op, Value
from jitflow.machines.machine import Machine
from jitflow.records import dataclass

__all__ = ["Block", "Graph", "Span", "Task"]


@dataclass(eq=False, slots=True)
class Task:
    """Ops that are placed together. Values are numbers of the graph's values."""

    number: int
    ops: list[Op]
    device: str = ""
    """Where it has to be; empty if it may be anywhere."""
    why: str = ""
    group: Value | None = None
    """The storage that it works on."""
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    seconds: tuple[float, ...] = ()
    """On each device of the machine."""


@dataclass(eq=False, slots=True)
class Block:
    """The tasks and spans of a region, in order, and the values that it yields (-1 for those of no task)."""

    items: list[Task | Span] = field(default_factory=list)
    yielded: list[int] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    """All of them, those of spans included."""


@dataclass(eq=False, slots=True)
class Span:
    """A branch or loop. ``times``: how often each block runs, for a loop its turns."""

    op: Op
    blocks: list[Block]
    times: Sequence[float]
    condition: int
    """Of a branch; that of a ``while`` is what its first block yields."""
    initial: list[int]
    carried: list[list[int]]
    """For each block of a loop, the values that stand for what it carries."""
    results: list[int]
    tasks: list[Task]

    @property
    def is_loop(self) -> bool:
        return self.op.name != "if"


@dataclass(eq=False, slots=True)
class Graph:
    """The tasks of a function on a machine."""

    function: Function
    machine: Machine
    root: Block
    tasks: list[Task]
    bytes: list[float]
    """What each value is to send."""
    memory: list[float]
    """What each value takes where it was made."""
    last: list[int]
    """The last task that reads each value, or the last of the loop that does; -1 if none does."""
    homes: dict[int, int]
    """Devices of the function's parameters, as numbers."""
    units: list[list[Task]]
    """Tasks that are on one device, whichever it is; only those that may be anywhere."""
    guessed: tuple[str, ...] = ()
    """The lines of loops that nobody can count."""
