"""The picture of what was measured of replicas and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import cluster_pictures


def test_the_stored_results_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cluster_pictures.main(tmp_path / "cluster.png")
    assert (tmp_path / "cluster.png").stat().st_size > 10_000
