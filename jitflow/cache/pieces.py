"""Machine code of the runtime's own, which every process needs and which is the same each time: found by its text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress

from jitflow.cache.store import Entry, store

__all__ = ["object_code"]

_KEY = "runtime"


def object_code(about: str, make: Callable[[], bytes]) -> bytes:
    """What ``make`` gives, or gave an earlier process; ``about`` is all that it depends on."""
    name = hashlib.sha256(about.encode()).hexdigest()
    try:
        (code,) = store().read_named(_KEY, name).codes
        return code
    except Exception:  # it is not there, or damaged, or the user has no home
        made = make()
    with suppress(Exception):  # or it will be made once more
        store().keep(_KEY, Entry({"function": "the runtime"}, (made,)), name)
    return made
