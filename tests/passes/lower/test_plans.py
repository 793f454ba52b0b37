"""In place means in place: what the host programs of the gallery's mutating programs allocate, copy and launch.

``plans.txt`` is a table: how many of each there are in the text of the host program, and how many of those stand inside
loops. ``pytest -n0 --bless tests/passes/lower`` writes it anew; a number that grows asks for a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import Op, Region
from jitflow.ir.parser import parse
from tests.gallery import compiled, example

TABLE = Path(__file__).parent / "plans.txt"
MUTATING = """
    adi burgers cavity_flow cholesky fdtd_2d floyd_warshall gemver heat_1d insertion_sort jacobi_1d life lu
    mandelbrot_shrinking seidel_2d shallow_water symm syr2k syrk trmm
""".split()
KINDS = ("allocations", "copies", "fills", "other launches")


def kind_of(op: Op) -> str | None:
    if op.name == "alloc":
        return "allocations"
    if op.name != "launch":
        return None
    return {"copy": "copies", "fill": "fills"}.get(op.attributes["kernel"].split("_")[0], "other launches")


def inside_out(region: Region, loops: int = 0) -> Iterator[tuple[Op, int]]:
    """Every op of a region, and in how many loops it stands."""
    for op in region.ops:
        yield op, loops
        for inner in op.regions:
            yield from inside_out(inner, loops + (op.name in ("for", "while")))


def plan(name: str) -> list[str]:
    """The row of a program: each count, and how many of them are in loops."""
    host = parse(compiled(name).ir(*example(name, "large"), stage="kernels"))
    everywhere: Counter[str | None] = Counter()
    in_loops: Counter[str | None] = Counter()
    for op, loops in inside_out(host.region):
        everywhere[kind_of(op)] += 1
        in_loops[kind_of(op)] += loops > 0
    return [f"{everywhere[kind]} ({in_loops[kind]})" if in_loops[kind] else f"{everywhere[kind]}" for kind in KINDS]


def test_plans(request: pytest.FixtureRequest) -> None:
    rows = [("program", *KINDS), *((name, *plan(name)) for name in MUTATING)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    text = "\n".join(lines) + "\n"
    if request.config.getoption("--bless"):
        TABLE.write_text(text)
    assert text == TABLE.read_text(), "if this is right: pytest -n0 --bless tests/passes/lower"


def updates(x, turns):
    i = 0
    for turn in range(turns):
        x[i] += 1.0
        x[-1 - i] *= 0.75
        i = (i + turn) % len(x)


def test_a_loop_of_a_million_scalar_updates_allocates_nothing() -> None:
    function, turns = jitflow.function(updates), 1_000_000
    found, expected = np.arange(100.0), np.arange(100.0)
    function(found.copy(), 3)
    before = jitflow.memory_stats()["allocations"]
    function(found, turns)
    assert jitflow.memory_stats()["allocations"] == before
    updates(expected, turns)
    np.testing.assert_array_equal(found, expected)
    host = parse(function.ir(found, turns, stage="kernels"))
    assert all(op.name != "alloc" for op, _ in inside_out(host.region))
