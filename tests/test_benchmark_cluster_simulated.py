"""The benchmark of simulated figures: what the paper says in numbers is near what is predicted, and it is drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.cluster_simulated import FIGURES, PAPER, draw, figure_6, figure_8, run

STORED = Path(__file__).parents[1] / "benchmarks" / "results" / "cluster_simulated.json"


def test_null_steps_take_about_what_the_paper_measured() -> None:
    found = figure_6(few=True)
    for name in ("scalar", "dense 100 MB", "dense 1 GB"):
        for workers, seconds in PAPER["6"][name].items():
            assert found[name][workers] == pytest.approx(seconds, rel=0.35), (name, workers)


def test_four_backups_shorten_the_steps_of_fifty_workers() -> None:
    found = figure_8(few=True)
    assert found["step time"][4] == pytest.approx(PAPER["8"]["step time"][4], rel=0.05)
    assert found["normalised speed"][4] > 1


def test_the_stored_figures_are_those_of_the_code(tmp_path: Path) -> None:
    stored = json.loads(STORED.read_text())
    assert stored["figures"].keys() == FIGURES.keys() == PAPER.keys()
    for number, curves in PAPER.items():
        for name, curve in curves.items():
            assert dict(map(tuple, stored["figures"][number][name]["paper"])) == curve
    steps = stored["figures"]["8"]["step time"]["predicted"]
    assert min(steps, key=lambda pair: pair[1])[0] == 4  # as the paper found
    speeds = stored["figures"]["8"]["normalised speed"]["predicted"]
    assert max(speeds, key=lambda pair: pair[1])[0] == 3
    pytest.importorskip("matplotlib")
    draw(stored, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000


@pytest.mark.stress
def test_all_figures_are_made() -> None:
    record = run(few=True)
    assert json.loads(json.dumps(record))["figures"].keys() == FIGURES.keys()
