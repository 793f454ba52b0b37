"""How many processors this process may use: by its affinity, and by the time that its control group grants.

A container with two of sixty-four processors sees all of them; what tells is the quota of its group, which is a file of
the system (cgroups, versions 1 and 2), and so are those of the groups around it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["usable_cores"]

_GROUPS, _OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def usable_cores(groups: Path = _GROUPS, own_group: Path = _OWN_GROUP) -> int:
    """The number of processors that the process may use, at least 1; a part of one counts as one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    granted = (-(-quota // period) for quota, period in _quotas(groups, own_group) if quota > 0 and period > 0)
    return min((count, *granted))


def _quotas(groups: Path, own_group: Path) -> Iterator[tuple[int, int]]:
    """The time granted to the group of this process and to those around it, and in how much time, where it is limited.

    The process may see its group as the root, whatever it is called outside.
    """
    for line in _words(own_group):
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        around = PurePosixPath(path or "/").relative_to("/")
        for group in {around, *around.parents, PurePosixPath()}:
            yield from _version_1(groups / "cpu" / group) if controllers else _version_2(groups / group)


def _version_1(group: Path) -> Iterator[tuple[int, int]]:
    quota, period = (_words(group / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota and period:
        yield int(quota[0]), int(period[0])


def _version_2(group: Path) -> Iterator[tuple[int, int]]:
    limit = _words(group / "cpu.max")
    if len(limit) == 2 and limit[0] != "max":
        yield int(limit[0]), int(limit[1])


def _words(path: Path) -> list[str]:
    """What a file says; nothing if there is none, or none that this process may read."""
    try:
        return path.read_text().split()
    except OSError:
        return []
