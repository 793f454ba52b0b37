"""Products that are alike ask one function for the figures of their schedules, whatever the sizes are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compiler import lower
from jitflow.config import CONFIG
from jitflow.ir.core import walk


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32) / 8


def chain(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = x @ w
    return x


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
    monkeypatch.setattr("jitflow.hardware.CONFIG", replace(CONFIG, cpu_devices=2))

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
