"""The training benchmark: jitflow finds what NumPy finds, peers take turns, and what they did is told."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from benchmarks.measure import Measurement
from benchmarks.training import Line, SweepLine, as_record, print_tables
from benchmarks.training_cases import CASES
from benchmarks.training_session import TrainingSession
from benchmarks.training_sweeps import SWEEPS
from benchmarks.worker import Worker


@pytest.mark.parametrize("name", CASES)
def test_jitflow_finds_what_numpy_finds(name: str) -> None:
    session = TrainingSession("jitflow")
    assert session.prepare(name, small=False).error == ""
    assert session.turn() > 0


def test_the_derivatives_written_by_hand_are_right() -> None:
    case = CASES["lstm"]
    loss, by_w, _, by_b = case.answers()
    assert float(loss) == pytest.approx(1.0, rel=0.5)
    assert by_w.shape == (128, 512)
    assert np.any(by_b)
    losses = CASES["classifier_32"].answers()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", SWEEPS)
def test_loops_of_numbers_have_gradients(name: str) -> None:
    session = TrainingSession("jitflow")
    for gradient in (False, True):
        session.prepare_sweep(name, gradient)
        assert session.turn() > 0


def test_a_peer_that_is_wrong_does_not_count() -> None:
    good, wrong = Measurement(samples=[1e-3]), Measurement(samples=[1e-6], error="wrong")
    line = Line("lstm", False, {"jitflow": good, "jax": wrong, "torch": Measurement(samples=[2e-3])})
    assert line.ratio() == pytest.approx(2.0)
    assert Line("lstm", True, {"jitflow": wrong, "jax": good}).ratio() is None


def test_tables_and_records() -> None:
    lines = [
        Line("lstm", threads, {"jitflow": Measurement(1.0, [1e-3]), "jax": Measurement(error="OSError: no")})
        for threads in (False, True)
    ]
    sweeps = [SweepLine("while_newton", 1e-6, 2e-6)]
    output = StringIO()
    print_tables(lines, sweeps, Console(file=output, width=120))
    assert "one thread" in output.getvalue()
    assert "all threads" in output.getvalue()
    assert "lstm, jax: OSError: no" in output.getvalue()
    record = json.loads(json.dumps(as_record(lines, sweeps), allow_nan=False))
    assert [case["threads"] for case in record["cases"]] == [1, "all"]
    assert record["loops"][0]["ratio"] == pytest.approx(2.0)


def test_processes_may_use_all_threads() -> None:
    worker = Worker("jitflow", all_threads=True, make_session=TrainingSession)
    try:
        worker.ask("prepare_sweep", "while_newton", True)
        assert worker.turn() > 0
    finally:
        worker.close()
