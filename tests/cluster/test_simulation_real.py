"""What the simulator predicts, beside real runs of the protocol: replicas that sleep, as threads of this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.cluster_validated import _fitted, choice, delay
from jitflow.cluster import Costs, Setup, StepTimes, best_backup, simulate
from jitflow.machine import Link
from tests.cluster.local import run_locally
from tests.cluster.models import Classifier, batches

WORKERS, MOST, STEPS = 3, 3, 150
SHORTEST, SHARE, MEAN = 0.05, 0.15, 0.25


def measured(backup: int) -> np.ndarray:
    """The seconds from one step to the next, which begins where the first replica begins it."""
    begun: dict[int, float] = {}

    def sleeping(part: int) -> Callable[[int], None]:
        def sleep(step: int) -> None:
            begun.setdefault(step, time.perf_counter())
            draw = np.random.default_rng((2016, part, step))
            time.sleep(SHORTEST + (draw.exponential(MEAN) if draw.random() < SHARE else 0.0))

        return sleep

    replicas = WORKERS + backup
    run_locally(Classifier, batches(), STEPS, workers=WORKERS, backup=backup, delays=[*map(sleeping, range(replicas))])
    return np.diff([begun[step] for step in sorted(begun)])[5:]


@pytest.mark.stress
def test_real_replicas_take_what_is_predicted_and_the_choice_of_backups_is_a_good_one() -> None:
    found = [measured(backup) for backup in range(MOST + 1)]
    rest = float(np.percentile(found[0], 30)) - SHORTEST  # of a step when nobody is late, as most are
    costs = Costs(StepTimes((SHORTEST + rest,), stragglers=SHARE, delay=MEAN), Link(1e-5, 1e9))
    for backup, seconds in enumerate(found):
        predicted = simulate(Setup(WORKERS, 2, backup=backup), costs, steps=2000)
        assert 1 / predicted.steps_per_second == pytest.approx(seconds.mean(), rel=0.3), backup
    means = {backup: float(seconds.mean()) for backup, seconds in enumerate(found)}
    assert choice(means, best_backup(Setup(WORKERS, 2), costs, most=MOST, steps=2000)) < 0.15


def test_injected_delays_are_the_same_in_each_run() -> None:
    delays = [delay(index, step) for index in range(4) for step in range(500)]
    assert delays == [delay(index, step) for index in range(4) for step in range(500)]
    assert np.mean(delays) == pytest.approx(0.03 + 0.15 * 0.15, rel=0.1)


def test_costs_are_fitted_to_messages_and_to_one_worker() -> None:
    trips = [(size, 1e-3 + size / 1e9) for size in (0, 1_000_000)]
    bursts = [(count, 1e-3 + count * 2e-4) for count in (1, 100)]
    known = _fitted(trips, bursts, alone=0.05, steps=100)
    assert known.message == pytest.approx(1e-4)
    assert known.step.work is not None
    assert 0.005 < known.step.work < 0.02
    assert simulate(Setup(1, 2), known).percentile(50) == pytest.approx(0.05, rel=0.01)


def test_a_choice_is_compared_with_the_best() -> None:
    assert choice({0: 2.0, 1: 1.0, 2: 1.05}, 2) == pytest.approx(0.05)
    assert choice({0: 2.0, 1: 1.0}, 1) == 0
