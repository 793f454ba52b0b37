"""Variables of several shards, and functions that span processes, on Ray's actors: what holds in one process holds
there, and a death is an error."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import Variable, nn, optim
from jitflow.cluster import ShardedVariable, connect, restore, save
from jitflow.cluster.nodes import node

ray = pytest.importorskip("ray")

START = np.random.default_rng(4).normal(size=(50, 3)).astype(np.float32)
IDS = np.array([3, 7, -1, 3, 49, 3, 0])


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with connect():
        yield


def training(table: Any) -> Any:
    optimiser = optim.Adagrad(0.1)
    step = jitflow.function(lambda ids: optimiser.minimize(lambda: (table[ids] ** 2).sum(), [table]))
    return {"table": table, "optimiser": optimiser}, step


def test_training_and_checkpoints_have_the_bits_of_an_ordinary_variable(tmp_path: Path) -> None:
    table, other = ShardedVariable(START, 2), Variable(START)
    (model, step), (_, same) = training(table), training(other)
    for number in range(4):
        assert step(IDS) == same(IDS)
        np.testing.assert_array_equal(table.numpy(), other.numpy())
        if number == 1:
            save(tmp_path / "two", model)
    again, step = training(ShardedVariable(nn.normal, 1, shape=START.shape))
    restore(tmp_path / "two", again)
    step(IDS), step(IDS)
    np.testing.assert_array_equal(again["table"].numpy(), other.numpy())


def test_other_processes_use_the_same_variable_and_a_death_is_an_error() -> None:
    table = ShardedVariable(START, 2)

    @ray.remote
    def elsewhere(table: Any) -> Any:
        optimiser = optim.SGD(0.5)
        optimiser.minimize(lambda: table[np.array([1, 1, 2])].sum(), [table])
        return table.numpy()

    expected = START.copy()
    expected[1] -= 1
    expected[2] -= 0.5
    np.testing.assert_array_equal(ray.get(elsewhere.remote(table)), expected)
    np.testing.assert_array_equal(table.numpy(), expected)
    read = jitflow.function(lambda ids: table[ids])
    with pytest.raises(IndexError, match="index 50 is out of bounds"):
        read(np.array([50]))
    os.kill(ray.get(table._servers[1].actor.pid.remote()), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a server of a variable has died"):
        read(np.array([1]))
    np.testing.assert_array_equal(ShardedVariable(START, 2).numpy(), START)


def test_a_function_spans_processes_and_goes_on_after_a_death() -> None:
    @jitflow.function
    def iterated(x, turns):
        with jitflow.device("node:1"):
            for _ in range(turns):
                x = np.sin(x) + w
        return x * 2

    assert [str(device) for device in connect(nodes=2).devices()][-1] == "node:1/cpu:0"
    w, x = Variable(np.full(50_000, 0.5), device="node:1/cpu:0"), np.linspace(0, 1, 50_000)
    expected = (np.sin(np.sin(x) + 0.5) + 0.5) * 2
    handle = node(1)
    address = handle.address
    for line, shares in ((address, True), (None, True), (None, False)):
        handle.address, handle.shares = line, shares
        handle.ask("share", shares)
        np.testing.assert_allclose(iterated(x, 2), expected, rtol=1e-15)
    handle.address, handle.shares = address, True
    process = handle.ask("pid")
    threading.Timer(0.3, os.kill, (process, signal.SIGKILL)).start()
    with pytest.raises(RuntimeError, match="node:1 has died") as caught:
        iterated(x, 100_000_000)
    assert caught.traceback[-1].name == "iterated"
    np.testing.assert_allclose(iterated(x, 2), expected, rtol=1e-15)
    assert node(1).ask("pid") != process
