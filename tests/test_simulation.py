"""Predictions for machines that are not here."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import jitflow
from jitflow.machines.machine import as_machine
from tests.passes.place.programs import fork, pipeline

X = np.full((300, 300), 0.01)
compiled = jitflow.function(fork)


def test_two_devices_are_faster_than_one() -> None:
    one, two = (jitflow.simulate(compiled, (X,), devices=f"{count}*cpu") for count in (1, 2))
    assert two.seconds < 0.7 * one.seconds
    assert list(two.peak_bytes) == ["cpu:0", "cpu:1"]
    assert two.peak_bytes["cpu:0"] >= X.nbytes
    assert one.bytes_moved == 0 < two.bytes_moved
    assert sum(one.busy.values()) <= one.seconds
    assert all(0 <= event.start < event.end <= two.seconds * (1 + 1e-9) for event in two.timeline)


def test_turns_of_a_loop_count_as_often_as_they_run() -> None:
    few, many = (jitflow.simulate(jitflow.function(pipeline), (np.ones((n, 300, 300)), X, X)) for n in (10, 1000))
    assert many.seconds == pytest.approx(100 * few.seconds, rel=0.05)
    spec = jitflow.simulate(jitflow.function(pipeline), (np.ones((10, 300, 300)), X, X), devices="2*cpu")
    assert spec.seconds < few.seconds


def test_loops_that_know_nothing_of_each_other_have_a_device_each() -> None:
    def loops(x, n):  # type: ignore[no-untyped-def]
        left, right = x.copy(), x[::-1].copy()
        for _ in range(n):
            left = np.tanh(left) + 0.1 * np.sin(3.0 * left)
        for _ in range(n):
            right = np.exp(-right * right) - 0.5 * np.cos(right)
        return left - right

    one, two = (jitflow.simulate(jitflow.function(loops), (X, 40), devices=f"{count}*cpu") for count in (1, 2))
    assert two.seconds < 0.6 * one.seconds
    assert two.bytes_moved <= 2 * X.nbytes
    assert two.placement.devices_of("tanh") | two.placement.devices_of("exp") == {"cpu:0", "cpu:1"}
    assert two.placement.devices_of("tanh") == two.placement.devices_of("sin")


def test_machines_come_from_text_files_and_records(tmp_path: Path) -> None:
    machine = as_machine("cpu + cuda")
    (tmp_path / "machine.json").write_text(machine.to_json())
    found = {
        jitflow.simulate(compiled, (X,), devices=devices).seconds
        for devices in ("cpu + cuda", machine, tmp_path / "machine.json", str(tmp_path / "machine.json"))
    }
    assert len(found) == 1


def test_a_saved_plan_is_simulated(tmp_path: Path) -> None:
    two = jitflow.simulate(compiled, (X,), devices="2*cpu")
    two.placement.save(tmp_path / "plan.json")
    again = jitflow.simulate(compiled, (X,), devices="2*cpu", placement=tmp_path / "plan.json")
    assert again.seconds == pytest.approx(two.seconds)
    searched = jitflow.simulate(compiled, (X,), devices="2*cpu", placement="search")
    assert searched.seconds <= two.seconds


def test_the_timeline_is_drawn() -> None:
    two = jitflow.simulate(compiled, (X,), devices="2*cpu")
    assert "cpu:0 -> cpu:1" in two.text()
    assert "#" in two.text()
    assert str(two).startswith("fork: ")
    picture = ElementTree.fromstring(two.svg())
    assert len(picture.findall("*[@class='bar']")) == len(two.timeline)


def test_a_function_tells_its_placement() -> None:
    plan = compiled.placement(X)
    assert plan.devices == tuple(str(device) for device in jitflow.devices())
    assert plan.devices_of("matmul") == {"cpu:0"}
    assert "matmul" in str(plan)


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a compiled function"):
        jitflow.simulate(fork, (X,))
    with pytest.raises(ValueError, match="expected placement to be"):
        jitflow.simulate(compiled, (X,), placement="best")
