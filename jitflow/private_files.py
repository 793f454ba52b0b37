"""Files of the user's that nobody else may have written: folders, whole files, and replacing one at once.

What is read here may be machine code, so it is read only if the folder and the file belong to the user who runs this
process and nobody else can write to them; the file is asked after it was opened, so that it cannot be another one by
then. A file is written under a name that there was not, and takes its place by a rename: whoever reads finds the old
one or the new one, also if the writer is killed. Where the system knows no owners (Windows), folders of the user's are
private by themselves.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["UNFINISHED", "is_private_folder", "make_private_folder", "read_private", "replace_file"]

UNFINISHED = ".unfinished-"
"""What the names of files begin with that are being written."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _is_ours(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE)


def is_private_folder(path: Path) -> bool:
    """Whether this is a folder, no link to one, to which only the user can write."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_ours(found)


def make_private_folder(path: Path) -> bool:
    """Make a folder that is the user's alone, if there is none; whether it is one now."""
    if not is_private_folder(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return False
    return is_private_folder(path)


def read_private(path: Path, most: int) -> bytes:
    """What is in a file of the user's.

    Raises OSError where there is none: PermissionError where others can write it, or it has more than ``most`` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_ours(found) or found.st_size > most:
            raise PermissionError(f"{path} is no file of the user's alone, or too large")
        return file.read(most)


def replace_file(path: Path, content: bytes) -> None:
    """Let a file have this content, all at once. Raises OSError, and then leaves it as it was."""
    beside = path.parent / f"{UNFINISHED}{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(beside, flags, 0o600), "wb") as file:
            file.write(content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
