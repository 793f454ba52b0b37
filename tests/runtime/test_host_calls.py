"""Routines of NumPy's that compiled loops call again and again: on other memory, on other sizes, by several threads."""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.calls.host_calls import CallSite
from jitflow.runtime.calls.routines import median
from jitflow.runtime.native.object_layout import ARRAY_MEMORY_HANDLER, _read_pointer
from jitflow.runtime.native.pool import memory_stats
from tests.compare import assert_same


def windows(x: Any, count: Any) -> Any:
    found = np.zeros((count, 4))
    for row in range(count):
        part = x[row, : 2 + row % 5]
        found[row, 0] = np.sort(part)[0]
        found[row, 1] = np.searchsorted(x[0], part[1])
        found[row, 2] = np.median(x[: row + 1, ::2])
        found[row, 3] = np.argsort(x[:, row % 7])[row]
    return found


def test_arrays_are_aimed_at_other_memory_dims_and_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, run = [], CallSite.run

    def counted(site: CallSite, operands: int, results: int) -> None:
        slow.append(site)
        run(site, operands, results)

    monkeypatch.setattr(CallSite, "run", counted)
    compiled, x = jitflow.function(windows), np.random.default_rng(0).normal(size=(40, 7))
    assert_same(compiled(x, 40), windows(x, 40))
    assert len(slow) < 8, "each turn made its arrays anew"
    assert_same(compiled(np.asfortranarray(x), 40), windows(x, 40))


def test_results_with_gaps_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = sys.modules[np.partition.__module__ + "._core.fromnumeric"], []
    as_array = module.asanyarray
    compiled, x = jitflow.function(lambda x: np.partition(x, 2)), np.asfortranarray(np.eye(5))
    compiled(x)
    monkeypatch.setattr(module, "asanyarray", lambda array: calls.append(array) or as_array(array))
    found = compiled(x)
    monkeypatch.undo()
    assert_same(found, np.partition(x, 2))
    assert len(calls) == 1


def test_threads_share_a_call_site() -> None:
    compiled = jitflow.function(windows)
    samples = [np.random.default_rng(seed).normal(size=(300, 7)) for seed in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda x: compiled(x, 300), samples))
    for got, x in zip(found, samples, strict=True):
        assert_same(got, windows(x, 300))


@pytest.mark.parametrize(
    "expression",
    [
        "np.sort(x)", "np.repeat(x, i)", "np.fft.rfft(x)", "np.convolve(x, x[:7])",
        "np.sort(x.reshape(100, -1), axis=0)",
        "np.partition(x.reshape(100, -1), 3, axis=0)", "np.unique(i, return_counts=True)",
    ],
)  # fmt: skip
def test_large_results_are_taken_over(expression: str) -> None:
    function = eval(f"lambda x, i: {expression}", {"np": np})
    generator = np.random.default_rng(0)
    x, i = generator.normal(size=20_000), generator.integers(0, 3, 20_000)
    compiled, kept = jitflow.function(function), []
    for _ in range(3):
        before = memory_stats()
        kept.append(compiled(x, i))
        taken = memory_stats()["allocations"] - before["allocations"]
    assert taken == 1 or expression not in ("np.sort(x)", "np.repeat(x, i)"), "the result was copied"
    for found in kept:
        assert_same(found, function(x, i))
    during = memory_stats()["bytes_in_use"]
    kept.clear()
    del found
    assert memory_stats()["bytes_in_use"] < during
    x[3] = np.pi
    assert_same(compiled(x, i), function(x, i))


def test_numpy_takes_its_own_memory_afterwards() -> None:
    handler, x = _read_pointer(np.ones(5), ARRAY_MEMORY_HANDLER), np.ones(20_000)
    compiled = jitflow.function(lambda x, i: np.repeat(np.sort(x), i))
    for counts in (np.ones(20_000, int), np.ones(20_000, int), -np.ones(20_000, int), np.ones(20_000, int)):
        if counts[0] < 0:
            with pytest.raises(ValueError, match="negative"):
                compiled(x, counts)
        else:
            assert_same(compiled(x, counts), x)
        assert _read_pointer(np.ones(5), ARRAY_MEMORY_HANDLER) == handler


@pytest.mark.parametrize("code", "bBhHiIlLqQfd?eD")
def test_the_quicker_median(code: str) -> None:
    generator = np.random.default_rng(0)
    for size in (0, 1, 2, 3, 4, 10, 11):
        samples = [(generator.normal(size=size) * 100).astype(np.int8).astype(code)]
        if code in "fd" and size:
            samples += [np.full(size, number, code) for number in (-0.0, np.inf, np.finfo(code).max)]
            samples += [np.concatenate([samples[0][1:], np.array([np.nan], code)])]
        for sample in samples:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = np.median(sample)
                assert_same(median(sample), expected)


def found_by_numbers(x: Any, count: Any) -> Any:
    found = np.zeros((count, 6))
    for row in range(count):
        found[row, 0] = np.partition(x[row], row % 7)[row % 7]
        found[row, 1] = np.percentile(x[row], 10.0 * (row % 9))
        values, numbers = np.unique_counts(np.floor(x[row] * 4))
        found[row, 2], found[row, 3] = values[-1] * numbers[0], len(values)
        found[row, 4] = np.nanmedian(x[row])
        found[row, 5] = np.histogram(x[row], np.linspace(-2.0, 2.0, 5))[0][1]
    return found


def test_numbers_are_made_anew_and_several_results_bind_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, run = [], CallSite.run

    def counted(site: CallSite, operands: int, results: int) -> None:
        slow.append(site)
        run(site, operands, results)

    monkeypatch.setattr(CallSite, "run", counted)
    compiled, x = jitflow.function(found_by_numbers), np.random.default_rng(0).normal(size=(40, 7))
    for _ in range(2):  # a keyword of the last call is not that of this one
        assert_same(compiled(x, 40), found_by_numbers(x, 40))
    assert len(slow) < 24, "each turn made its arguments anew"
