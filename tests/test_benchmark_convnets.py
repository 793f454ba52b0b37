"""The benchmark of networks for pictures knows their convolutions, and takes turns."""

from __future__ import annotations

import pytest

from benchmarks.convnets import convolutions, measured
from examples import convnets


def test_convolutions_of_a_network() -> None:
    layers, side = convnets.NETWORKS["googlenet"]
    found = list(convolutions(layers, 3, side))
    assert len(found) == 3 + 9 * 6
    assert found[0] == (3, 224, convnets.Conv(64, 7, 2, 3))
    assert found[-1] == (832, 7, convnets.Conv(128, 1))


def test_each_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.convnets.QUANTUM", 0.0)
    calls: list[str] = []
    times = measured({name: lambda name=name: calls.append(name) for name in ("jitflow", "torch")})
    assert times.keys() == {"jitflow", "torch"}
    assert calls[:4] == ["jitflow", "torch"] * 2
