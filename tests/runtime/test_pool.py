"""The memory pool: alignment, reuse, the cap, NumPy's handler, forks and the end of the process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from jitflow.runtime.native.object_layout import ARRAY_MEMORY_HANDLER, layout_is_known
from jitflow.runtime.native.pool import memory_stats, pool, trim

ROOT = Path(__file__).parents[2]
MEBIBYTE = 1 << 20


@pytest.fixture
def allocate() -> Callable[[int], int | None]:
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(pool().allocate_address)


@pytest.fixture
def free() -> Callable[[int | None, int], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(pool().free_address)


@pytest.fixture(autouse=True)
def start_empty() -> Iterator[None]:
    trim()
    yield
    trim()


@pytest.mark.parametrize("nbytes", [0, 1, 64, 1000, 4096, 100_000, 2 * MEBIBYTE, 5 * MEBIBYTE + 3])
def test_blocks_are_aligned_whole_and_reused(
    allocate: Callable[..., int], free: Callable[..., None], nbytes: int
) -> None:
    first, second = allocate(nbytes), allocate(nbytes)
    assert first % 64 == second % 64 == 0
    assert abs(first - second) >= nbytes
    ctypes.memset(first, 1, nbytes)
    ctypes.memset(second, 2, nbytes)
    assert ctypes.string_at(first, nbytes) == b"\1" * nbytes
    free(first, nbytes)
    assert allocate(nbytes) == first
    free(first, nbytes)
    free(second, nbytes)


def test_the_counters_add_up(allocate: Callable[..., int], free: Callable[..., None]) -> None:
    before = memory_stats()
    block = allocate(10_000)
    during = memory_stats()
    assert 10_000 <= during["bytes_in_use"] - before["bytes_in_use"] <= 13_000
    assert during["bytes_high_water"] >= during["bytes_in_use"]
    free(block, 10_000)
    after = memory_stats()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["bytes_cached"] == during["bytes_in_use"] - before["bytes_in_use"]
    trim()
    assert memory_stats()["bytes_cached"] == 0


def test_a_request_beyond_all_memory_fails(allocate: Callable[..., int | None]) -> None:
    assert allocate(1 << 62) is None
    assert allocate(-1) is None
    assert allocate(1 << 45) is None


def test_over_the_cap_other_sizes_go_first(allocate: Callable[..., int], free: Callable[..., None]) -> None:
    state = pool()._state
    cap = state[6]
    state[6] = 16 * MEBIBYTE
    try:
        old = [allocate(3 * MEBIBYTE) for _ in range(4)]
        for block in old:
            free(block, 0)
        new = [allocate(6 * MEBIBYTE) for _ in range(3)]
        for block in new:
            free(block, 0)
        assert memory_stats()["bytes_cached"] <= 16 * MEBIBYTE
        before = memory_stats()["reuses"]
        again = allocate(6 * MEBIBYTE)
        assert memory_stats()["reuses"] == before + 1
        free(again, 0)
    finally:
        state[6] = cap


def test_numpy_can_allocate_from_the_pool() -> None:
    """Through the handler capsule, as for arrays that NumPy itself resizes or fills with zeros."""
    if not layout_is_known():
        pytest.skip("arrays do not own pool memory here")
    from importlib import import_module

    multiarray = import_module("numpy._core._multiarray_umath")
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(multiarray._ARRAY_API, None)
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(
        ctypes.c_void_p.from_address(table + 8 * 304).value
    )
    set_handler(id(pool().handler))
    try:
        array = np.zeros(5000)
        empty = np.empty(100_000, "u1")
        address = ctypes.c_void_p.from_address(id(array) + ARRAY_MEMORY_HANDLER).value
        assert address == id(pool().handler)
        assert not array.any()
        array[:] = 1
        array.resize(20_000, refcheck=False)
        assert array.sum() == 5000
        assert np._core.multiarray.get_handler_name(empty) == "jitflow_pool"  # type: ignore[attr-defined]
    finally:
        set_handler(None)
    before = memory_stats()["bytes_in_use"]
    del array, empty
    assert memory_stats()["bytes_in_use"] < before


def test_many_threads_share_the_pool(allocate: Callable[..., int], free: Callable[..., None]) -> None:
    before = memory_stats()["bytes_in_use"]

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        held: list[tuple[int, int]] = []
        for size in generator.integers(1, 200_000, 500):
            block = allocate(int(size))
            ctypes.memset(block, seed, int(size))
            held.append((block, int(size)))
            if len(held) > 5:
                address, nbytes = held.pop(0)
                assert ctypes.string_at(address, nbytes) == bytes([seed]) * nbytes
                free(address, nbytes)
        for address, nbytes in held:
            free(address, nbytes)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory_stats()["bytes_in_use"] == before


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )


PRELUDE = """
import numpy as np, threading
from tests.runtime.fakes import *
from jitflow.runtime.entry.dispatcher import make_function_type
Function = make_function_type(Methods)
function = Function(lambda a, b: None)
function._link(specialise(MULTIPLY_ADD, multiply_add))
a = np.arange(1_000_000, dtype="f4")
"""


def test_the_process_ends_cleanly_with_live_arrays() -> None:
    program = (
        PRELUDE
        + """
import sys, atexit
results = [function(a, a) for _ in range(3)] + [function(a[:10], a[:10])]
sys.kept = results[0]
class Late:
    def __init__(self, array): self.array = array
    def __del__(self): self.array = None
sys.late = Late(results.pop())
function.me = function
np.kept = function
atexit.register(lambda: function(a, a))
"""
    )
    done = run_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_use_the_pool() -> None:
    program = (
        PRELUDE
        + """
import os, time
stop = False
def work():
    while not stop:
        function(a[:100], a[:100])
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        function(a, a)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop = True
for thread in threads: thread.join()
"""
    )
    done = run_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
