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
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

Words = tuple[Any, Any]


def philox(key: Any, stream: Any, counter: Any) -> Words:
    """The low and the high 64 bits for a counter whose low half is ``counter`` and whose high half is ``stream``."""
    key, stream, counter = (np.asarray(word, np.uint64) for word in (key, stream, counter))
    first, second = np.asarray(key & _WORD), np.asarray(key >> _HALF)
    a, b, c, d = counter & _WORD, counter >> _HALF, stream & _WORD, stream >> _HALF
    for _ in range(ROUNDS):
        left, right = a * np.uint64(MULTIPLIERS[0]), c * np.uint64(MULTIPLIERS[1])
        a, b, c, d = (right >> _HALF) ^ b ^ first, right & _WORD, (left >> _HALF) ^ d ^ second, left & _WORD
        first = (first + np.uint64(KEY_STEPS[0])) & _WORD
        second = (second + np.uint64(KEY_STEPS[1])) & _WORD
    return a | (b << _HALF), c | (d << _HALF)


def random_low(key: Any, stream: Any, counter: Any) -> Any:
    """The low 64 bits."""
    return philox(key, stream, counter)[0]


def random_high(key: Any, stream: Any, counter: Any) -> Any:
    """The high 64 bits."""
    return philox(key, stream, counter)[1]
