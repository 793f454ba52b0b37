"""What modules say that are imported when they are first needed, to those who only want to know whether they were.

Another thread may be importing such a module just now: it is in `sys.modules` before its names are in it. Whoever asks
then has nothing to do with it yet.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["asked", "is_tracing", "loaded"]


def loaded(module: str, name: str) -> Any:
    """What a module holds under a name; None while nobody has imported it."""
    return getattr(sys.modules.get(module), name, None)


def asked(module: str, question: str) -> Any:
    """What a module answers; None while nobody has imported it, so that there is nothing to say."""
    answer = loaded(module, question)
    return None if answer is None else answer()


def is_tracing() -> bool:
    """Whether the call comes from a function that is being traced; before any was, nothing of that is imported."""
    return asked("jitflow.frontend.recording.trace", "active_trace") is not None
