"""Products that are alike ask one function for the figures of their schedules, whatever the sizes are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compilation.compiler import lower
from jitflow.config import CONFIG
from jitflow.ir.core import walk
from tests.cache.test_processes import ran
from tests.exports.elsewhere import compiler, named_arguments, run_in_c

PROGRAM = """\
import json, sys
import numpy as np
import jitflow

@jitflow.function
def chain(a, b, c, d):
    return a @ b @ c @ d

for sizes in (40, 30, 20, 60, 50), (300, 40, 11, 500, 33):
    given = [np.cos(np.arange(m * n, dtype=np.float32)).reshape(m, n) for m, n in zip(sizes, sizes[1:])]
    expected = given[0] @ given[1] @ given[2] @ given[3]
    np.testing.assert_allclose(chain(*given), expected, rtol=1e-3, atol=1e-3)
print(json.dumps({"misses": chain.cache_info().misses}))
"""


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32) / 8


def chain(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = x @ w
    return x


def four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return chain(a, b, c, d)


def matrices(*sizes: int, batch: tuple[int, ...] = ()) -> list[Any]:
    """Matrices to be multiplied one after the other."""
    return [normal(*batch, *shape) for shape in pairwise(sizes)]


def called(function: Any) -> list[str]:
    """The functions that a program that was called asks for figures."""
    compilation = function._compilation()
    compilation.traced = function._last[1]
    (host,) = lower(compilation)
    found = [op.attributes["function"] for op in walk(host.region) if op.name == "call"]
    assert set(found) == {one.name for one in host.functions} - {one.name for one in host.kernels}
    return found


@pytest.mark.parametrize("sizes", [(1, 600, 3, 70, 1), (300, 40, 1, 500, 33), (70, 0, 4, 5, 6), (9, 3000, 900, 2, 50)])
def test_figures_follow_the_sizes(sizes: tuple[int, ...]) -> None:
    function = jitflow.function(chain)
    function(*matrices(40, 30, 20, 60, 50))
    assert len(called(function)) == 2
    assert len(set(called(function))) == 1
    given = matrices(*sizes)
    np.testing.assert_allclose(function(*given), chain(*given), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("batch", [1, 2, 40])
def test_many_products_are_cut_by_their_number(batch: int) -> None:
    function = jitflow.function(chain)
    function(*matrices(40, 30, 30, 30, 30, batch=(3,)))
    assert called(function)
    given = matrices(70, 200, 5, 100, 20, batch=(batch,))
    np.testing.assert_allclose(function(*given), chain(*given), rtol=1e-3, atol=1e-4)


def test_one_product_has_its_figures_in_the_program() -> None:
    function = jitflow.function(chain)
    function(*matrices(40, 30, 30))
    assert not called(function)


def test_they_read_as_if_they_were_written_out(tmp_path: Path) -> None:
    function, given = jitflow.function(chain), matrices(40, 30, 30, 30, 30)
    expected = function(*given)
    (file := tmp_path / "printed").write_text(text := function.ir(stage="scheduled"))
    again = jitflow.function(chain, schedule=file)
    np.testing.assert_array_equal(again(*given), expected)
    assert not called(again)
    assert again.ir(stage="scheduled") == text


def test_parts_of_a_program_have_functions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitflow.machines.hardware.CONFIG", replace(CONFIG, cpu_devices=2))

    @jitflow.function
    def on_two(left: Any, right: Any) -> Any:
        with jitflow.device("cpu:0"):
            one = chain(*left)
        with jitflow.device("cpu:1"):
            other = chain(*right)
        return one, other

    left, right = matrices(40, 30, 30, 30), matrices(20, 50, 50, 50)
    for found, expected in zip(on_two(left, right), (chain(*left), chain(*right)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def looped(x: Any, weights: Any, turns: Any) -> Any:
    for _ in range(turns):
        x = chain(x, *weights)
    return x


def branching(x: Any, weights: Any, turns: Any) -> Any:
    if turns > 1:
        return chain(x, *weights)
    return chain(x, *weights[:2]) @ weights[2] * 2


def growing(x: Any, weights: Any, turns: Any) -> Any:
    for turn in range(turns):
        x = chain(x[: turn + 1], *weights)
    return x


def again(x: Any, weights: Any, turns: Any) -> Any:
    if turns <= 0:
        return x.sum()
    return again(chain(x, *weights), weights, turns - 1) + x.sum()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("program", [looped, branching, growing, again])
def test_products_in_regions_have_them_too(program: Any, threads: int) -> None:
    before = jitflow.num_threads()
    jitflow.set_num_threads(threads)
    function = jitflow.function(program)
    try:
        for sizes, turns in (((40, 30, 20, 30), 1), ((40, 30, 20, 30), 3), ((9, 300, 700, 300), 2)):
            weights = matrices(sizes[-1], *sizes[1:])
            x = normal(sizes[0], sizes[-1])
            found, expected = function(x, weights, turns), program(x, weights, turns)
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3)
    finally:
        jitflow.set_num_threads(before)


def test_a_second_process_finds_them(tmp_path: Path) -> None:
    (program := tmp_path / "program.py").write_text(PROGRAM)
    said = [ran(program, tmp_path / "cache") for _ in range(2)]
    assert said == [{"misses": 1}, {"misses": 0}]


@pytest.mark.skipif(compiler("host") is None, reason="no C compiler")
def test_an_exported_program_has_them(tmp_path: Path) -> None:
    function, given = jitflow.function(four), matrices(40, 30, 20, 60, 50)
    exported = function.export(tmp_path / "four", *given)
    for one in given, matrices(300, 40, 1, 500, 33):
        found = run_in_c(exported, named_arguments(function, one), tmp_path)
        np.testing.assert_allclose(found.results["result"], chain(*one), rtol=1e-3, atol=1e-4)
