"""What is known of machines: as text, as JSON, as a profile in the user's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from jitflow.config import user_folder
from jitflow.machines import machine, measuring
from jitflow.machines.machine import KINDS, Link, Machine, as_machine, read_profile, write_profile


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "user_folder", lambda: tmp_path / "jitflow")
    read_profile.cache_clear()
    yield tmp_path / "jitflow"  # type: ignore[misc]
    read_profile.cache_clear()


@pytest.mark.parametrize(
    "text", ["cpu", "3*cpu", "cpu + 2*cuda", "2*cpu(memory=1e9, launch=1e-6) + cuda(bandwidth=3e12)"]
)
def test_json_reads_back_what_it_wrote(text: str) -> None:
    found = as_machine(text)
    assert Machine.from_json(found.to_json()) == found
    assert as_machine(found.to_json()) == found


def test_descriptions_name_devices_by_kind() -> None:
    found = as_machine("cpu + 2*cuda(memory=8e10) + cpu")
    assert found.names == ("cpu:0", "cuda:0", "cuda:1", "cpu:1")
    assert found.processors[1].memory == 8e10
    assert as_machine(["cpu:0", "cpu:1"]).names == ("cpu:0", "cpu:1")


def test_links_are_found_by_name_then_by_kind_either_way() -> None:
    fast, slow = Link(1e-6, 1e11), Link(1e-3, 1e8)
    found = Machine(as_machine("cpu + 2*cuda").devices, (("cuda", "cpu", slow), ("cpu:0", "cuda:1", fast)))
    assert found.link("cuda:1", "cpu:0") == fast
    assert found.link("cpu:0", "cuda:0") == slow
    assert found.link("cuda:0", "cuda:1").bandwidth > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tpu", "a description of devices"),
        ("2*cpu(speed=3)", "speed"),
        ("2*cpu(memory=much)", "much"),
        ('{"devices": [{"name": "cpu:0", "launch": -1}]}', "launch is -1"),
        ('{"devices": [{"name": "cpu:0", "colour": 3}]}', "colour"),
        ('{"devices": 3}', "does not describe a machine"),
        ("{", "does not describe a machine"),
    ],
)
def test_what_describes_no_machine_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_machine(text)


def test_a_profile_is_kept_and_read(folder: Path) -> None:
    assert read_profile() is None
    assert as_machine("cpu").processors == (KINDS["cpu"],)
    mine = as_machine("cpu(bandwidth=1e9, launch=5e-8)")
    assert write_profile(mine) == folder / "machine.json"
    assert read_profile() == mine
    assert as_machine("2*cpu").processors == mine.processors * 2
    assert [path.name for path in folder.iterdir()] == ["machine.json"]


def test_a_broken_profile_says_what_to_do(folder: Path) -> None:
    folder.mkdir()
    (folder / "machine.json").write_text("{")
    with pytest.raises(ValueError, match="is broken") as caught:
        as_machine("cpu")
    assert "jitflow doctor --measure" in caught.value.mend


def test_this_machine_is_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_SECONDS", 1e-3)
    found = measuring.measure()
    assert Machine.from_json(found.to_json()) == found
    assert found.names == ("cpu:0",)
    assert "GB/s" in str(found)
    assert found.link("cpu:0", "cpu:1").latency > 0
    assert not folder.exists()


@pytest.mark.parametrize(
    ("environment", "system", "expected"),
    [
        ({"XDG_CONFIG_HOME": "/etc/mine"}, "linux", Path("/etc/mine/jitflow")),
        ({}, "linux", Path.home() / ".config" / "jitflow"),
        ({"APPDATA": "/data"}, "win32", Path("/data/jitflow")),
        ({"XDG_CONFIG_HOME": "/etc/mine"}, "darwin", Path.home() / "Library" / "Application Support" / "jitflow"),
    ],
)
def test_profiles_lie_where_the_system_has_them(environment: dict[str, str], system: str, expected: Path) -> None:
    assert user_folder(environment, system) == expected
