"""The bits of a result depend on its values and shape, not on what else was fused or which sizes came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(axis=1),
    "mean": lambda x: x.mean(axis=1),
    "var": lambda x: x.var(axis=1),
    "prod": lambda x: x.prod(axis=1),
    "column sum": lambda x: x.sum(axis=0),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_fused_or_alone(name: str) -> None:
    reduce = REDUCTIONS[name]
    random = np.random.default_rng(0)
    alone = jitflow.function(lambda x: reduce(x))
    beside_much = jitflow.function(lambda x: (np.tanh(np.exp(x)).max(axis=1), reduce(x)))
    beside_itself = jitflow.function(lambda x: (reduce(x), reduce(x * 2), x - 1))
    for length in (2, 5, 32, 33, 100, 1000, 1025, 3000, 5003):
        x = random.standard_normal((7, length)).astype(np.float32)
        bits = alone(x).tobytes()
        assert beside_much(x)[1].tobytes() == bits, length
        assert beside_itself(x)[0].tobytes() == bits, length


def test_what_reads_no_memory_is_summed_up_alike_whether_or_not_it_is_stored() -> None:
    def shares(x):
        return np.tri(len(x)) / 7

    alone = jitflow.function(lambda x: shares(x).var(1))
    stored = jitflow.function(lambda x: (shares(x), shares(x).var(1)))
    for length in (3, 14, 40, 1030):
        x = np.zeros(length)
        assert alone(x).tobytes() == stored(x)[1].tobytes(), length


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("length", [2, 3, 4, 5, 8])
def test_short_at_the_first_call_or_later(length: int, dtype: type) -> None:
    random = np.random.default_rng(0)

    def program(x: Any) -> Any:
        norm = np.sqrt((x * x).sum(axis=1, keepdims=True))
        return x.sum(axis=1), x.max(axis=1), x.argmin(axis=1), x.var(axis=1), x.prod(axis=1), x / norm

    short, general = jitflow.function(program), jitflow.function(program)
    general(np.ones((3, 20), dtype))
    for rows in (2, 31, 33, 100):
        x = (random.standard_normal((rows, length)) * 2).astype(dtype)
        for ours, other in zip(short(x), general(x), strict=True):
            assert ours.tobytes() == other.tobytes()
        for ours, numpy in zip(short(x), program(x), strict=True):
            tolerance = 2e-2 if dtype is np.float16 else 1e-5
            np.testing.assert_allclose(ours, numpy, rtol=tolerance, atol=tolerance)


def test_points_and_pictures() -> None:
    """Short inner sizes with operands that repeat, and that are reduced, against NumPy."""
    random = np.random.default_rng(0)

    def program(picture: Any, scale: Any) -> Any:
        shares = np.exp(picture / 255) / np.exp(picture / 255).sum(axis=-1, keepdims=True)
        return picture * scale, (picture * scale).sum(axis=-1), picture[..., ::-1] + scale, shares

    compiled = jitflow.function(program)
    for channels in (2, 3, 4, 6, 20):
        for height, width in ((2, 3), (5, 7), (33, 64), (0, 4)):
            picture = random.integers(0, 255, (height, width, channels)).astype(np.uint8)
            scale = random.standard_normal(channels).astype(np.float32)
            for ours, numpy in zip(compiled(picture, scale), program(picture, scale), strict=True):
                assert ours.dtype == numpy.dtype
                np.testing.assert_allclose(ours, numpy, rtol=1e-4, atol=1e-3)
