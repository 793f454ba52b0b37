"""What an exported library says of itself to `jitflow.load`: data inside of it, read before any of its code runs.

    magic (16 bytes), length of the text (8), SHA-256 of the text (32), text: JSON as in the cache on disk

It is found by its magic, so that nothing has to know the format of libraries.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from jitflow.errors import UserValueError

__all__ = ["FORMAT", "read_notice", "written_notice"]

FORMAT = 1
_MAGIC = b"\x8fjitflow export\x00"
_MOST = 1 << 26
"""Bytes of a text, at most: what is longer was not written here."""


def written_notice(about: dict[str, Any]) -> bytes:
    """The data that says ``about`` a library."""
    text = json.dumps({"format": FORMAT, **about}, separators=(",", ":")).encode()
    return _MAGIC + struct.pack("<Q", len(text)) + hashlib.sha256(text).digest() + text


def read_notice(path: Path) -> dict[str, Any]:
    """What a library says of itself. Raises ValueError if it says nothing, or not all of it is there."""
    content = path.read_bytes()
    begin = content.find(_MAGIC)
    if begin < 0:
        raise UserValueError(
            f"{path} was not exported by jitflow", mend="f.export(path, ...) writes a library that can be loaded"
        )
    head = begin + len(_MAGIC)
    text = b""
    if len(content) >= head + 40:
        length, expected = struct.unpack("<Q", content[head : head + 8])[0], content[head + 8 : head + 40]
        text = content[head + 40 : head + 40 + length] if length <= _MOST else b""
    if not text or hashlib.sha256(text).digest() != expected:
        raise UserValueError(f"{path} is damaged", mend="export it anew")
    about = json.loads(text)
    if type(about) is not dict or about.get("format") != FORMAT:
        raise UserValueError(f"{path} was exported by another version of jitflow", mend="export it anew")
    return about
