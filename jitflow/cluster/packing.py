"""Objects as bytes for other processes: by reference where they can be imported there, by value from a script."""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["packed"]


def packed(thing: Any) -> bytes:
    """What `pickle.loads` makes the same of. Raises what the objects raise that cannot be pickled.

    Functions and classes of the user's script go by value, where cloudpickle is installed.
    """
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing)
    return bytes(cloudpickle.dumps(thing))
