"""What replicas would take on machines that need not be here: `jitflow.cluster.simulate`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from jitflow.cluster.costs import Costs, check_count
from jitflow.cluster.setup import Setup
from jitflow.cluster.steps import RUNS
from jitflow.errors import UserTypeError, UserValueError
from jitflow.records import dataclass

__all__ = ["Setup", "Simulated", "best_backup", "simulate"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What is predicted of a run. Print it.

    ``steps_per_second``: how often the model changes; asynchronously each worker's gradient does that.
    ``examples_per_second``: those whose gradients counted. ``step_times``: seconds from one step's end to the next;
    asynchronously what each step took its worker. ``busy``: which share of the time workers compute on average
    (``"workers"``), the busiest server or worker handles messages and gradients (``"servers"``), and the busiest port
    moves bytes (``"network"``): what is near 1 is what limits the run. ``dropped``: which share of the gradients came
    too late. ``staleness``: how many others' gradients a model has seen, on average, between a worker's reading of it
    and its gradient; 0 but in asynchronous runs.
    """

    setup: Setup
    steps_per_second: float
    examples_per_second: float
    step_times: tuple[float, ...]
    busy: Mapping[str, float]
    dropped: float
    staleness: float

    def percentile(self, percent: float) -> float:
        """So many percent of the steps took at most so many seconds. Raises ValueError outside of 0 to 100."""
        if not 0 <= percent <= 100:
            raise UserValueError(f"expected a percentage from 0 to 100, got {percent}")
        return float(np.percentile(self.step_times, percent))

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in self.busy.items())
        lines = [
            f"{self.setup}: {self.examples_per_second:.4g} examples/s, {self.steps_per_second:.4g} steps/s predicted",
            "a step takes " + ", ".join(f"{self.percentile(percent):.4g} s (p{percent})" for percent in (10, 50, 90)),
            f"busy: {shares}",
        ]
        if self.dropped:
            lines.append(f"{self.dropped:.1%} of the gradients come too late")
        if self.staleness:
            lines.append(f"a gradient is {self.staleness:.1f} steps old when it is applied")
        return "\n".join(lines)


def simulate(setup: Setup, costs: Costs, *, steps: int = 100, seed: int = 0) -> Simulated:
    """Predict the throughput of replicas, by going through so many steps of each worker, message by message.

    The first tenth of the steps, while the workers fall out of step with each other, does not count. The same ``seed``
    gives the same prediction, and the same steps to each worker, whatever else is different: compare setups with one.
    A step of 200 workers and 16 servers is simulated in some tenths of a second, an all-reduce of 200 in seconds.

    Raises TypeError for what is no `Setup` or no `Costs`, and ValueError for less than two steps.
    """
    arguments: tuple[tuple[object, type], ...] = ((setup, Setup), (costs, Costs))
    for given, kind in arguments:
        if not isinstance(given, kind):
            raise UserTypeError(f"expected a {kind.__name__}", found=repr(given))
    check_count("steps", steps, 2)
    run = RUNS[setup.mode](setup, costs, steps, seed)
    run.run()
    first = max(1, len(run.ends) // 10)
    seconds = run.ends[-1] - run.ends[first - 1]
    rate = (len(run.ends) - first) / seconds if seconds else math.inf
    counted = setup.examples * (1 if setup.mode == "async" else setup.workers)
    announced = len(run.ends) * setup.workers + run.dropped
    everybody = (*run.workers, *run.servers)
    total = run.clock.now or math.inf
    ports = (port for process in everybody for port in (process.incoming, process.outgoing))
    return Simulated(
        setup,
        rate,
        counted * rate,
        tuple(run.durations[first:]),
        MappingProxyType({
            "workers": run.computed / len(run.workers) / total,
            "servers": max(process.busy for process in run.servers or run.workers) / total,
            "network": max(port.busy for port in ports) / total,
        }),
        run.dropped / announced,
        float(np.mean(run.staleness)) if run.staleness else 0.0,
    )  # fmt: skip


def best_backup(
    setup: Setup, costs: Costs, *, most: int = 4, per_worker: bool = False, steps: int = 100, seed: int = 0
) -> int:
    """How many backup workers give the most examples a second, from 0 to ``most``; the least of equally good ones.

    ``per_worker``: the most examples a second for each worker, backups among them, which is what they cost. Raises
    ValueError unless the setup is synchronous, and what `simulate` raises.
    """
    if setup.mode != "sync":
        raise UserValueError(f"backups are for synchronous replicas, got mode={setup.mode!r}")

    check_count("most", most, 0)

    def worth(backup: int) -> float:
        found = simulate(replace(setup, backup=backup), costs, steps=steps, seed=seed).examples_per_second
        return found / (setup.workers + backup if per_worker else 1)

    return max(range(most + 1), key=worth)
