"""Products of bytes with sums of i32: exactly NumPy's, whatever the shape, the signs and the processor."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import jitflow
from jitflow.backends.llvm.products.byte_text import way_of_bytes
from jitflow.backends.llvm.products.emit_blocks import _block_text
from jitflow.ir.dtypes import I32
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.machines.processor import TARGETS, has_features
from jitflow.passes.lower import CPU, GPU, lower
from jitflow.passes.pipeline import fusion_pipeline, run_passes
from jitflow.passes.schedule.target import Processor, Target
from tests.execute import compile_ir
from tests.exports.elsewhere import has_node, has_qemu, run_in_c, run_in_node

RANDOM = np.random.default_rng(3)
GROUPED = """func @f(%x: u8[n, 4*k], %w: i32[k, m], %b: i32[m]) {
  %0: i32[n, m] = matmul %x, %w {dtype=i32, group=4}
  %1: i32[n, m] = broadcast %b {dims=[n, m], axes=[1]}
  %2: i32[n, m] = add %0, %1
  yield %2
}"""


def some_bytes(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Bytes of which many are the least and the largest."""
    info = np.iinfo(dtype)
    found = RANDOM.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    return np.where(RANDOM.random(shape) < 0.5, RANDOM.choice([info.min, info.max], shape), found).astype(dtype)


def exact(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.astype(np.int32) @ right.astype(np.int32)


@jitflow.function
def written_by_hand(x: Any, w: Any) -> Any:
    return x.astype(np.int32) @ w.astype(np.int32)


@pytest.mark.parametrize(("left", "right"), [*product((np.int8, np.uint8), repeat=2)])
def test_products_of_any_size_are_those_of_numpy(left: Any, right: Any) -> None:
    for rows, steps, columns in ((2, 3, 5), (0, 4, 3), (3, 0, 2), (4, 7, 0), (1, 9, 6), (9, 1, 1), (17, 33, 49),
                                 (8, 2100, 70), (40, 64, 130)):  # fmt: skip
        x, w = some_bytes((rows, steps), left), some_bytes((steps, columns), right)
        found = written_by_hand(x, w)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, exact(x, w))


def test_they_take_the_fast_way_and_what_follows_goes_along() -> None:
    @jitflow.function
    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.maximum(x.astype(np.int32) @ w.T.astype(np.int32) + b, 0).astype(np.float32) / 3

    x, w, b = some_bytes((20, 30), np.int8), some_bytes((40, 30), np.int8), RANDOM.integers(-9, 9, 40, np.int32)
    np.testing.assert_array_equal(layer(x, w, b), np.maximum(exact(x, w.T) + b, 0).astype(np.float32) / 3)
    text = layer.ir(stage="kernels")
    assert "multiply_block" in text
    assert "dtype=i32" in text
    assert "overlap_block" not in text, "what divides works on blocks of floats alone"


def test_products_of_other_integers_stay_as_they_are() -> None:
    x, w = RANDOM.integers(-300, 300, (5, 6)), some_bytes((6, 7), np.int8)
    mixed = jitflow.function(lambda x, w: x.astype(np.int32) @ w.astype(np.int32))
    np.testing.assert_array_equal(mixed(x, w), exact(x, w))
    strided = jitflow.function(lambda x, w: x[::2, ::3].astype(np.int32) @ w[:, ::2].astype(np.int32))
    odd = some_bytes((10, 19), np.uint8)[1:, 1:13]
    weight = some_bytes((12, 7), np.int8)[:, 1:]
    np.testing.assert_array_equal(written_by_hand(odd, weight), exact(odd, weight))
    y = some_bytes((10, 18), np.int8)
    np.testing.assert_array_equal(strided(y, w), exact(y[::2, ::3], w[:, ::2]))


def grouped_arguments(rows: int, groups: int, columns: int) -> list[np.ndarray]:
    words = some_bytes((groups, columns, 4), np.int8).view("<i4")[..., 0]
    return [some_bytes((rows, 4 * groups), np.uint8), words, RANDOM.integers(-99, 99, columns, np.int32)]


TARGETS_OF_KERNELS = {"blocks": CPU, "narrow": Target(processor=Processor(32, 16)), "plain": Target(), "a GPU": GPU}


