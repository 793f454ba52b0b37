"""Machine code of the runtime's own, which every process needs and which is the same each time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from jitflow.cache.key import lasting
from jitflow.cache.store import Entry, Unreadable, store
from jitflow.interruptions import pass_interruption

__all__ = ["piece"]

_KEY = "runtime"


def piece(about: Sequence[Any], make: Callable[[], tuple[bytes, Sequence[str]]]) -> tuple[bytes, Sequence[str]]:
    """What ``make`` gives, or gave an earlier process: object code, and the names of what is in it.

    ``about`` is all that it depends on beside what `key.lasting` names.
    """
    try:
        name = hashlib.sha256("\n".join((*map(str, about), *lasting())).encode()).hexdigest()
        found = store().read_named(_KEY, name)
        (code,), names = found.codes, found.about["names"]
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise Unreadable("expected names")
        return code, names
    except Exception as error:  # it is not there, or damaged, or the user has no home
        pass_interruption(error)
        code, names = make()
    with suppress(Exception):  # or it will be made once more
        store().keep(_KEY, Entry({"function": "the runtime", "names": [*names]}, (code,)), name)
    return code, names
