"""`jitflow.profile`: what compiled functions do, as a trace to look at and a table of the dearest lines.

While a profile is taken, functions run other specialisations, whose programs tell the clock in front of and behind all
that they launch (`passes/lower/notes.py`, `runtime/native/notes.py`); those for everyday use wait aside, unchanged.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from jitflow.errors import UserNotImplementedError, UserRuntimeError
from jitflow.machines.machine import read_profile, this_machine
from jitflow.records import dataclass
from jitflow.runtime.native.notes import EVENT, NoteTable, Span, can_record, recorder
from jitflow.timeline import Event, check_path, save
from jitflow.timeline.traces import Site, Timeline, device_of, least_seconds, table_of, timeline_of, title_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["LIMIT", "Line", "Profile", "profile"]

LIMIT = 1 << 18
"""How many events a trace holds if nothing else is said. The table counts all."""

_LOCK = threading.RLock()


def _renew_lock() -> None:
    """In a process that was forked: the thread that held the lock does not exist."""
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def profile(path: str | os.PathLike[str] | None = None, *, limit: int = LIMIT) -> Profile:
    """Take a profile of what happens in a ``with``: ``with jitflow.profile("trace.json"):``.

    At its end, what happened is written to ``path`` if there is one, and a table of the lines that took most time is
    printed to standard error. A file ``.json`` is a trace for https://ui.perfetto.dev and chrome://tracing; ``.svg``,
    and ``.png`` through matplotlib, are pictures of the timeline. What the ``with`` gives is a `Profile`, which has all
    of it as data afterwards. All threads are profiled. The trace has the first ``limit`` events; the table counts all.
    Functions compile once more when they are first called in a profile. Profiles may be taken in others.

    Raises TypeError for a path that is none, FileNotFoundError for one in a folder that there is not, ValueError for a
    format that there is not, for a limit below 0 and where the record of this machine is broken, ImportError without
    matplotlib, RuntimeError inside of a function that is being compiled, and NotImplementedError on systems without
    POSIX clocks and threads.
    """
    return Profile(path, limit=limit)


class Line(NamedTuple):
    """What one line of the program did: ``kind`` is ``kernel``, ``library``, ``routine``, ``callback``...

    ``seconds`` is the time of all ``calls`` together, ``bytes`` what they had to move at least, ``operations`` what
    they computed, and ``bandwidth`` and ``peak`` the parts of what the device can do, 0.5 for half: of a message that
    of the link. What waits does nothing, and has none.
    """

    location: str
    device: str
    kind: str
    names: tuple[str, ...]
    seconds: float
    calls: int
    bytes: int
    operations: int
    bandwidth: float
    peak: float


@dataclass
class _Taken:
    """What a profile has of the recorder."""

    events: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, EVENT))
    sites: dict[int, Site] = field(default_factory=dict)
    """By the address of the row."""
    sums: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    spans: Sequence[Span] = ()


class Profile:
    """A profile; what it has found is there behind the ``with``.

    ``lines``: a `Line` for each line, device and kind of work, the dearest first. ``calls``, ``seconds``: how often
    compiled functions ran, and how long; ``device_seconds``: how long on all devices together. ``host_seconds``: what
    of that was none of the lines' (sizes, memory, scalar code). ``compile_seconds``: the stages of compilations.
    ``events``: how many the trace has; ``dropped``: how many it had no room for. ``timeline``: what happened when.
    ``machine``: what is known of the devices, of which the lines tell parts.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, limit: int = LIMIT) -> None:
        if limit < 0:
            raise ValueError(f"expected a limit of at least 0, got {limit}")
        self.path = None if path is None else check_path(path)
        self.limit = limit
        self.lines: tuple[Line, ...] = ()
        self.calls = self.events = self.dropped = 0
        self.seconds = self.device_seconds = self.host_seconds = self.compile_seconds = 0.0
        self._taken: _Taken | None = None

    def __enter__(self) -> Self:
        from jitflow.compilation.specialised import change_sides
        from jitflow.frontend.recording.trace import active_trace

        if active_trace() is not None:
            message = "a profile is taken around calls of compiled functions, not inside of one"
            raise UserRuntimeError(message, mend="write it around the call: with jitflow.profile() as profile: f(x)")
        if not can_record():
            raise UserNotImplementedError("profiles need POSIX clocks and threads, which this system has not")
        read_profile()  # which may be broken: rather now than behind hours of work
        with _LOCK:
            if self._taken is not None:
                raise UserRuntimeError("a profile is taken once", mend="call jitflow.profile again")
            self._taken = _Taken()
            if recorder().begin(self.limit):
                try:
                    change_sides(True)
                except BaseException:
                    recorder().end()
                    change_sides(False)
                    raise
            self._start = time.monotonic_ns()
            self._first = recorder().position()
            self._before = {table.address: table.rows.copy() for table in recorder().tables}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from jitflow.compilation.specialised import change_sides

        with _LOCK:
            self._end = time.monotonic_ns()
            assert self._taken is not None
            self._take(self._taken)
            if recorder().end():
                change_sides(False)
                recorder().forget()
        from jitflow.runtime.parallel.threads import name_helpers  # which asks for a switch that a script may set

        name_helpers()
        self.machine = this_machine()  # not before: a script that is profiled may say how many devices it wants
        self._sum_up(self._taken)
        if self.path is not None:
            self.save(self.path)
        self.print()

    def _take(self, taken: _Taken) -> None:
        events = recorder().events(self._first)
        tables: list[NoteTable] = recorder().tables
        for table in tables:
            sums = table.rows - self._before.get(table.address, 0)
            for number in np.flatnonzero(sums[:, 0]).tolist():
                row = table.address + number * table.rows.strides[0]
                taken.sites[row], taken.sums[row] = Site(table.sites[number], table.address), sums[number]
        known = np.isin(events["row"], np.fromiter(taken.sites, np.int64, len(taken.sites)))
        inside = (events["end"] >= self._start) & (events["end"] <= self._end)
        taken.events = events[known & inside][: self.limit]
        taken.spans = [one for one in recorder().spans if one.start >= self._start]

    def _sum_up(self, taken: _Taken) -> None:
        groups: dict[tuple[str, int, str, str], list[int]] = {}
        for row, (op, _) in taken.sites.items():
            if op.name == "note":
                groups.setdefault((op.loc.file, op.loc.line, device_of(op), op.attributes["kind"]), []).append(row)
        lines: list[Line] = []
        for (_, _, device, kind), rows in groups.items():
            calls, nanoseconds, moved, computed = np.sum([taken.sums[row] for row in rows], axis=0).tolist()
            seconds = nanoseconds / 1e9
            if kind in ("call", "partition"):
                self.device_seconds += seconds
                if kind == "call":
                    self.calls += calls
                    self.seconds += seconds
                continue
            sites = [taken.sites[row].op for row in rows]
            names = tuple(sorted({op.attributes["work"] for op in sites}))
            least = [
                least_seconds(op, int(taken.sums[row][2]), int(taken.sums[row][3]), self.machine)
                for op, row in zip(sites, rows, strict=True)
            ]
            bandwidth, peak = (sum(parts) / max(seconds, 1e-9) for parts in zip(*least, strict=True))
            lines.append(Line(str(sites[0].loc), device, kind, names, seconds, calls, moved, computed, bandwidth, peak))
        self.lines = tuple(sorted(lines, key=lambda line: -line.seconds))
        self.host_seconds = max(self.device_seconds - sum(line.seconds for line in self.lines), 0.0)
        self.compile_seconds = sum(one.end - one.start for one in taken.spans) / 1e9
        self.events = len(taken.events)
        self.dropped = int(sum(sums[0] for sums in taken.sums.values())) - self.events

    @property
    def timeline(self) -> tuple[Event, ...]:
        """What each device did when, in the order of the starts, counted from the beginning of the profile."""
        return tuple(self._timeline.events)

    @cached_property
    def _timeline(self) -> Timeline:
        assert self._taken is not None, "the profile has not begun"
        return timeline_of(self._taken.events, self._taken.sites, self._taken.spans, self._start, self.machine)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline to another file, as `profile` does, and raising what it raises."""
        save(
            path,
            title_of(self),
            self._timeline.events,
            arrows=self._timeline.arrows,
            facts={"dropped": self.dropped, "calls": self.calls, "machine": json.loads(self.machine.to_json())},
        )

    def table(self, most: int = 20) -> Table:
        """The dearest lines, for `rich` to print."""
        return table_of(self, most)

    def print(self) -> None:
        """Print the table, and where the trace is, to standard error."""
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_terminal:
            console = Console(stderr=True, width=120)
        console.print(self.table())
        if read_profile() is None:
            console.print("the bandwidth and peak of this machine are guesses: jitflow doctor --measure measures them")
        if self.path is not None:
            console.print(f"{self.events} events in {self.path}", highlight=False, soft_wrap=True)
        if self.dropped:
            console.print(f"{self.dropped} events had no room in the trace (limit={self.limit}); the table counts them")
