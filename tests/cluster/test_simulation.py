"""The simulator of a cluster: what can be said in closed form, what follows from limits, and bad input."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import jitflow
from jitflow.cluster import Costs, Setup, StepTimes, best_backup, setup, simulate, steps, worker
from jitflow.machines.machine import Link, as_machine

FREE = Link(0.0, float("inf"))


def costs(step: float = 0.0, link: Link = FREE, **others: float) -> Costs:
    return Costs(StepTimes((step,)), link, **others)  # type: ignore[arg-type]


def harmonic(count: int) -> float:
    return sum(1 / number for number in range(1, count + 1))


# -- what one worker takes


def test_one_worker_takes_its_step_and_three_round_trips() -> None:
    """Its gradient is laid down, announced, and answered with values; each way has a latency and two busy ends."""
    known = costs(step=0.1, link=Link(1e-3, 1e9), message=1e-4, apply=1e-10)
    found = simulate(Setup(1, 1, gradient_bytes=1e8, value_bytes=5e7, examples=32), known, steps=10)
    seconds = 0.1 + 6 * (1e-3 + 2e-4) + (1e8 + 5e7) / 1e9 + 2 * 1e8 * 1e-10
    assert found.step_times == pytest.approx([seconds] * 9)
    assert found.steps_per_second == pytest.approx(1 / seconds)
    assert found.examples_per_second == pytest.approx(32 / seconds)
    assert found.dropped == found.staleness == 0


def test_one_worker_asynchronously_takes_no_fewer() -> None:
    """Whether it may go on, its gradient, and what is answered with values."""
    known = costs(step=0.1, link=Link(1e-3, 1e9), message=1e-4, apply=1e-10)
    found = simulate(Setup(1, 1, "async", gradient_bytes=1e8), known, steps=10)
    assert found.step_times == pytest.approx([0.1 + 6 * (1e-3 + 2e-4) + 2 * 0.1 + 1e8 * 1e-10] * 9)


def test_one_worker_alone_has_nothing_to_reduce() -> None:
    found = simulate(Setup(1, 0, "allreduce", gradient_bytes=1e9), costs(step=0.1, link=Link(1.0, 1.0)), steps=10)
    assert found.step_times == pytest.approx([0.1] * 9)


def test_messages_to_many_servers_leave_one_after_the_other() -> None:
    """A sender is busy with each; and answers arrive while it still sends."""
    found = simulate(Setup(1, 16, "async"), costs(link=Link(1.0, 1e9), message=1e-3), steps=4)
    assert found.step_times[0] == pytest.approx(6 * 1.0 + (4 + 2 * (16 + 1 + 1 + 1)) * 1e-3)


# -- limits


@pytest.mark.parametrize(("workers", "servers"), [(8, 1), (64, 4)])
def test_a_full_port_limits_throughput(workers: int, servers: int) -> None:
    """What each server gets, of all workers, goes through one port."""
    found = simulate(Setup(workers, servers, "async", gradient_bytes=1e8, value_bytes=0.0),
                     costs(1e-3, Link(1e-5, 1e9)), steps=10)  # fmt: skip
    assert found.examples_per_second == pytest.approx(1e9 * servers / 1e8, rel=0.02)
    assert found.busy["network"] == pytest.approx(1, abs=0.03)


def test_synchronous_gradients_and_values_go_one_after_the_other() -> None:
    found = simulate(Setup(64, 4, gradient_bytes=1e8), costs(1e-3, Link(1e-5, 1e9)), steps=10)
    assert found.percentile(50) == pytest.approx(2 * 64 * 1e8 / 4 / 1e9, rel=0.02)


def test_servers_that_apply_slowly_limit_throughput() -> None:
    found = simulate(Setup(16, 2, "async", gradient_bytes=1e8), costs(1e-3, apply=1e-9), steps=20)
    assert found.steps_per_second == pytest.approx(2 / (1e8 * 1e-9), rel=0.02)
    assert found.busy["servers"] == pytest.approx(1, abs=0.03)


def test_servers_that_compute_limit_throughput() -> None:
    setups = [Setup(32, servers, served=1.0) for servers in (1, 2, 4)]
    found = [simulate(setup, costs(0.01), steps=5).percentile(50) for setup in setups]
    assert found == pytest.approx([32.01, 16.01, 8.01])


def test_a_sparse_step_takes_what_its_rows_take() -> None:
    """However large the table: nothing but rows is moved, to the worker and back."""
    link = Link(1e-4, 1e9)
    sparse = simulate(Setup(4, 16, row_bytes=32e3), costs(link=link), steps=10).percentile(50)
    null = simulate(Setup(4, 16), costs(link=link), steps=10).percentile(50)
    assert null == pytest.approx(6e-4)
    assert sparse == pytest.approx(8e-4 + 2 * 32e3 / 1e9, rel=0.1)


def test_all_reduce_moves_each_gradient_twice_through_each_port() -> None:
    found = simulate(Setup(8, 0, "allreduce", gradient_bytes=8e7), costs(0.05, Link(1e-4, 1e9)), steps=10)
    assert found.percentile(50) == pytest.approx(0.05 + 2 * (1e-4 + 7 / 8 * 8e7 / 1e9))


def test_shared_cores_slow_each_other_down() -> None:
    def median(workers: int, work: float | None = None) -> float:
        step = StepTimes((0.1,), work=work)
        return simulate(Setup(workers, 1), Costs(step, FREE, cores=2), steps=10).percentile(50)

    assert [median(workers) for workers in (1, 2, 4, 8)] == pytest.approx([0.1, 0.1, 0.2, 0.4])
    assert median(4, work=0.05) == pytest.approx(0.15)
    assert median(4, work=0.0) == pytest.approx(0.1)


def test_messages_take_a_core_where_cores_are_shared() -> None:
    """Each of 8 workers sends 2 messages and reads 2 answers, and their server as many; gradients lie in memory."""
    found = simulate(Setup(8, 1), costs(message=1e-3, cores=1), steps=10)
    assert found.percentile(50) == pytest.approx(8 * 2 * 4 * 1e-3, rel=0.1)
    copying = simulate(Setup(8, 1, gradient_bytes=1e6), costs(link=Link(0.0, 1e9), cores=1), steps=10)
    assert copying.percentile(50) == pytest.approx(8 * 2 * 1e-3)


# -- stragglers


@pytest.mark.parametrize("workers", [1, 5, 50])
def test_the_slowest_of_many_is_the_harmonic_number(workers: int) -> None:
    """The maximum of n exponentially distributed times has the mean H(n) (Rényi 1953)."""
    known = Costs(StepTimes((0.5,), jitter=0.1), FREE)
    found = simulate(Setup(workers), known, steps=10_000 // workers + 200)
    assert np.mean(found.step_times) == pytest.approx(0.5 + 0.1 * harmonic(workers), rel=0.03)


@pytest.mark.parametrize("backup", [0, 1, 3])
def test_with_backups_the_first_count_and_late_ones_begin_late(backup: int) -> None:
    """Without memory, what late workers still compute takes as long as a new step, and then they begin one."""
    workers = 8

    @cache
    def expected(missing: int, fresh: int) -> float:
        """Of all that have not announced yet, some are fresh: their gradients will count."""
        if not missing:
            return 0.0
        running = missing + backup
        after = fresh / running * expected(missing - 1, fresh - 1)
        if fresh < running:
            after += (1 - fresh / running) * expected(missing, fresh + 1)
        return 1 / running + after

    known = Costs(StepTimes((0.0,), jitter=1.0), FREE)
    found = simulate(Setup(workers, backup=backup), known, steps=1500)
    assert np.mean(found.step_times) == pytest.approx(expected(workers, workers), rel=0.05)
    assert (found.dropped > 0) == (backup > 0)


def test_backups_help_against_stragglers_alone() -> None:
    late = Costs(StepTimes((0.1,), stragglers=0.02, delay=0.2), Link(1e-4, 1e9))
    assert best_backup(Setup(10), late, most=4) >= 2
    assert 1 <= best_backup(Setup(10), late, most=4, per_worker=True) <= 2
    assert best_backup(Setup(10), costs(0.1, Link(1e-4, 1e9)), most=3) == 0


def test_backups_do_not_help_where_they_take_cores_from_others() -> None:
    step = StepTimes((0.1,), stragglers=0.1, delay=1.0)
    assert best_backup(Setup(4), Costs(step, FREE), most=3) > 0
    crowded = [simulate(Setup(4, backup=backup), Costs(step, FREE, cores=1)).percentile(10) for backup in (0, 3)]
    assert crowded[1] > 1.15 * crowded[0]


def test_asynchronous_workers_do_not_wait_for_stragglers() -> None:
    known = Costs(StepTimes((0.1,), stragglers=0.1, delay=1.0), FREE)
    found = simulate(Setup(20, mode="async"), known, steps=200)
    assert found.examples_per_second == pytest.approx(20 / known.step.mean, rel=0.05)
    assert found.staleness == pytest.approx(19, rel=0.05)
    assert simulate(Setup(20), known).examples_per_second < 0.3 * found.examples_per_second


def test_bounded_staleness_is_kept() -> None:
    known = Costs(StepTimes((0.1,), jitter=0.1), FREE)
    free, bounded, strict = (simulate(Setup(8, mode="async", staleness=bound), known) for bound in (None, 2, 0))
    assert strict.examples_per_second < bounded.examples_per_second < free.examples_per_second
    together = simulate(Setup(8), known)
    assert strict.steps_per_second / 8 == pytest.approx(together.steps_per_second, rel=0.02)


# -- what is said of a run


def test_one_seed_one_prediction() -> None:
    known = Costs(StepTimes((0.1, 0.2), jitter=0.1), Link(1e-4, 1e9))
    setup = Setup(5, 2, backup=1, gradient_bytes=1e6)
    assert simulate(setup, known, seed=3) == simulate(setup, known, seed=3)
    assert simulate(setup, known, seed=3) != simulate(setup, known, seed=4)


def test_a_prediction_is_printed() -> None:
    known = Costs(StepTimes((0.1, 0.2), jitter=0.1), Link(1e-4, 1e9))
    text = str(simulate(Setup(5, 2, backup=1, examples=8), known))
    assert text.startswith("sync, 5 workers and 1 backups, 2 servers: ")
    assert "(p90)" in text
    assert "too late" in text
    assert "steps old" in str(simulate(Setup(5, 2, "async"), known))
    assert str(simulate(Setup(5, mode="allreduce"), known)).startswith("allreduce, 5 workers: ")


def test_two_hundred_workers() -> None:
    found = simulate(Setup(200, 16, gradient_bytes=1e8), costs(1.0, Link(1e-4, 1e9)), steps=2)
    assert found.percentile(50) == pytest.approx(1 + 2 * 200 * 1e8 / 16 / 1e9, rel=0.01)


def test_placement_knows_links_between_nodes() -> None:
    machine = as_machine("cpu")
    link = machine.link("node:0/cpu:0", "node:1/cpu:0")
    known = Costs.of_machine(machine, StepTimes((0.1,)))
    assert known.link == link
    assert known.apply == 3 / machine.processors[0].bandwidth
    measured = type(machine)(machine.devices, (("node", "node", Link(1e-3, 1e8)),))
    assert Costs.of_machine(type(machine).from_json(measured.to_json()), known.step).link == Link(1e-3, 1e8)


def test_a_step_may_take_what_placement_predicts() -> None:
    predicted = jitflow.simulate(jitflow.function(lambda x: x + x), (np.ones(1_000_000),))
    found = simulate(Setup(2, 1), Costs(StepTimes((predicted.seconds,)), FREE))
    assert found.percentile(50) == pytest.approx(predicted.seconds)


def test_modes_are_those_of_replicas() -> None:
    assert tuple(worker.EXCHANGES) == setup.MODES == tuple(steps.RUNS)


def test_nothing_of_ray_is_imported() -> None:
    program = "import sys, jitflow; before = 'jitflow.cluster' in sys.modules; jitflow.cluster.simulate; "
    program += "print(before, 'ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# -- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Setup(0), "workers to be at least 1, got 0"),
        (lambda: Setup(2.0), "workers to be a whole number"),  # type: ignore[arg-type]
        (lambda: Setup(1, 0), "needs at least one server"),
        (lambda: Setup(1, backup=-1), "backup to be at least 0"),
        (lambda: Setup(1, examples=0), "examples to be at least 1"),
        (lambda: Setup(1, mode="eager"), "there is no mode 'eager'"),
        (lambda: Setup(1, mode="async", backup=1), "backups are for synchronous replicas"),
        (lambda: Setup(1, staleness=1), "staleness is for asynchronous replicas"),
        (lambda: Setup(1, mode="async", staleness=-1), "staleness to be at least 0"),
        (lambda: Setup(1, mode="allreduce", row_bytes=1.0), "no servers that hold rows"),
        (lambda: Setup(1, gradient_bytes=-1.0), "gradient_bytes to be a number of at least 0, got -1.0"),
        (lambda: Setup(1, row_bytes=float("nan")), "row_bytes to be a number of at least 0, got nan"),
        (lambda: Setup(1, served="1"), "served to be a number"),  # type: ignore[arg-type]
        (lambda: StepTimes(()), "at least one step's time, got none"),
        (lambda: StepTimes(0.1), "expected the times of steps"),  # type: ignore[arg-type]
        (lambda: StepTimes((0.1, -0.1)), "a step's time to be a number of at least 0, got -0.1"),
        (lambda: StepTimes((0.1,), stragglers=1.5), "stragglers to be a number from 0 to 1, got 1.5"),
        (lambda: StepTimes((0.1,), work=-1.0), "work to be a number"),
        (lambda: costs(link=Link(0.0, 0.0)), "a bandwidth above 0"),
        (lambda: costs(link=Link(-1.0, 1.0)), "latency to be a number"),
        (lambda: costs(cores=0), "cores to be at least 1"),
        (lambda: costs(message=float("inf")), "message to be a number"),
        (lambda: Costs(0.1, FREE), "step to be a StepTimes"),  # type: ignore[arg-type]
        (lambda: simulate(Setup(1), 0.1), "expected a Costs"),  # type: ignore[arg-type]
        (lambda: simulate(8, costs()), "expected a Setup"),  # type: ignore[arg-type]
        (lambda: simulate(Setup(1), costs(), steps=1), "steps to be at least 2, got 1"),
        (lambda: simulate(Setup(1), costs(1.0)).percentile(101), "a percentage from 0 to 100"),
        (lambda: best_backup(Setup(1, mode="async"), costs()), "backups are for synchronous replicas"),
        (lambda: best_backup(Setup(1), costs(), most=-1), "most to be at least 0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(jitflow.UserError, match=message) as caught:
        make()
    assert isinstance(caught.value, ValueError | TypeError)
