"""What the notes of a profile become: the events of a timeline, and a table.

Every note belongs to a site, an op that knows its device, its line and where its message went. What a thread of Python
does is on that thread's track; the other devices' workers, which any call may get, are told apart only where a device
does two things at once.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitflow.ir.core import Op
from jitflow.machines.hardware import HOME
from jitflow.machines.machine import Machine
from jitflow.runtime.native.notes import TRACKS, Span
from jitflow.timeline import Event

if TYPE_CHECKING:
    from rich.table import Table

    from jitflow.timeline.profiling import Profile

__all__ = ["Site", "Timeline", "device_of", "least_seconds", "table_of", "timeline_of", "title_of"]

_WITHOUT_RATES = ("wait", "call", "partition")


class Site(NamedTuple):
    """An op that is noted, and a number of the program that it belongs to."""

    op: Op
    program: int


def device_of(op: Op) -> str:
    """Where the work of a site is done."""
    return str(op.attributes.get("device", HOME))


def least_seconds(op: Op, moved: int, computed: int, machine: Machine) -> tuple[float, float]:
    """How long a device would take for bytes at its full bandwidth, a link for a message, and for operations."""
    kind, device = op.attributes.get("kind"), device_of(op)
    if kind in _WITHOUT_RATES or device not in machine.names:
        return 0.0, 0.0
    if kind == "transfer":
        return moved / machine.link(device, op.attributes.get("to", device)).bandwidth, 0.0
    processor = dict(machine.devices)[device]
    return moved / processor.bandwidth, computed / processor.single_products


# -- the timeline ----------------------------------------------------------------------------------


class Timeline(NamedTuple):
    """What happened, in its order, and from which to which event messages went."""

    events: list[Event]
    arrows: list[tuple[Event, Event]]


def timeline_of(
    notes: np.ndarray[Any, Any], sites: Mapping[int, Site], spans: Sequence[Span], start: int, machine: Machine
) -> Timeline:
    """The timeline of a profile that began at ``start``; ``sites`` are known by the addresses of their rows."""
    described = {row: _described(sites[row].op) for row in np.unique(notes["row"]).tolist()}
    # A dummy stands for a thread that Python has not started, perhaps one that is over: another has its number by now.
    threads = (one for one in threading.enumerate() if not isinstance(one, threading._DummyThread))
    lanes = _Lanes(TRACKS | {one.ident: one.name for one in threads if one.ident})
    events: list[Event] = []
    messages = _Messages()
    for row, begin, end, moved, computed, thread in notes[np.lexsort((-notes["end"], notes["start"]))].tolist():
        known, seconds = described[row], max(end - begin, 1) / 1e9
        facts, (bandwidth, peak) = known.facts, least_seconds(sites[row].op, moved, computed, machine)
        if bandwidth or peak:
            parts = {"of bandwidth": round(bandwidth / seconds, 4), "of peak": round(peak / seconds, 4)}
            facts = facts | {"operations": computed, "GB/s": round(moved / seconds / 1e9, 3)} | parts
        time = (begin - start) / 1e9, (end - start) / 1e9
        track = lanes.track(known.device, thread, begin, end)
        event = Event(known.device, *time, known.what, known.line, moved, known.kind, track, facts)
        messages.note(sites[row], known.kind, event)
        events.append(event)
    for name, begin, end, thread in spans:
        time, track = ((begin - start) / 1e9, (end - start) / 1e9), lanes.track(HOME, thread, begin, end)
        events.append(Event(HOME, *time, name, kind="compile", track=track))
    return Timeline(sorted(events, key=attrgetter("start")), list(messages.arrows()))


class _Described(NamedTuple):
    """What all events of a site have."""

    what: str
    kind: str
    device: str
    line: str
    facts: dict[str, Any]


def _described(op: Op) -> _Described:
    kind = op.attributes.get("kind", "part")
    name = op.attributes.get("work", op.attributes.get("kernel", ""))
    facts = {"function": op.loc.function, "source": linecache.getline(op.loc.file, op.loc.line).strip()}
    if len(lines := op.attributes.get("lines", ())) > 1:
        facts["lines"] = ", ".join(lines)
    if "to" in op.attributes:
        facts["to"] = op.attributes["to"]
    what = name if kind in ("call", "partition") else f"{op.loc} {name}"
    return _Described(what, kind, device_of(op), f"{op.loc.file}:{op.loc.line}", facts)


class _Lanes:
    """The tracks of events, which come in the order of their starts, those around others first."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._ended: dict[int, str] = {}
        """The names of threads that are no more."""
        self._lanes: dict[str, list[tuple[int, int]]] = {}
        """For each device its lanes: which thread has it, and until when."""

    def track(self, device: str, thread: int, begin: int, end: int) -> str:
        """The name of the track on which a thread does something for a device."""
        if thread in self._names:
            return self._names[thread]
        if device == HOME:
            return self._ended.setdefault(thread, f"thread {len(self._ended) + 1}")
        lanes = self._lanes.setdefault(device, [])
        own = (number for number, (owner, until) in enumerate(lanes) if owner == thread and begin < until)
        free = (number for number, (_, until) in enumerate(lanes) if until <= begin)
        number = next(own, next(free, len(lanes)))
        until = max(end, lanes[number][1]) if number < len(lanes) else end
        lanes[number : number + 1] = [(thread, until)]
        return f"call {number + 1}" if number else ""


