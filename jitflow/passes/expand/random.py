"""Philox 4x32-10 (`jitflow.ir.philox`) in words of 64 bits.

A factor is cut to its low 32 bits where it is multiplied, which costs nothing on machines with a product of 32-bit
halves; so the words in between may carry anything in their upper halves.
"""

from __future__ import annotations

from jitflow.ir.philox import KEY_STEPS, MULTIPLIERS, ROUNDS
from jitflow.passes.expand.notation import Number

__all__ = ["random_high", "random_low"]

_WORD = 0xFFFFFFFF
_TOP = _WORD << 32


def random_low(key: Number, stream: Number, counter: Number) -> Number:
    """The low 64 of the 128 bits."""
    a, b, _, _ = _rounds(key, stream, counter)
    return (a & _WORD) | (b << 32)


def random_high(key: Number, stream: Number, counter: Number) -> Number:
    """The high 64 of the 128 bits."""
    _, _, c, d = _rounds(key, stream, counter)
    return (c & _WORD) | (d << 32)


def _rounds(key: Number, stream: Number, counter: Number) -> tuple[Number, Number, Number, Number]:
    first, second = key, key >> 32
    a, b, c, d = counter, counter >> 32, stream, stream >> 32
    for _ in range(ROUNDS):
        left, right = (a & _WORD) * MULTIPLIERS[0], (c & _WORD) * MULTIPLIERS[1]
        a, b, c, d = (right >> 32) ^ (b ^ first), right, (left >> 32) ^ (d ^ second), left
        first, second = first + KEY_STEPS[0], second + KEY_STEPS[1]
    return a, b, c, d
