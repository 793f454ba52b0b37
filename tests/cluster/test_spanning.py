"""Functions that span processes give what they give in one, bit for bit, fail as they do there, and survive deaths."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import cluster
from jitflow.cluster import nodes
from jitflow.frontend.outside import scopes
from jitflow.machines import hardware
from tests.cluster.nodes import LocalProcess, local_nodes
from tests.compare import EXACT, REDUCTION, assert_same
from tests.devices.programs import PROGRAMS
from tests.devices.test_split_programs import assert_alike

WAYS = ("lines", "messages", "apart")
X, W1, W2 = (np.random.default_rng(seed).normal(size=shape) for seed, shape in enumerate([(8, 16), (16, 32), (32, 4)]))


@pytest.fixture(params=WAYS)
def any_nodes(request: pytest.FixtureRequest) -> Iterator[list[LocalProcess]]:
    with local_nodes(3, request.param) as lines:
        yield lines


@pytest.fixture
def three_nodes() -> Iterator[list[LocalProcess]]:
    with local_nodes(3) as lines:
        yield lines


@jitflow.function
def two_layers(x, w1, w2):
    with jitflow.device("node:0/cpu:0"):
        h = x @ w1
    with jitflow.device("node:1/cpu:0"):
        return np.maximum(h, 0) @ w2


@pytest.fixture
def nobody_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by another test of this process."""
    monkeypatch.setattr(nodes, "_is_connected", lambda: nodes._NODES.start is not None)


def in_python(function: Any) -> Callable[..., Any]:
    return function.__wrapped__  # type: ignore[no-any-return]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_on_three_nodes(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jitflow.function(program)
    with monkeypatch.context() as patch:
        patch.setattr(scopes, "device_named", lambda name: "cpu:0")
        assert_alike(whole, program, program, REDUCTION)
    with local_nodes(3):
        named = hardware.device_named
        monkeypatch.setattr(scopes, "device_named", lambda name: named(name.replace("cpu:", "node:") + "/cpu:0"))
        spanning = jitflow.function(program)
        for _ in range(2):
            assert_alike(spanning, whole, program, EXACT)
        assert "; node:1/cpu:0 takes" in spanning.ir(*program.arguments, stage="partitioned")


def test_sizes_compile_nothing_and_memory_lies_as_it_likes(any_nodes: list[LocalProcess]) -> None:
    for rows in (8, 11, 700, 0):
        x = np.random.default_rng(rows).normal(size=(rows, 16))
        assert_same(two_layers(x, W1, W2), in_python(two_layers)(x, W1, W2), REDUCTION)
    assert any_nodes[0].asked.count("compile") == 1
    root = jitflow.function(lambda x: np.sqrt(x) + 1, device="node:1")
    big = np.random.default_rng(0).random((300, 400))
    for x in (big, big.T, big[::-1], big[5:50:2, 3:], big[:, ::-7], np.broadcast_to(big[0], (7, 400)), big[:0]):
        assert_same(root(x), np.sqrt(x) + 1, EXACT)
    assert_same(root(np.float32(2)), np.sqrt(np.float32(2)) + 1, EXACT)


# -- variables


def training(w: jitflow.Variable, v: jitflow.Variable) -> Any:
    optimiser = jitflow.optim.Momentum(1e-2)

    @jitflow.function
    def step(x, t):
        def loss():
            return ((np.tanh(x @ w) @ v - t) ** 2).mean()

        return optimiser.minimize(loss, [w, v])

    return step


def test_training_with_variables_on_two_nodes_has_the_bits_of_one() -> None:
    batches = [(np.random.default_rng(rows).normal(size=(rows, 16)), np.ones((rows, 4))) for rows in (64, 33, 8)]
    same = training(*(alone := (jitflow.Variable(W1), jitflow.Variable(W2))))
    losses = [same(*batch) for batch in batches]
    for how in ("lines", "apart"):
        with local_nodes(3, how) as lines:
            w, v = jitflow.Variable(W1, device="node:1"), jitflow.Variable(W2, device="node:2/cpu:0")
            spanning = training(w, v)
            assert [spanning(*batch) for batch in batches] == losses
            np.testing.assert_array_equal(w, alone[0])
            np.testing.assert_array_equal(v, alone[1])
            assert [line.asked.count("compile") for line in lines] == [1, 1]
            w.assign(W1)  # the memory is this process's
            np.testing.assert_array_equal(w, W1)


