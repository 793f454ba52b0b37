"""Measures this machine's processor for its profile: `jitflow doctor --measure`.

Each figure is that of the fastest of several runs of a small program, compiled as any other, with the time of what else
happens in it taken off.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import jitflow
from jitflow.machine import KINDS, Link, Machine, Processor

__all__ = ["measure"]

_SECONDS = 0.12
"""How long each program is run again and again."""

_RUNS = 5
"""How often at least, however busy the machine is."""

_IN_CACHE, _IN_MEMORY = 1 << 13, 1 << 22
"""Numbers in arrays."""


def measure() -> Machine:
    """The profile of one core of this machine, and of its first GPU if it has one, in a few seconds."""
    devices, links = [("cpu:0", _processor())], [("cpu", "cpu", _link())]
    for gpu in jitflow.devices("cuda")[:1]:
        from jitflow.measuring_gpu import measure_gpu

        processor, link = measure_gpu(gpu.name)
        devices.append((gpu.name, processor))
        links.append(("cpu", "cuda", link))
    return Machine(tuple(devices), tuple(links))


def _processor() -> Processor:
    large, small = np.ones(_IN_MEMORY), np.ones(_IN_CACHE)
    added = jitflow.function(lambda x, y: x + y)
    polynomial = jitflow.function(_polynomial)
    call = _best(added, np.ones(1), np.ones(1))
    return replace(
        KINDS["cpu"],
        bandwidth=3 * large.nbytes / _best(added, large, large),
        cache_bandwidth=3 * small.nbytes / max(_best(added, small, small) - call, 1e-9),
        single=_rate(polynomial, small.astype(np.float32), _DEGREE, call),
        double=_rate(polynomial, small, _DEGREE, call),
        integer=_rate(polynomial, small.astype(np.int64), _DEGREE, call),
        elementary=_rate(jitflow.function(lambda x: np.exp(np.sin(np.exp(np.sin(x))))), small, 4, call),
        single_products=_product_rate(np.float32),
        double_products=_product_rate(np.float64),
        launch=_launch(),
        step=_step(),
        routine=max(_best(jitflow.function(lambda x: np.sort(x)), np.ones(1)) - call, 1e-7),
        memory=_memory(),
    )


def _best(function: Callable[..., Any], *args: Any) -> float:
    """The seconds of the fastest call."""
    function(*args)
    fastest, end = float("inf"), time.perf_counter() + _SECONDS
    runs = 0
    while runs < _RUNS or time.perf_counter() < end:
        runs += 1
        repeats = max(1, min(1000, int(1e-4 / fastest))) if fastest < float("inf") else 1
        begin = time.perf_counter()
        for _ in range(repeats):
            function(*args)
        fastest = min(fastest, (time.perf_counter() - begin) / repeats)
    return fastest


_DEGREE = 32


def _polynomial(x: Any) -> Any:
    """Additions and products, one waiting for the other, as programs have them."""
    y = x
    for _ in range(_DEGREE // 2):
        y = y * x + x
    return y


def _rate(function: Callable[..., Any], x: Any, operations: int, call: float) -> float:
    return float(x.size * operations / max(_best(function, x) - call, 1e-9))


def _product_rate(dtype: Any) -> float:
    x = np.ones((128, 128), dtype)
    return float(2 * 128**3 / _best(jitflow.function(lambda a, b: a @ b), x, x))


def _launch() -> float:
    """What a kernel more costs in a loop that launches it: two that may not be one, less one."""

    def once(x: Any, n: int) -> Any:
        for _ in range(n):
            x[1:] = x[:-1] * 0.5
        return x

    def twice(x: Any, n: int) -> Any:
        for _ in range(n):
            x[1:] = x[:-1] * 0.5
            x[:-1] = x[1:] * 0.5
        return x

    turns, x = 1000, np.ones(8)
    spent = _best(jitflow.function(twice), x, turns) - _best(jitflow.function(once), x, turns)
    return max(spent / turns, 1e-8)


def _step() -> float:
    """A turn of a loop over numbers, by what it does."""

    def numbers(n: int, a: float) -> Any:
        total = 0.0
        for i in range(n):
            total = total * a + i
        return total

    turns = 100_000
    return max(_best(jitflow.function(numbers), turns, 0.5) / (3 * turns), 1e-11)


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
