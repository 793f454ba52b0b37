"""Objects as bytes for other processes: by reference where they can be imported there, by value from a script."""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["packed", "packed_error"]


def packed(thing: Any) -> bytes:
    """What `pickle.loads` makes the same of. Raises what the objects raise that cannot be pickled.

    Functions and classes of the user's script go by value, where cloudpickle is installed.
    """
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing)
    return bytes(cloudpickle.dumps(thing))


def packed_error(error: BaseException) -> bytes:
    """An exception, or one in its place that can be pickled, with its notes and without its traceback."""
    try:
        found = packed(error.with_traceback(None))
        pickle.loads(found)
    except Exception:  # whatever the user's exceptions raise
        stands_for = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            stands_for.add_note(note)
        return packed(stands_for)
    return found
