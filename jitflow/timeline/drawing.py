"""Events as rows of bars on an axis of time, which the writers of pictures put on paper.

There is a row for each track of each device, and for each link. Calls and compilations lie below what happens in them,
paler: what is to be seen of a call is host work. Bars that are too short to be told apart are joined, so that a picture
of any number of events is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from jitflow.records import dataclass
from jitflow.timeline.events import Event

__all__ = ["COLOURS", "Bar", "Drawing", "Row", "draw", "time_text"]

COLOURS: Mapping[str, str] = MappingProxyType({
    "computes": "#3070b0", "moves": "#e08030", "waits": "#c3c9d1", "host work": "#d6e4f3",
    "compiles": "#e3d7f0",
})  # fmt: skip
"""What bars are filled with, by what they mean."""

_MEANINGS = {"transfer": "moves", "wait": "waits", "call": "host work", "partition": "host work",
             "compile": "compiles"}  # fmt: skip
_BELOW = ("compiles", "host work")
_SHORTEST = 1 / 2000
"""The part of the whole time below which bars are joined with their neighbours."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Some time of a row: what it means, and what it tells whoever points at it."""

    start: float
    end: float
    meaning: str
    told: str
    count: int = 1


class Row(NamedTuple):
    """A device, a track of one, or a link; its bars from below to above."""

    name: str
    bars: tuple[Bar, ...]


class Drawing(NamedTuple):
    """A picture that any writer can write: times are in seconds from ``0``, and ``ticks`` are marks on their axis."""

    title: str
    seconds: float
    rows: tuple[Row, ...]
    ticks: tuple[float, ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        """Those of its bars, in the order of `COLOURS`."""
        found = {bar.meaning for row in self.rows for bar in row.bars}
        return tuple(meaning for meaning in COLOURS if meaning in found)


def draw(title: str, events: Sequence[Event], devices: Sequence[str] = ()) -> Drawing:
    """The drawing of some events, which begins with the first of them; ``devices`` have rows in any case."""
    start = min((event.start for event in events), default=0.0)
    seconds = max((event.end for event in events), default=0.0) - start
    tracks = dict.fromkeys([*((device, "") for device in devices if all(one.device != device for one in events)),
                            *((event.device, event.track) for event in events)])  # fmt: skip
    found: dict[tuple[str, str], list[Bar]] = {track: [] for track in tracks}
    for event in events:
        found[event.device, event.track].append(_bar(event, start))
    several = {device for device, track in tracks if sum(device == other for other, _ in tracks) > 1}
    rows = [
        Row(f"{device} {track}".strip() if device in several else device, tuple(_joined(bars, seconds * _SHORTEST)))
        for (device, track), bars in sorted(found.items(), key=lambda item: _order(*item[0]))
    ]
    return Drawing(title, seconds, tuple(rows), tuple(_ticks(seconds)))


def _bar(event: Event, start: float) -> Bar:
    moved = f"{event.bytes / 1e6:.3f} MB" if event.bytes else ""
    told = " ".join(part for part in (event.what, event.line, moved) if part)
    return Bar(event.start - start, event.end - start, _MEANINGS.get(event.kind, "computes"), told)


def _order(device: str, track: str) -> tuple[bool, str, int, bool, str]:
    """Devices by kind and number, links last; a device's main track is its first."""
    kind, _, number = device.partition(":")
    return "->" in device, kind, int(number) if number.isdigit() else 0, track not in ("", "MainThread"), device + track


def _joined(bars: Iterable[Bar], shortest: float) -> list[Bar]:
    """The bars from below to above; short ones that have one meaning and touch, or nearly so, are one."""
    found: list[Bar] = []
    last: dict[str, Bar] = {}
    for bar in sorted(bars, key=_layer):
        if bar.end - bar.start >= shortest:
            found.append(bar)
            continue
        before = last.get(bar.meaning)
        if before and bar.start < before.end + shortest:
            last[bar.meaning] = replace(before, end=max(bar.end, before.end), count=before.count + 1)
            continue
        if before:
            found.append(before)
        last[bar.meaning] = bar
    return sorted(map(_described, [*found, *last.values()]), key=_layer)


def _layer(bar: Bar) -> tuple[bool, float, float]:
    """What lies below comes first, and so does what is around others."""
    return bar.meaning not in _BELOW, bar.start, -bar.end


def _described(bar: Bar) -> Bar:
    what = bar.told if bar.count == 1 else f"{bar.count} of: {bar.told}"
    return replace(bar, told=f"{what}, {time_text(bar.start)} to {time_text(bar.end)}")


def _ticks(seconds: float, most: int = 8) -> Iterator[float]:
    """Round times, a few of them."""
    if seconds <= 0:
        return
    unit = 10.0 ** math.floor(math.log10(seconds / most))
    step = next(unit * factor for factor in (1, 2, 5, 10) if seconds / (unit * factor) <= most)
    yield from (number * step for number in range(int(seconds / step) + 1))


def time_text(seconds: float) -> str:
    """A time with three decimals at the most."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size or not seconds:
            return f"{round(seconds / size, 3):g} {unit}"
    return f"{round(seconds * 1e6, 3):g} us"
