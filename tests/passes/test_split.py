"""Loops whose checks fail at some turn raise at that turn: what they have written by then is what NumPy has written."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import jitflow


def copied(target, source):
    for i in range(target.shape[0]):
        target[i] = source[i] + 1.0


def smoothed(target, source):
    for i in range(1, source.shape[0] - 1):
        target[i + 1] = source[i - 1] + source[i + 1]


def read_ahead(target, source):
    total = 0.0
    for i in range(source.shape[0]):
        total += source[i]
        target[i + 2] = total
        target[0] = total * source[i + 1]
    return total


def one_element_in_every_turn(target, source):
    for i in range(source.shape[0]):
        target[i] = source[i] * source[4]


def chosen(target, source):
    count = 0
    for i in range(target.shape[0]):
        if source[i] > 0.5:
            count += 1
            target[i] = count
        else:
            target[i + 1] = -1.0
    return count


def nested(target, source):
    for i in range(3):
        for j in range(source.shape[0]):
            target[i + j] += source[j] * i


SIZES = (0, 2, 4, 5, 6, 9)
"""Not 1: what is an error for that size alone is found while tracing."""


@pytest.mark.parametrize(
    "program", [copied, smoothed, read_ahead, one_element_in_every_turn, chosen, nested], ids=lambda p: p.__name__
)
def test_the_turn_that_fails_is_the_one_that_raises(program: Callable[..., object]) -> None:
    compiled = jitflow.function(program)
    for target_size, source_size in product(SIZES, SIZES):
        source = np.random.default_rng(source_size).random(source_size)
        ours, theirs = np.zeros(target_size), np.zeros(target_size)
        assert _outcome(compiled, ours, source) == _outcome(program, theirs, source)
        np.testing.assert_array_equal(ours, theirs)


def _outcome(call: Callable[..., object], target: np.ndarray, source: np.ndarray) -> object:
    try:
        return call(target, source)
    except IndexError as error:
        return str(error)
