"""Threads that call, compile, evict and clear shared functions: right results, no crash, memory flat."""

from __future__ import annotations

import gc
import random
import resource
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compilation import specialised

SCALE = 2.0


def make_functions() -> list[Any]:
    @jitflow.function(static=("n",))
    def power(x, n):
        return x**n * SCALE

    @jitflow.function
    def structure(items):
        return {name: item + 1 for name, item in items.items()}

    return [power, structure]


def work(functions: list[Any], seed: int, seconds: float, failures: list[BaseException]) -> None:
    generator = random.Random(seed)
    power, structure = functions
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            x = np.arange(float(generator.randrange(2, 50)))
            n = generator.randrange(1, 6)
            np.testing.assert_allclose(power(x, n), x**n * 2)
            items = {str(k): x * k for k in range(generator.randrange(1, 4))}
            for name, item in structure(items).items():
                np.testing.assert_array_equal(item, items[name] + 1)
            if generator.random() < 0.01:
                generator.choice(functions).cache_clear()
            for function in functions:
                assert function.cache_info().currsize <= 3
    except BaseException as error:
        failures.append(error)


@pytest.mark.stress
def test_threads_that_call_compile_evict_and_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialised, "CONFIG", replace(specialised.CONFIG, cache_size=3))
    functions, failures = make_functions(), []
    used: list[int] = []
    for seconds in (5.0, 55.0):
        threads = [threading.Thread(target=work, args=(functions, seed, seconds, failures)) for seed in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
        gc.collect()
        used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert used[1] < used[0] * 1.5