class _Messages:
    """Which event sends what another one awaits."""

    def __init__(self) -> None:
        self._calls: dict[int, list[Event]] = {}
        self._ends: dict[tuple[int, int], tuple[list[Event], list[Event]]] = {}
        """For each channel of each program what sends, and what awaits."""

    def note(self, site: Site, kind: str, event: Event) -> None:
        """Events come in their order."""
        if kind == "call":
            self._calls.setdefault(site.program, []).append(event)
        elif "channel" in site.op.attributes:
            ends = self._ends.setdefault((site.program, site.op.attributes["channel"]), ([], []))
            ends[kind == "wait"].append(event)

    def arrows(self) -> Iterator[tuple[Event, Event]]:
        """A channel is a queue, and calls one after the other use it in turns; of calls at once nothing is said."""
        at_once = {
            program
            for program, calls in self._calls.items()
            if any(later.start < one.end for one, later in pairwise(calls))
        }
        for (program, _), (sending, waiting) in self._ends.items():
            if program not in at_once and len(sending) == len(waiting):
                yield from zip(sending, waiting, strict=True)


# -- the table -------------------------------------------------------------------------------------


def title_of(profile: Profile) -> str:
    """How often functions were called, and how long that took."""
    return f"{profile.calls} call{'' if profile.calls == 1 else 's'}, {_time(profile.seconds)}"


def table_of(profile: Profile, most: int) -> Table:
    """The dearest lines, and what was no line's."""
    from rich.table import Table

    devices = {line.device for line in profile.lines}
    title = title_of(profile)
    if len(devices) > 1:
        title += f"; on {len(devices)} devices together {_time(profile.device_seconds)}"
    table = Table(title=title, title_justify="left")
    table.add_column("line", no_wrap=True)
    if len(devices) > 1:
        table.add_column("device", no_wrap=True)
    table.add_column("work", overflow="fold")
    for name in ("time", "share", "calls", "GB/s", "of bandwidth", "of peak"):
        table.add_column(name, justify="right", no_wrap=True)

    def add(location: str, device: str, *cells: str) -> None:
        table.add_row(location, *([device] if len(devices) > 1 else []), *cells)

    whole = max(profile.device_seconds, 1e-9)
    for line in profile.lines[:most]:
        speeds = (f"{line.bytes / line.seconds / 1e9:.2f}", f"{line.bandwidth:.0%}") if line.bandwidth else ("", "")
        names, peak = ", ".join(line.names[:3]), f"{line.peak:.1%}" if line.peak else ""
        add(line.location, line.device, f"{line.kind} {names}", _time(line.seconds),
            f"{line.seconds / whole:.1%}", str(line.calls), *speeds, peak)  # fmt: skip
    rest = profile.lines[most:]
    if rest:
        seconds = sum(line.seconds for line in rest)
        add(f"{len(rest)} other lines", "", "", _time(seconds), f"{seconds / whole:.1%}",
            str(sum(line.calls for line in rest)), "", "", "")  # fmt: skip
    add("host work", "", "", _time(profile.host_seconds), f"{profile.host_seconds / whole:.1%}", "", "", "", "")
    if profile.compile_seconds:
        add("compilation", "", "", _time(profile.compile_seconds), "", "", "", "", "")
    return table


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} us"
