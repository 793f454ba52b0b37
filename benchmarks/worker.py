"""One process for each peer, pinned to one core unless all threads are asked for.

The processes take turns, never two at a time, so rounds are interleaved as within one process; but no peer works in
the heap, the thread pools or the signal handlers that another has left behind, and one that crashes ends alone.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any

import numpy as np

from .limits import arithmetic_peak, copy_bandwidth
from .machine import ALL_THREADS, KEEP_MEMORY, ONE_THREAD, pin_to_one_core
from .measure import Measurement, disagreement, message_of
from .peers import PEERS, Peer, Run
from .workload import Workload
from .workloads import WORKLOADS

__all__ = ["Session", "Worker"]

SEED = 2016
WARM_CALL_LIMIT = 0.05
"""Calls shorter than this many seconds are timed with caches warm: untimed calls go before."""
WARMING = 0.02
"""For so many seconds: large caches keep what is read again and again, and one call does not bring it back."""


class Session:
    """What happens inside of the process: one workload is prepared at a time."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.run: Run | None = None
        """One call of what was prepared, if that went well."""
        self._last = 0.0

    def prepare(self, name: str, small: bool) -> Measurement | None:
        """Make the first call of a workload and compare its result; None where the peer has no form of it."""
        return self.prepare_workload(WORKLOADS[name], small)

    def prepare_workload(self, workload: Workload, small: bool) -> Measurement | None:
        """The same for a workload that has no place in the table. Whatever a peer raises is its measurement."""
        self.run, self._last = None, 0.0
        inputs = workload.make_inputs(np.random.default_rng(SEED), small)
        expected = workload.function(*inputs)
        measurement = Measurement()
        try:
            run = self._peer.prepare(workload, inputs)
            if run is None:
                return None
            start = time.perf_counter()
            results = run()
            self._peer.finish(results)
            measurement.first_call = time.perf_counter() - start
            measurement.error = disagreement(workload, results, expected)
        except Exception as error:
            measurement.error = message_of(error)
            return measurement
        self.run = run
        return measurement

    def turn(self) -> float:
        """Return the seconds of one call. The results' memory is given back after the clock has stopped."""
        assert self.run is not None
        if self._last < WARM_CALL_LIMIT:
            deadline = time.perf_counter() + WARMING
            while time.perf_counter() < deadline:
                self.run()
        start = time.perf_counter()
        results = self.run()
        self._last = time.perf_counter() - start
        del results
        return self._last

    def warm_up(self) -> str:
        """Compile something, so that no first call pays for the compiler's own start; what went wrong, if anything."""
        measurement = self.prepare_workload(_WARM_UP, small=True)
        self.run = None
        return measurement.error if measurement else ""

    def copy_bandwidth(self, footprint: int) -> float:
        """Return what `limits.copy_bandwidth` measures on this process's cores."""
        return copy_bandwidth(footprint)

    def arithmetic_peak(self, itemsize: int) -> float:
        """Return what `limits.arithmetic_peak` measures on this process's cores."""
        return arithmetic_peak(itemsize)


class Worker:
    """The parent's side of the process, with the methods of a session."""

    def __init__(
        self,
        peer: str,
        *,
        keep_memory: bool = False,
        all_threads: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
        make_session: Callable[[str], Any] | None = None,
    ) -> None:
        self.peer = peer
        self._all_threads = all_threads
        self._make_session = make_session or _fusion_session
        threads, memory = ALL_THREADS if all_threads else ONE_THREAD, KEEP_MEMORY if keep_memory else {}
        self._variables = {**threads, **memory, **variables}
        self.trouble = ""
        """What went wrong with the first thing that the process did."""
        self._start()

    def prepare(self, name: str, small: bool) -> Measurement | None:
        """As `Session.prepare`; a process that ended is replaced by a new one."""
        if not self._process.is_alive():
            self._start()
        try:
            answer: Measurement | None = self._ask("prepare", name, small)
        except RuntimeError as error:
            return Measurement(error=str(error))
        return answer

    def turn(self) -> float:
        """As `Session.turn`. Raises RuntimeError if the process ends."""
        return float(self._ask("turn"))

    def copy_bandwidth(self, footprint: int) -> float:
        """As `Session.copy_bandwidth`."""
        return float(self._ask("copy_bandwidth", footprint))

    def limit_seconds(self, workload: Workload) -> tuple[float, float]:
        """The least time that the workload's memory takes on this process's cores, and its arithmetic."""
        memory = workload.necessary_bytes / self.copy_bandwidth(workload.necessary_bytes)
        return memory, workload.flops / float(self._ask("arithmetic_peak", workload.itemsize))

    def close(self) -> None:
        """Let the process end."""
        self._connection.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        arguments = (theirs, self.peer, self._make_session, self._all_threads)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with _environment(self._variables):
            self._process.start()
        theirs.close()
        self.trouble = self._ask("warm_up") or ""

    def ask(self, question: str, *arguments: Any, limit: float | None = None) -> Any:
        """Call a method of the session. Raises RuntimeError if the process ends, or is ended after `limit` seconds."""
        if not self._process.is_alive():
            self._start()
        return self._ask(question, *arguments, limit=limit)

    def _ask(self, question: str, *arguments: Any, limit: float | None = None) -> Any:
        try:
            self._connection.send((question, arguments))
            if not self._connection.poll(limit):
                self._process.kill()
                self._process.join()
                raise RuntimeError(f"no answer within {limit:g} s")
            return self._connection.recv()
        except (EOFError, OSError):
            self._process.join(timeout=5)
            raise RuntimeError(f"the process ended with status {self._process.exitcode}") from None


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that are started within."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fusion_session(peer: str) -> Session:
    return Session(PEERS[peer])


def _serve(connection: Connection, peer: str, make_session: Callable[[str], Any], all_threads: bool) -> None:
    """Answer questions until the parent closes the connection."""
    if not all_threads:
        pin_to_one_core()
    warnings.simplefilter("ignore")
    gc.disable()
    session = make_session(peer)
    while True:
        try:
            question, arguments = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        gc.collect()
        connection.send(getattr(session, question)(*arguments))


def _add(a: Any, b: Any) -> Any:
    return a + b


def _numba_add() -> Any:
    import numba

    return numba.njit(_add)


_WARM_UP = Workload(
    name="warm_up",
    description="one addition",
    function=_add,
    make_inputs=lambda random, small: (np.ones(8, np.float32), np.ones(8, np.float32)),
    necessary_bytes=96,
    flops=8,
    relative_tolerance=0.0,
    numba_array=_numba_add,
    numba_loops=_numba_add,
    jax=lambda: _add,
    torch=lambda: _add,
    cupy=lambda: _add,
)
