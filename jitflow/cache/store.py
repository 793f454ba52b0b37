"""The files of the cache: a folder for each key, in it a file for each specialisation.

    kind of file (16 bytes) · hash of the rest (32) · length of the description (8) · description · sections

The description is JSON, the sections are object code. A file is used only if it is private (`private_files.py`) and its
hash is right; one that is damaged is removed. The folder is bounded: what was used longest ago goes first, by the time
of a file's last change, which a use renews. A clock that jumps makes that order another one, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jitflow.config import cache_folder
from jitflow.private_files import UNFINISHED, is_private_folder, make_private_folder, read_private, replace_file
from jitflow.records import dataclass

__all__ = ["Entry", "Store", "StoredFile", "Unreadable", "store"]

_MAGIC = b"jitflow cache 1\n"
_HEAD = len(_MAGIC) + 32
_LENGTH = struct.Struct("<Q")
_LARGEST_FILE = 64 << 20
_LIMIT = 256 << 20
"""Bytes of all files together, where nobody has said another limit."""
_LIMIT_FILE = "limit"
_TRIMMED_EACH = 32
"""How many files a process writes before it looks again how large the folder is."""
_GIVEN_UP_AFTER = 3600.0
"""Seconds after which a file that is being written is one whose writer is dead."""
_FOLDER = "code"
_USED_LATELY = 86400.0
"""Seconds for which a use of what every process uses is not noted again."""


class Unreadable(Exception):
    """A file is damaged, or none of the cache's."""


