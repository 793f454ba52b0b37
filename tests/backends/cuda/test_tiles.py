"""Products in tiles: every form of arithmetic, however the factors lie, and what is done with the product."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.backends.cuda.ptx import PtxError
from tests.compare import REDUCTION, assert_same
from tests.sampled import sampled

pytestmark = needs_nvrtc

BF16 = np.dtype(ml_dtypes.bfloat16)


def layer(x: Any, w: Any, b: Any) -> Any:
    y = x @ w + b
    return y / (1 + np.exp(-y))


def turned(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x.T @ w.T + b, 0)


def scaled_rows(x: Any, w: Any, b: Any) -> Any:
    y = x @ w
    return y * 2, b + y


PROGRAMS: dict[str, Callable[..., Any]] = {"layer": layer, "turned": turned, "scaled rows": scaled_rows}
SIZES = ((1, 1, 1), (5, 3, 9), (128, 32, 128), (130, 70, 140), (64, 128, 200))


def numbers(*shape: int, dtype: Any) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def factors(name: str, rows: int, steps: int, columns: int, dtype: Any) -> tuple[Any, ...]:
    x, w = numbers(rows, steps, dtype=dtype), numbers(steps, columns, dtype=dtype)
    if name == "turned":
        x, w = np.ascontiguousarray(x.T), np.ascontiguousarray(w.T)
    return x, w, numbers(columns, dtype=dtype)


def agree(got: Any, wanted: Any, rounding: float) -> None:
    """Results whose largest may differ by so much, relatively; REDUCTION if that is 0."""
    for mine, theirs in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, wanted)), strict=True):
        here = np.asarray(mine.get() if hasattr(mine, "get") else mine)
        if rounding == 0:
            assert_same(here, np.asarray(theirs), REDUCTION)
        else:
            distance = np.abs(here.astype("f8") - np.asarray(theirs).astype("f8"))
            assert distance.max(initial=0) <= rounding * max(1.0, np.abs(theirs).max(initial=0))


FORMS = {
    "f16": ("f2", {}, 2e-3),
    "bf16": (BF16, {}, 2e-2),
    "tf32": ("f4", {"fastmath": True}, 2e-3),
}


@pytest.mark.parametrize(
    ("name", "form", "architecture"), sampled(product(PROGRAMS, FORMS, ["compute_75", "compute_80"]), 3)
)
def test_every_form_gives_numpy_s_product(name: str, form: str, architecture: str) -> None:
    dtype, options, rounding = FORMS[form]
    function = PROGRAMS[name]
    code = OnDevice(function, *factors(name, 2, 3, 4, dtype), architecture=architecture, **options)
    assert f"Form::{form}, " in code.source
    for sizes in SIZES if architecture == "compute_80" else SIZES[1:4:2]:
        given = factors(name, *sizes, dtype)
        wide = [one.astype("f4") for one in given]
        wanted = function(*(wide if rounding else given))
        agree(code(*given), wanted, rounding)


def test_what_tensor_cores_would_round_is_the_library_s() -> None:
    given = factors("layer", 40, 5, 30, "f4")
    code = OnDevice(layer, *factors("layer", 2, 3, 4, "f4"))
    agree(code(*given), layer(*given), 0)
    assert code.device.counts["cublasSgemm_v2_64"] == 1


def test_factors_that_lie_anywhere() -> None:
    x, w, b = numbers(90, 60, dtype="f2"), numbers(60, 140, dtype="f2"), numbers(70, dtype="f2")
    for left, right in ((x[::2], w[:, ::2]), (x[:, 1:], w[1:, 1:71]), (x[::-1], w[:, :70])):
        wanted = layer(left.astype("f4"), right.astype("f4"), b.astype("f4"))
        agree(OnDevice(layer, left, right, b, architecture="compute_80")(left, right, b), wanted, 2e-3)


@pytest.mark.parametrize("form", FORMS)
def test_a_product_alone_and_batches(form: str) -> None:
    dtype, options, rounding = FORMS[form]
    alone = numbers(70, 40, dtype=dtype), numbers(40, 50, dtype=dtype)
    turned = numbers(3, 130, 2, 20, dtype=dtype), numbers(3, 140, 2, 20, dtype=dtype)
    cases: tuple[tuple[Callable[..., Any], tuple[Any, Any]], ...] = (
        (lambda x, w: x @ w, alone),
        (lambda x, w: x @ w, (numbers(3, 2, 7, 4, dtype=dtype), numbers(3, 2, 4, 5, dtype=dtype))),
        (lambda x, w: np.maximum(x.transpose(0, 2, 1, 3) @ w.transpose(0, 2, 3, 1), 0), turned),
    )
    for function, given in cases:
        code = OnDevice(function, *given, architecture="compute_80", **options)
        agree(code(*given), function(*(one.astype("f4") for one in given)), rounding)
        assert code.source.count("multiply_tile<") == 1


def test_two_products_of_a_program_share_their_tiles_room() -> None:
    """Each kernel has what the module declares once, for itself."""
    x, w, b = factors("layer", 40, 40, 40, "f2")
    code = OnDevice(lambda x, w, b: np.maximum(x @ w, 0) @ w + b, x, w, b, architecture="compute_80")
    wide, weights = x.astype("f4"), w.astype("f4")
    agree(code(x, w, b), np.maximum(wide @ weights, 0) @ weights + b, 2e-3)
    assert code.source.count("multiply_tile<") == 2


def test_an_update_of_what_is_multiplied_waits_for_all_tiles() -> None:
    """What takes the place of a factor would be read by tiles that come later."""

    def step(x: Any, w: Any) -> Any:
        x -= x @ w
        return x

    x, w = numbers(300, 60, dtype="f4"), numbers(60, 60, dtype="f4")
    ours, theirs = x.copy(), x.copy()
    agree(OnDevice(step, ours, w)(ours, w), step(theirs, w), 0)
    agree(ours, theirs, 0)


@pytest.mark.parametrize("what", ["barrier", "wait"])
def test_tiles_that_are_not_waited_for_are_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from jitflow.backends.cuda import emit_tiles

    text = emit_tiles.TILES
    barrier = [match.span() for match in re.finditer(r"__syncthreads\(\);", text)][1]
    changed = {
        "barrier": text[: barrier[0]] + text[barrier[1] :],
        "wait": text.replace('asm volatile("cp.async.wait_group 1;" ::: "memory");', ""),
    }
    monkeypatch.setattr(emit_tiles, "TILES", changed[what])
    given = factors("layer", 130, 70, 140, "f2")
    code = OnDevice(layer, *given, architecture="compute_80")
    with pytest.raises((PtxError, AssertionError)):
        agree(code(*given), layer(*(one.astype("f4") for one in given)), 2e-3)
