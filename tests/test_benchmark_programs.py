"""The benchmark of the gallery: what it calls, compares and reports."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks.gallery import PROGRAMS, helpers_of, load
from benchmarks.measure import Measurement
from benchmarks.program_session import PEERS, Prepared, ProgramSession, flatten
from benchmarks.programs import Line, as_record, measure_program, print_table, run
from benchmarks.worker import Worker


def test_a_nest_is_flattened() -> None:
    assert flatten((None, [1, (2.0, None)], 3)) == (1, 2.0, 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_runs_the_program_itself(name: str) -> None:
    function, example = PEERS["numpy"](name)
    assert function.__name__ == name
    assert isinstance(example("small"), tuple)
    assert "example" not in helpers_of(load(name))


def test_each_call_gets_fresh_arguments() -> None:
    session = ProgramSession("numpy")
    first = session.prepare_program("insertion_sort", small=True)
    moves, x = first.outcome
    assert moves > 0
    assert np.all(np.diff(x) >= 0)
    session.turn()
    assert np.any(np.diff(session._arguments[0]) < 0)


@pytest.mark.filterwarnings("default")
def test_numba_takes_the_same_source_with_its_helpers() -> None:
    pytest.importorskip("numba")
    ours, theirs = (ProgramSession(peer).prepare_program("newton", small=True) for peer in ("numpy", "numba"))
    assert theirs.error == ""
    np.testing.assert_allclose(theirs.outcome[0], ours.outcome[0])


def test_what_a_peer_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "broken", lambda name: (lambda *arguments: 1 / 0, lambda size: (1,)))
    assert ProgramSession("broken").prepare_program("newton", small=True).error == "ZeroDivisionError: division by zero"


class FakeWorker:
    """A worker that answers with what it is given, and whose turns take no time."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared

    def ask(self, question: str, *arguments: Any, limit: float) -> Prepared:
        return self.prepared

    def turn(self) -> float:
        return self.prepared.seconds


def test_a_wrong_peer_does_not_count_and_a_slow_one_is_timed_once() -> None:
    workers = {
        "numpy": FakeWorker(Prepared(0.1, 30.0, (np.ones(3), 2.0))),
        "numba": FakeWorker(Prepared(2.0, 0.2, (np.zeros(3), 2.0))),
        "jitflow": FakeWorker(Prepared(0.1, 0.1, (np.ones(3), 2.0))),
    }
    line = measure_program("heat", workers, seconds=0.0, small=False)
    assert line.seconds("numpy") == 30.0
    assert line.seconds("numba") is None
    assert "3 of 3 elements differ" in line.measurements["numba"].error
    assert line.ratio("numpy") == pytest.approx(300.0)
    assert len(line.measurements["numpy"].samples) == 1


def test_a_worker_that_takes_too_long_is_ended() -> None:
    worker = Worker("numpy", make_session=ProgramSession)
    start = time.perf_counter()
    try:
        with pytest.raises(RuntimeError, match="no answer within"):
            worker.ask("prepare_program", "nussinov", False, limit=0.05)
        assert time.perf_counter() - start < 20
        assert worker.ask("prepare_program", "nussinov", True, limit=60.0).error == ""
    finally:
        worker.close()


def test_the_table_and_the_record(tmp_path: Path) -> None:
    lines = [
        Line(
            "heat",
            {"numpy": Measurement(0.1, [9.0]), "numba": Measurement(2.0, [4.0]), "jitflow": Measurement(0.1, [1.0])},
        ),
        Line("wave", {"numpy": Measurement(0.1, [9.0]), "jitflow": Measurement(error="not yet")}),
    ]
    text = StringIO()
    print_table(lines, Console(file=text, width=120))
    assert "4.00×" in text.getvalue()
    assert "wave: not yet" in text.getvalue()
    record = json.loads(json.dumps(as_record(lines), allow_nan=False))
    assert record["summaries"]["jitflow against NumPy"]["geometric_mean"] == pytest.approx(9.0)
    assert record["summaries"]["numba's first call against jitflow's"]["highest"] == pytest.approx(20.0)
    assert record["programs"][1]["peers"]["jitflow"]["error"] == "not yet"


def test_a_whole_run(tmp_path: Path) -> None:
    path = tmp_path / "programs.json"
    run(["integer_clip"], peers=["jitflow"], json=path, seconds=0.0, small=True, console=Console(file=StringIO()))
    (program,) = json.loads(path.read_text())["programs"]
    assert program["against_numpy"] > 0
