"""Products in pieces: whatever the shape and the layout, the pieces make up the product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.backends.llvm.products import in_pieces, pays_in_pieces

SHAPES = [
    (16, 128, 512), (16, 512, 128), (32, 784, 100), (784, 32, 100), (100, 784, 32), (128, 16, 512), (512, 16, 128),
    (100, 100, 101), (101, 100, 100), (100, 101, 100), (150, 150, 150), (40, 31, 900), (900, 31, 40), (1, 1200, 1300),
    (1, 1, 2_000_000), (2_000_000, 1, 1), (1, 2_000_000, 1), (9, 129, 1201), (33, 33, 4000), (160, 160, 160), (0, 4, 3),
    (4, 0, 3), (3, 4, 0), (2, 3, 4),
]  # fmt: skip
LAYOUTS: dict[str, Callable[[Any], Any]] = {"C": np.ascontiguousarray, "F": np.asfortranarray}


@jitflow.function
def product(a: Any, b: Any) -> Any:
    return a @ b


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_make_up_the_product(shape: tuple[int, int, int], left: str, right: str, dtype: Any) -> None:
    rows, inner, columns = shape
    random = np.random.default_rng(3)
    a = LAYOUTS[left](random.integers(-9, 10, (rows, inner)).astype(dtype))
    b = LAYOUTS[right](random.integers(-9, 10, (inner, columns)).astype(dtype))
    if inner == 2_000_000:
        a, b = np.sign(a), np.sign(b)  # sums stay integers that f32 has
    np.testing.assert_array_equal(product(a, b), a.astype(np.float64) @ b.astype(np.float64))


def test_rows_with_gaps() -> None:
    random = np.random.default_rng(4)
    a, b = random.integers(-9, 10, (16, 700)).astype(np.float32), random.integers(-9, 10, (128, 600)).astype(np.float32)
    a, b = a[:, 3:131], b[:, 5:517]
    np.testing.assert_array_equal(product(a, b), a.astype(np.float64) @ b)


def test_the_same_bits_every_time() -> None:
    random = np.random.default_rng(5)
    a, b = random.standard_normal((32, 784), np.float32), random.standard_normal((784, 100), np.float32)
    first = product(a, b)
    assert all(np.array_equal(product(a.copy(), b.copy()), first) for _ in range(5))


def test_what_is_split() -> None:
    assert not pays_in_pieces("zgemm")
    assert not pays_in_pieces("sgemv")
    name, text = in_pieces("dgemm")
    assert f"@{name}(" in text
    assert "float" not in text
