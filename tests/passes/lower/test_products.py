"""Products by blocks: whatever the shape and the layout, the blocks make up the product."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

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
def test_blocks_make_up_the_product(shape: tuple[int, int, int], left: str, right: str, dtype: Any) -> None:
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


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_parts_of_long_sums_and_of_many_columns(left: str, right: str) -> None:
    """More steps, columns and rows than one part has, with some left of each, packed and as they lie."""
    random = np.random.default_rng(6)
    shapes = (300, 1100, 530), (7, 1100, 530), (33, 520, 1024), (530, 600, 8), (270, 1030, 513), (20, 200, 4500)
    for rows, inner, columns in (*shapes, (33, 5000, 41)):
        a = LAYOUTS[left](random.integers(-9, 10, (rows, inner)).astype(np.float32))
        b = LAYOUTS[right](random.integers(-9, 10, (inner, columns)).astype(np.float32))
        np.testing.assert_array_equal(jitflow.function(lambda a, b: a @ b)(a, b), a.astype(np.float64) @ b)


def test_the_same_bits_whatever_was_first() -> None:
    """What the sizes of the first call choose decides about time alone."""
    random = np.random.default_rng(7)
    x, w, b = (random.standard_normal(shape, np.float32) for shape in ((70, 900), (900, 130), (130,)))

    def dense(x: Any, w: Any, b: Any) -> Any:
        return x @ w, np.maximum(x @ w + b, 0), x @ w.T.copy().T, x.T.copy().T @ w

    expected = jitflow.function(dense)(x, w, b)
    for rows, inner, columns in ((2, 3, 4), (1000, 1200, 600), (30, 4000, 300)):
        other = jitflow.function(dense)
        other(*(np.ones(shape, np.float32) for shape in ((rows, inner), (inner, columns), (columns,))))
        for found, wanted in zip(other(x, w, b), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_same_bits_for_any_number_of_threads(threads: int) -> None:
    random = np.random.default_rng(8)
    pairs = [
        tuple(random.standard_normal(shape, np.float32) for shape in ((rows, inner), (inner, columns)))
        for rows, inner, columns in ((400, 700, 500), (5, 2000, 900), (60, 60, 60))
    ]
    alone = [(product(a, b), product(a, b.T.copy().T)) for a, b in pairs]
    before = jitflow.num_threads()
    jitflow.set_num_threads(threads)
    try:
        for (a, b), wanted in zip(pairs, alone, strict=True):
            for found, one in zip((product(a, b), product(a, b.T.copy().T)), wanted, strict=True):
                np.testing.assert_array_equal(found, one)
    finally:
        jitflow.set_num_threads(before)


def test_batches_of_products() -> None:
    random = np.random.default_rng(9)
    for left, right in (((3, 4, 5), (3, 5, 6)), ((2, 3, 8, 16), (2, 1, 16, 8)), ((7, 9, 33), (33, 20)),
                        ((0, 3, 4), (0, 4, 5)), ((2, 40, 600), (2, 600, 50))):  # fmt: skip
        a, b = (random.integers(-9, 10, shape).astype(np.float32) for shape in (left, right))
        np.testing.assert_array_equal(product(a, b), a @ b)
        np.testing.assert_array_equal(product(a, np.asfortranarray(b)), a @ b)


def test_a_processor_with_narrower_vectors() -> None:
    code = """
import numpy as np, jitflow
random = np.random.default_rng(1)
product, dense = jitflow.function(lambda a, b: a @ b), jitflow.function(lambda a, b: np.maximum(a @ b + 1, 0))
for rows, inner, columns in ((1, 70, 33), (5, 9, 17), (13, 600, 100), (40, 30, 7), (0, 3, 4), (270, 520, 300)):
    for dtype in (np.float32, np.float64):
        a, b = (random.integers(-9, 10, shape).astype(dtype) for shape in ((rows, inner), (inner, columns)))
        for left in (a, np.asfortranarray(a)):
            for right in (b, np.asfortranarray(b)):
                np.testing.assert_array_equal(product(left, right), a @ b)
                np.testing.assert_array_equal(dense(left, right), np.maximum(a @ b + 1, 0))
"""
    environment = {**os.environ, "JITFLOW_CPU": "x86-64-v3"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
