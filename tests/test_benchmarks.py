"""The benchmarks: every form of every workload gives NumPy's result, and the harness measures what it says."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import measure, model, report
from benchmarks.harness import run
from benchmarks.limits import arithmetic_peak, copy_bandwidth
from benchmarks.machine import describe_machine, versions
from benchmarks.measure import Measurement
from benchmarks.peers import PEERS, Peer, installed_peers, missing_text
from benchmarks.worker import Session, Worker
from benchmarks.workload import Workload, same_source
from benchmarks.workloads import WORKLOADS
from jitflow.cli import app

FORMS = {"numba-array": "numba_array", "numba-loops": "numba_loops", "jax": "jax", "torch": "torch"}


def double(x: Any) -> Any:
    return x * 2.0


def workload(**changes: Any) -> Workload:
    fields = {
        "name": "double",
        "description": "twice",
        "function": double,
        "make_inputs": lambda random, small: (np.arange(1.0, 9.0),),
        "necessary_bytes": 128,
        "flops": 8,
        "relative_tolerance": 1e-15,
    }
    return Workload(**{**fields, **changes})


@pytest.mark.parametrize("name", WORKLOADS)
def test_jitflow_gives_numpy_s_result(name: str) -> None:
    chosen = WORKLOADS[name]
    inputs = chosen.make_inputs(np.random.default_rng(1), True)
    run = PEERS["jitflow"].prepare(chosen, inputs)
    assert run is not None
    assert measure.disagreement(chosen, run(), chosen.function(*inputs)) == ""


@pytest.mark.stress
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("peer", FORMS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_form_gives_numpy_s_result(name: str, peer: str) -> None:
    if not PEERS[peer].is_installed:
        pytest.skip(f"{PEERS[peer].package} is not installed")
    chosen = WORKLOADS[name]
    inputs = chosen.make_inputs(np.random.default_rng(1), True)
    run = PEERS[peer].prepare(chosen, inputs)
    assert run is not None
    assert measure.disagreement(chosen, run(), chosen.function(*inputs)) == ""


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_whole(name: str) -> None:
    chosen = WORKLOADS[name]
    assert chosen.name == name
    assert all(getattr(chosen, form) is not None for form in FORMS.values())
    inputs = chosen.make_inputs(np.random.default_rng(1), True)
    again = chosen.make_inputs(np.random.default_rng(1), True)
    for first, second in zip(inputs, again, strict=True):
        np.testing.assert_array_equal(first, second)
    assert chosen.necessary_bytes > 1 << 20
    assert chosen.flops > 1 << 20


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (np.arange(1.0, 9.0) * 2, ""),
        (np.arange(1.0, 9.0) * 2 + 1.6e-9, "result 0: 8 of 8 elements differ, by up to 1.0e-10"),
        (np.full(8, np.nan), "result 0: 8 of 8 elements differ, by up to nan"),
        (np.ones(8, np.float32), "result 0: expected float64(8,), got float32(8,)"),
        (np.ones((8, 1)), "result 0: expected float64(8,), got float64(8, 1)"),
        ((np.ones(8), np.ones(8)), "expected 1 results, got 2"),
    ],
)
def test_a_wrong_result_is_told(results: Any, message: str) -> None:
    assert measure.disagreement(workload(), results, np.arange(1.0, 9.0) * 2) == message


def test_a_few_mismatches_can_be_allowed() -> None:
    expected = np.zeros(1000)
    result = expected.copy()
    result[7] = 1.0
    assert measure.disagreement(workload(), result, expected) != ""
    assert measure.disagreement(workload(mismatches=1e-3), result, expected) == ""


class FakeRunner:
    """A runner whose turns take no time; it may fail at once, or at its second turn."""

    def __init__(self, seconds: float, error: str = "", turns: int = 1000) -> None:
        self.seconds = seconds
        self.error = error
        self.turns = turns

    def prepare(self, name: str, small: bool) -> Measurement | None:
        return None if self.error == "absent" else Measurement(0.1, error=self.error)

    def turn(self) -> float:
        self.turns -= 1
        if self.turns < 0:
            raise RuntimeError("the process ended with status -11")
        return self.seconds


def test_every_peer_gets_its_turns_and_failures_are_told() -> None:
    runners = {
        "numpy": FakeRunner(1.0),
        "slow": FakeRunner(9.0),
        "quick": FakeRunner(0.5),
        "absent": FakeRunner(1.0, "absent"),
        "broken": FakeRunner(1.0, "ZeroDivisionError: division by zero"),
        "crashing": FakeRunner(1.0, turns=1),
    }
    measurements = measure.measure_workload("double", runners, budget=0.0)
    assert {name: len(measurement.samples) for name, measurement in measurements.items()} == {
        "numpy": measure.MINIMUM_ROUNDS,
        "slow": measure.OPENING_ROUNDS,
        "quick": measure.MINIMUM_ROUNDS,
        "broken": 0,
        "crashing": 1,
    }
    assert [name for name, measurement in measurements.items() if not measurement.counts] == ["broken", "crashing"]


def test_a_session_runs_and_compares() -> None:
    session = Session(PEERS["numpy"])
    measurement = session.prepare_workload(workload(), small=True)
    assert measurement is not None
    assert measurement.error == ""
    assert session.turn() > 0


@pytest.mark.parametrize(
    ("peer", "error"),
    [
        (Peer("broken", "numpy", lambda workload, inputs: lambda: 1 / 0), "ZeroDivisionError: division by zero"),
        (
            Peer("wrong", "numpy", lambda workload, inputs: lambda: inputs[0]),
            "result 0: 8 of 8 elements differ, by up to 5.0e-01",
        ),
    ],
)
def test_a_session_tells_what_went_wrong(peer: Peer, error: str) -> None:
    measurement = Session(peer).prepare_workload(workload(), small=True)
    assert measurement is not None
    assert measurement.error == error


def test_a_session_knows_that_a_peer_has_no_form() -> None:
    assert Session(PEERS["jax"]).prepare_workload(workload(), small=True) is None


def test_a_worker_that_ends_is_told_and_replaced() -> None:
    worker = Worker("numpy")
    try:
        assert worker.prepare("softmax", True) is not None
        worker._process.kill()
        worker._process.join()
        with pytest.raises(RuntimeError, match="the process ended with status -9"):
            worker.turn()
        measurement = worker.prepare("softmax", True)
        assert measurement is not None
        assert measurement.error == ""
        assert worker.turn() > 0
    finally:
        worker.close()


def test_one_process_hands_in_its_results_as_the_next_input() -> None:
    assert {name for name, chosen in WORKLOADS.items() if chosen.carried} == {"adam", "mandelbrot"}


def test_same_source_replaces_globals_only_in_the_copy() -> None:
    copy = same_source(report.geometric_mean, math=None)
    assert report.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    with pytest.raises(AttributeError):
        copy([2.0, 8.0])


def row(**seconds: float) -> report.Row:
    measurements = {name.replace("_", "-"): Measurement(0.1, [value] * 3) for name, value in seconds.items()}
    return report.Row(workload(), measurements, copy_seconds=0.5)


def test_a_row_compares_with_the_better_form_of_the_best_peer() -> None:
    line = row(numpy=9.0, jitflow=1.0, numba_array=4.0, numba_loops=2.0, jax=3.0)
    assert line.seconds("numba") == 2.0
    assert line.ratio() == 2.0
    assert line.share_of_copy() == 0.5
    assert row(numpy=9.0, jitflow=3.0).ratio() == 3.0
    assert row(numpy=9.0).ratio() is None


def test_a_wrong_peer_does_not_count() -> None:
    line = row(numpy=9.0, jitflow=1.0, jax=3.0)
    line.measurements["jax"].error = "result 0: 8 of 8 elements differ"
    assert line.best_peer() == 9.0


def test_the_table_the_record_and_the_picture(tmp_path: Path) -> None:
    rows = [row(numpy=9.0, jitflow=1.0, numba_loops=2.0), row(numpy=8.0, jitflow=1.0, jax=0.5)]
    console = Console(record=True, width=100)
    report.print_table(rows, console)
    text = console.export_text()
    assert "2.00×" in text
    assert "geometric mean 1.00×, lowest 0.50×" in text
    record = report.as_record(rows, kind="fusion", copy_bandwidth=1e10, threads=1)
    report.write_json(record, tmp_path / "result.json")
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["workloads"][0]["peers"]["numba-loops"]["seconds"] == 2.0
    assert {"date", "machine", "versions", "threads"} <= set(stored)
    if importlib.util.find_spec("matplotlib"):
        report.draw_picture(rows, tmp_path / "result.png")
        assert (tmp_path / "result.png").stat().st_size > 1000


def test_the_machine_is_described_and_its_copies_measured() -> None:
    assert describe_machine()["cpu"]
    assert versions()["numpy"] == np.__version__
    assert 1e8 < copy_bandwidth(1 << 20) < 1e13
    assert math.isfinite(copy_bandwidth(1 << 20))
    assert 1e8 < arithmetic_peak(8) < arithmetic_peak(4) < 1e14


def test_a_peer_that_is_not_installed_is_left_out() -> None:
    assert "numpy" in [peer.name for peer in installed_peers(("jax",))]
    absent = Peer("none", "no_such_package", lambda workload, inputs: None)
    assert not absent.is_installed
    assert missing_text(("numpy",)) == ""
    expected = "not installed: no_such_package (pip install no_such_package, or all with 'jitflow[bench]')"
    assert missing_text((), {"numpy": PEERS["numpy"], "none": absent}) == expected


def test_a_run_prints_and_leaves_its_result(tmp_path: Path) -> None:
    stored = tmp_path / "result.json"
    console = Console(record=True, width=100)
    assert run(["softmax"], peers=["numpy"], json=stored, seconds=0.0, small=True, console=console)
    assert "softmax" in console.export_text()
    assert json.loads(stored.read_text())["workloads"][0]["peers"]["numpy"]["error"] == ""


def test_bench_lists_and_checks_names() -> None:
    listed = CliRunner().invoke(app, ["bench", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in WORKLOADS)
    for arguments in (["bench", "no_such_workload"], ["bench", "--peer", "no_such_peer"]):
        refused = CliRunner().invoke(app, arguments)
        assert refused.exit_code == 2
        assert "expected one of" in " ".join(refused.output.split())


def test_the_model_is_shown_beside_what_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    lines = model.run(["gelu", "softmax"], small=True)
    assert all(0 < line.predicted < 1 and 0 < line.measured < 1 for line in lines)
    assert "rank correlation" in capsys.readouterr().out
    pairs = ((1, 3), (2, 5), (4, 9), (3, math.nan))
    ordered = [model.Line("", measured, predicted) for measured, predicted in pairs]
    assert model.rank_correlation(ordered) == 1
