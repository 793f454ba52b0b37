"""Calls that use the same variables: each is one step, nobody waits for ever, and nobody starves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import jitflow

SIZE = 40_000  # large enough to run without the GIL


def run_threads(*functions: Callable[[], None], seconds: float) -> list[int]:
    """How often each function ran, one thread for each. What one raises is raised here."""
    counts, failures, over = [0] * len(functions), [], threading.Event()

    def loop(number: int) -> None:
        try:
            while not over.is_set():
                functions[number]()
                counts[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop, args=(number,), daemon=True) for number in range(len(functions))]
    for thread in threads:
        thread.start()
    over.wait(seconds)
    over.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a thread waits for ever"
    if failures:
        raise failures[0]
    return counts


def test_sixteen_threads():
    a, b = (jitflow.Variable(np.zeros(SIZE)) for _ in range(2))

    @jitflow.function
    def forth():
        a[...] += 1
        b[...] -= 1

    @jitflow.function
    def back(x):
        b[...] += x
        a[...] -= x

    @jitflow.function
    def both():
        total = a + b
        return total.min(), total.max()

    def read() -> None:
        assert both() == (0, 0)

    def look() -> None:
        snapshot = a.numpy()
        assert snapshot.min() == snapshot.max()

    def assign() -> None:
        a.assign_add(0)

    counts = run_threads(
        *[forth] * 4, *[lambda: back(2.0)] * 2, *[read] * 5, *[look] * 4, assign, seconds=3
    )  # fmt: skip
    assert min(counts) > 0
    assert a[0] == sum(counts[:4]) - 2 * sum(counts[4:6])


def test_readers_share():
    w = jitflow.Variable(np.zeros(4))
    inside = threading.Barrier(2, timeout=20)
    meet = jitflow.callback(inside.wait)

    @jitflow.function
    def read():
        meet()
        return w.sum()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not inside.broken


def test_a_call_inside_another_one():
    w, v = jitflow.Variable(np.zeros(2)), jitflow.Variable(np.ones(2))

    @jitflow.function
    def count():
        v[...] += 1

    seen = []

    def call() -> None:
        count()
        seen.append(w.numpy())

    notify = jitflow.callback(call)

    @jitflow.function
    def read():
        notify()
        return w.sum()

    assert read() == 0
    assert v[0] == 2
    assert len(seen) == 1


@pytest.mark.parametrize("write", [True, False])
def test_a_callback_that_uses_what_its_caller_updates(write: bool):
    w = jitflow.Variable(np.zeros(2))
    use = jitflow.callback((lambda: w.assign(5)) if write else w.numpy)

    @jitflow.function
    def update():
        w[...] += 1
        use()

    @jitflow.function
    def read():
        use()
        return w.sum()

    with pytest.raises(RuntimeError, match="the compiled function which is running here"):
        update()
    if write:
        with pytest.raises(RuntimeError, match="the compiled function which is running here"):
            read()
    w += 1  # nobody holds it any more


def test_threads_that_wait_for_each_other():
    variables = [jitflow.Variable(np.zeros(2)) for _ in range(3)]
    inside = threading.Barrier(3, timeout=20)
    errors, done = [], []

    def make(number: int) -> Callable[[], None]:
        mine, other = variables[number], variables[(number + 1) % 3]

        def meet() -> None:
            inside.wait()
            other.assign_add(1)

        notify = jitflow.callback(meet)

        @jitflow.function
        def update():
            mine[...] += 1
            notify()

        def run() -> None:
            try:
                update()
                done.append(number)
            except RuntimeError as error:
                errors.append(str(error))

        return run

    threads = [threading.Thread(target=make(number), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert len(errors) >= 1
    assert all("wait for each other" in error for error in errors)
    assert len(done) + len(errors) == 3


def test_a_writer_does_not_starve():
    w = jitflow.Variable(np.zeros(SIZE * 10))

    @jitflow.function
    def read():
        return w.sum()

    @jitflow.function
    def write():
        w[...] += 1

    read()
    write()
    counts = run_threads(*[read] * 6, write, seconds=1)
    assert counts[-1] >= 3


def test_lock_free_updates():
    w = jitflow.Variable(np.zeros(4))
    inside = threading.Barrier(2, timeout=20)
    meet = jitflow.callback(inside.wait)

    @jitflow.function(sync="unordered")
    def update():
        meet()
        w[...] += 1

    threads = [threading.Thread(target=update) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not inside.broken
    assert w[0] in (1, 2)

    @jitflow.function(sync="unordered")
    def two(a, b):
        a += 1
        return b.sum()

    v = jitflow.Variable(np.zeros(4))
    w.assign(2)
    assert (two(v, w), two(w, w)) == (8, 12)
    with pytest.raises(ValueError, match="expected sync to be"):
        jitflow.function(sync="never")


def test_waiting_ends_by_ctrl_c():
    main = threading.main_thread().ident
    import signal

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    w = jitflow.Variable(np.zeros(2))
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        over.wait(20)

    notify = jitflow.callback(hold)

    @jitflow.function
    def update():
        w[...] += 1
        notify()

    @jitflow.function
    def read():
        return w.sum()

    read()
    holder = threading.Thread(target=update, daemon=True)
    holder.start()
    inside.wait(20)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for function in (read, w.numpy):
            threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                function()
            assert time.monotonic() - started < 10
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
        holder.join(20)
    assert read() == 2


def test_a_first_call_that_waits_keeps_nobody_from_compiling():
    w = jitflow.Variable(np.zeros(2))

    @jitflow.function
    def read(x):
        return w.sum() + x

    waits, inside, seen = threading.Event(), threading.Event(), []

    def call() -> None:
        inside.set()
        waits.wait(1)
        try:
            read(1)
        except RuntimeError as error:
            seen.append(str(error))

    notify = jitflow.callback(call)

    @jitflow.function
    def update():
        w[...] += 1
        notify()

    def first_call() -> None:
        inside.wait(20)
        seen.append(read(1.5))

    read.compile(1.5)
    threads = [threading.Thread(target=function, daemon=True) for function in (update, first_call)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert len(seen) == 2
    assert "running here" in seen[0]
    assert seen[1] == 3.5
