"""Contractions by panels are exact on whole numbers, whatever the shapes, and read windows where they lie."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.lower import CPU
from jitflow.passes.pipeline import fusion_pipeline, run_passes
from jitflow.passes.schedule.contractions import Panels
from jitflow.passes.schedule.target import Target
from tests.execute import compile_ir
from tests.passes.lower.matrices import integers, lowered

SLIDING = """func @f(%x: DTYPE[b, n, c], %w: DTYPE[m, c, 3]) {
  %0: DTYPE[b, n - 2, c, 3] = window %x {axes=[1], counts=[n - 2], sizes=[3], steps=[1], dilations=[1]}
  %1: DTYPE[b, m, n - 2] = contract %0, %w {left=[0, 1, 2, 3], right=[4, 2, 3], kept=[0, 4, 1]}
  yield %1
}"""

TURNED = """func @f(%x: DTYPE[b, n, c], %w: DTYPE[m, c, k]) {
  %0: DTYPE[b, n - k + 1, c, k] = window %x {axes=[1], counts=[n - k + 1], sizes=[k], steps=[1], dilations=[1]}
  %1: DTYPE[b, m, n - k + 1] = contract %0, %w {left=[0, 1, 2, 3], right=[4, 2, 3], kept=[0, 4, 1]}
  %2: DTYPE[m, c, k] = slice %w {starts=[0, 0, k - 1], sizes=[m, c, k], steps=[1, 1, -1]}
  %3: DTYPE[b, m, n - k + 1] = contract %0, %2 {left=[0, 1, 2, 3], right=[4, 2, 3], kept=[0, 4, 1]}
  yield %1, %3
}"""


@pytest.mark.parametrize("dtype", ["f32", "f64", "i64"])
def test_all_shapes(dtype: str) -> None:
    compiled, random = compile_ir(parse(SLIDING.replace("DTYPE", dtype))), np.random.default_rng(4)
    kind = {"f32": np.float32, "f64": np.float64, "i64": np.int64}[dtype]
    shapes = ((0, 5, 2, 3), (2, 2, 2, 3), (2, 3, 2, 2), (2, 9, 0, 4), (3, 8, 5, 17), (2, 600, 3, 70), (2, 11, 200, 33))
    for batch, length, channels, outputs in shapes:
        x = integers(random, batch, length, channels, dtype=kind)
        w = integers(random, outputs, channels, 3, dtype=kind)
        windows = sliding_window_view(np.pad(x, ((0, 0), (0, 3), (0, 0))), 3, 1)[:, : length - 2]
        expected = np.einsum("bnck,mck->bmn", windows, w)
        np.testing.assert_array_equal(compiled(x, w)[0], expected)


AMONG_ZEROS = """func @f(%x: DTYPE[b, c, h, w], %k: DTYPE[m, c, p, q]) {
  %0: DTYPE[b, m, h, w // 2 + 2] = contract %x, %k {left=[0, 1, 2, 3, 4, 5], right=[6, 1, 4, 5], kept=[0, 6, 2, 3],
    axes=[2, 3], counts=[h, w // 2 + 2], sizes=[p, q], steps=[1, 2], dilations=[2, 1], before=[p - 1, 1]}
  yield %0
}""".replace(",\n   ", ",")

OF_WEIGHTS = """func @f(%x: DTYPE[b, c, h, w], %y: DTYPE[b, m, h, v]) {
  %0: DTYPE[m, c, 3, 2] = contract %x, %y {left=[0, 1, 2, 3, 4, 5], right=[0, 6, 2, 3], kept=[6, 1, 4, 5],
    axes=[2, 3], counts=[h, v], sizes=[3, 2], steps=[1, 2], dilations=[2, 1], before=[2, 1]}
  yield %0
}""".replace(",\n   ", ",")


def _shown(x: Any, counts: tuple[int, int], sizes: tuple[int, int], before: tuple[int, int]) -> Any:
    """Windows in steps of 1 and 2, with elements 2 and 1 apart, of an array among zeros."""
    spans = (max(counts[0] - 1, 0) + 2 * (sizes[0] - 1) + 1, 2 * (counts[1] - 1) + sizes[1])
    behind = [max(span - one - size, 0) for span, one, size in zip(spans, before, x.shape[2:], strict=True)]
    padded = np.pad(x, ((0, 0), (0, 0), *zip(before, behind, strict=True)))
    found = sliding_window_view(padded, (2 * sizes[0] - 1, sizes[1]), (2, 3))
    return found[:, :, : counts[0], : 2 * counts[1] - 1 : 2, ::2]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("steps", [512, 7])
def test_what_lies_beyond_an_array_is_left_out(dtype: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forwards and by weights, of any size; only a weight that is not finite makes something of zeros."""
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    panels = Panels(6, 2, 32, steps, 256 // np.dtype(kind).itemsize, 12, 24, 1)
    monkeypatch.setattr("jitflow.passes.lower.kernels.contraction_memory.choose_panels", lambda *_: panels)
    forwards, by_weights = (compile_ir(parse(text.replace("DTYPE", dtype))) for text in (AMONG_ZEROS, OF_WEIGHTS))
    random = np.random.default_rng(11)
    for batch, inputs, height, width, outputs, kernel in (
        (2, 3, 7, 9, 5, (3, 2)), (3, 2, 2, 2, 4, (4, 3)), (2, 5, 3, 2, 70, (2, 5)), (7, 2, 12, 20, 3, (3, 3)),
        (0, 2, 3, 3, 2, (2, 2)), (2, 0, 3, 3, 2, (2, 2)), (2, 2, 0, 3, 2, (2, 2)), (2, 2, 3, 0, 2, (2, 2)),
    ):  # fmt: skip
        count = width // 2 + 2
        x = integers(random, batch, inputs, height, width, dtype=kind)
        weights = integers(random, outputs, inputs, *kernel, dtype=kind)
        y = integers(random, batch, outputs, height, count, dtype=kind)
        windows = _shown(x, (height, count), kernel, (kernel[0] - 1, 1))
        np.testing.assert_array_equal(forwards(x, weights)[0], np.einsum("bchwpq,mcpq->bmhw", windows, weights))
        windows = _shown(x, (height, count), (3, 2), (2, 1))
        np.testing.assert_array_equal(by_weights(x, y)[0], np.einsum("bchwpq,bmhw->mcpq", windows, y))
        if weights.size:
            weights.flat[random.integers(weights.size)] = (np.inf, np.nan)[batch % 2]
            windows = _shown(x, (height, count), kernel, (kernel[0] - 1, 1))
            with np.errstate(invalid="ignore"):
                expected = np.einsum("bchwpq,mcpq->bmhw", windows, weights)
            np.testing.assert_array_equal(forwards(x, weights)[0], expected)


def test_axes_in_any_order() -> None:
    text = """func @f(%x: f64[a, b, c, d], %w: f64[d, e, b, f]) {
      %0: f64[f, a, b, c, e] = contract %x, %w {left=[0, 1, 2, 3], right=[3, 4, 1, 5], kept=[5, 0, 1, 2, 4]}
      yield %0
    }"""
    compiled, random = compile_ir(parse(text)), np.random.default_rng(5)
    x, w = integers(random, 3, 2, 5, 4, dtype=np.float64), integers(random, 4, 6, 2, 7, dtype=np.float64)
    for left, right in ((x, w), (np.asfortranarray(x), w[:, ::-1])):
        np.testing.assert_array_equal(
            compiled(left.copy(), right.copy())[0], np.einsum("abcd,debf->fabce", left, right)
        )


def test_no_window_is_copied() -> None:
    def convolved(x: Any, w: Any) -> Any:
        windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::2, ::2]
        return np.einsum("ncyxkl,ockl->noyx", windows, w)

    def gradients(x: Any, w: Any, y: Any) -> Any:
        return jitflow.vjp(convolved, x, w)[1](y)

    random = np.random.default_rng(6)
    x, w, y = integers(random, 2, 3, 9, 8), integers(random, 4, 3, 3, 2), integers(random, 2, 4, 4, 4)
    for function, given in ((convolved, (x, w)), (gradients, (x, w, y))):
        text = jitflow.function(function).ir(*given, stage="optimized")
        made = [op for op in walk(parse(text).region) if "view" not in op.definition.traits]
        assert any(op.name == "contract" for op in made)
        assert all(len(getattr(value.type, "dims", ())) <= 4 for op in made for value in op.results)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_no_bit_depends_on_the_schedule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, random = SLIDING.replace("DTYPE", name), np.random.default_rng(7)
    kind = np.dtype({"f32": np.float32, "f64": np.float64}[name])
    x, w = (random.normal(size=shape).astype(kind) for shape in ((3, 130, 21), (45, 21, 3)))
    expected = compile_ir(parse(text))(x, w)[0]
    for rows, vectors, vector_bytes, steps, line, height, block in (
        (3, 4, 16, 7, 64, 16, 48), (6, 2, 32, 512, 128, 32, 960), (2, 2, 64, 16, 256, 96, 96),
        (4, 3, 64, 30, 192, 48, 192),
    ):  # fmt: skip
        panels = Panels(rows, vectors, vector_bytes, steps, line // kind.itemsize, height, block, 1)
        monkeypatch.setattr(
            "jitflow.passes.lower.kernels.contraction_memory.choose_panels", lambda *_, panels=panels: panels
        )
        np.testing.assert_array_equal(compile_ir(parse(text))(x, w)[0], expected)


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize(("vector_bytes", "steps"), [(16, 512), (32, 512), (64, 512), (32, 7), (64, 21)])
def test_steps_side_by_side_are_packed_from_either_end(
    name: str, vector_bytes: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of any length, that end with a kernel or a panel, forwards and of kernels that are turned."""
    kind, random = np.dtype({"f32": np.float32, "f64": np.float64}[name]), np.random.default_rng(10)
    panels = Panels(3, 64 // vector_bytes, vector_bytes, steps, 256 // kind.itemsize, 96, 96, 1)
    monkeypatch.setattr("jitflow.passes.lower.kernels.contraction_memory.choose_panels", lambda *_: panels)
    compiled = compile_ir(parse(TURNED.replace("DTYPE", name)))
    for taps in (2, 4, 9, 15, 17, 33):
        x, w = integers(random, 2, taps + 5, 5, dtype=kind.type), integers(random, 37, 5, taps, dtype=kind.type)
        windows = sliding_window_view(x, taps, 1)
        for found, seen in zip(compiled(x, w), (w, w[:, :, ::-1]), strict=True):
            np.testing.assert_array_equal(found, np.einsum("bnck,mck->bmn", windows, seen))


def test_lanes_are_what_lies_side_by_side() -> None:
    """Of pixels and channels without windows, in any order; and pieces that cross pictures are right."""
    random = np.random.default_rng(8)
    for batch, inputs, side, outputs in ((3, 5, 7, 9), (2, 40, 14, 33), (9, 3, 1, 4), (5, 20, 3, 70)):
        x, w = integers(random, batch, inputs, side * side), integers(random, outputs, inputs)
        for spelled in ("ncp,oc->nop", "npc,oc->nop", "ncp,oc->npo"):
            given = x.transpose(0, 2, 1).copy() if spelled.startswith("npc") else x
            found = jitflow.function(lambda x, w, spelled=spelled: np.einsum(spelled, x, w))(given, w)
            np.testing.assert_array_equal(found, np.einsum(spelled, given, w))


def test_threads_share_rows() -> None:
    text = SLIDING.replace("DTYPE", "f32")

    def shares(target: Target) -> list[int]:
        (kernel,) = lowered(text, target).functions
        return [op.attributes["threads"] for op in walk(kernel.region) if op.name == "share"]

    assert shares(Target(threads=3)) == [3]
    assert shares(CPU) == []


def test_padding_is_not_copied() -> None:
    def gradients(x: Any, w: Any, y: Any) -> Any:
        return jitflow.vjp(lambda x, w: jitflow.nn.conv(x, w, padding=1), x, w)[1](y)

    random = np.random.default_rng(12)
    x, w, y = integers(random, 2, 3, 9, 8), integers(random, 4, 3, 3, 3), integers(random, 2, 4, 9, 8)
    made = [op.name for op in walk(parse(jitflow.function(gradients).ir(x, w, y, stage="fused")).region)]
    assert made.count("contract") == 2
    assert not {"concatenate", "fusion", "variable"} & set(made)


def _bias_and_relu(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    return np.maximum(_convolved(x, w) + b[:, None, None], 0)


def _by_pixels(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    found = _convolved(x, w)
    return np.where(found > r, found * a, b[:, None, None])


def _among_others(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    return np.concatenate([y, np.abs(_convolved(x, w) - 2), y], axis=1)


def _stored(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    y[:, ::-1] = _convolved(x, w) * r
    y += b[:, None, None]
    return y


def _as_large(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    return _convolved(x, w) * b[:, None, None] + y


def _of_another_dtype(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    return _convolved(x, w) > b[:, None, None]


def _twice(x: Any, w: Any, b: Any, r: Any, y: Any, a: float) -> Any:
    found = _convolved(x, w)
    return found, found + b[:, None, None]


def _convolved(x: Any, w: Any) -> Any:
    return jitflow.nn.conv(x, w, padding="same")


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize(
    ("program", "follows"),
    [
        (_bias_and_relu, True), (_by_pixels, True), (_among_others, True), (_stored, True), (_as_large, False),
        (_of_another_dtype, False), (_twice, False),
    ],
)  # fmt: skip
def test_what_follows_is_computed_of_sums(program: Any, follows: bool, kernel: int) -> None:
    """Of one kernel that reads what is one number for each row or each column beside them, and of no other one."""
    compiled, random = jitflow.function(program), np.random.default_rng(13)
    for batch, inputs, height, width, outputs in ((3, 5, 7, 4, 9), (2, 40, 13, 10, 70), (5, 3, 2, 3, 4)):
        x, w = integers(random, batch, inputs, height, width), integers(random, outputs, inputs, kernel, kernel)
        b, r = integers(random, outputs), integers(random, height, width)
        y = integers(random, batch, outputs, height, width)
        found, expected = compiled(x, w, b, r, y.copy(), 3.0), program(x, w, b, r, y.copy(), 3.0)
        for mine, theirs in zip(*(one if isinstance(one, tuple) else (one,) for one in (found, expected)), strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
    fusions = [op for op in walk(parse(compiled.ir(x, w, b, r, y, 3.0, stage="fused")).region) if op.name == "fusion"]
    assert any(one.name == "contract" for op in fusions for one in op.regions[0].ops) == follows


BESIDE = """func @f(%x: f32[b, n, c], %w: f32[m, c, 3], %u: f32[m, c], %k: DTYPE[m]) {
  %0: f32[b, n - 2, c, 3] = window %x {axes=[1], counts=[n - 2], sizes=[3], steps=[1], dilations=[1]}
  %1: f32[b, m, n - 2] = contract %0, %w {left=[0, 1, 2, 3], right=[4, 2, 3], kept=[0, 4, 1]}
  %2: DTYPE[b, m, n - 2] = broadcast %k {dims=[b, m, n - 2], axes=[1]}
  %3: f32[b, m, n - 2] = cast %2 {dtype=f32}
  %4: f32[b, m, n - 2] = add %1, %3
  %5: f32[b, m, n] = contract %u, %x {left=[0, 1], right=[2, 3, 1], kept=[2, 0, 3]}
  %6: DTYPE[b, m, n] = broadcast %k {dims=[b, m, n], axes=[1]}
  %7: f32[b, m, n] = cast %6 {dtype=f32}
  %8: f32[b, m, n] = multiply %5, %7
  yield %4, %8
}"""


@pytest.mark.parametrize("name", ["bool", "i8", "f16", "i64", "f64"])
def test_numbers_beside_sums_have_any_dtype(name: str) -> None:
    """One for each column, in lines of their own, and one for each row."""
    function, random = parse(BESIDE.replace("DTYPE", name)), np.random.default_rng(14)
    kernels = [op for op in run_passes(function, fusion_pipeline("cpu:0")).region.ops if op.name == "fusion"]
    assert [op.regions[0].ops[0].name for op in kernels] == ["contract"] * 2
    compiled = compile_ir(function)
    for batch, length, channels, outputs in ((2, 9, 4, 17), (3, 30, 5, 70)):
        x, w = integers(random, batch, length, channels), integers(random, outputs, channels, 3)
        u, k = integers(random, outputs, channels), random.integers(0, 2, outputs).astype(DTYPES[name].numpy)
        slid, plain = compiled(x, w, u, k)
        windows, each = sliding_window_view(x, 3, 1), k.astype(np.float32)[:, None]
        np.testing.assert_array_equal(slid, np.einsum("bnck,mck->bmn", windows, w) + each)
        np.testing.assert_array_equal(plain, np.einsum("mc,bnc->bmn", u, x) * each)


def test_a_gpu_gets_products_and_sums() -> None:
    function = parse(SLIDING.replace("DTYPE", "f32"))
    written = run_passes(function, fusion_pipeline("cuda:0"))
    assert all(op.name != "contract" for op in walk(written.region))
    random = np.random.default_rng(7)
    x, w = integers(random, 2, 6, 3), integers(random, 4, 3, 3)
    np.testing.assert_array_equal(interpret(written, x, w)[0], interpret(function, x, w)[0])


_BITS = """
import numpy as np, jitflow
from jitflow import nn
random = np.random.default_rng(0)
x, w = random.normal(size=(2, 24, 20, 17)).astype("f4"), random.normal(size=(70, 24, 3, 3)).astype("f4")
y = random.normal(size=(2, 70, 20, 17)).astype("f4")
both = jitflow.function(lambda x, w, y: jitflow.vjp(lambda x, w: nn.conv(x, w, padding=1), x, w)[1](y))
print(*(hash(np.ascontiguousarray(found).tobytes()) for found in both(x, w, y)))
"""


def test_the_bits_depend_on_neither_threads_nor_vectors() -> None:
    environments = [{"JITFLOW_THREADS": count} for count in "1237"] + [{"JITFLOW_CPU": "x86-64-v3"}]
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        environments = environments[:-1]
    answers = set()
    for environment in environments:
        given = os.environ | environment | {"PYTHONHASHSEED": "0"}
        done = subprocess.run([sys.executable, "-c", _BITS], env=given, capture_output=True, text=True, check=True)
        answers.add(done.stdout)
    assert len(answers) == 1
