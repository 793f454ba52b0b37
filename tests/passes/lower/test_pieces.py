"""A ``for`` that polls takes its turns in pieces, which nobody notices: the borders between two are tried."""

from __future__ import annotations

from typing import Any

import pytest

import jitflow

PIECE = 4 << 16
TURNS = [0, 1, 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 1]


@jitflow.function
def mixed(start: Any, stop: Any) -> Any:
    total = 0
    for i in range(start, stop):
        total = (total ^ i) & 0xFFFFFF
        total += i & 7
    return total


@jitflow.function
def downwards(start: Any, stop: Any) -> Any:
    total = last = 0
    for i in range(start, stop, -3):
        total = (total ^ i) & 0xFFFFFF
        total += i & 7
        last = i
    return total, last


@jitflow.function
def nested(rows: Any, columns: Any) -> Any:
    total = 0
    for i in range(rows):
        for j in range(columns):
            total = (total ^ j) & 0xFFFFFF
            total += i
    return total


@pytest.mark.parametrize("turns", TURNS)
def test_turns_in_pieces(turns: int) -> None:
    assert mixed(-3, turns - 3) == mixed.__wrapped__(-3, turns - 3)
    for off in (-1, 0, 1):
        arguments = (3 * turns + off, 0)
        assert downwards(*arguments) == downwards.__wrapped__(*arguments)


def test_nested_turns_in_pieces() -> None:
    for columns in (0, 5, PIECE + 1):
        assert nested(3, columns) == nested.__wrapped__(3, columns)


def test_one_loop_is_written_once() -> None:
    """Pieces and what fits in one share their code."""
    text = mixed.ir(0, 10, stage="llvm")
    assert text.count("16777215") == 1
