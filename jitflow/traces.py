"""What a profile becomes: a trace in the Trace Event Format, which Perfetto and Chrome read, and a table.

The format (Google, "Trace Event Format"): ``X`` is a complete event with its start ``ts`` and duration ``dur`` in
microseconds, ``M`` names a process or thread. There is one process, and a track for each thread that worked: that of
the caller is device ``cpu:0``.
"""

from __future__ import annotations

import json
import linecache
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.ir.core import Op
from jitflow.runtime.notes import TRACKS, Span

if TYPE_CHECKING:
    from rich.table import Table

    from jitflow.profiling import Profile

__all__ = ["Rates", "rates", "table_of", "write_trace"]

PROCESS = 1


# -- what the machine can do -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes a second of a large copy, and operations a second of a large product of f32 matrices."""

    bandwidth: float
    peak: float

    def parts(self, moved: int, computed: int, nanoseconds: int) -> tuple[float, float]:
        """The parts of both that were reached. Arrays in caches may be moved faster than copies in memory."""
        seconds = max(nanoseconds, 1) / 1e9
        return moved / seconds / self.bandwidth, computed / seconds / self.peak


_COPIED, _SIDE, _TRIALS = 32 << 20, 256, 8


@cache
def rates() -> Rates:
    """Measured once in a process, in a few hundredths of a second; the best of some trials."""
    source, target = np.ones(_COPIED, np.uint8), np.empty(_COPIED, np.uint8)
    left, right = np.ones((2, _SIDE, _SIDE), np.float32)
    copying = min(_seconds(lambda: np.copyto(target, source)) for _ in range(_TRIALS))
    multiplying = min(_seconds(lambda: left @ right) for _ in range(_TRIALS))
    return Rates(2 * _COPIED / copying, 2 * _SIDE**3 / multiplying)


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# -- the trace -------------------------------------------------------------------------------------


def write_trace(
    path: Path,
    profile: Profile,
    events: np.ndarray[Any, Any],
    sites: Mapping[int, Op],
    spans: Sequence[Span],
    start: int,
) -> None:
    """Write the events of a profile; times are counted from its start."""
    found = [*_complete_events(events, sites, start), *_compile_events(spans, start)]
    tracks = {thread: number for number, thread in enumerate(dict.fromkeys(one["tid"] for one in found), 1)}
    for one in found:
        one["tid"] = tracks[one["tid"]]
    trace = {
        "traceEvents": [*_names(tracks), *found],
        "displayTimeUnit": "ns",
        "otherData": {"dropped": profile.dropped, "calls": profile.calls, "bytes_per_second": rates().bandwidth,
                      "operations_per_second": rates().peak},
    }  # fmt: skip
    path.write_text(json.dumps(trace, separators=(",", ":")))


def _names(tracks: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    names = TRACKS | {thread.ident: f"cpu:0 {thread.name}" for thread in threading.enumerate() if thread.ident}
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": "jitflow"}}
    for thread, track in tracks.items():
        name = names.get(thread, f"cpu:0 thread {track}")  # which has ended
        yield {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": track, "args": {"name": name}}


def _complete_events(events: np.ndarray[Any, Any], sites: Mapping[int, Op], start: int) -> Iterator[dict[str, Any]]:
    described = {row: _described(sites[row]) for row in np.unique(events["row"]).tolist()}
    for row, begin, end, moved, computed, thread in np.sort(events, order="start").tolist():
        name, kind, about = described[row]
        if moved or computed:
            bandwidth, peak = rates().parts(moved, computed, end - begin)
            seconds = max(end - begin, 1) / 1e9
            about = about | {"bytes": moved, "operations": computed, "GB/s": round(moved / seconds / 1e9, 3),
                             "of bandwidth": round(bandwidth, 4), "of peak": round(peak, 4)}  # fmt: skip
        yield _event(name, kind, begin - start, end - begin, thread, about)


def _described(op: Op) -> tuple[str, str, dict[str, Any]]:
    """What all events of a site have: name, category, arguments."""
    kind = op.attributes.get("kind", "part")
    name = op.attributes.get("work", op.attributes.get("kernel", ""))
    about = {"line": f"{op.loc.file}:{op.loc.line}", "function": op.loc.function}
    about["source"] = linecache.getline(op.loc.file, op.loc.line).strip()
    if len(lines := op.attributes.get("lines", ())) > 1:
        about["lines"] = ", ".join(lines)
    return (name if kind == "call" else f"{op.loc} {name}"), kind, about


def _compile_events(spans: Sequence[Span], start: int) -> Iterator[dict[str, Any]]:
    for one in spans:
        yield _event(one.name, "compile", one.start - start, one.end - one.start, one.thread, {})


def _event(name: str, kind: str, begin: int, passed: int, thread: int, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "cat": kind, "ph": "X", "ts": begin / 1e3, "dur": passed / 1e3, "pid": PROCESS, "tid": thread,
            "args": dict(about)}  # fmt: skip


# -- the table -------------------------------------------------------------------------------------


def table_of(profile: Profile, most: int) -> Table:
    """The dearest lines, and what was no line's."""
    from rich.table import Table

    table = Table(title=f"{profile.calls} calls, {_time(profile.seconds)}", title_justify="left")
    table.add_column("line", no_wrap=True)
    table.add_column("work", overflow="fold")
    for name in ("time", "share", "calls", "GB/s", "of bandwidth", "of peak"):
        table.add_column(name, justify="right", no_wrap=True)
    whole = max(profile.seconds, 1e-9)
    for line in profile.lines[:most]:
        speeds = (f"{line.bytes / line.seconds / 1e9:.2f}", f"{line.bandwidth:.0%}") if line.bytes else ("", "")
        table.add_row(line.location, f"{line.kind} {', '.join(line.names[:3])}", _time(line.seconds),
                      f"{line.seconds / whole:.1%}", str(line.calls), *speeds,
                      f"{line.peak:.1%}" if line.operations else "")  # fmt: skip
    rest = profile.lines[most:]
    if rest:
        seconds = sum(line.seconds for line in rest)
        table.add_row(f"{len(rest)} other lines", "", _time(seconds), f"{seconds / whole:.1%}",
                      str(sum(line.calls for line in rest)), "", "", "")  # fmt: skip
    table.add_row("host work", "", _time(profile.host_seconds), f"{profile.host_seconds / whole:.1%}", "", "", "", "")
    if profile.compile_seconds:
        table.add_row("compilation", "", _time(profile.compile_seconds), "", "", "", "", "")
    return table


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} us"
