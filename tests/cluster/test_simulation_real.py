"""What the simulator predicts, beside real runs of the protocol: replicas that sleep, as threads of this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from jitflow.cluster import Costs, Setup, StepTimes, best_backup, measure, simulate
from jitflow.machines.cores import usable_cores
from jitflow.machines.machine import Link
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
    assert means[best_backup(Setup(WORKERS, 2), costs, most=MOST, steps=2000)] < 1.15 * min(means.values())


@pytest.mark.stress
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_costs_of_this_machine_are_measured() -> None:
    pytest.importorskip("ray")
    known = measure([0.01])
    assert 0 < known.message < 1
    assert known.link.latency < 1
    assert 1e7 < known.link.bandwidth < 1e12
    assert 1e-12 < known.apply < 1e-6
    assert known.cores == usable_cores()
