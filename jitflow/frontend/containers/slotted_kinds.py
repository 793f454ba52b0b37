"""Which of Python's containers may have slots, and what stands for them then."""

from __future__ import annotations

import collections
from typing import Any

from jitflow.frontend.containers.slotted_counters import SlottedCounter, SlottedDefaultDict
from jitflow.frontend.containers.slotted_dicts import SlottedDict
from jitflow.frontend.containers.slotted_lists import SlottedList
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.tracers import Alternatives

__all__ = ["SLOTTED_KINDS", "with_slots"]

SLOTTED_KINDS: dict[type, Any] = {
    dict: SlottedDict, list: SlottedList, collections.defaultdict: SlottedDefaultDict,
    collections.Counter: SlottedCounter,
}  # fmt: skip


def with_slots(kind: type, given: Any) -> Any:
    """What ``kind(given)`` makes of what has slots, or of texts that the run chooses; None for all else."""
    if isinstance(given, Slotted) and kind in (given.kind, dict) and given.known_items() is None:
        return given.copy() if kind is given.kind else SlottedDict.of(given) if given.kind is not list else None
    if kind is collections.Counter and isinstance(given, list) and any(type(item) is Alternatives for item in given):
        found = SlottedCounter.of({})
        found.update(given)
        return found
    return None
