"""Measures a GPU for this machine's profile: `jitflow doctor --measure` does where there is one.

Calls only ask for work, so each figure is that of many calls and one wait behind them: of the device's time where it
has enough to do, and of the asking where it has not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import jitflow
from jitflow.machines.machine import KINDS, Link, Processor
from jitflow.runtime.native.cuda import Gpu, gpu

__all__ = ["copy_bandwidth", "measure_gpu"]

_SECONDS = 0.1
"""How long each program is run again and again."""
_MOST_CALLS = 1000
_ROUNDS = 3
"""Of so many times the least counts."""

_IN_MEMORY, _IN_CACHE, _WIDTH = 1 << 25, 1 << 19, 4096
"""Numbers in arrays, of which the smaller ones fit into the cache; rows of a matrix."""
_DOUBLINGS = 6
_ALIGNED = 256
"""Bytes: where one copy ends and the other begins."""
_TURNS = 1000


def measure_gpu(name: str) -> tuple[Processor, Link]:
    """What is known of a GPU, and of the way to its memory, in a few seconds."""
    device = gpu(name)
    facts, launch, (polynomial, operations) = device.description, _launch(device), _polynomial()
    added = jitflow.function(lambda x, y: x + y)
    large, small = ([_ones(device, size) for _ in range(2)] for size in (_IN_MEMORY, _IN_CACHE))
    processor = replace(
        KINDS["cuda"],
        bandwidth=3 * 8 * _IN_MEMORY / _seconds(device, added, *large),
        cache_bandwidth=3 * 8 * _IN_CACHE / _seconds(device, added, *small),
        single=_rate(device, polynomial, np.float32, operations),
        double=_rate(device, polynomial, np.float64, operations),
        integer=_rate(device, polynomial, np.int64, operations),
        elementary=_rate(device, lambda x: np.exp(np.sin(np.exp(np.sin(x)))), np.float64, 4),
        single_products=_product_rate(device, np.float32),
        double_products=_product_rate(device, np.float64),
        launch=launch,
        step=launch,  # what a number's arithmetic takes is a kernel for one thread
        cache=float(facts["cache"]),
        memory=float(facts["memory"]),
    )
    return processor, _link(device)


def copy_bandwidth(name: str, size: int) -> float:
    """The bytes per second, read plus written, of the driver's copy of so many bytes within a GPU's memory."""
    device, size = gpu(name), -(-size // _ALIGNED) * _ALIGNED
    memory = device.allocate(2 * size)
    try:
        return 2 * size / _seconds_of_each(lambda: device.copy_within(memory + size, memory, size), device.synchronize)
    finally:
        device.free(memory)


def _seconds_of_each(run: Callable[[], Any], finish: Callable[[], object]) -> float:
    """The time of one call out of as many as take a while, behind which is waited."""

    def spent(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        finish()
        return (time.perf_counter() - begin) / calls

    spent(2)
    calls = max(1, min(_MOST_CALLS, int(_SECONDS / _ROUNDS / spent(1))))
    return min(spent(calls) for _ in range(_ROUNDS))


def _seconds(device: Gpu, function: Callable[..., Any], *args: Any) -> float:
    return _seconds_of_each(lambda: function(*args), device.synchronize)


def _ones(device: Gpu, shape: Any, dtype: Any = np.float64) -> Any:
    return device.put(np.ones(shape, dtype))


def _polynomial() -> tuple[Callable[[Any], Any], int]:
    """Additions and products in one kernel, one waiting for the other, as programs have them; and how many."""

    def step(y: Any, x: Any) -> Any:
        return y * x + x

    def twice(inner: Callable[..., Any]) -> Callable[..., Any]:
        return lambda y, x: inner(inner(y, x), x)

    steps: Callable[..., Any] = step
    for _ in range(_DOUBLINGS):
        steps = twice(steps)
    return lambda x: steps(x, x), 2 << _DOUBLINGS


def _rate(device: Gpu, function: Callable[..., Any], dtype: Any, operations: int) -> float:
    x = _ones(device, _IN_MEMORY // 8, dtype)
    return _IN_MEMORY // 8 * operations / _seconds(device, jitflow.function(function), x)


def _product_rate(device: Gpu, dtype: Any) -> float:
    x = _ones(device, (_WIDTH, _WIDTH), dtype)
    return 2 * _WIDTH**3 / _seconds(device, jitflow.function(lambda a, b: a @ b), x, x)


def _launch(device: Gpu) -> float:
    """What a kernel more costs in a loop that launches it."""

    def kernels(x: Any, n: int) -> Any:
        for _ in range(n):
            x[1:] = x[:-1] * 0.5
        return x

    run, x = jitflow.function(kernels), _ones(device, 8)
    spent = _seconds(device, run, x, 2 * _TURNS) - _seconds(device, run, x, _TURNS)
    return max(spent / _TURNS, 1e-8)


def _link(device: Gpu) -> Link:
    """From the host's memory: how long the first byte takes, and how fast an array is copied."""
    here = np.ones(_IN_MEMORY)
    there = device.allocate(here.nbytes)

    def copied(size: int) -> float:
        def copy() -> None:
            device.copy_there(there, here.ctypes.data, size)
            device.synchronize()

        return _seconds_of_each(copy, device.synchronize)

    try:
        latency = copied(8)
        return Link(latency, here.nbytes / max(copied(here.nbytes) - latency, 1e-9))
    finally:
        device.free(there)
