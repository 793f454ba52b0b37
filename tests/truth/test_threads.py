"""Threads that call, compile, evict and clear shared functions; arrays that outlive the interpreter's end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORK = """
import os, sys, threading, time
import numpy as np
import jitflow

SECONDS, THREADS = float(sys.argv[1]), 16

@jitflow.function
def normalised(x, scale):
    return (x - x.mean(axis=-1, keepdims=True)) * scale

@jitflow.function
def products(a, b):
    return a @ b.T, (a * a).sum(axis=0)

@jitflow.function
def views(x):
    return x[::-1], x.T, x + 1

def check(got, want):
    for one, other in zip(got, want):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)

def work(number):
    random = np.random.default_rng(number)
    kept = []
    while time.perf_counter() < end and not problems:
        try:
            shape = tuple(random.integers(0, 40, random.integers(1, 3)))
            dtype = random.choice(["f4", "f8", "i4", "c8"])
            x = (random.normal(size=shape) * 8).astype(dtype)
            if random.random() < 0.3:
                x = np.asfortranarray(x)[..., ::2]
            which = random.integers(0, 12)
            with np.errstate(all="ignore"):
                if which < 5 and x.size:
                    check([normalised(x, 2.0)], [normalised.__wrapped__(x, 2.0)])
                elif which < 8 and x.ndim == 2:
                    check(products(x, x), products.__wrapped__(x, x))
                else:
                    kept = [*kept[-20:], *views(x)]
                    check(kept[-3:], views.__wrapped__(x))
            if random.random() < 0.02:
                random.choice([normalised, products, views]).cache_clear()
            normalised.cache_info()
        except BaseException as error:
            problems.append(error)
            raise

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

problems = []
x = np.ones((3, 4))
normalised(x, 1.0), products(x, x), views(x)
import warnings; warnings.simplefilter("ignore")
sizes = []
for round in range(4):
    end = time.perf_counter() + SECONDS / 4
    threads = [threading.Thread(target=work, args=(100 * round + number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if os.path.exists("/proc/self/statm"):
        sizes.append(resident() >> 20)
assert not problems
print("memory", sizes)
if SECONDS > 20 and sizes:
    assert sizes[-1] < sizes[1] + 100, sizes
alive = views(np.ones((300, 400)))
"""


def run(seconds: float) -> str:
    environment = {**os.environ, "JITFLOW_CACHE_SIZE": "3"}
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", WORK, str(seconds)],
        env=environment, capture_output=True, text=True, timeout=seconds * 4 + 120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    assert not result.stderr, result.stderr[-3000:]
    return result.stdout


def test_threads_share_functions() -> None:
    assert "memory" in run(4)


@pytest.mark.stress
def test_threads_share_functions_for_a_minute() -> None:
    assert "memory" in run(60)


def test_exit_with_live_arrays() -> None:
    """Results, views of results and functions that are alive when the interpreter ends do not disturb it."""
    program = """
import numpy as np, jitflow, sys
f = jitflow.function(lambda x: (x * 2, x[::2], np.exp(x)))
kept = [f(np.ones((n, 1000))) for n in range(1, 40)]
class Late:
    def __del__(self):
        self.result[0][:] = 3
late = Late()
late.result = f(np.ones((500, 1000)))
sys.kept = [kept, late, f]
"""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert not result.stderr, result.stderr