def test_a_call_that_raises_leaves_the_variables_of_all_nodes(any_nodes: list[LocalProcess]) -> None:
    w, v = jitflow.Variable(np.ones(3), device="node:1"), jitflow.Variable(np.ones(3), device="node:2")

    @jitflow.function
    def both(x, i):
        w[...] = w * 2
        v[...] = v + x[i]
        with jitflow.device("node:1"):
            return np.sqrt(x)[2 * i]

    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        both(np.ones(3), 4)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        both(np.ones(3), 2)
    assert w.numpy().tolist() == v.numpy().tolist() == [1, 1, 1]
    assert both(np.ones(3), 1) == 1
    assert w.numpy().tolist() == v.numpy().tolist() == [2, 2, 2]


# -- what is refused, and what fails


def test_memory_of_a_node_is_brought_home_or_refused(three_nodes: list[LocalProcess]) -> None:
    @jitflow.function
    def squares(n):
        with jitflow.device("node:1"):
            y = np.zeros(n)
            for i in range(n):
                y[i] = i * i
            y[1:3] = 7
        return y

    @jitflow.function
    def views(n):
        with jitflow.device("node:1"):
            y = np.zeros(n)
            for i in range(n):
                y[i] = i * i
        return y, y[1:]

    assert_same(squares(5), in_python(squares)(5), EXACT)
    with pytest.raises(NotImplementedError, match="several results show one piece of memory, on node:1/cpu:0"):
        views(5)


def test_errors_have_their_class_and_lines(three_nodes: list[LocalProcess]) -> None:
    @jitflow.function(device="node:1")
    def solve(a):
        if a.sum() < 0:
            raise KeyError("negative")
        return np.linalg.solve(a, np.ones(3))

    assert_same(solve(2 * np.eye(3)), np.full(3, 0.5), EXACT)
    for matrix, kind, text in (
        (np.zeros((3, 3)), np.linalg.LinAlgError, "np.linalg.solve"),
        (-np.eye(3), KeyError, ""),
    ):
        with pytest.raises(kind) as caught:
            solve(matrix)
        lines = [str(entry.statement) for entry in caught.traceback]
        assert any("return np.linalg.solve" in line if text else "raise KeyError" in line for line in lines)
    assert_same(solve(2 * np.eye(3)), np.full(3, 0.5), EXACT)


def test_devices_that_nobody_has(three_nodes: list[LocalProcess], nobody_connected: None) -> None:
    @jitflow.function
    def nowhere(x):
        with jitflow.device("node:7/cpu:0"):
            return np.sqrt(x)

    with pytest.raises(ValueError, match="there is no device 'node:7/cpu:0'") as caught:
        nowhere(X)
    assert "node:2/cpu:0" in "".join(caught.value.__notes__)
    assert "node:7" in str(caught.traceback[-1].statement)
    assert hardware.device_named("node:0") == "cpu:0"
    nodes.forget()
    with pytest.raises(ValueError, match="there is no device 'node:1'") as caught:
        jitflow.Variable(X, device="node:1")
    assert "connect(nodes=2)" in "".join(caught.value.__notes__)


def test_versions_that_differ(three_nodes: list[LocalProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.forget()
    about = nodes.Node.about
    monkeypatch.setattr(nodes.Node, "about", lambda self: (about(self)[0], {"Python": "2.7"}, ("cpu:0",)))
    with pytest.raises(RuntimeError, match="node:1 runs other versions"), local_nodes(2):
        pass


def test_a_node_that_dies_is_started_anew(three_nodes: list[LocalProcess], nobody_connected: None) -> None:
    expected, handle = two_layers(X, W1, W2), nodes.node(1)
    handle.address = None
    three_nodes[0].kill()
    with pytest.raises(RuntimeError, match="node:1 has died") as caught:
        two_layers(X, W1, W2)
    assert "np.maximum(h, 0) @ w2" in str(caught.traceback[-1].statement)
    assert_same(two_layers(X, W1, W2), expected, EXACT)
    nodes.forget()
    with pytest.raises(RuntimeError, match="no longer connected to node:1"):
        two_layers(X, W1, W2)
    with local_nodes(2):
        assert_same(two_layers(X, W1, W2), expected, EXACT)


def test_calls_from_several_threads(three_nodes: list[LocalProcess]) -> None:
    expected, wrong = two_layers(X, W1, W2), list[Any]()

    def call() -> None:
        for _ in range(10):
            if not np.array_equal(two_layers(X, W1, W2), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_blocks_are_used_again(three_nodes: list[LocalProcess]) -> None:
    from jitflow.cluster.parcels import ROOMS

    pipeline = jitflow.function(lambda x: np.sqrt(x) + 1, device="node:1")
    big = np.random.default_rng(0).random(100_000)
    for _ in range(5):
        pipeline(big)
    before = len(ROOMS._free)
    for _ in range(5):
        pipeline(big)
    assert len(ROOMS._free) == before


def test_connect_wants_a_node() -> None:
    pytest.importorskip("ray")
    with pytest.raises(ValueError, match="expected at least one node, got 0"):
        cluster.connect(nodes=0)
