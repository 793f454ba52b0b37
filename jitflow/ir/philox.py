"""Philox 4x32-10: 128 random bits as a pure function of a key and a counter.

From Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (SC 2011). Ten rounds of two products
of 32-bit words turn a counter of 128 bits, under a key of 64 bits, into 128 bits that pass every known test of
randomness. No state goes from one number to the next, so any element of any array can be drawn by itself, in any
order and on any machine.

Here, the reference: NumPy's operations on arrays of u64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["KEY_STEPS", "MULTIPLIERS", "ROUNDS", "philox", "random_high", "random_low"]

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF

Words = tuple[Any, Any]


def philox(key: Any, stream: Any, counter: Any) -> Words:
    """The low and the high 64 bits for a counter whose low half is ``counter`` and whose high half is ``stream``."""
    if not any(np.ndim(word) for word in (key, stream, counter)):  # Python's integers are quicker than single numbers
        low, high = _philox(int(key), int(stream), int(counter))
        return np.uint64(low), np.uint64(high)
    return _philox(*(np.asarray(word, np.uint64) for word in (key, stream, counter)))


def _philox(key: Any, stream: Any, counter: Any) -> Words:
    first, second = key & _WORD, key >> 32
    a, b, c, d = counter & _WORD, counter >> 32, stream & _WORD, stream >> 32
    for _ in range(ROUNDS):
        left, right = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (right >> 32) ^ b ^ first, right & _WORD, (left >> 32) ^ d ^ second, left & _WORD
        first, second = (first + KEY_STEPS[0]) & _WORD, (second + KEY_STEPS[1]) & _WORD
    return a | (b << 32), c | (d << 32)


def random_low(key: Any, stream: Any, counter: Any) -> Any:
    """The low 64 bits."""
    return philox(key, stream, counter)[0]


def random_high(key: Any, stream: Any, counter: Any) -> Any:
    """The high 64 bits."""
    return philox(key, stream, counter)[1]
