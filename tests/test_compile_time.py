"""The size of what is compiled is at most linear in the text: the curves of the benchmark at a size and its double."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jitflow
from benchmarks.compile_time import CURVES, load, measure
from jitflow.frontend.recording.trace import Trace

# For each curve the smaller size, the stage whose text is counted, and how often as long it may be.
GROWTH = {
    "straight": (30, "traced", 2.2),
    "range_2": (8, "traced", 2.2),
    "range_3": (6, "traced", 2.2),
    "range_n": (8, "traced", 2.2),
    "while": (8, "traced", 2.2),
    "sums": (8, "traced", 2.2),
    "sentinels": (3, "traced", 3.0),
    "small_nests": (3, "traced", 2.2),
    "helpers": (5, "traced", 2.2),
    "helpers_in_terms": (5, "traced", 2.2),
    "returns": (16, "traced", 2.2),
    "tries": (8, "traced", 2.2),
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


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("range_2", 7),
        ("range_n", 7),
        ("while", 7),
        ("sums", 7),
        ("small_nests", 4),
        ("helpers", 6),
        ("returns", 12),
        ("tries", 8),
    ],
)
def test_doubling_the_text_doubles_what_is_recorded_and_given_up(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    add = Trace.add

    def counted(trace: Trace, *args: Any, **keywords: Any) -> Any:
        found[-1] += 1
        return add(trace, *args, **keywords)

    monkeypatch.setattr(Trace, "add", counted)
    for number in (size, 2 * size):
        found.append(0)
        text, arguments = CURVES[name].program(number)
        jitflow.function(load(text, tmp_path / str(number))).ir(*arguments, stage="traced")
    assert found[1] <= 2.6 * found[0]


@pytest.mark.parametrize(("name", "size"), [("range_2", 12), ("range_3", 8), ("helpers", 8), ("helpers_in_terms", 8)])
def test_deep_nests_compile_and_run(name: str, size: int) -> None:
    point = measure(CURVES[name], size, repeats=1)
    assert point.error == ""
    assert point.seconds is not None
