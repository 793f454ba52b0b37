"""Measures this machine's processor for its profile: `jitflow doctor --measure`.

Each figure is that of the fastest of several runs of a small program, compiled as any other, with the time of what else
happens in it taken off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import jitflow
from jitflow.machines.machine import KINDS, Link, Machine, Processor
from jitflow.passes.place.work import WAIT

__all__ = ["measure"]

_SECONDS = 0.12
"""How long each program is run again and again."""

_RUNS = 5
"""How often at least, however busy the machine is."""

_IN_CACHE, _IN_MEMORY = 1 << 11, 1 << 22
"""Numbers in arrays."""


def measure() -> Machine:
    """The profile of one core of this machine, and of its first GPU if it has one, in some ten seconds."""
    devices, links = [("cpu:0", _processor())], [("cpu", "cpu", _link())]
    for gpu in jitflow.devices("cuda")[:1]:
        from jitflow.machines.measuring_gpu import measure_gpu

        processor, link = measure_gpu(gpu.name)
        devices.append((gpu.name, processor))
        links.append(("cpu", "cuda", link))
    return Machine(tuple(devices), tuple(links))


def _processor() -> Processor:
    small = np.ones(_IN_CACHE)
    polynomial = jitflow.function(_polynomial)
    call = _best(jitflow.function(lambda x, y: x + y), np.ones(1), np.ones(1))
    return replace(
        _caches(),
        single=_rate(polynomial, small.astype(np.float32), _OPERATIONS),
        double=_rate(polynomial, small, _OPERATIONS),
        integer=_rate(polynomial, small.astype(np.int64), _OPERATIONS),
        elementary=_rate(jitflow.function(_elementary), small, 2),
        single_products=_product_rate(np.float32),
        double_products=_product_rate(np.float64),
        launch=_launch(),
        step=_step(),
        call=call,
        routine=max(_best(jitflow.function(lambda x: np.sort(x)), np.ones(1)) - call, 1e-7),
        memory=_memory(),
    )


_clock = time.perf_counter if sys.platform == "win32" else time.thread_time
"""Counts what this thread computes, where such a clock is exact: other work on the machine is no part of it."""


def _best(function: Callable[..., Any], *args: Any, patience: float = _SECONDS) -> float:
    """The seconds of the fastest call."""
    function(*args)
    fastest, end = float("inf"), time.perf_counter() + patience
    runs = 0
    while runs < _RUNS or time.perf_counter() < end:
        runs += 1
        repeats = max(1, min(1000, int(1e-4 / fastest))) if fastest < float("inf") else 1
        begin = _clock()
        for _ in range(repeats):
            function(*args)
        fastest = min(fastest, (_clock() - begin) / repeats)
    return fastest


def _polynomial(x: Any, out: Any) -> Any:
    """`_OPERATIONS` additions and products, more than memory can keep up with."""
    y = (((x * x + x) * x + x) * x + x) * x + x
    out[:] = (((y * x + x) * x + x) * x + x) * x + x


_OPERATIONS = 16


def _elementary(x: Any, out: Any) -> Any:
    out[:] = np.exp(x) + np.sin(x)


def _again(x: Any, y: Any, z: Any, n: int) -> Any:
    for _ in range(n):
        z[1:] = x[:-1] * 0.5 + y[:-1]
        x[1:] = z[:-1] * 0.5 + y[:-1]


def _rate(function: Callable[..., Any], x: Any, operations: int) -> float:
    out = np.empty_like(x)
    few = _best(function, x[:8], out[:8])
    return float(x.size * operations / max(_best(function, x, out) - few, 1e-9))


def _caches() -> Processor:
    """The bandwidths of memory and caches, and how large those are: the largest is where bandwidth falls."""
    try:
        cache = float(os.sysconf("SC_LEVEL2_CACHE_SIZE"))
    except (AttributeError, ValueError, OSError):
        cache = 0.0
    cache = cache or KINDS["cpu"].cache
    sizes = [int(cache * factor) for factor in (0.25, 4, 8, 16, 32, 128)]
    near, shared, *further, memory = (_bandwidth(size // 24) for size in sizes)
    fast = [size for size, found in zip(sizes[2:], further, strict=False) if found * found > shared * memory]
    return replace(
        KINDS["cpu"], cache=cache, cache_bandwidth=max(near, shared), shared_cache=float(max(sizes[1], *fast)),
        shared_cache_bandwidth=max(shared, memory), bandwidth=memory,
    )  # fmt: skip


def _bandwidth(count: int) -> float:
    """When three arrays of so many numbers are gone through again and again; what is written is read before."""
    x, y, z = np.ones(count), np.ones(count), np.ones(count)
    turns = max(1, (1 << 20) // count)
    return 8 * x.nbytes * turns / _best(jitflow.function(_again), x, y, z, turns, patience=4 * _SECONDS)


def _product_rate(dtype: Any) -> float:
    x = np.ones((128, 128), dtype)
    return float(2 * 128**3 / _best(jitflow.function(lambda a, b: a @ b), x, x))


def _launch() -> float:
    """A kernel on a few numbers, in a loop."""

    def sums(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total += (x[i : i + 8] * x[i : i + 8]).sum()
        return total

    turns = 1000
    return _best(jitflow.function(sums), np.ones(turns + 8), turns) / turns


def _step() -> float:
    """A turn of a loop over numbers, by what it does."""

    def numbers(n: int, a: float) -> Any:
        total = 0.0
        for i in range(n):
            total = total * a + i
        return total

    turns = 100_000
    return max(_best(jitflow.function(numbers), turns, 0.5) / (2 * WAIT * turns), 1e-12)


def _link() -> Link:
    """From one thread to another: how long one waits for the other's word, and how fast an array is copied."""
    x = np.ones(_IN_MEMORY)
    y = np.zeros_like(x)
    copied = _best(np.copyto, y, x)
    return Link(_hand_over(), x.nbytes / copied)


def _hand_over() -> float:
    """Half of the way to a thread and back, through the locks of the system."""
    there, back = threading.Semaphore(0), threading.Semaphore(0)
    rounds = 200

    def answer() -> None:
        for _ in range(rounds):
            there.acquire()
            back.release()

    def ask() -> float:
        thread = threading.Thread(target=answer)
        thread.start()
        begin = time.perf_counter()
        for _ in range(rounds):
            there.release()
            back.acquire()
        spent = time.perf_counter() - begin
        thread.join()
        return spent / rounds / 2

    return min(ask() for _ in range(5))


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 0.0
