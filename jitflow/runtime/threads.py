"""How many threads a call may use."""

from __future__ import annotations

import operator

__all__ = ["num_threads", "set_num_threads"]

_limit = 1


def set_num_threads(count: int) -> None:
    """Let a call use up to ``count`` threads.

    The kernels of this version run on the calling thread, so that any limit is kept. Results have the same bits for any
    number of threads. Raises ValueError for less than one.
    """
    global _limit
    number = operator.index(count)
    if number < 1:
        raise ValueError(f"expected a number of threads of at least 1, got {number}")
    _limit = number


def num_threads() -> int:
    """The limit that `set_num_threads` has set; 1 at the start."""
    return _limit
