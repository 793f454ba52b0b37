"""Ctrl-C ends native loops: KeyboardInterrupt at the user's line, and everything stays whole."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.native.pool import memory_stats

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals as POSIX has them")

PROGRAMS = """
import signal
import numpy as np
import jitflow

signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs in the background has ignored

ENDLESS = 10**13

@jitflow.function
def while_over_elements(x):
    turns = 0.0
    while x[0] < 1e300:
        turns += 1.0
    return turns

@jitflow.function
def for_over_elements(x, n):
    total = 0.0
    for i in range(n):
        total += x[i % 3] * 0.5
    return total

@jitflow.function
def backwards(x, n):
    total = 0.0
    for i in range(n, 0, -3):
        total += x[i % 3] * 0.5
    return total

@jitflow.function
def short_loops_in_a_long_one(x, n):
    total = 0.0
    for i in range(n):
        for j in range(x.size):
            total += x[j] * i
    return total

@jitflow.function
def a_long_loop_in_another(x, n):
    total = 0.0
    for i in range(10):
        for j in range(n):
            total += x[j % 3] * i
    return total

@jitflow.function
def counting(x, n):
    i = 0
    while i < n:
        x[i % 3] += 1.0
        i += 1
    return i

@jitflow.function
def counting_and_looking(x, n):
    i = 0
    while i < n and x[i % 3] >= 0.0:
        x[i % 3] += 1.0
        i += 1
    return i

@jitflow.function
def counting_within(x, n):
    total = 0
    for i in range(n):
        j = 7
        while j >= 0 and x[j % 3] >= 0.0:
            j -= 1
        total += j
    return total

@jitflow.function
def while_over_arrays(x):
    while x[0] < 1e300:
        x[:] = x * 0.5 + 0.1
    return x

@jitflow.function
def for_over_arrays(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) + np.roll(y, 1)
    return y

@jitflow.function
def routines(x, n):
    for i in range(n):
        x = np.sort(x) * 0.5
    return x

def run(name, size):
    arguments = [np.zeros(size)]
    if not name.startswith("while"):
        arguments.append(ENDLESS)
    function = globals()[name]
    function.compile(*arguments)
    print(name, flush=True)
    try:
        function(*arguments)
    except KeyboardInterrupt:
        print(for_over_elements(np.ones(3), 10), jitflow.memory_stats()["bytes_in_use"], flush=True)
"""
NAMES = [line.removeprefix("def ").partition("(")[0] for line in PROGRAMS.splitlines() if line.startswith("def ")][:-1]
CALLS = [*((name, 3) for name in NAMES), ("while_over_arrays", 300_000), ("for_over_elements", 300_000)]


@pytest.mark.parametrize("entry", ["native", "python"])
def test_ctrl_c_ends_a_loop(tmp_path: Path, entry: str) -> None:
    """In a process of its own, one loop after the other, each of which would take hours."""
    text = PROGRAMS + "\n".join(f"run{call}" for call in CALLS)
    command, environment = [sys.executable, "-c", "import endless"], {**os.environ, "JITFLOW_ENTRY": entry}
    with subprocess.Popen(
        command, cwd=_written(tmp_path, text), env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        late = threading.Timer(120, process.kill)
        late.start()
        assert process.stdout is not None
        try:
            for name, _ in CALLS:
                assert process.stdout.readline() == f"{name}\n"
                time.sleep(0.15)  # until the loop turns, on a busy machine as well
                start = time.monotonic()
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == "5.0 0\n", f"{name} did not end as it should"
                assert time.monotonic() - start < 10
            assert process.wait() == 0
        finally:
            late.cancel()
            process.kill()


def _written(folder: Path, text: str) -> Path:
    (folder / "endless.py").write_text(text)
    return folder


class _TimeIsUp(Exception):
    pass


@jitflow.function
def fill(x: np.ndarray, n: int) -> float:
    total = 0.0
    for i in range(n):
        row = np.sin(x)
        x[i % x.size] += 1.0
        total += row[0]
    return total


def test_what_another_handler_raises_ends_a_loop_at_its_line() -> None:
    def handler(*_: object) -> None:
        raise _TimeIsUp

    in_use, x = memory_stats()["bytes_in_use"], np.zeros(50)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        fill(x, 1)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(_TimeIsUp) as raised:
            fill(x, 1 << 60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    names = [entry.name for entry in raised.traceback]
    assert names[-2:] == ["fill", "handler"]
    assert "for i in range(n)" in str(raised.traceback[-2].statement)
    assert memory_stats()["bytes_in_use"] == in_use
    assert x.sum() > 1
    assert x.max() - x.min() <= 2
    assert fill(np.zeros(4), 4) == pytest.approx(np.sin(0.0) + 3 * np.sin(1.0))


def test_other_threads_run_beside_a_long_loop_over_little() -> None:
    @jitflow.function
    def turn(x, n):
        total = 0.0
        for i in range(n):
            total = (total + x[i % 2]) * 0.5
        return total

    turn(np.ones(2), 1)
    thread = threading.Thread(target=turn, args=(np.ones(2), 100_000_000))
    start = time.monotonic()
    thread.start()
    naps = 0
    while thread.is_alive():
        time.sleep(0.001)
        naps += 1
    thread.join()
    assert naps > 5, f"this thread ran {naps} times in {time.monotonic() - start} seconds"


def helped(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        try:
            if x[i % len(x)] > 0:
                total += x.sum() * i
            else:
                total -= 1
        except Exception:
            total -= 100
    return total


def guarded(x: Any, n: int) -> Any:
    try:
        y = helped(x, n) + np.exp(x)
    except (Exception, SystemExit):
        return x - 1000
    try:
        return y + np.cos(x)
    except:  # noqa: E722 - as programs have it
        return x - 2000


@pytest.mark.parametrize("kind", [TimeoutError, ValueError, SystemExit])
def test_what_a_handler_raises_while_a_function_is_compiled_is_the_callers(kind: type[BaseException]) -> None:
    """Not a bug, nor anything that the program would handle: it would be compiled as one that always fails there."""
    calls = last = 0

    def handler(*_: object) -> None:
        raise kind("time is up")

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"
        # What a handler raises while a generator is let go, Python itself ignores.
        if last and calls >= last and event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGALRM)

    def called() -> Any:
        nonlocal calls
        calls = 0
        sys.setprofile(count)
        try:
            return program(x, 4)
        finally:
            sys.setprofile(None)

    x = np.linspace(-1, 1, 6)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        program = jitflow.function(guarded)
        program(x, 4)
        program = jitflow.function(guarded)
        expected, total = called(), calls
        for part in (0.005, 0.1, 0.2, 0.3, 0.5, 0.8):
            last, program = int(total * part), jitflow.function(guarded)
            with pytest.raises(kind, match=r"^time is up$"):
                called()
            np.testing.assert_array_equal(program(x, 4), expected)
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_allclose(expected, guarded(x, 4))
