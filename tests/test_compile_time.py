"""The size of what is compiled is at most linear in the text: the curves of the benchmark at a size and its double."""

from __future__ import annotations

from pathlib import Path

import pytest

import jitflow
from benchmarks.compile_time import CURVES, load, measure

# For each curve the smaller size, the stage whose text is counted, and how often as long it may be.
GROWTH = {
    "straight": (30, "traced", 2.2),
    "range_2": (8, "traced", 2.2),
    "range_3": (6, "traced", 2.2),
    "range_n": (8, "traced", 2.2),
    "while": (8, "traced", 2.2),
    "helpers": (5, "traced", 2.2),
    "helpers_in_terms": (5, "traced", 2.2),
    "concatenate": (16, "kernels", 2.2),
    "broadcast_arrays": (32, "kernels", 2.2),
    "stack": (16, "kernels", 2.2),
    "list_of_floats": (6, "traced", 4.4),
}


@pytest.mark.parametrize("name", CURVES)
def test_doubling_the_text_doubles_the_program(name: str, tmp_path: Path) -> None:
    curve = CURVES[name]
    size, stage, times = GROWTH[name]
    lengths = []
    for number in (size, 2 * size):
        text, arguments = curve.program(number)
        function = jitflow.function(load(text, tmp_path / str(number)))
        lengths.append(len(function.ir(*arguments, stage=stage).splitlines()))
    assert lengths[1] <= times * lengths[0]


@pytest.mark.parametrize(("name", "size"), [("range_2", 12), ("range_3", 8), ("helpers", 8), ("helpers_in_terms", 8)])
def test_deep_nests_compile_and_run(name: str, size: int) -> None:
    point = measure(CURVES[name], size, repeats=1)
    assert point.error == ""
    assert point.seconds is not None
