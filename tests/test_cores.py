"""How many processors a process may use, by what the system says about its control group."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jitflow.machines.cores import usable_cores


def _system(tmp_path: Path, own_group: str, files: dict[str, str]) -> int:
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "own").write_text(own_group)
    return usable_cores(tmp_path / "groups", tmp_path / "own")


@pytest.mark.parametrize(
    ("own_group", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "5000 100000\n"}, 1),
        ("0::/pod/box\n", {"cpu.max": "300000 100000\n"}, 3),
        ("0::/pod/box\n", {"pod/cpu.max": "400000 100000\n", "pod/box/cpu.max": "max 100000\n"}, 4),
        ("0::/pod/box\n", {"pod/cpu.max": "400000 100000\n", "pod/box/cpu.max": "500000 100000\n"}, 4),
        ("4:cpu,cpuacct:/box\n3:cpuset:/\n", {"cpu/box/cpu.cfs_quota_us": "600000\n",
                                              "cpu/box/cpu.cfs_period_us": "100000\n"}, 6),
        ("1:cpu:/\n0::/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ("1:memory:/\n", {"cpu.max": "200000 100000\n"}, 8),
        ("", {}, 8),
    ],
)  # fmt: skip
def test_the_quota_of_the_control_group_counts(
    own_group: str, files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert _system(tmp_path, own_group, files) == expected


def test_there_need_be_no_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert usable_cores(tmp_path / "none", tmp_path / "nothing") == 2