@dataclass(frozen=True)
class Entry:
    """One specialisation, or one piece of the runtime's code: what is known of it, and machine code."""

    about: Any
    codes: tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A file of the cache, how large it is, and when it was used last, in seconds."""

    path: Path
    size: int
    used: float


def to_bytes(entry: Entry) -> bytes:
    """What a file of the cache holds."""
    description = {"about": entry.about, "sections": [len(code) for code in entry.codes]}
    text = json.dumps(description, separators=(",", ":")).encode()
    body = b"".join((_LENGTH.pack(len(text)), text, *entry.codes))
    return _MAGIC + hashlib.sha256(body).digest() + body


def from_bytes(content: bytes) -> Entry:
    """The entry in a file. Raises `Unreadable`."""
    body = memoryview(content)[_HEAD:]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != content[len(_MAGIC) : _HEAD]:
        raise Unreadable("the hash is not that of the content")
    try:
        (length,) = _LENGTH.unpack_from(body)
        start = _LENGTH.size + length
        description = json.loads(bytes(body[_LENGTH.size : start]))
        sizes = [int(size) for size in description["sections"]]
        if min(sizes, default=0) < 0 or start + sum(sizes) != len(body):
            raise Unreadable("the lengths are wrong")
        codes = []
        for size in sizes:
            codes.append(bytes(body[start : start + size]))
            start += size
        return Entry(description["about"], tuple(codes))
    except (ValueError, TypeError, KeyError, RecursionError, struct.error) as error:
        raise Unreadable(f"the description makes no sense: {error}") from error


@cache
def store() -> Store:
    """The store of this process."""
    return Store()


class Store:
    """A folder of such files. Methods that read or write raise OSError; nothing else goes wrong with files."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = cache_folder() if root is None else root
        self._folder = self.root / _FOLDER
        self._written = 0

    def candidates(self, key: str) -> list[Path]:
        """The files of a key, the one first that was used last."""
        folder = self._folder / key
        if not all(map(is_private_folder, (self.root, self._folder, folder))):
            return []
        found = [
            (entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder) if not _is_unfinished(entry.name)
        ]
        return [Path(path) for _, path in sorted(found, reverse=True)]

    def read(self, path: Path) -> Entry:
        """The entry in a file, which is removed if it is damaged. Raises `Unreadable`."""
        content = read_private(path, _LARGEST_FILE)
        try:
            return from_bytes(content)
        except Unreadable:
            self.remove(path)
            raise

    def read_named(self, key: str, name: str) -> Entry:
        """The entry of a key that is called so. Raises `Unreadable`."""
        folder = self._folder / key
        if not all(map(is_private_folder, (self.root, self._folder, folder))):
            raise Unreadable("the folder is not the user's alone, or not there")
        path = folder / name
        entry = self.read(path)
        if path.stat().st_mtime < time.time() - _USED_LATELY:
            self.note_use(path)
        return entry

    def note_use(self, path: Path) -> None:
        """Note that a file was of use."""
        os.utime(path)

    def remove(self, path: Path) -> None:
        """Remove a file, if it can be removed."""
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def keep(self, key: str, entry: Entry, name: str = "") -> Path | None:
        """Write a file, and return where; None where the folder is not the user's alone, or the file is too large.

        It is called by the hash of what is in it where no ``name`` is given.
        """
        folder = self._folder / key
        if not all(map(make_private_folder, (self.root, self._folder, folder))):
            return None
        content = to_bytes(entry)
        if len(content) > min(_LARGEST_FILE, self.limit()):
            return None
        path = folder / (name or content[len(_MAGIC) : _HEAD].hex())
        replace_file(path, content)
        if self._written % _TRIMMED_EACH == 0:
            self.trim()
        self._written += 1
        return path

    def files(self) -> Iterator[StoredFile]:
        """All files, those that somebody is writing left out."""
        for path in self._everything():
            if _is_unfinished(path.name):
                continue
            try:
                about = path.stat()
            except OSError:  # somebody else has removed it
                continue
            yield StoredFile(path, about.st_size, about.st_mtime)

    def _everything(self) -> list[Path]:
        if not is_private_folder(self.root) or not is_private_folder(self._folder):
            return []
        found: list[Path] = []
        for folder in os.scandir(self._folder):
            with suppress(OSError):  # another process removes what is old as well
                if folder.is_dir(follow_symlinks=False):
                    found += [Path(entry.path) for entry in os.scandir(folder.path)]
        return found

    def limit(self) -> int:
        """How many bytes all files may have together."""
        try:
            return int(read_private(self.root / _LIMIT_FILE, 64))
        except (OSError, ValueError):
            return _LIMIT

    def set_limit(self, limit: int) -> bool:
        """Keep at most so many bytes from now on; whether the folder is one that can be written to."""
        if not make_private_folder(self.root):
            return False
        replace_file(self.root / _LIMIT_FILE, str(limit).encode())
        self.trim()
        return True

    def trim(self) -> int:
        """Remove what was used longest ago until the rest is within the limit; how many files that were."""
        now = time.time()
        for path in self._everything():
            with suppress(OSError):
                if _is_unfinished(path.name) and abs(now - path.stat().st_mtime) > _GIVEN_UP_AFTER:
                    self.remove(path)
        files = sorted(self.files(), key=lambda file: min(file.used, now))
        size, limit, removed = sum(file.size for file in files), self.limit(), 0
        for file in files:
            if size <= limit:
                break
            self.remove(file.path)
            size, removed = size - file.size, removed + 1
            with suppress(OSError):  # as a rule there is more in the folder
                file.path.parent.rmdir()
        return removed

    def verify(self) -> list[tuple[StoredFile, str]]:
        """The files that cannot be used, each with the reason; those that are damaged are removed."""
        found = []
        for file in [*self.files()]:
            try:
                self.read(file.path)
            except (OSError, Unreadable) as error:
                found.append((file, str(error)))
        return found

    def clear(self) -> int:
        """Remove all files; how many there were."""
        count = sum(1 for _ in self.files())
        if is_private_folder(self.root) and is_private_folder(self._folder):
            import shutil  # with what unpacks archives, which a start does without

            shutil.rmtree(self._folder, ignore_errors=True)
        return count


def _is_unfinished(name: str) -> bool:
    return name.startswith(UNFINISHED)
