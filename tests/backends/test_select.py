"""Selections of what a loop carries, which are hidden where code generation would make arithmetic of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow


def register(data: Any, taps: int) -> Any:
    """A shift register: each turn waits for what the one before selected."""
    state = 0xFFFF
    for i in range(len(data)):
        state ^= int(data[i])
        state = (state >> 1) ^ taps if state & 1 else state >> 1
    return state


def parity(data: Any, taps: int) -> Any:
    """What is selected is said by the data alone."""
    total = 0
    for i in range(len(data)):
        if data[i] & 1:
            total ^= taps
    return total


def marked(data: Any, taps: int) -> Any:
    """And here by the position."""
    for i in range(len(data)):
        data[i] = i ^ taps if i & 1 else i
    return data


@pytest.mark.parametrize(("function", "hidden"), [(register, 1), (parity, 0), (marked, 0)])
def test_steps_of_carried_numbers(function: Callable[..., Any], hidden: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, 1000)
    program = jitflow.function(function)
    expected = function(data.copy(), 0x8408)
    np.testing.assert_array_equal(program(data.copy(), 0x8408), expected)
    assert program.ir(data, 0x8408, stage="llvm").count('asm ""') == hidden
