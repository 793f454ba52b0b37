"""Two products with a softmax between them: one kernel, whatever makes the scores, and however the factors lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.backends.cuda import compile_to_ptx
from jitflow.backends.cuda.nvrtc import resources
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops.memory import Memory
from jitflow.ir.parser import parse
from jitflow.nn import mixed
from jitflow.passes.lower import GPU, lower
from jitflow.passes.pipeline import run_passes
from tests.backends.cuda.images import alone
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.backends.cuda.ptx import PtxError
from tests.sampled import sampled

pytestmark = needs_nvrtc


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ np.swapaxes(k, -1, -2) * 0.25) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    return softmax(np.where(mask, q @ np.swapaxes(k, -1, -2), -np.inf)) @ v


def heads(x: Any, w: Any) -> Any:
    q, k, v = (part.reshape(2, -1, 3, 16).transpose(0, 2, 1, 3) for part in np.split(x @ w, 3, axis=-1))
    return attention(q, k, v).transpose(0, 2, 1, 3).reshape(2, -1, 48)


def numbers(*shape: int, dtype: Any = "f2") -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def factors(*shapes: tuple[int, ...], dtype: Any = "f2") -> tuple[Any, ...]:
    return tuple(numbers(*shape, dtype=dtype) for shape in shapes)


def launched(code: OnDevice) -> set[str]:
    return {name for name in code.device.launched if re.fullmatch(r"kernel_\d+_(64|128)", name)}


def agree(code: OnDevice, function: Callable[..., Any], given: tuple[Any, ...], rounding: float = 2e-3) -> None:
    wanted = function(*(one.astype("f8") for one in given))
    here = np.asarray(code(*given)).astype("f8")
    assert np.array_equal(np.isnan(here), np.isnan(wanted))
    assert np.nanmax(np.abs(here - wanted)) <= rounding * max(1.0, np.nanmax(np.abs(wanted)))


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], str]] = {
    "matrices": (attention, ((40, 16), (50, 16), (50, 16)), "64"),
    "batches and heads": (attention, ((2, 3, 130, 20), (2, 3, 70, 20), (2, 3, 70, 36)), "64"),
    "one of a batch": (attention, ((1, 2, 40, 16), (1, 2, 50, 16), (1, 2, 50, 16)), "64"),
    "one head": (causal, ((2, 1, 40, 16), (2, 1, 50, 16), (2, 1, 50, 16)), "64"),
    "wide": (attention, ((40, 80), (150, 80), (150, 100)), "128"),
    "too wide": (attention, ((40, 130), (50, 130), (50, 20)), ""),
    "causal": (causal, ((2, 70, 16),) * 3, "64"),
    "a bias": (lambda q, k, v, b: softmax(q @ k.T + b) @ v, ((40, 16), (50, 16), (50, 16), (50,)), "64"),
    "out of one product": (heads, ((2, 50, 40), (40, 144)), "64"),
    "not along rows": (lambda q, k, v: softmax(q.T @ k) @ v.T, ((16, 40), (16, 50), (20, 50)), "64"),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(CASES, 2))
def test_scores_stay_on_the_chip(name: str) -> None:
    function, shapes, width = CASES[name]
    given = tuple(one / np.float16(4) for one in factors(*shapes))
    code = OnDevice(function, *given, architecture="compute_80")
    agree(code, function, given)
    assert {one.rpartition("_")[2] for one in launched(code)} == ({width} if width else set())


def test_before_tensor_cores() -> None:
    given = factors((2, 40, 16), (2, 50, 16), (2, 50, 16))
    code = OnDevice(attention, *given, architecture="compute_75")
    agree(code, attention, given)
    assert launched(code)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_mixed_precision(dtype: str) -> None:
    given = factors((2, 50, 16), (2, 70, 16), (2, 70, 16), dtype="f4")
    step = mixed(attention, dtype=dtype).function
    code = OnDevice(lambda q, k, v: step(q, k, v), *given, architecture="compute_80")
    agree(code, attention, given, 1e-2)
    assert launched(code)


def test_rows_without_scores_and_numbers_that_are_none() -> None:
    """A row of -inf is nan, as in NumPy; one that begins with more of them than a step has is not."""
    q, k, v = factors((2, 70, 16), (2, 70, 16), (2, 70, 16))
    bias = numbers(2, 70, 70)
    bias[0, 3], bias[1, :, :64], bias[1, 5, 66] = -np.inf, -np.inf, np.nan

    def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
        return softmax(q @ np.swapaxes(k, -1, -2) + bias) @ v

    code = OnDevice(biased, q, k, v, bias, architecture="compute_80")
    with np.errstate(invalid="ignore"):
        agree(code, biased, (q, k, v, bias), 4e-3)
    assert launched(code)


def test_what_is_needed_again_is_kept() -> None:
    """A gradient, and scores that are results, go through memory."""
    given = factors((40, 16), (50, 16), (50, 16))
    for function in (lambda q, k, v: jitflow.grad(lambda q: attention(q, k, v).astype("f4").sum())(q),
                     lambda q, k, v: (weights := softmax(q @ k.T), weights @ v)):  # fmt: skip
        code = OnDevice(function, *given, architecture="compute_80")
        code(*given)
        assert not launched(code)


def test_nothing_spills_and_tensor_cores_multiply() -> None:
    shapes = ((2, 3, 40, 16), (2, 3, 50, 16), (2, 3, 50, 16))
    text = OnDevice(attention, *factors(*shapes), architecture="compute_80").source
    for architecture, name in (("sm_80", "kernel_0_64"), ("sm_90", "kernel_0_64"), ("sm_90", "kernel_0_128")):
        (found,) = resources(alone(text, [name]), architecture).values()
        assert (found.stack, found.spilled) == (0, 0)
    kernel = compile_to_ptx(alone(text, ["kernel_0_64"]), "compute_80")
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in kernel
    assert "cp.async.cg.shared.global" in kernel


@pytest.mark.parametrize("number", sampled(range(5), 2))
def test_a_missing_barrier_is_found(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from jitflow.backends.cuda import emit_attend

    text = emit_attend._ATTEND
    waits = [match.span() for match in re.finditer(r"__syncthreads\(\);|receive<\d>\(\);", text)][2 + number]
    monkeypatch.setattr(emit_attend, "_ATTEND", text[: waits[0]] + text[waits[1] :])
    given = factors((140, 16), (150, 16), (150, 16))
    with pytest.raises((PtxError, AssertionError)):
        agree(OnDevice(attention, *given, architecture="compute_80"), attention, given)


def lowered_chain() -> Any:
    """The softmax of half the product of two matrices, times a third."""
    text = (Path(__file__).parents[2] / "passes" / "golden" / "chain_products.ir").read_text()
    function = parse(text[text.index("func") : text.index("->")])
    attributes = MappingProxyType({**function.attributes, "layouts": ("C",) * 3})
    return lower(run_passes(replace(function, attributes=attributes), ("chain_products",)), GPU)


def test_its_schedule_is_printed() -> None:
    lowered = lowered_chain()
    printed = {name: one.text(name) for name, one in lowered.scheduled.items()}
    sizes = re.search(r"tiles @kernel_0_64 \((.*)\) \{\n  for rows by 128 in parallel", printed["kernel_0_64"])
    assert sizes is not None
    assert [size.partition(":")[0] for size in sizes[1].split(", ")] == ["rows", "steps", "columns", "values"]
    assert "multiply 128 x 64 by f16, in threads of 8\n" in printed["kernel_0_64"]
    assert "multiply 128 x 128 by f16, in threads of 8\n" in printed["product"]


def test_the_interpreter_says_the_same() -> None:
    """Of the kernel before it is text."""
    (kernel,) = (one for one in lowered_chain().host.functions if one.name == "kernel_0_64")
    q, k, v = factors((5, 16), (7, 16), (7, 12))
    out = np.zeros((5, 12), "f2")
    given = [Memory(array.reshape(-1).view(np.uint8)) for array in (q, k, v, out)]
    interpret(kernel, *given, 5, 2 * 16, 2 * 12, 7, 16, 12)
    wanted = softmax(q.astype("f8") @ k.T.astype("f8") / 2) @ v.astype("f8")
    assert np.abs(out - wanted).max() <= 2e-3
