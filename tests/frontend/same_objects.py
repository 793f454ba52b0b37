"""Whether a compiled function gives objects that are one where those of the plain function are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

__all__ = ["check_objects"]


def _objects(thing: Any) -> list[Any]:
    parts = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | tuple) else ()
    own = [thing] if isinstance(thing, list | dict | np.ndarray) else [] if parts else [repr(thing)]
    return own + [item for part in parts for item in _objects(part)]


def check_objects(compiled: Any, program: Any, make: Callable[[], tuple[Any, ...]], rest: tuple[Any, ...] = ()) -> None:
    """Compare two calls, with what each of them makes and the ``rest``: values, identity and shared memory."""
    found, wanted = (
        _objects((given, function(*given, *rest))) for function in (compiled, program) for given in [make()]
    )
    assert repr(found) == repr(wanted)
    pairs = zip(combinations(found, 2), combinations(wanted, 2), strict=True)
    for (one, other), (first, second) in pairs:
        assert isinstance(one, str) or (one is other) == (first is second)
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            assert np.shares_memory(one, other) == np.shares_memory(first, second)
