"""The benchmark of attention: what is measured is what NumPy computes, item by item or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.attention import attention, transformer
from jitflow.passes import pipeline


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_a_layer_is_what_numpy_computes() -> None:
    x, layer = _numbers(3, 5, 8), (_numbers(8, 24), _numbers(8, 8), _numbers(8, 32), _numbers(32), _numbers(32, 8))

    def run(x: np.ndarray, layer: tuple[np.ndarray, ...]) -> np.ndarray:
        return transformer(np, lambda *qkv: attention(np, *qkv), x, [layer])

    np.testing.assert_allclose(jitflow.function(run)(x, layer), run(x, layer), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shapes", [[(9, 200, 17), (0, 4, 4), (40, 6, 3)], [(3, 4, 130, 8)]], ids=["items", "heads"])
def test_bits_are_those_of_the_whole_batch(shapes: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(q: np.ndarray, k: np.ndarray, v: np.ndarray, changes: np.ndarray) -> Any:
        return attention(np, q, k, v), jitflow.vjp(lambda *qkv: attention(np, *qkv), q, k, v)[1](changes)

    found = jitflow.function(run)
    given = [[_numbers(*shape) + np.float32(number) for number in range(4)] for shape in shapes]
    answers = [found(*arrays) for arrays in given]
    whole = tuple(name for name in pipeline.FUSION_PIPELINE if name != "itemize")
    monkeypatch.setattr(pipeline, "FUSION_PIPELINE", whole)
    found = jitflow.function(run)
    for arrays, (mine, gradients) in zip(given, answers, strict=True):
        expected, others = found(*arrays)
        for one, other in zip((mine, *gradients), (expected, *others), strict=True):
            np.testing.assert_array_equal(one, other)
