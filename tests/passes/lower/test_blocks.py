"""Products by blocks: whatever the shape, the layout and the rest of the kernel, the blocks make up the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.dtypes import F32
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.passes.lower import CPU, GPU, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.passes.schedule.products import Factors, Figures, choose_blocks
from jitflow.passes.schedule.target import Processor, Target
from tests.execute import compile_ir
from tests.passes.lower.matrices import LAYOUTS, integers, lowered
from tests.sampled import in_turn, sampled

DENSE = """func @f(%x: f32[n, k], %w: f32[k, m], %b: f32[m]) {
  %0: f32[n, m] = matmul %x, %w
  %1: f32[n, m] = broadcast %b {dims=[n, m], axes=[1]}
  %2: f32[n, m] = add %0, %1
  yield %2
}"""
STEP = """func @f(%x: f32[n, k], %d: f32[n, m], %w: var f32[k, m]) {
  %0: f32[k, m] = load %w
  %1: f32[k, n] = transpose %x {axes=[1, 0]}
  %2: f32[k, m] = matmul %1, %d
  %3: f32[k, m] = subtract %0, %2
  store %w, %3
  yield
}"""
ONTO_A_FACTOR = """func @f(%x: f32[n, n], %w: var f32[n, n]) {
  %0: f32[n, n] = load %w
  %1: f32[n, n] = matmul %x, %0
  %2: f32[n, n] = negative %1
  store %w, %2
  yield
}"""
DENSE_COMPILED = compile_ir(parse(DENSE))


def blocks_of(host: Function) -> list[Op]:
    return [op for kernel in host.functions for op in walk(kernel.region) if op.name == "multiply_block"]


def test_the_processor_has_blocks_and_the_graphics_card_the_library() -> None:
    assert len(blocks_of(lowered(DENSE, CPU))) == 2, "one reads the right matrix as it lies, one what was packed"
    assert blocks_of(lowered(DENSE, GPU)) == blocks_of(lowered(DENSE, Target())) == []


def test_schedules_can_be_read() -> None:
    program = lower(run_passes(parse(DENSE), FUSION_PIPELINE), CPU)
    (text,) = [one.text(name) for name, one in program.scheduled.items()]
    assert "\nblocks @kernel_0 (rows: n, steps: k, columns: m) {\n" in text
    assert "  packs = many*min(max(right_bytes - 65536, 0), 1)\n  across = " in text
    assert "multiply 8 x 48 in lanes of 16 columns, the right matrix packed where packs\n" in text
    assert "what follows, on these rows\n" in text


@pytest.mark.parametrize("program", [DENSE, STEP])
def test_the_sizes_of_the_first_call_decide_nothing(program: str) -> None:
    hinted = (
        program.replace(") {", f') with {{hints=[["n", {rows}], ["k", {steps}], ["m", 20]]}} {{', 1)
        for rows, steps in ((2, 9), (700, 900))
    )
    small, large = ([print_function(kernel) for kernel in lowered(text, CPU).functions] for text in hinted)
    assert small == large


def test_few_rows_have_wider_blocks() -> None:
    (block,) = blocks_of(lowered(DENSE.replace("n, ", "1, "), CPU))
    assert (block.attributes["rows"], block.attributes["columns"]) == (1, 64)


def test_a_processor_with_fewer_registers_has_smaller_blocks() -> None:
    target = replace(CPU, processor=Processor(vector_bytes=32, registers=16))
    for block in blocks_of(lowered(DENSE, target)):
        assert (block.attributes["rows"], block.attributes["columns"], block.attributes["lanes"]) == (6, 16, 8)


def test_what_is_known_to_be_right_for_blocks_has_no_branch() -> None:
    host = lowered(DENSE.replace("n, ", "64, ").replace("k]", "10]").replace("[k,", "[10,").replace("m]", "20]"), CPU)
    assert len(host.functions) == 1
    assert len(blocks_of(host)) == 1


@pytest.mark.parametrize(("rows", "nears"), [("n", 2), ("1000", 2), ("100", 0)])
def test_a_large_step_is_asked_for_while_it_is_multiplied(rows: str, nears: int) -> None:
    """The weights and what they become, which no cache holds; a row that all have in common is there anyway."""
    program = f"""func @f(%x: f32[k, {rows}], %d: f32[k, 300], %w: f32[{rows}, 300], %b: f32[300]) {{
      %0: f32[{rows}, k] = transpose %x {{axes=[1, 0]}}
      %1: f32[{rows}, 300] = matmul %0, %d
      %2: f32[{rows}, 300] = broadcast %b {{dims=[{rows}, 300], axes=[1]}}
      %3: f32[{rows}, 300] = add %1, %2
      %4: f32[{rows}, 300] = subtract %w, %3
      yield %4
    }}"""
    kernels = lowered(program, CPU).functions
    asked = [op for kernel in kernels for op in walk(kernel.region) if op.name == "bring_near"]
    assert {(op.attributes["rows"], op.attributes["bytes"]) for op in asked} == ({(8, 192)} if nears else set())
    assert len({op.operands[0] for op in asked}) == len(asked) == nears


@pytest.mark.parametrize("inner", [512, 1024, 1000])
def test_panels_of_a_left_matrix_do_not_fall_into_the_same_sets(inner: int) -> None:
    """As many panels as a set has lines twice over begin in as many sets as it has lines at least."""
    factors = Factors(4, 1024, inner, 256, (4, 4096), (1024, 4))
    assert CPU.processor is not None
    blocks = choose_blocks(factors, CPU.processor, 1, Figures())
    assert blocks.packs_left == 1
    starts, _, step = blocks.packed_left
    assert isinstance(starts, int)
    assert isinstance(step, int)
    assert starts * blocks.rows >= inner * step
    assert len({panel * starts * blocks.rows // 64 % 64 for panel in range(16)}) >= 8


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_shapes(dtype: Any, layout: str) -> None:
    @jitflow.function
    def dense(x: Any, w: Any, b: Any) -> Any:
        return np.maximum(x @ w + b, 1)

    random = np.random.default_rng(1)
    sizes = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20, 31, 33, 47, 48, 49, 52, 64, 65, 70)
    for _ in range(200):
        rows, inner, columns = random.choice(sizes, 3)
        x, b = LAYOUTS[layout](integers(random, rows, inner, dtype=dtype)), integers(random, columns, dtype=dtype)
        w = integers(random, inner, columns, dtype=dtype)
        np.testing.assert_array_equal(dense(x, w, b), np.maximum(x @ w + b, 1))


@pytest.mark.parametrize("shape", [(1000, 600, 200), (16, 700, 400), (20, 9, 31)], ids=str)
def test_the_same_kernel_works_on_what_the_library_has_multiplied(shape: tuple[int, int, int]) -> None:
    random, (rows, inner, columns) = np.random.default_rng(9), shape
    x, w, b = integers(random, rows, inner), integers(random, inner, columns), integers(random, columns)
    (result,) = DENSE_COMPILED(x, w, b)
    np.testing.assert_array_equal(result, x @ w + b)


def test_long_sums_are_as_accurate_as_the_library_s() -> None:
    x, w, b = np.full((16, 100_000), 0.1, np.float32), np.ones((100_000, 2), np.float32), np.zeros(2, np.float32)
    (result,) = DENSE_COMPILED(x, w, b)
    np.testing.assert_allclose(result, 1e4, rtol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("columns", "dtype"), sampled(in_turn([1, 2, 3, 4, 49, 50, 51, 52, 100], ["f4", "f8"]), 2))
def test_a_few_last_columns(columns: int, dtype: str, layout: str) -> None:
    @jitflow.function
    def dense(x: Any, w: Any) -> Any:
        return (x @ w) * 2

    random = np.random.default_rng(columns)
    for inner in (0, 1, 5, 15, 16, 17, 31, 40, 784):
        x = LAYOUTS[layout](random.standard_normal((35, inner)).astype(dtype))
        w = random.standard_normal((inner, columns)).astype(dtype)
        exact = (x.astype(np.longdouble) @ w.astype(np.longdouble)) * 2
        magnitude = (np.abs(x).astype(np.longdouble) @ np.abs(w).astype(np.longdouble)) * 2
        error = np.abs(dense(x, w) - exact)
        assert (error <= max(inner, 1) * np.finfo(dtype).eps * magnitude).all()


def test_nothing_is_read_beyond_a_few_last_columns() -> None:
    """What lies behind them in memory may be nothing that may be read, or nan."""

    @jitflow.function
    def dense(x: Any, w: Any) -> Any:
        return x @ w + 1

    random = np.random.default_rng(12)
    wide = np.full((21, 60), np.nan, np.float32)
    w, x = wide[:20, 5:8], np.full((40, 60), np.nan, np.float32)[:, 10:30]
    w[...], x[...] = integers(random, 20, 3), integers(random, 40, 20)
    np.testing.assert_array_equal(dense(x, w), x @ w + 1)
    turned = np.full((60, 40), np.nan, np.float32)[10:30]
    turned[...] = x.T
    np.testing.assert_array_equal(dense(turned.T, w), x @ w + 1)


def test_rows_of_a_wider_matrix() -> None:
    @jitflow.function
    def outer(x: Any, d: Any) -> Any:
        return x.T @ d * 2

    random = np.random.default_rng(2)
    x, d = integers(random, 40, 90)[:, 5:85], integers(random, 40, 60)[:, 1:51]
    np.testing.assert_array_equal(outer(x, d), x.T @ d * 2)


@pytest.mark.parametrize("shape", [(3, 4, 5), (20, 8, 60), (40, 30, 20), (33, 3, 17)], ids=str)
@pytest.mark.parametrize("index", [np.s_[None], np.s_[:, None], np.s_[:, :, None], np.s_[None, :, None]], ids=str)
def test_results_with_further_axes_of_one(index: Any, shape: tuple[int, int, int]) -> None:
    @jitflow.function
    def batched(x: Any, y: Any) -> Any:
        return 2 * (x @ y)[index] + 1

    rows, inner, columns = shape
    random = np.random.default_rng(5)
    x, y = integers(random, rows, inner), integers(random, inner, columns)
    np.testing.assert_array_equal(batched(x, y), 2 * (x @ y)[index] + 1)


def test_infinities_and_nans_stay_where_they_are() -> None:
    @jitflow.function
    def dense(x: Any, w: Any) -> Any:
        return x @ w + 0

    random = np.random.default_rng(3)
    x, w = integers(random, 33, 20), integers(random, 20, 53)
    x[32, 3], w[7, 52], x[5, 5], w[9, 0] = np.inf, np.nan, -np.inf, np.inf
    x[x == 0], w[w == 0] = 1, 1
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(dense(x, w), x @ w)


def test_a_step_is_written_in_place() -> None:
    random = np.random.default_rng(4)
    host = lowered(STEP, CPU)
    assert len(blocks_of(host)) == 4, "each matrix is packed or read as it lies"
    assert [kernel.name.rpartition("_")[0] for kernel in host.functions] == ["pack_f32", "kernel"]
    for rows, inner, columns in ((32, 78, 100), (3, 16, 5), (5, 15, 49), (0, 20, 20)):
        x, d, w = integers(random, rows, inner), integers(random, rows, columns), integers(random, inner, columns)
        expected = w - x.T @ d
        compile_ir(parse(STEP))(x, d, w)
        np.testing.assert_array_equal(w, expected)


def test_a_factor_is_read_to_the_end_before_it_is_written_over() -> None:
    random = np.random.default_rng(5)
    for size in (3, 16, 40, 100):
        x, w = integers(random, size, size), integers(random, size, size)
        expected = -(x @ w)
        compile_ir(parse(ONTO_A_FACTOR))(x, w)
        np.testing.assert_array_equal(w, expected)


def test_variables_that_a_product_reads_before_they_change() -> None:
    w, random = jitflow.Variable(np.ones((30, 50), np.float32)), np.random.default_rng(6)

    @jitflow.function
    def step(x: Any) -> Any:
        hidden = np.maximum(x @ w, 0)
        back = hidden @ w.T
        w[...] = w - x.T @ hidden
        return back

    x = integers(random, 20, 30)
    old = w.numpy().copy()
    hidden = np.maximum(x @ old, 0)
    np.testing.assert_array_equal(step(x), hidden @ old.T)
    np.testing.assert_array_equal(w.numpy(), old - x.T @ hidden)


def test_the_bits_do_not_depend_on_what_reads_the_product() -> None:
    @jitflow.function
    def same(x: Any, w: Any) -> Any:
        return x @ w + 0

    @jitflow.function
    def twice(x: Any, w: Any) -> Any:
        return np.sqrt((x @ w) * (x @ w)), (x @ w) * 2

    random = np.random.default_rng(7)
    x, w = random.standard_normal((37, 65), np.float32), random.standard_normal((65, 83), np.float32)
    result = same(x, w)
    assert np.array_equal(same(x.copy(), w.copy()), result)
    np.testing.assert_allclose(result, x.astype(np.float64) @ w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(twice(x, w)[1], 2 * result, rtol=1e-5, atol=1e-5)


def test_the_interpreter_says_what_the_machine_does() -> None:
    """To the bit: each product is rounded once with the sum so far, from the first to the last."""
    random = np.random.default_rng(8)
    x, w, b = (random.standard_normal(shape).astype(np.float32) for shape in ((18, 9), (9, 54), (54,)))
    (compiled,) = compile_ir(parse(DENSE))(x, w, b)
    memory, *sizes = interpret(lowered(DENSE, CPU), x, 18, 9, 36, 4, w, 9, 54, 216, 4, b, 54, 4)
    assert sizes == [18, 54, 216, 4]
    np.testing.assert_array_equal(memory.array(F32, 18 * 54).reshape(18, 54), compiled)
