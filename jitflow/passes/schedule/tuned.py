"""Schedules that were measured to be the fastest on this machine (`jitflow tune`), in a file of the user's.

A kernel is known by its fusion, its loops and what the processor is; where one is known, its schedule is followed
instead of what would be chosen. A file that cannot be read, or a schedule that is none any more, is as if there were
none: another version of jitflow may have written it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jitflow.config import user_folder
from jitflow.errors import UserValueError
from jitflow.ir.core import Op
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.reader import parse_schedule
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.text import ScheduleNames
from jitflow.passes.schedule.tree import Schedule

__all__ = ["forget", "keep", "key_of", "tuned_path", "tuned_schedule"]


def tuned_path() -> Path:
    """The file."""
    return user_folder() / "schedules.json"


def tuned_schedule(op: Op, loops: JoinedLoops, target: Target) -> Schedule | None:
    """The fastest schedule of a nest, if it was looked for on this machine."""
    known = _known()
    if not known:
        return None
    values = Names()
    print_op(op, values)
    names = ScheduleNames(loops, values)
    text = known.get(key_of(op, loops, names, target))
    if text is None:
        return None
    try:
        schedule = parse_schedule(text, names, loops.vector)
        check_schedule(schedule, loops, target, names)
    except UserValueError:
        return None
    return schedule


def key_of(op: Op, loops: JoinedLoops, names: ScheduleNames, target: Target) -> str:
    """What a kernel is known by: its ops and how it reads and writes memory, and nothing of where it stands."""
    lines = [line.partition(";")[0].rstrip() for line in print_op(op, Names()).splitlines()[1:]]
    accesses = [*loops.nest.loads, *map(loops.output_access, loops.yielded)]
    memory = [(access.dtype.name, *map(str, access.strides.values())) for access in accesses]
    processor = (target.vector_bytes, target.lanes, target.threads, target.processor)
    about = (*lines, names.loops_text, memory, *processor)
    return hashlib.sha256("\n".join(map(str, about)).encode()).hexdigest()[:32]


def keep(found: Mapping[str, str]) -> Path:
    """Add schedules to the file, by the keys of their kernels; the file is replaced as a whole. Raises OSError."""
    path = tuned_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps({**_known(), **found}, indent=1))
    beside.replace(path)
    forget()
    return path


def forget() -> None:
    """Read the file again when somebody asks next."""
    _known.cache_clear()


@cache
def _known() -> Mapping[str, str]:
    try:
        found = json.loads(tuned_path().read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: text for key, text in found.items() if isinstance(key, str) and isinstance(text, str)}
