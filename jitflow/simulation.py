"""What a program would take on machines that need not be here: `jitflow.simulate`, and the plan of its placement."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.machines.machine import Machine, as_machine, this_machine
from jitflow.passes.place import Decision, Placement, check_placement, decide, named_devices, read_placement
from jitflow.passes.place.simulator import peaks
from jitflow.passes.place.sizes import NO_TURNS, Turns
from jitflow.records import dataclass
from jitflow.timeline import Event, draw, save, svg_text

__all__ = ["Simulation", "placement_of", "simulate"]


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is predicted of one call. Print it, or look at it: `svg`, `save`.

    ``seconds``: how long it takes. ``peak_bytes``: the most memory that each device needs at once. ``busy``: how long
    each device computes. ``bytes_moved``: what goes between devices. ``timeline``: what each device does when, of loops
    the first turns and then all others as one. ``placement``: where each op is. ``guessed``: the lines of loops whose
    turns are a guess (`simulate` can be told).
    """

    function: str
    seconds: float
    peak_bytes: Mapping[str, int]
    busy: Mapping[str, float]
    bytes_moved: float
    timeline: tuple[Event, ...]
    placement: Placement
    guessed: tuple[str, ...] = ()

    def text(self, width: int = 72) -> str:
        """The timeline in characters, a row for each device: ``#`` computes, ``-`` is on the way."""
        rows = []
        for name in dict.fromkeys([*self.busy, *(event.device for event in self.timeline)]):
            cells = [" "] * width
            for event in self.timeline:
                if event.device == name and self.seconds > 0:
                    first = min(width - 1, int(event.start / self.seconds * width))
                    last = min(width, max(first + 1, round(event.end / self.seconds * width)))
                    cells[first:last] = ("-" if "->" in name else "#") * (last - first)
            rows.append(f"{name:18}|{''.join(cells)}|")
        return "\n".join(rows)

    def svg(self) -> str:
        """The timeline as a picture: a row for each device and link, with what is computed where the pointer is."""
        return svg_text(draw(self._title, self.timeline, tuple(self.busy)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline as a picture (.svg, or .png through matplotlib) or as a trace for Perfetto (.json).

        Raises ValueError for another format, and ImportError without matplotlib.
        """
        save(path, self._title, self.timeline, devices=tuple(self.busy))

    @property
    def _title(self) -> str:
        return f"{self.function}: {_time(self.seconds)} predicted"

    def __str__(self) -> str:
        lines = [f"{self._title}, {self.bytes_moved / 1e6:.3f} MB moved"]
        for name, spent in self.busy.items():
            share = 100 * spent / self.seconds if self.seconds else 0.0
            lines.append(
                f"{name:18}computes {_time(spent)} ({share:.0f} %), needs {self.peak_bytes[name] / 1e6:.3f} MB"
            )
        if self.guessed:
            where = ", ".join(self.guessed)
            lines.append(f"how often the loops of {where} go round is a guess; tell it: turns={{...}}")
        return "\n".join([*lines, self.text()])


def simulate(
    fn: Any,
    args: Sequence[Any] = (),
    *,
    devices: str | Path | Machine | Iterable[str] | None = None,
    placement: Placement | str | Path | None = None,
    keywords: Mapping[str, Any] | None = None,
    turns: Turns = NO_TURNS,
) -> Simulation:
    """Predict what a call of a compiled function takes, and how much memory, without running it.

    ``devices`` are those of this machine, or a description of others: ``"2*cpu"``, ``"cpu + 4*cuda(memory=80e9)"``, a
    `Machine`, the name of a JSON file. ``placement``: ``"heuristic"``, ``"search"`` (slower, never worse), a
    `Placement`, or the file of a saved one. Arguments are arrays, numbers or `Spec`, of which only sizes
    and whole numbers matter. ``turns``: how often loops go round, by their lines, where only a run could tell:
    ``{12: 40.5}`` or ``{"heat.py:12": 40.5}``; for those in ``guessed`` of the answer it is a guess.

    Raises TypeError for what is no compiled function, and ValueError for a description that cannot be read, and for a
    plan of another program.
    """
    decision = _decided(fn, args, keywords or {}, devices, placement, turns)
    outcome, graph = decision.simulate(), decision.graph
    names = graph.machine.names
    events = [*_computing(decision, names), *_moving(decision, names)]
    events.sort(key=lambda event: (event.start, event.device))
    return Simulation(
        graph.function.name,
        outcome.seconds,
        MappingProxyType(dict(zip(names, map(int, peaks(graph, decision.plan)), strict=True))),
        MappingProxyType(dict(zip(names, outcome.busy, strict=True))),
        outcome.moved,
        tuple(events),
        decision.placement(),
        graph.guessed,
    )


def placement_of(
    fn: Any,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    devices: str | Path | Machine | Iterable[str] | None = None,
    placement: Placement | str | Path | None = None,
) -> Placement:
    """Where the ops of a compiled function are computed for these arguments. Raises what `simulate` raises."""
    return _decided(fn, args, keywords, devices, placement).placement()


def _decided(
    fn: Any, args: Sequence[Any], keywords: Mapping[str, Any], devices: Any, placement: Placement | str | Path | None,
    turns: Turns = NO_TURNS,
) -> Decision:  # fmt: skip
    from jitflow.compilation.compiler import optimize

    if not getattr(type(fn), "__jitflow_compiled__", False):
        raise UserTypeError(
            f"expected a compiled function, got {type(fn).__name__}", mend="decorate it with @jitflow.function"
        )
    placement = fn._options.placement if placement is None else placement
    check_placement(placement)
    plan, search = read_placement(placement)
    function = optimize(fn._trace(fn._bind(tuple(args), dict(keywords))))
    machine = this_machine(named_devices(function, plan)) if devices is None else as_machine(devices)
    return decide(function, machine, plan, search=search, turns=turns)


def _computing(decision: Decision, names: Sequence[str]) -> Iterator[Event]:
    for busy in decision.simulate().work:
        task = busy.task
        what, line = ("further turns", "") if task is None else (_words(task.ops), str(task.ops[0].loc))
        if busy.end > busy.start:
            yield Event(names[busy.device], busy.start, busy.end, what, line)


def _moving(decision: Decision, names: Sequence[str]) -> Iterator[Event]:
    for sent in decision.simulate().transfers:
        yield Event(
            f"{names[sent.source]} -> {names[sent.target]}",
            sent.start,
            sent.end,
            "transfer",
            "",
            sent.bytes,
            "transfer",
        )


def _words(ops: Sequence[Any], most: int = 4) -> str:
    names = [op.name for op in ops]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _time(number: float) -> str:
    if number >= 1:
        return f"{number:.3f} s"
    return f"{number * 1e3:.3f} ms" if number >= 1e-3 else f"{number * 1e6:.2f} us"
