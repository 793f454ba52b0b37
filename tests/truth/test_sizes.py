"""A hundred sizes, one compilation: every workload of the benchmarks, 0 and 1 among the sizes where they make sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.workloads import WORKLOADS
from tests.truth.quiet import quiet

SIZES = sorted({0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, *range(70, 154)})
COUNT = 100
SPECIALISED = {"gated_silu": 2}
"""Compilations beyond those for all sizes and for size 1: of the two halves of 2 and 3 columns, one or both are 1."""


def resized(argument: Any, lengths: dict[int, int]) -> Any:
    """The argument with other sizes along its axes, and elements repeated to fill them."""
    if not isinstance(argument, np.ndarray):
        return argument
    for axis, size in enumerate(argument.shape):
        if lengths.get(size, size) != size:
            argument = np.take(argument, np.arange(lengths[size]) % size, axis=axis)
    return np.ascontiguousarray(argument)


@pytest.mark.parametrize("name", WORKLOADS)
def test_hundred_sizes(name: str) -> None:
    workload = WORKLOADS[name]
    arguments = workload.make_inputs(np.random.default_rng(0), True)
    longest = max(size for argument in arguments if isinstance(argument, np.ndarray) for size in argument.shape)
    function = jitflow.function(workload.function)
    assert len(SIZES) == COUNT
    compiled_for_one = 0
    for size in sorted(SIZES, key=lambda size: (size in (0, 1), size)):
        given = [resized(argument, {longest: size}) for argument in arguments]
        with quiet():
            try:
                expected: Any = workload.function(*given)
            except ValueError as error:
                with pytest.raises(ValueError, match=r"zero-size|empty|could not be broadcast") as caught:
                    function(*given)
                assert str(caught.value) == str(error)
                continue
            before = function.cache_info().misses
            actual = function(*given)
        if size == 1:
            compiled_for_one = function.cache_info().misses - before
        agree(actual, expected, workload.relative_tolerance, workload.mismatches)
    assert function.cache_info().misses == 1 + compiled_for_one + SPECIALISED.get(name, 0)
    assert compiled_for_one <= 1


def agree(actual: Any, expected: Any, tolerance: float, mismatches: float) -> None:
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for got, want in zip(actual, expected, strict=True):
            agree(got, want, tolerance, mismatches)
        return
    assert type(actual) is type(expected)
    got, want = np.asarray(actual), np.asarray(expected)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max()) if finite.size else 1.0
    close = (np.abs(got.astype(np.result_type(got, 1.0)) - want) <= 4 * tolerance * scale) | (got == want)
    close |= np.isnan(got) & np.isnan(want) if want.dtype.kind in "fc" else False
    assert np.count_nonzero(~close) <= mismatches * close.size
