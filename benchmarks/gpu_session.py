"""One process's side of the benchmarks on a GPU: prepare a workload or a training step, and time it.

A call returns when its work is asked for. So a turn makes many calls, waits once, and takes the host's clock for all of
them: that counts the device's time where it works without a pause, and the time of asking where that is longer, as
users meet it. Events on the device would say the same, but JAX has none.
"""

from __future__ import annotations

import time
from types import MappingProxyType

from jitflow.machines.measuring_gpu import copy_bandwidth
from jitflow.runtime.native.cuda import gpu

from .gpu_peers import DEVICE, PEERS, TRAINING_PEERS
from .launches import LAUNCHES
from .measure import Measurement, message_of
from .training_cases import GPU_CASES, Case
from .training_session import TrainingSession
from .worker import Session
from .workload import Workload
from .workloads import WORKLOADS

__all__ = ["ON_GPU", "SUBJECTS", "GpuSession"]

ON_GPU = MappingProxyType({
    "JAX_PLATFORMS": "cuda",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
})  # fmt: skip
"""What the libraries read when they are imported: several processes share the GPU's memory."""

TURN = 0.02
"""A turn makes calls for about so many seconds."""
MOST_CALLS = 1000
SUBJECTS: dict[str, Workload | Case] = {**WORKLOADS, LAUNCHES.name: LAUNCHES, **GPU_CASES}
"""What is measured, by name, in the order of the table."""


class GpuSession:
    """What happens inside of a peer's process: a session for workloads, one for training steps, and one clock."""

    def __init__(self, peer: str) -> None:
        self._peer = PEERS[peer]
        self._workloads = Session(self._peer)
        self._training = TrainingSession(peer, TRAINING_PEERS) if peer in TRAINING_PEERS else None
        self._session: Session | TrainingSession = self._workloads
        self._calls = 1

    def warm_up(self) -> str:
        """Compile something; what went wrong, if anything: then this peer cannot use the GPU."""
        return self._workloads.warm_up()

    def prepare(self, name: str, small: bool) -> Measurement | None:
        """Make the first call and compare its result; None where the peer has no form of it."""
        subject, measurement = SUBJECTS[name], None
        if isinstance(subject, Workload):
            self._session, measurement = self._workloads, self._workloads.prepare_workload(subject, small)
        elif self._training is not None:
            self._session, measurement = self._training, self._training.prepare(name, small)
        if measurement is not None and not measurement.error:
            try:
                self._seconds(2)
                self._calls = max(1, min(MOST_CALLS, int(TURN / self._seconds(1))))
            except Exception as error:
                measurement.error = message_of(error)
        return measurement

    def turn(self) -> float:
        """Return the seconds of one call, out of many."""
        return self._seconds(self._calls)

    def copy_bandwidth(self, footprint: int) -> float:
        """Return the bytes per second, read plus written, of a copy whose source and target are so many bytes."""
        return copy_bandwidth(DEVICE, max(footprint // 2, 1))

    def describe_gpu(self) -> dict[str, str | int]:
        """Return what is known of the GPU and its driver."""
        return gpu(DEVICE).description

    def _seconds(self, calls: int) -> float:
        run = self._session.run
        assert run is not None
        start = time.perf_counter()
        for _ in range(calls):
            results = run()
        self._peer.finish(results)
        return (time.perf_counter() - start) / calls
