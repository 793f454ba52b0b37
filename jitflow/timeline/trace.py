"""Events as a trace in the Trace Event Format, which Perfetto and Chrome read.

The format (Google, "Trace Event Format"): ``X`` is a complete event with its start ``ts`` and duration ``dur`` in
microseconds, ``M`` names a process or thread, ``s`` and ``f`` are the ends of an arrow, each inside of an event. Each
device is a process, and each of its tracks a thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jitflow.timeline.events import Event

__all__ = ["Arrow", "trace_text"]

Arrow = tuple[Event, Event]
"""From the event that sends something to the one that has it then."""

Track = tuple[str, str]


def trace_text(events: Sequence[Event], arrows: Sequence[Arrow], facts: Mapping[str, Any]) -> str:
    """The trace, as JSON; ``facts`` are those about all of it."""
    found = {(event.device, event.track): None for event in events}
    devices = {device: number for number, device in enumerate(dict.fromkeys(device for device, _ in found), 1)}
    tracks = {track: (devices[track[0]], number) for number, track in enumerate(found, 1)}
    parts = [*_names(devices, tracks), *(_complete(event, tracks) for event in events), *_arrows(arrows, tracks)]
    trace = {"traceEvents": parts, "displayTimeUnit": "ns", "otherData": dict(facts)}
    return json.dumps(trace, separators=(",", ":"))


def _names(devices: Mapping[str, int], tracks: Mapping[Track, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    for device, process in devices.items():
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": device}}
        yield {"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": process}}
    for (device, track), (process, thread) in tracks.items():
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": track or device}}


def _complete(event: Event, tracks: Mapping[Track, tuple[int, int]]) -> dict[str, Any]:
    known = {"line": event.line, "bytes": event.bytes}
    about = {**{name: fact for name, fact in known.items() if fact}, **event.facts}
    return {"name": event.what, "cat": event.kind, "ph": "X", "ts": _microseconds(event.start),
            "dur": _microseconds(event.end - event.start), **_track(event, tracks), "args": about}  # fmt: skip


def _arrows(arrows: Sequence[Arrow], tracks: Mapping[Track, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    for number, (source, target) in enumerate(arrows, 1):
        common = {"name": "message", "cat": "message", "id": number}
        arrived = _microseconds(max(source.start, target.start))  # ends lie inside, and no arrow goes back in time
        yield {**common, "ph": "s", "ts": _microseconds(source.start), **_track(source, tracks)}
        yield {**common, "ph": "f", "bp": "e", "ts": arrived, **_track(target, tracks)}


def _track(event: Event, tracks: Mapping[Track, tuple[int, int]]) -> dict[str, int]:
    process, thread = tracks[event.device, event.track]
    return {"pid": process, "tid": thread}


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)
