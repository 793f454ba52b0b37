"""Reductions by teams of warps and over the whole grid, and rows on the chip: every way gives NumPy's result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from jitflow.api import function as compiled
from jitflow.backends.cuda import compile_to_ptx
from jitflow.ir.parser import parse
from jitflow.ir.printer import Names, print_op
from jitflow.passes.lower import GPU, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.reader import parse_schedule
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import Native, OnDevice
from tests.backends.cuda.ptx import PtxError
from tests.compare import REDUCTION, assert_same
from tests.sampled import sampled

pytestmark = needs_nvrtc


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + x.dtype.type(1e-3))


def largest_in_rows(x: Any) -> Any:
    return x.argmax(1), x.max(1), (x * x).sum(1)


WAYS: dict[str, tuple[Callable[[Any], Any], tuple[tuple[int, int], ...]]] = {
    "all": (lambda x: (x.sum(), x.max(), x.argmin()), ((3, 50), (2, 3000), (5, 70_001))),
    "centred": (lambda x: (x - x.mean()) / x.std(), ((3, 50), (2, 3000), (3, 90_001))),
    "rows": (largest_in_rows, ((7, 50), (3, 2049), (2, 270_001))),
    "columns": (lambda x: (x.sum(0), x.argmax(0), x.var(0)), ((100, 5), (300, 40), (33_000, 3))),
    "softmax": (softmax, ((6, 50), (3, 1001), (2, 2049), (2, 7000), (2, 270_001))),
    "layer norm": (layer_norm, ((6, 50), (3, 1001), (2, 2049), (2, 9216), (2, 13_000))),
}


@pytest.mark.parametrize(("name", "dtype"), sampled(product(WAYS, ["f4", "f8"]), 3))
def test_every_way_gives_numpy_s_result(name: str, dtype: str) -> None:
    function, shapes = WAYS[name]
    random = np.random.default_rng(1)
    code = OnDevice(function, np.ones((2, 3), dtype))
    for shape in shapes:
        x = (random.standard_normal(shape) + 1.5).astype(dtype)
        _agree(code(x), function(x), f"{name} of {shape}")


def _agree(got: Any, wanted: Any, what: str = "") -> None:
    for mine, theirs in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, wanted)), strict=True):
        here = np.asarray(mine.get() if hasattr(mine, "get") else mine)
        assert_same(here, np.asarray(theirs), REDUCTION, what)


KINDS: dict[str, Callable[[Any], Any]] = {
    "i4": lambda x: (x.sum(), x.max(), x.argmin(), (x * x).sum(1)),
    "c8": lambda x: (x.sum(), x.sum(1), x.sum(0)),
    "?": lambda x: (x.any(), x.all(), x.all(0), x.any(1)),
    "f2": lambda x: (x.max(), x.min(0), x.argmax(1)),
}


@pytest.mark.parametrize("dtype", KINDS)
def test_other_reductions_go_the_same_ways(dtype: str) -> None:
    random, function = np.random.default_rng(1), KINDS[dtype]
    code = OnDevice(function, np.ones((2, 3), dtype))
    for shape in ((3, 50), (2, 3000), (300, 40)):
        x = (random.standard_normal(shape) * 9).astype(dtype)
        _agree(code(x), function(x), f"{dtype} {shape}")


def test_strided_rows_and_other_axes() -> None:
    x = np.random.default_rng(2).standard_normal((3, 2, 5000)).astype("f4")
    for given in (x[:, :, ::2], x.transpose(1, 2, 0), x[::-1, :, 1:]):
        function = lambda x: (x - x.max((0, 1), keepdims=True)).sum((0, 2))  # noqa: E731
        _agree(OnDevice(function, given)(given), function(given))


SOFTMAX = """func @f(%x: f32[n, m]) {
  %0: f32[n] = reduce_maximum %x {axes=[1]}
  %1: f32[n, m] = broadcast %0 {axes=[0], dims=[n, m]}
  %2: f32[n, m] = subtract %x, %1
  %3: f32[n, m] = exp %2
  %4: f32[n] = reduce_add %3 {axes=[1]}
  %5: f32[n, m] = broadcast %4 {axes=[0], dims=[n, m]}
  %6: f32[n, m] = divide %3, %5
  yield %6
}"""


@pytest.mark.parametrize(("columns", "what"), [(64, "stage"), (3000, "stage"), (3000, "join")])
def test_a_missing_barrier_is_found(columns: int, what: str) -> None:
    x = np.random.default_rng(3).standard_normal((3, columns)).astype("f4")

    def without(source: str) -> str:
        """The barrier behind a row's copy, of the kernel for a warp or that for a team, or behind what warps share."""
        wait, turn = ("__syncwarp();", 1) if columns == 64 else ("__syncthreads();", 0)
        place = [match.end() for match in re.finditer(r"stage\(row\w*, at", source)][turn]
        place = source.index(wait, place)
        if columns == 3000:  # behind the copy the first span waits once more
            again = source.index(wait, place + 1)
            if what == "stage":
                source = source[:again] + source[again + len(wait) :]
            else:
                place = source.index(wait, again + 1)
        return source[:place] + source[place + len(wait) :]

    assert_same(Native(parse(SOFTMAX))(x)[0], softmax(x), REDUCTION)
    with pytest.raises(PtxError, match="without a barrier"):
        Native(parse(SOFTMAX), source=without)(x)


@pytest.mark.parametrize("name", WAYS)
def test_what_is_chosen_is_legal_and_reads_back(name: str) -> None:
    function = parse(compiled(WAYS[name][0]).ir(np.ones((9, 9), "f4"), stage="optimized"))
    function = replace(function, attributes=MappingProxyType({**function.attributes, "layouts": ("C",)}))
    for one in lower(run_passes(function, FUSION_PIPELINE), GPU).scheduled.values():
        values = Names()
        print_op(one.op, values)
        names = ScheduleNames(one.loops, values)
        text = print_schedule(one.schedule, names)
        again = parse_schedule(text, names, one.loops.vector)
        assert print_schedule(again, names) == text
        check_schedule(again, one.loops, GPU, names)


def test_whole_arrays_are_spread_over_the_grid() -> None:
    text = compiled(lambda x: x.sum()).ir(np.ones((9, 9), "f4"), stage="cuda")
    assert "// grid (size_2), block (32, 8)" in text
    assert "bar.sync" in compile_to_ptx(text, "compute_80")


def test_rows_are_read_once_where_they_fit() -> None:
    """One 128-bit copy to the chip, and then no other access to the operand."""
    for function in (softmax, layer_norm):
        text = compiled(function).ir(np.ones((9, 9), "f4"), stage="cuda")
        kernels = text.split("// grid")[1:]
        staged = [kernel for kernel in kernels if "stage(" in kernel]
        assert len(staged) == 2, "rows of a warp, and of a team"
        for kernel in staged:
            assert len(re.findall(r"at\(x,", kernel)) == 1
        assert "cp.async.cg.shared.global" in compile_to_ptx(text, "compute_80")
