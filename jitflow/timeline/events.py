"""One thing that a device does, or that is on the way between two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from jitflow.records import dataclass

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """What one device does, or one link carries: ``device`` is ``cpu:1``, or ``cpu:0 -> cpu:1``. Times in seconds.

    ``kind``: ``kernel``, ``library``, ``routine``, ``callback``, ``part`` (one thread's of a kernel), ``transfer``,
    ``wait``; and what is around these, ``call``, ``partition``, ``compile``. ``track`` tells threads of one device
    apart, ``facts`` is what else is known.
    """

    device: str
    start: float
    end: float
    what: str
    line: str = ""
    bytes: float = 0.0
    kind: str = "kernel"
    track: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
