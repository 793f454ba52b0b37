"""A block of a product is worked on while the next is multiplied: the result is that of one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.dtypes import F32
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.lower import CPU, GPU
from jitflow.passes.schedule.target import Target
from tests.execute import compile_ir
from tests.passes.lower.matrices import LAYOUTS, integers, lowered

ROOTS = """func @f(%x: f32[n, k], %w: f32[k, m], %b: f32[m]) {
  %0: f32[n, m] = matmul %x, %w
  %1: f32[n, m] = broadcast %b {dims=[n, m], axes=[1]}
  %2: f32[n, m] = multiply %0, %0
  %3: f32[n, m] = sqrt %2
  %4: f32[n, m] = add %3, %1
  yield %4
}"""
ROOTS_COMPILED = compile_ir(parse(ROOTS))


def overlapped(text: str, target: Target = CPU) -> int:
    return sum(op.name == "overlap_block" for kernel in lowered(text, target).functions for op in walk(kernel.region))


def adagrad(w: Any, total: Any, x: Any, d: Any) -> None:
    gradient = x.T @ d
    total += gradient * gradient
    w -= gradient / (np.sqrt(total) + 1)


def test_only_where_the_rest_divides_or_takes_roots() -> None:
    assert overlapped(ROOTS) == 1
    assert overlapped(ROOTS, GPU) == 0
    assert overlapped(ROOTS.replace("sqrt", "negative")) == 0


def test_not_where_no_block_is_as_wide_as_its_vectors() -> None:
    assert overlapped(ROOTS.replace("m]", "47]")) == 0
    assert overlapped(ROOTS.replace("m]", "48]")) == 1


def test_code_is_for_any_width() -> None:
    compiled, random = compile_ir(parse(ROOTS)), np.random.default_rng(1)
    for columns in (2, 20, 48, 50, 75, 100):
        x, w, b = integers(random, 20, 30), integers(random, 30, columns), integers(random, columns)
        np.testing.assert_array_equal(compiled(x, w, b)[0], np.abs(x @ w) + b)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_shapes(dtype: Any, layout: str) -> None:
    @jitflow.function
    def dense(x: Any, w: Any, b: Any) -> Any:
        return np.sqrt((x @ w) ** 2) + b

    random = np.random.default_rng(2)
    rows = (0, 1, 7, 15, 16, 17, 20, 23, 24, 25, 31, 32, 33, 40, 70)
    columns = (1, 4, 23, 24, 25, 28, 47, 48, 49, 52, 60, 96, 97, 100, 144, 150)
    for _ in range(200):
        shape, inner = (random.choice(rows), random.choice(columns)), random.choice((0, 1, 2, 5, 23, 24, 25, 60))
        x = LAYOUTS[layout](integers(random, shape[0], inner, dtype=dtype))
        w, b = integers(random, inner, shape[1], dtype=dtype), integers(random, shape[1], dtype=dtype)
        np.testing.assert_array_equal(dense(x, w, b), np.abs(x @ w) + b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_that_lie_apart(layout: str) -> None:
    """Rows and columns are two loops where something has gaps between its rows."""

    @jitflow.function
    def step(w: Any, x: Any, d: Any) -> None:
        w[...] = w / (1 + np.sqrt((x.T @ d) ** 2))

    random = np.random.default_rng(3)
    for rows, columns in ((40, 60), (16, 48), (50, 100), (17, 96)):
        whole = integers(random, rows, columns + 7)
        w, x, d = whole[:, :columns], LAYOUTS[layout](integers(random, 30, rows)), integers(random, 30, columns)
        expected = whole.copy()
        expected[:, :columns] = w / (1 + np.sqrt((x.T @ d) ** 2))
        step(w, x, d)
        np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_optimiser_s_steps(threads: int) -> None:
    """What was worked on is not worked on again by the last rows, whose block starts earlier, nor by another thread."""

    @jitflow.function
    def step(x: Any, d: Any) -> None:
        gradient = x.T @ d
        total[...] += gradient * gradient
        w[...] -= gradient / (np.sqrt(total) + 1)

    random = np.random.default_rng(4)
    before = jitflow.num_threads()
    jitflow.set_num_threads(threads)
    try:
        for inner, rows, columns in ((32, 784, 100), (3, 77, 53), (100, 16, 48), (20, 19, 150), (0, 33, 70)):
            expected = [np.ones((rows, columns), np.float32), np.zeros((rows, columns), np.float32)]
            w, total = map(jitflow.Variable, expected)
            for _ in range(3):
                x, d = integers(random, inner, rows), integers(random, inner, columns)
                step(x, d)
                adagrad(*expected, x, d)
            np.testing.assert_array_equal(w.numpy(), expected[0])
            np.testing.assert_array_equal(total.numpy(), expected[1])
    finally:
        jitflow.set_num_threads(before)


def test_work_of_another_width() -> None:
    """Vectors of the rest are narrower where it has wider elements."""

    @jitflow.function
    def wide(x: Any, w: Any, b: Any) -> Any:
        return b / (1 + (x @ w) ** 2)

    random = np.random.default_rng(5)
    for rows, columns in ((20, 48), (33, 100), (16, 150)):
        x, w = integers(random, rows, 9), integers(random, 9, columns)
        b = random.standard_normal((rows, columns))
        np.testing.assert_array_equal(wide(x, w, b), b / (1 + (x @ w) ** 2))


def test_elements_that_are_gathered() -> None:
    @jitflow.function
    def scaled(x: Any, w: Any, scale: Any, which: Any) -> Any:
        return (x @ w) / scale[which]

    random = np.random.default_rng(6)
    x, w, scale = integers(random, 30, 9), integers(random, 9, 100), 1 + random.random(7, np.float32)
    which = random.integers(-7, 7, 100)
    np.testing.assert_array_equal(scaled(x, w, scale, which), (x @ w) / scale[which])
    which[77] = 7
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        scaled(x, w, scale, which)


@pytest.mark.parametrize("shape", [(1000, 600, 200), (16, 700, 400), (9, 9, 100)], ids=str)
def test_the_same_kernel_works_on_what_the_library_has_multiplied(shape: tuple[int, int, int]) -> None:
    random, (rows, inner, columns) = np.random.default_rng(7), shape
    x, w, b = integers(random, rows, inner), integers(random, inner, columns), integers(random, columns)
    np.testing.assert_array_equal(ROOTS_COMPILED(x, w, b)[0], np.abs(x @ w) + b)


def test_the_interpreter_says_what_the_machine_does() -> None:
    random = np.random.default_rng(8)
    x, w, b = (random.standard_normal(shape).astype(np.float32) for shape in ((18, 9), (9, 54), (54,)))
    (compiled,) = ROOTS_COMPILED(x, w, b)
    memory, *sizes = interpret(lowered(ROOTS, CPU), x, 18, 9, 36, 4, w, 9, 54, 216, 4, b, 54, 4)
    assert sizes == [18, 54, 216, 4]
    np.testing.assert_array_equal(memory.array(F32, 18 * 54).reshape(18, 54), compiled)
