"""The benchmark of predictions: what plain Python counts, and what is made of errors."""

from __future__ import annotations

import json

import pytest

from benchmarks.predictions import Line, as_record, count_turns, summaries
from jitflow.machines.machine import KINDS, Machine


def test_plain_python_counts_turns() -> None:
    found = count_turns("bisection", small=True)
    assert set(found) == {"bisection.py:21"}
    assert 1 < found["bisection.py:21"] < 200


def test_loops_of_helpers_are_counted() -> None:
    assert count_turns("newton", small=True)["newton.py:14"] > 1


def test_errors_are_parts_of_the_measured_times() -> None:
    lines = [
        Line("collatz", 1.0, 1.25, 3.0, ("collatz.py:17",), unseen=False),
        Line("nbody", 2.0, 1.0, 1.0, (), unseen=True),
        Line("lstm step", 1.0, 1.0, 1.0, (), unseen=True),
    ]
    found = summaries(lines)
    assert found["all"] == {"median_error": pytest.approx(0.25), "within_a_quarter": 2, "programs": 3}
    assert found["training steps"]["programs"] == 1
    assert found["all, with turns guessed"]["median_error"] == pytest.approx(0.5)
    record = as_record(lines, Machine((("cpu:0", KINDS["cpu"]),)))
    assert json.loads(json.dumps(record))["programs"][0]["error"] == pytest.approx(0.25)
