"""Costs fitted to measurements: synthetic ones, those of the simulator's own messages, and what cannot be fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import jitflow
from jitflow.cluster import Costs, Setup, StepTimes, fit, simulate
from jitflow.cluster.events import Clock, Network, Process
from jitflow.machines.machine import Link

SIZES = (0, 1_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
TRIPS = [(size, 1e-3 + size / 2e9) for size in SIZES]


def asked(costs: Costs, size: float, count: int) -> float:
    """The simulated seconds until so many messages to one process are all answered."""
    clock = Clock()
    network, source, target = Network(clock, costs), Process(clock), Process(clock)
    network.ask(source, [target] * count, size, 0.0, None, lambda: None)
    clock.run()
    return clock.now


def test_latency_and_bandwidth_are_found() -> None:
    known = fit(TRIPS, [0.1])
    assert known.link.latency == pytest.approx(0.5e-3)
    assert known.link.bandwidth == pytest.approx(2e9)
    assert known.message == known.apply == 0
    assert known.step == StepTimes((0.1,))


def test_noise_and_outliers_change_little() -> None:
    random = np.random.default_rng(0)
    trips = [(size, seconds * (1 + 0.1 * random.standard_normal())) for size, seconds in TRIPS * 25]
    trips += [(size, 30 * seconds) for size, seconds in TRIPS]
    known = fit(trips, [0.1])
    assert known.link.latency == pytest.approx(0.5e-3, rel=0.1)
    assert known.link.bandwidth == pytest.approx(2e9, rel=0.1)


@pytest.mark.parametrize("cores", [None, 2])
def test_what_the_simulator_measures_of_itself_fits(cores: int | None) -> None:
    known = Costs(StepTimes((0.1,)), Link(2e-4, 1e9), message=5e-5, apply=3e-10, cores=cores)
    found = fit(
        [(size, asked(known, size, 1)) for size in SIZES],
        [0.1],
        bursts=[(count, asked(known, 0, count)) for count in (1, 10, 100, 1000)],
        applied=[(size, 1e-6 + size * known.apply) for size in SIZES],
        cores=cores,
    )
    assert found.link.latency == pytest.approx(known.link.latency, rel=0.05)
    assert found.link.bandwidth == pytest.approx(known.link.bandwidth)
    assert found.message == pytest.approx(known.message, rel=0.05)
    assert found.apply == pytest.approx(known.apply)
    assert found.cores == cores


def test_a_line_never_begins_below_nothing() -> None:
    known = fit([(1e6, 0.5e-3), (1e8, 0.1)], [0.1])
    assert known.link.latency == 0
    assert 1e9 <= known.link.bandwidth <= 2e9


def test_drawn_steps_are_distributed_as_measured_ones() -> None:
    random = np.random.default_rng(0)
    measured = np.where(random.random(5000) < 0.05, 1.0, 0.1 * (1 + random.standard_exponential(5000)))
    step = fit(TRIPS, measured).step
    drawn, work = step.draw(random, 20_000)
    percentages = (1, 10, 50, 90, 98)
    assert np.percentile(drawn, percentages) == pytest.approx(np.percentile(measured, percentages), rel=0.05)
    assert step.mean == pytest.approx(measured.mean())
    assert work == drawn


def test_what_is_added_to_measured_steps_is_waited_for() -> None:
    step = StepTimes((0.1, 0.3), jitter=0.05, stragglers=0.25, delay=2.0)
    taken, work = step.draw(np.random.default_rng(0), 100_000)
    assert np.mean(taken) == pytest.approx(step.mean, rel=0.02) == 0.2 + 0.05 + 0.25 * 2.0
    assert np.mean(work) == pytest.approx(0.2, rel=0.01)
    assert min(work) >= 0.1
    assert max(work) <= 0.3
    _, some = StepTimes((0.1, 0.3), delay=1.0, stragglers=0.5, work=0.15).draw(np.random.default_rng(0), 1000)
    assert max(some) == 0.15
    assert min(some) < 0.15


def test_fitted_costs_predict_the_run_that_they_were_fitted_to() -> None:
    truth = Costs(StepTimes((0.02,), jitter=0.004, stragglers=0.05, delay=0.02), Link(3e-4, 5e8), message=1e-4)
    measured, _ = truth.step.draw(np.random.default_rng(1), 5000)
    known = fit(
        [(size, asked(truth, size, 1)) for size in SIZES],
        measured,
        bursts=[(count, asked(truth, 0, count)) for count in (1, 100)],
    )
    for backup in (0, 2):
        setup = Setup(8, 2, backup=backup, gradient_bytes=1e6)
        found, expected = (simulate(setup, costs, steps=300).examples_per_second for costs in (known, truth))
        assert found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("trips", "others", "message"),
    [
        ([], {}, "round trips: expected measurements of at least two numbers of bytes, got 0"),
        ([(10, 0.1), (10, 0.2)], {}, "at least two numbers of bytes, got 1"),
        ([(10, 0.1), (1000, 0.1)], {}, "round trips: more bytes take no longer"),
        ([(10, 0.1), (-1, 0.1)], {}, "the bytes of round trips to be a number of at least 0, got -1"),
        ([(10, 0.0), (100, 0.1)], {}, "10 bytes took no time"),
        ([(10, "0.1"), (100, 0.1)], {}, "the seconds of round trips to be a number"),
        (TRIPS, {"bursts": [(1, 0.1)]}, "bursts: expected measurements of at least two numbers of messages"),
        (TRIPS, {"applied": [(0, 0.2), (1, 0.1)]}, "applied: more bytes take no longer"),
        (TRIPS, {"cores": 1.5}, "cores to be a whole number"),
    ],
)
def test_what_tells_nothing_is_refused(trips: Sequence[tuple[float, float]], others, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(jitflow.UserError, match=message):
        fit(trips, [0.1], **others)


def test_without_steps_nothing_is_fitted() -> None:
    with pytest.raises(ValueError, match="at least one step's time"):
        fit(TRIPS, [])
