"""The names of methods that the rewriting looks at."""

from __future__ import annotations

__all__ = ["HOOKED_METHODS", "PUTTING"]

HOOKED_METHODS = frozenset("""
    add center copy count discard endswith find format get index insert join ljust lstrip pop remove removeprefix
    removesuffix replace rfind rindex rjust rotate rstrip setdefault sort split startswith strip zfill
    """.split())  # fmt: skip
"""Methods of texts that put values in, and of containers that are asked for items or compare them."""
PUTTING = ("append", "appendleft", "insert", "setdefault", "add")
"""Methods of containers that put there what they are given."""
