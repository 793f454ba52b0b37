"""Schedules that were measured to be the fastest on this machine (`jitflow tune`), in a file of the user's.

A kernel is known by its fusion, its loops and what the processor is; where one is known, its schedule is followed
instead of what would be chosen. A file that cannot be read, or a schedule that is none any more, is as if there were
none: another version of jitflow may have written it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
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
from jitflow.private_files import replace_file

__all__ = ["forget", "keep", "key_of", "known_by", "tuned_path", "tuned_schedule", "tuned_text"]


def tuned_path() -> Path:
    """The file."""
    return user_folder() / "schedules.json"


def tuned_schedule(op: Op, loops: JoinedLoops, target: Target) -> Schedule | None:
    """The fastest schedule of a nest, if it was looked for on this machine."""
    values = Names()

    def key() -> str:
        print_op(op, values)
        return key_of(op, loops, ScheduleNames(loops, values), target)

    text = tuned_text(key)
    if text is None:
        return None
    names = ScheduleNames(loops, values)
    try:
        schedule = parse_schedule(text, names, loops.vector)
        check_schedule(schedule, loops, target, names)
    except UserValueError:
        return None
    return schedule


def tuned_text(key: Callable[[], str]) -> str | None:
    """The text of the fastest schedule of what has this key, which is asked for if any were looked for."""
    known = _known()
    return known.get(key()) if known else None


def key_of(op: Op, loops: JoinedLoops, names: ScheduleNames, target: Target) -> str:
    """What a kernel is known by: its ops and how it reads and writes memory, and nothing of where it stands."""
    accesses = [*loops.nest.loads, *map(loops.output_access, loops.yielded)]
    memory = [(access.dtype.name, *map(str, access.strides.values())) for access in accesses]
    return known_by(print_op(op, Names()).splitlines()[1:], target, names.loops_text, memory)


def known_by(ops: Iterable[str], target: Target, *memory: object) -> str:
    """What stands for ops, in lines of text, on a kind of processor, and how they read and write memory."""
    lines = [line.partition(";")[0].rstrip() for line in ops]
    processor = (target.vector_bytes, target.lanes, target.threads, target.processor)
    about = (*lines, *memory, *processor)
    return hashlib.sha256("\n".join(map(str, about)).encode()).hexdigest()[:32]


def keep(found: Mapping[str, str]) -> Path:
    """Add schedules to the file, by the keys of their kernels; the file is replaced as a whole. Raises OSError."""
    path = tuned_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps({**_known(), **found}, indent=1).encode())
    forget()
    return path


def forget() -> None:
    """Read the file again when somebody asks next."""
    _known.cache_clear()


@cache
def _known() -> Mapping[str, str]:
    try:
        found = json.loads(tuned_path().read_text())
    except (OSError, ValueError, RuntimeError):  # a RuntimeError where the user has no home
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: text for key, text in found.items() if isinstance(key, str) and isinstance(text, str)}
