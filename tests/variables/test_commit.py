"""A call that raises leaves every variable as it was; one that does not does what NumPy does."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.variables.failing import PROGRAMS, Stop


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_or_nothing(program: Any):
    compiled = jitflow.function(program)
    rng = np.random.default_rng(1)
    w, v = (jitflow.Variable(rng.standard_normal(4)) for _ in range(2))
    for n in (1, -2, 2, -1, 3):
        arrays = [np.array(w), np.array(v)]
        x = rng.standard_normal(4)
        if n < 0:
            with pytest.raises((AssertionError, ValueError, IndexError, Stop)):
                compiled(w, v, x, n)
        else:
            compiled(w, v, x, n)
            program(*arrays, x, n)
        assert np.array_equal(w.numpy(), arrays[0])
        assert np.array_equal(v.numpy(), arrays[1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_mutated_arguments_show_what_was_stored_before(program: Any):
    compiled = jitflow.function(program)
    for n in (1, -2):
        rng = np.random.default_rng(1)
        found, expected = ([rng.standard_normal(4) for _ in range(2)] for rng in (np.random.default_rng(5),) * 2)
        expected = [array.copy() for array in found]
        x = rng.standard_normal(4)
        for run, arrays in ((compiled, found), (program, expected)):
            try:
                run(*arrays, x, n)
            except (AssertionError, ValueError, IndexError, Stop):
                assert n < 0
        assert np.array_equal(found, expected)


def test_a_store_to_an_argument_stands_before_a_check_behind_it():
    def program(w, x, n):
        w += 1
        x[0] = 7
        w += 1
        if n < 0:
            raise ValueError

    x, w = np.zeros(2), jitflow.Variable(np.zeros(2))
    with pytest.raises(ValueError):
        jitflow.function(program)(w, x, -1)
    assert x.tolist() == [7, 0]
    assert w.numpy().tolist() == [0, 0]


def test_ctrl_c_leaves_variables_as_they_were():
    import signal

    w = jitflow.Variable(np.zeros(3))

    @jitflow.function
    def endless(limit):
        w[0] = 1
        while w[1] < limit:
            w[1] += 1
            w[2] += w[1] * 0

    endless(5.0)
    assert w.numpy().tolist() == [1, 5, 0]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            endless(np.inf)
    finally:
        signal.signal(signal.SIGINT, before)
    assert w.numpy().tolist() == [1, 5, 0]
    endless(7.0)
    assert w.numpy().tolist() == [1, 7, 0]


def test_no_copies_where_nothing_can_fail_later():
    w, v = jitflow.Variable(np.zeros(5)), jitflow.Variable(np.zeros(5))

    @jitflow.function
    def step(x, i):
        w[...] = 0.9 * w + x
        v[...] -= 0.1 * w
        w[i] = 0

    text = step.ir(np.ones(5), 2, stage="kernels")
    host = text[: text.index("\n}\n")]
    assert "alloc" not in host
