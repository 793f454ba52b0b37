"""The files of the cache: whatever is wrong with them, a function computes what it should, and says nothing of it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jitflow import private_files
from jitflow.cache import store as stores
from jitflow.cache.store import Entry, Store, Unreadable, from_bytes, to_bytes
from jitflow.cli import app
from jitflow.runtime.native.native_code import NativeCode
from tests.cache.programs import load

TEXT = """\
import numpy as np
import jitflow

GAIN = 2.0

def helper(x):
    return x * GAIN

@jitflow.function
def run(x):
    return {"a": helper(np.exp(x)), "b": x.sum()}
"""
X = np.arange(4.0)


def ran(folder: Path) -> int:
    """How often a process that begins now compiles; its results are right."""
    module = load(folder / "program_stored.py", TEXT)
    found, expected = module.run(X), module.run.__wrapped__(X)
    np.testing.assert_array_equal(found["a"], expected["a"])
    assert found["b"] == expected["b"]
    return module.run.cache_info().misses  # type: ignore[no-any-return]


def specialisations(disk: Store) -> list[Path]:
    return [file.path for file in disk.files() if file.path.parent.name != "runtime"]


def only(disk: Store) -> Path:
    (path,) = specialisations(disk)
    return path


def test_a_file_holds_what_was_written() -> None:
    entry = Entry({"plan": [1, "two", None], "text": "\ud800"}, (b"", b"code", bytes(range(256))))
    assert from_bytes(to_bytes(entry)) == entry


def test_files_that_are_damaged_are_written_anew(disk: Store, tmp_path: Path) -> None:
    assert (ran(tmp_path), ran(tmp_path)) == (1, 0)
    whole = only(disk).read_bytes()
    draw = random.Random(1)
    lengths = [0, 1, 15, 16, 17, 48, 56, len(whole) // 2, len(whole) - 1]
    damaged = [whole[:length] for length in lengths] + [whole + b"x", b"#!/bin/sh\n", b"\0" * len(whole)]
    for place in [*range(64), *(draw.randrange(len(whole)) for _ in range(40))]:
        damaged.append(whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :])
    for content in damaged:
        with pytest.raises(Unreadable):
            from_bytes(content)
    for content in draw.sample(damaged, 6):
        only(disk).write_bytes(content)
        assert (ran(tmp_path), ran(tmp_path)) == (1, 0)


def with_hash(body: bytes) -> bytes:
    """A file whose hash is right, whatever is in it."""
    return stores._MAGIC + hashlib.sha256(body).digest() + body


HOSTILE = {
    "no description": b"",
    "a length beyond the file": struct.pack("<Q", 1 << 62) + b"{}",
    "the largest length": struct.pack("<Q", (1 << 64) - 1) + b"{}",
    "no JSON": struct.pack("<Q", 4) + b"\xff\xfe\x00\x01",
    "deep JSON": struct.pack("<Q", 200_000) + b"[" * 100_000 + b"]" * 100_000,
    "another type": struct.pack("<Q", 2) + b"[]",
    "no sections": struct.pack("<Q", 12) + b'{"about": 1}',
    "sections that are no numbers": struct.pack("<Q", 30) + b'{"about":1,"sections":["many"]}'[:30],
    "a negative section": struct.pack("<Q", 32) + b'{"about":{},"sections":[-9, 9]} ',
    "a long number": struct.pack("<Q", 5029) + b'{"about":{},"sections":[' + b"9" * 5000 + b"]}   ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_whose_lengths_and_types_are_wrong(name: str, disk: Store, tmp_path: Path) -> None:
    ran(tmp_path)
    only(disk).write_bytes(with_hash(HOSTILE[name]))
    with pytest.raises(Unreadable):
        from_bytes(with_hash(HOSTILE[name]))
    assert (ran(tmp_path), ran(tmp_path)) == (1, 0)


def nodes(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all parts of JSON."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(inner for key, item in items for inner in nodes(item, (*path, key)))]


def replaced(data: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy: Any = dict(data) if isinstance(data, dict) else [*data]
    copy[path[0]] = replaced(copy[path[0]], path[1:], by)
    return copy


WRONG = (None, True, -1, 1 << 70, "", "eval", [], {}, ["named", "os", "system"], ["record", "Plan"],
         ["outside", ["type", 99]], ["partial", "x"], [[[]]])  # fmt: skip


def test_descriptions_that_say_something_else(disk: Store, tmp_path: Path) -> None:
    """Each part of a description is something else once: then it is no candidate, or says the same."""
    ran(tmp_path)
    entry = from_bytes(only(disk).read_bytes())
    name = only(disk).name
    draw = random.Random(2)
    parts = [path for path in nodes(entry.about) if path and path[0] != "sites" and path[-1] != "releases_gil_bytes"]
    for path in draw.sample(parts, 60):
        about = replaced(entry.about, path, draw.choice(WRONG))
        for old in specialisations(disk):
            old.unlink()
        disk.keep(Path(only_key(disk, entry)).name, Entry(about, entry.codes), name)
        assert ran(tmp_path) in (0, 1)


def only_key(disk: Store, entry: Entry) -> str:
    """The folder in which the entry lay."""
    (folder,) = [one for one in (disk.root / "code").iterdir() if one.name != "runtime"]
    return str(folder)


def test_what_others_can_write_is_not_read(disk: Store, tmp_path: Path) -> None:
    ran(tmp_path)
    path = only(disk)
    for one, mode in ((path, 0o666), (path.parent, 0o777), (disk.root, 0o770)):
        before = one.stat().st_mode
        one.chmod(mode)
        assert ran(tmp_path) == 1
        one.chmod(before)
        assert ran(tmp_path) == 0


def test_what_belongs_to_others_is_not_read(disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert ran(tmp_path) == 1


def test_links_are_not_followed(disk: Store, tmp_path: Path) -> None:
    ran(tmp_path)
    path = only(disk)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert ran(tmp_path) == 1
    assert not path.is_symlink() or ran(tmp_path) == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_nothing(number: int, disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(stores, "replace_file", refuse)
    assert (ran(tmp_path), ran(tmp_path)) == (1, 1)
    assert [*disk.files()] == []


def test_a_disk_that_is_full_in_the_middle_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def refuse(*args: Any) -> Any:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        private_files.replace_file(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "cache")
    assert not store.keep("key", Entry({}, ()))
    assert store.candidates("key") == []
    assert ([*store.files()], store.clear(), store.trim()) == ([], 0, 0)


def test_a_user_without_a_home(disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(stores, "cache_folder", refuse)
    stores.store.cache_clear()
    assert (ran(tmp_path), ran(tmp_path)) == (1, 1)
    assert NativeCode("define i64 @one() {\n  ret i64 1\n}").address("one")


def test_the_oldest_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    for number in range(6):
        assert store.keep(f"key{number % 2}", Entry({"function": str(number)}, (bytes(10_000),)), str(number))
        os.utime(store._folder / f"key{number % 2}" / str(number), (number, number))
    os.utime(store._folder / "key0" / "0", (time.time() + 1e6, time.time() + 1e6))  # as after a clock was set back
    assert [path.name for path in store.candidates("key1")] == ["5", "3", "1"]
    store.set_limit(31_000)
    assert sorted(file.path.name for file in store.files()) == ["0", "4", "5"]
    store.note_use(store._folder / "key0" / "4")
    store.set_limit(21_000)
    assert sorted(file.path.name for file in store.files()) in (["0", "4"], ["4", "0"])
    assert not store.keep("key", Entry({}, (bytes(30_000),)))


def test_files_of_writers_that_died_go(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.keep("key", Entry({}, ()), "a")
    for name, age in (("now", 0), ("old", 10_000), ("future", -10_000)):
        path = store._folder / "key" / f"{private_files.UNFINISHED}{name}"
        path.write_bytes(b"")
        os.utime(path, (time.time() - age, time.time() - age))
    assert [file.path.name for file in store.files()] == ["a"]
    assert [path.name for path in store.candidates("key")] == ["a"]
    store.trim()
    left = {path.name for path in (store._folder / "key").iterdir()}
    assert left == {"a", f"{private_files.UNFINISHED}now"}


def test_the_command(disk: Store, tmp_path: Path) -> None:
    def told(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["cache", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    ran(tmp_path)
    assert "program_stored.run" in told()
    assert str(disk.root) in told("size")
    assert told("verify") == "nothing is damaged\n"
    only(disk).write_bytes(b"nothing")
    assert "1 files cannot be used" in told("verify")
    assert specialisations(disk) == []
    told("limit", "3")
    assert told("limit") == "3.0 MB\n"
    assert disk.limit() == 3 << 20
    ran(tmp_path)
    assert told("clear").startswith("removed ")
    assert [*disk.files()] == []
    assert json.loads((disk.root / "limit").read_text()) == 3 << 20
