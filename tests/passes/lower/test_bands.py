"""Reductions down the rows of large matrices: in bands they have the bits that they have in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.parser import parse
from jitflow.ir.types import Vector
from jitflow.passes.fusion.fuse import fuse
from jitflow.passes.lower.host import lower
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.target import CPU
from tests.compare import EXACT, assert_same
from tests.sampled import in_turn, sampled

random = np.random.default_rng(5)


def stored(a: Any, y: Any) -> Any:
    """Elements and their sums, where they lie and from one to the next."""
    b = a * y[:, np.newaxis] + 1
    b *= a
    return b, b.sum(0), np.abs(b), b[::-1] - a


PROGRAMS = {
    "product": lambda a, y: y @ a,
    "sums": lambda a, y: (a.sum(0), (a * a).sum(0)),
    "what follows": lambda a, y: np.sqrt(np.abs(a.mean(0))) * 2 + a.max(0),
    "long body": lambda a, y: (np.exp(a) * y[:, np.newaxis]).sum(0),
    "other kinds": lambda a, y: (a.min(0), (a > 0.5).any(0), (a > 0.5).all(0), (a > 0.5).sum(0)),
    "position": lambda a, y: (a * np.arange(len(a))[:, np.newaxis] + np.arange(a.shape[1])).sum(0),
    "columns of columns": lambda a, y: a.T.sum(1),
    "stored": stored,
    "running": lambda a, y: (np.cumsum(a, 0), (a * 2).sum(0), np.cumsum(a, 0) * 2),
    "stored transposed": lambda a, y: (a.T * y, (a.T * y).sum(1)),
    "in place": lambda a, y: np.add(a.sum(0), 1, out=np.zeros(a.shape[1], a.dtype)),
}
SIZES = [(5, 9), (1, 1), (4, 64), (7, 65), (1024, 16), (1029, 17), (2051, 3), (3, 4096), (6, 8209), (0, 5), (5, 0)]


def compiled(program: Any, large: int, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """The program compiled where matrices of so many bytes are large."""
    monkeypatch.setattr(cost, "LARGE", large)
    monkeypatch.setattr(cost, "LARGE_STORED", large)
    monkeypatch.setattr(cost, "FEWEST_COLUMNS", 1)
    monkeypatch.setattr(cost, "FEWEST_ROWS", 1)
    function = jitflow.function(program)
    function(*arguments)
    return function


@pytest.mark.parametrize(("name", "dtype"), sampled(in_turn(PROGRAMS, ["f8", "f4", "c16", "i4"]), 2))
def test_bits_are_those_of_tiles(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch):
    if dtype == "c16" and name == "other kinds":
        pytest.skip("complex numbers have another order")
    program, first = PROGRAMS[name], (np.ones((6, 7), dtype), np.ones(6, dtype))
    in_bands, in_tiles = (compiled(program, large, monkeypatch, *first) for large in (1, 1 << 60))
    for rows, columns in SIZES:
        if not rows and name in ("what follows", "other kinds"):
            continue
        arguments = ((8 * random.normal(size=(rows, columns))).astype(dtype), random.normal(size=rows).astype(dtype))
        assert_same(in_bands(*arguments), in_tiles(*arguments), EXACT)


@pytest.mark.parametrize(
    ("rows", "columns", "lanes"), [("600", "600", {8}), ("9", "90", {32}), ("10", "100000", {32}), ("n", "m", {8})]
)
def test_sizes_choose(rows: str, columns: str, lanes: set[int]):
    """Bands go in registers and tiles in four of them; where sizes decide at run time, small matrices need no tiles."""
    text = f"func @f(%x: f64[{rows}, {columns}]) {{\n  %0: f64[{columns}] = reduce_add %x {{axes=[0]}}\n  yield %0\n}}"
    (kernel,) = lower(fuse(parse(text)), CPU).host.functions
    sums = [op for op in walk(kernel.region) if op.name == "add" and isinstance(op.result.type, Vector)]
    assert {op.result.type.lanes for op in sums if len(op.operands) == 2} >= lanes
    assert any(parameter.name == "sums" for parameter in kernel.parameters) == (8 in lanes)


@pytest.mark.parametrize(("rows", "is_in_bands"), [(600, True), (60, False)])
def test_what_is_stored_as_well_is_written_along_the_rows(rows: int, is_in_bands: bool) -> None:
    """Inside of the loop over rows stand lanes of columns, and the store in these; not if the matrix is small."""
    matrix = f"f64[{rows}, 600]"
    text = (
        f"func @f(%x: {matrix}) {{\n  %0: {matrix} = multiply %x, %x\n"
        "  %1: f64[600] = reduce_add %0 {axes=[0]}\n  yield %0, %1\n}"
    )
    (scheduled,) = lower(fuse(parse(text)), CPU).scheduled.values()
    lines = [line.split(";")[0].strip() for line in scheduled.text("f").splitlines()]
    assert any(line.startswith("reduce") and "in memory" in line for line in lines) == is_in_bands
    place = next(number for number, line in enumerate(lines) if line.startswith("fold"))
    assert lines[place + 1].startswith("store")
    assert ("in lanes" in lines[place - 2]) == is_in_bands


@pytest.mark.parametrize(("first", "dtype"), sampled(in_turn([3, 16, 40, 200], ["f4", "f8"]), 2))
def test_bits_do_not_depend_on_the_columns_of_the_first_call(first: int, dtype: str) -> None:
    def standardised(x: Any) -> Any:
        return (x - x.mean(0)) / x.std(0), np.exp(x).sum(0)

    function = jitflow.function(standardised)
    function(np.ones((5, first), dtype))
    for columns in (1, 8, 17, 33, 64, 100):
        x = np.random.default_rng(columns).normal(size=(70, columns)).astype(dtype)
        for found, expected in zip(function(x), jitflow.function(standardised)(x), strict=True):
            np.testing.assert_array_equal(found, expected)