@pytest.mark.parametrize("target", TARGETS_OF_KERNELS)
def test_kernels_mean_what_the_op_means(target: str) -> None:
    pipeline = fusion_pipeline("cuda:0" if target == "a GPU" else "")
    host = lower(run_passes(parse(GROUPED), pipeline), TARGETS_OF_KERNELS[target]).host
    for sizes in ((3, 2, 5), (9, 3, 50), (2, 0, 3)):
        x, w, b = grouped_arguments(*sizes)
        (expected,) = interpret(parse(GROUPED), x, w, b)
        words = np.ascontiguousarray(w).view(np.int8).reshape(*w.shape, 4)
        np.testing.assert_array_equal(expected, exact(x, words.transpose(0, 2, 1).reshape(x.shape[1], len(b))) + b)
        memory, *_ = interpret(host, *(one for array in (x, w, b) for one in (array, *array.shape, *array.strides)))
        found = memory.array(I32, expected.size).reshape(expected.shape)
        np.testing.assert_array_equal(found, expected)


def test_operands_that_do_not_lie_side_by_side_are_copied() -> None:
    text = GROUPED.replace("%x: u8[n, 4*k], %w: i32[k, m]", "%y: u8[4*k, n], %v: i32[m, k]").replace(
        "{\n  %0",
        "{\n  %x: u8[n, 4*k] = transpose %y {axes=[1, 0]}\n  %w: i32[k, m] = transpose %v {axes=[1, 0]}\n  %0",
        1,
    )
    x, w, b = grouped_arguments(7, 5, 9)
    arguments = [np.ascontiguousarray(x.T), np.ascontiguousarray(w.T), b]
    for found, wanted in zip(compile_ir(parse(text))(*arguments), interpret(parse(GROUPED), x, w, b), strict=True):
        np.testing.assert_array_equal(found, wanted)


WAYS = {"x86-64": "pairs", "x86-64-v3": "pairs", "x86-64-v4": "pairs", "aarch64-linux": "each", "wasm32": "dot"}


def test_every_target_has_a_way() -> None:
    assert {name: way_of_bytes(TARGETS[name]()) for name in WAYS} == WAYS


INSTRUCTIONS = {
    "vnni of 512 bits": ("x86_64-unknown-linux-gnu", "znver4", 16, "vnni", "vpdpbusd"),
    "vnni of 256 bits": ("x86_64-unknown-linux-gnu", "alderlake", 8, "vnni", "vpdpbusd"),
    "pairs of 512 bits": ("x86_64-unknown-linux-gnu", "skylake-avx512", 16, "pairs", "vpmaddwd"),
    "pairs of 256 bits": ("x86_64-unknown-linux-gnu", "haswell", 8, "pairs", "vpmaddwd"),
    "pairs of 128 bits": ("x86_64-unknown-linux-gnu", "x86-64", 4, "pairs", "pmaddwd"),
    "i8mm": ("aarch64-unknown-linux-gnu", "neoverse-v1", 4, "i8mm", "usdot"),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_there_is_one_instruction_for_a_sum_or_two(name: str) -> None:
    triple, cpu, lanes, way, instruction = INSTRUCTIONS[name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = _block_text("block", I32, 2, 2, lanes, (), way)
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=2)
    code = machine.emit_assembly(
        llvm.parse_assembly(f'target triple = "{triple}"\n{text}\nattributes #0 = {{ nounwind }}')
    )
    found = re.findall(rf"\b{instruction}\b", code)
    assert len(found) >= 4 * (2 if way == "pairs" else 1)
    assert not re.search(r"\bv?pmulld\b", code)


NEEDED = {"x86-64": has_features("sse2"), "x86-64-v3": has_features("avx2"), "x86-64-v4": has_features("avx512bw"),
          "aarch64-linux": has_qemu, "wasm32": has_node}  # fmt: skip


@pytest.mark.parametrize("target", NEEDED)
def test_other_processors_have_the_same_sums(target: str, tmp_path: Path) -> None:
    if not NEEDED[target]:
        pytest.skip(f"no {target} here")
    arguments = jitflow.Spec("i8", ("n", "k")), jitflow.Spec("i8", ("k", "m"))
    exported = written_by_hand.export(tmp_path / "product", *arguments, target=target)
    if exported.library is None:
        pytest.skip(exported.why)
    for rows, steps, columns in ((2, 3, 5), (17, 33, 49), (9, 130, 23)):
        x, w = some_bytes((rows, steps), np.int8), some_bytes((steps, columns), np.int8)
        if target.startswith("x86"):
            found = jitflow.load(exported.library)(x, w)
        elif target == "wasm32":
            found = run_in_node(exported, {"x": x, "w": w}, tmp_path).results["result"]
        else:
            found = run_in_c(exported, {"x": x, "w": w}, tmp_path, target).results["result"]
        np.testing.assert_array_equal(found, exact(x, w))
