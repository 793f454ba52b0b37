"""Running accumulations: chunks of lines at the same time, along lines and across them, for every kind of number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitflow.backends.cuda.nvrtc import resources
from tests.backends.cuda.images import alone
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.compare import REDUCTION, assert_same

pytestmark = needs_nvrtc


def along(x: Any) -> Any:
    return np.cumsum(x), np.maximum.accumulate(x)


def both(x: Any) -> Any:
    return np.cumsum(x, axis=0), np.cumprod(x, axis=1), np.minimum.accumulate(x, axis=0)


def numbers(*shape: int, dtype: Any = "f4") -> Any:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * (9 if dtype == "i8" else 0.3)).astype(dtype)


CASES: dict[str, tuple[Callable[[Any], Any], Any, tuple[tuple[int, ...], ...]]] = {
    "along": (along, "f4", ((0,), (1,), (33,), (4096,), (4097,), (9000,))),
    "integers": (along, "i8", ((31,), (5000,))),
    "complex": (lambda x: (np.cumsum(x), np.cumprod(x[:40])), "c8", ((50,), (5000,))),
    "halves": (lambda x: np.maximum.accumulate(x), "f2", ((50,), (4500,))),
    "both": (both, "f8", ((3, 70), (700, 40), (2, 4200))),
    "strided": (lambda x: (np.cumsum(x[::-2]), np.cumsum(x[:, None] * np.ones(2, "f4"), axis=0)), "f4", ((9001,),)),
    "three axes": (lambda x: (np.cumsum(x, axis=0), np.cumsum(x, axis=1), np.cumsum(x, axis=2)), "f4", ((3, 530, 5),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_line_is_numpy_s(name: str) -> None:
    function, dtype, shapes = CASES[name]
    code = OnDevice(function, np.ones((2,) * len(shapes[0]), dtype))
    for shape in shapes:
        x = numbers(*shape, dtype=dtype)
        for mine, theirs in zip(_tuple(code(x)), _tuple(function(x)), strict=True):
            assert_same(np.asarray(mine.get() if hasattr(mine, "get") else mine), np.asarray(theirs), REDUCTION, name)


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_zeros_keep_their_signs_and_nan_goes_on() -> None:
    x = np.full(5000, -0.0, "f4")
    assert str(np.asarray(OnDevice(lambda x: np.cumsum(x), x)(x))[[0, 40, 4999]]) == "[-0. -0. -0.]"
    x[4500] = np.nan
    for function in (lambda x: np.cumsum(x), lambda x: np.maximum.accumulate(x)):
        found = np.isnan(np.asarray(OnDevice(function, x)(x)))
        assert not found[:4500].any()
        assert found[4500:].all()


def test_long_lines_are_shared_and_nothing_spills() -> None:
    x = numbers(5000)
    code = OnDevice(np.cumsum, x)
    code(x)
    assert {name.rpartition("_")[2] for name in code.device.launched} == {"chunks", "cells", "rest"}
    for found in resources(alone(code.source, code.device.launched), "sm_80").values():
        assert (found.stack, found.spilled) == (0, 0)
