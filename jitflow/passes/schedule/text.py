"""The text of schedules: what people read, edit and hand back.

    for i by 1 in threads of 40*m {                         ; shared by threads; a turn's work, in instructions
      reduce %1 {                                           ; ``in memory`` if partial results lie there
        for j by 32 in lanes, apart {                       ; or ``masked``, or ``narrow 16``
          fold %1                                           ; soft.py:3
        }
      }
      for j by 32 in lanes, apart {
        store %6
      }
    }

A node stands on a line of its own. Loops are called i, j, k... in the order in which the nest has them, the reduced
ones last, and values what they are called in the fusion that is scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import symbols
from jitflow.ir.printer import Names
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.tree import (
    Deviate,
    Fold,
    For,
    Keep,
    Locate,
    Match,
    Node,
    Reduce,
    Schedule,
    Stage,
    Store,
    When,
)

__all__ = ["ScheduleNames", "print_schedule"]

_COLUMN = 56
_LETTERS = "ijklmnopqrstuvwxyz"


class ScheduleNames:
    """What the loops and values of a nest are called."""

    def __init__(self, loops: JoinedLoops, values: Names) -> None:
        self.loops = dict(zip([*loops.outer, *loops.reduced], _LETTERS, strict=False))
        self.values = values
        self.by_loop = {name: loop for loop, name in self.loops.items()}
        self.by_value = {f"%{values[result]}": result for op in loops.nest.region.ops for result in op.results}
        self.by_value |= {f"%{values[parameter]}": parameter for parameter in loops.nest.region.parameters}
        self.producer = loops.nest.producer
        accesses = [*map(loops.access, loops.nest.loads), *map(loops.output_access, loops.yielded)]
        dims = [*(loop.dim for loop in self.loops), *(one for access in accesses for one in access.strides.values())]
        self.sizes = {name for dim in dims for name in symbols(dim)}

    def text(self, values: Sequence[Value]) -> str:
        """Values by their names."""
        return self.values.list(values)

    @property
    def loops_text(self) -> str:
        """The loops with their lengths."""
        return ", ".join(f"{name}: {loop.dim}{' reduced' if loop.reduced else ''}" for loop, name in self.loops.items())


def print_schedule(schedule: Schedule, names: ScheduleNames) -> str:
    """The text of a schedule, a node a line, with the user's lines."""
    return "\n".join(_lines(schedule.body, names, ""))


def _lines(nodes: Sequence[Node], names: ScheduleNames, indent: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, When):
            yield f"{indent}when {node.size} {{"
            yield from _lines(node.then, names, indent + "  ")
            yield f"{indent}}} else {{"
            yield from _lines(node.otherwise, names, indent + "  ")
            yield f"{indent}}}"
        elif isinstance(node, For | Reduce | Locate):
            yield f"{indent}{_head(node, names)} {{"
            yield from _lines(node.body, names, indent + "  ")
            yield f"{indent}}}"
        else:
            text = indent + _leaf(node, names)
            where = _places(node, names)
            yield f"{text:<{_COLUMN}} ; {where}" if where else text


def _head(node: For | Reduce | Locate, names: ScheduleNames) -> str:
    match node:
        case Reduce():
            return f"reduce {names.text(_results(node.ops))}{' in memory' if node.in_memory else ''}"
        case Locate():
            return f"locate {names.text(_results([node.op]))}"
        case For():
            return "".join([
                f"for {names.loops[node.loop]} by {node.step}",
                " written out" if node.how == "written out" else " in chunks" if node.how == "chunks" else "",
                f" in lanes, {node.tail}" if node.how == "lanes" else "",
                f" {node.narrow}" if node.how == "lanes" and node.tail == "narrow" else "",
                f" in threads of {node.threads}" if node.threads != 0 else "",
                " in parallel" if node.parallel else "",
                " while undecided" if node.while_undecided else "",
                f" ahead {node.ahead}" if node.ahead else "",
            ])  # fmt: skip


def _leaf(node: Node, names: ScheduleNames) -> str:
    match node:
        case Fold():
            return f"fold {names.text(_results(node.ops))}"
        case Deviate():
            return f"deviate {names.text(_results(node.ops))}"
        case Match():
            return f"match {names.text(_results([node.op]))}"
        case Stage():
            return f"stage {names.text(node.values)}"
        case Keep():
            place = names.text([node.into]) if node.into else "chip" if node.on_chip else "scratch"
            return f"keep {names.text([node.value])} in {place}"
        case Store():
            past = f" past caches where {', '.join(map(str, node.past_caches))}" if node.past_caches else ""
            return f"store {names.text(node.values)}{past}"
    raise AssertionError(f"{type(node).__name__} is no leaf")


def _results(ops: Sequence[Op]) -> list[Value]:
    return [op.result for op in ops]


def _places(node: Node, names: ScheduleNames) -> str:
    """The user's lines of what a leaf does."""
    match node:
        case Fold() | Deviate():
            ops = list(node.ops)
        case Keep():
            ops = [names.producer[node.value]] if node.value in names.producer else []
        case Store():
            ops = [names.producer[value] for value in node.values if value in names.producer]
        case _:
            ops = []
    return ", ".join(dict.fromkeys(str(op.loc) for op in ops if op.loc.line))
