"""Variables of several shards, in this process: they read and train as ordinary ones do, bit for bit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import Variable, nn, optim
from jitflow.cluster import ShardedVariable
from jitflow.cluster.hosts import LocalServer
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.remote import RowGradient

ROWS, COLUMNS = 60, 3
RNG = np.random.default_rng(4)
START = RNG.normal(size=(ROWS, COLUMNS)).astype(np.float32)
IDS, MORE = np.array([3, 7, -1, 3, 59, 3, 0]), np.array([[5, 7, 3], [0, -60, 7]])
TARGET = RNG.normal(size=(len(IDS), COLUMNS)).astype(np.float32)

Loss = Callable[[Any, Any], Any]


def local(value: Any = START, shards: int = 2, **options: Any) -> Any:
    return ShardedVariable(value, shards, servers="local", **options)


def _one(table: Any, ids: Any) -> Any:
    return ((table[ids] - TARGET) ** 2).sum()


def _two(table: Any, ids: Any) -> Any:
    return (nn.embedding(table, MORE) ** 2).sum() + (table[ids] * TARGET).sum()


def _recurrent(table: Any, ids: Any) -> Any:
    state = np.zeros(COLUMNS, np.float32)
    for row in range(len(ids)):
        state = np.tanh(state + table[ids[row]])
    return state.sum() + _one(table, ids)


def _in_a_branch(table: Any, ids: Any) -> Any:
    return _one(table, ids) if ids[0] == 3 else (table[MORE] ** 2).sum()


LOSSES: dict[str, Loss] = {"one": _one, "two": _two, "recurrent": _recurrent, "in a branch": _in_a_branch}
OPTIMISERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: optim.SGD(optim.CosineDecay(0.1, 10)),
    "Adagrad, clipped": lambda: optim.Adagrad(0.1, decay=0.1, clip_norm=0.5),
    "Adagrad, clipped by value": lambda: optim.Adagrad(0.1, clip_value=0.1),
    "Adam": lambda: optim.Adam(0.1),
}


def training(loss: Loss, table: Any, optimiser: Any) -> tuple[Any, Any]:
    """A step of the table and of a variable beside it, and that variable."""
    weights = Variable(np.ones(COLUMNS, np.float32))

    @jitflow.function
    def step(ids: Any) -> Any:
        return optimiser.minimize(lambda: loss(table, ids) * weights.sum(), {"weights": weights, "table": table})

    return step, weights


PAIRS = [
    pytest.param(loss, optimiser, marks=() if row == column != 0 else pytest.mark.stress)
    for row, loss in enumerate(LOSSES)
    for column, optimiser in enumerate(OPTIMISERS)
]


@pytest.mark.parametrize(("loss", "optimiser"), PAIRS)
def test_training_has_the_bits_of_that_of_an_ordinary_variable(loss: str, optimiser: str) -> None:
    table, other = local(), Variable(START)
    step, weights = training(LOSSES[loss], table, OPTIMISERS[optimiser]())
    same, others = training(LOSSES[loss], other, OPTIMISERS[optimiser]())
    for ids in (IDS, IDS, IDS[::-1].copy()):
        assert step(ids) == same(ids)
        np.testing.assert_array_equal(table.numpy(), other.numpy())
        np.testing.assert_array_equal(weights.numpy(), others.numpy())


def test_gradients_are_rows_which_optimisers_take() -> None:
    table, other = local(shards=3), Variable(START)
    gradient = jitflow.grad(_two, argnums=(), variables=[table])(table, IDS)
    ((), (found,)) = gradient
    expected = jitflow.grad(lambda ids: _two(other, ids), variables=other)(IDS)
    assert isinstance(found, RowGradient)
    assert found.ids.tolist() == sorted({0, 3, 5, 7, 59})
    whole = np.zeros_like(START)
    whole[found.ids] = found.rows
    np.testing.assert_array_equal(whole, expected)
    optimiser = optim.SGD(0.5)
    optimiser.apply([found], [table])
    np.testing.assert_array_equal(table.numpy(), START - np.float32(0.5) * expected)
    with pytest.raises(UserTypeError, match="needs a gradient of rows"):
        optimiser.apply([expected], [table])


def test_gradients_beside_those_of_arguments() -> None:
    table = local()

    def loss(x: Any, scale: Any) -> Any:
        return ((table[IDS] * x) ** 2).sum() * scale, x.sum()

    both = jitflow.value_and_grad(loss, argnums=(-1, 0), has_aux=True, variables=table)
    (value, aux), ((by_scale, by_x), by_table) = jitflow.function(lambda x: both(x, 2.0))(TARGET)
    rows = START[IDS]
    np.testing.assert_allclose(value, 2 * ((rows * TARGET) ** 2).sum(), rtol=1e-6)
    np.testing.assert_allclose(aux, TARGET.sum(), rtol=1e-6)
    np.testing.assert_allclose(by_scale, value / 2, rtol=1e-6)
    np.testing.assert_allclose(by_x, 4 * rows**2 * TARGET, rtol=1e-5)
    expected = np.zeros_like(START)
    np.add.at(expected, IDS, 4 * TARGET**2 * rows)
    np.testing.assert_allclose(by_table.rows, expected[by_table.ids], rtol=1e-5)


def test_reads() -> None:
    table, x = local(shards=4), RNG.normal(size=(5, COLUMNS)).astype(np.float32)
    assert (table.shape, table.dtype, table.ndim, table.size, len(table)) == ((60, 3), np.float32, 2, 180, 60)
    for index in (IDS, MORE, [1, 2], 5, -60, np.int32(7), ..., slice(3, 9), START[:, 0] > 0):
        np.testing.assert_array_equal(table[index], START[index])
    np.testing.assert_array_equal(x @ table.T + np.sum(table), x @ START.T + np.sum(START))

    @jitflow.function
    def run(ids: Any, more: Any, one: Any) -> Any:
        return table[ids], table[more], table[one], table[2], table[...], x @ table.T

    for row, expected in zip(table, START, strict=True):
        np.testing.assert_array_equal(row, expected)
    whole = jitflow.function(lambda: (table.numpy(), np.asarray(table), sum(row for row in table), table.mean(axis=0)))
    for _ in range(2):
        for found in whole()[:2]:
            np.testing.assert_array_equal(found, table.numpy())
        np.testing.assert_allclose(whole()[2], table.sum(axis=0), rtol=1e-4)
        table.assign(START[::-1])
    table.assign(START)
    for found, index in zip(run(IDS, MORE, -3), (IDS, MORE, -3, 2, ...), strict=False):
        np.testing.assert_array_equal(found, START[index])
    np.testing.assert_allclose(run(IDS, MORE, 4)[-1], x @ START.T, rtol=1e-5)
    line = local(START[:, 0])
    assert jitflow.function(lambda at: line[at] * 2)(7) == START[7, 0] * 2


def test_dense_gradients() -> None:
    table, other = local(), Variable(START)
    step, _ = training(lambda table, ids: ((table[ids] @ table.T) ** 2).mean(), table, optim.SGD(0.1))
    same, _ = training(lambda table, ids: ((table[ids] @ table.T) ** 2).mean(), other, optim.SGD(0.1))
    step(IDS), same(IDS)
    np.testing.assert_allclose(table.numpy(), other.numpy(), rtol=1e-6)


def test_mixed_precision_scales_and_guards_rows() -> None:
    table, ids = local(), IDS[:3]
    optimiser = optim.SGD(0.5)
    step = nn.mixed(lambda x: optimiser.minimize(lambda: (table[ids] * x).sum(), [table]), dtype="f16")
    step(np.full((3, COLUMNS), 2, np.float32))
    expected = START.copy()
    expected[ids] -= 1
    np.testing.assert_array_equal(table.numpy(), expected)
    step(np.full((3, COLUMNS), np.inf, np.float32))
    np.testing.assert_array_equal(table.numpy(), expected)


def test_a_gather_is_one_request_to_each_server_that_has_some_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table = local(shards=3)
    asked: list[tuple[Any, ...]] = []
    step, _ = training(_two, table, optim.SGD(0.1))
    step(IDS)
    begin = LocalServer.begin

    def counting(self: Any, calls: Any) -> Any:
        asked.append((table._servers.index(self), *(name for name, *_ in calls)))
        return begin(self, calls)

    monkeypatch.setattr(LocalServer, "begin", counting)
    step(IDS)
    assert sorted(asked) == [(k, what) for k in range(3) for what in ("gather", "gather", "update")]
    asked.clear()
    jitflow.function(lambda ids: table[ids])(np.array([0, 3, 57, 0]))
    assert asked == [(0, "gather")]


def test_hyperparameters_may_change() -> None:
    table, other, ours, theirs = local(), Variable(START), optim.Momentum(0.1), optim.Momentum(0.1)
    step, _ = training(_one, table, ours)
    same, _ = training(_one, other, theirs)
    for momentum, rate in ((0.9, 0.1), (0.5, 0.1), (0.5, 0.01)):
        for one in (ours, theirs):
            one.momentum, one.learning_rate = momentum, rate
        step(IDS), same(IDS)
    np.testing.assert_array_equal(table.numpy(), other.numpy())


def test_a_step_that_fails_changes_nothing_and_threads_do_not_meet() -> None:
    table, other = local(), Variable(START)
    gradient = jitflow.function(lambda ids: jitflow.grad(lambda: _one(table, ids), variables=table)())
    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 with size 60") as caught:
        gradient(np.array([3, 7, -1, 3, 60, 3, 0]))
    assert "_one" in [entry.name for entry in caught.traceback]
    np.testing.assert_array_equal(table.numpy(), START)
    whole = jitflow.function(lambda ids: jitflow.grad(lambda: _one(other, ids), variables=other)())
    wrong: list[Any] = []

    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(30):
            ids = rng.integers(0, ROWS, len(IDS))
            found = gradient(ids)
            if not np.array_equal(found.rows, whole(ids)[found.ids]):
                wrong.append(ids)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(table._arrived) == 1  # of the call that raised


def test_copies_share_the_slots_and_a_new_optimiser_begins_with_its_own() -> None:
    table, other, optimiser = local(), Variable(START), optim.Adagrad(0.1)

    def stepped(variable: Any, optimiser: Any) -> None:
        optimiser.minimize(lambda: _one(variable, IDS), [variable])

    first = optim.Adagrad(0.1)
    stepped(table, first)
    stepped(copy.copy(table), optim.Adagrad(0.1))  # as in another process
    stepped(other, optimiser), stepped(other, optimiser)
    np.testing.assert_array_equal(table.numpy(), other.numpy())
    with pytest.raises(UserValueError, match="by two optimisers"):
        stepped(table, optimiser)
    table._optimiser = lambda: None  # the first one is gone
    stepped(table, optim.Adagrad(0.1))
    stepped(other, optim.Adagrad(0.1))
    np.testing.assert_array_equal(table.numpy(), other.numpy())


def test_values_that_servers_make() -> None:
    table = local(nn.normal, 3, shape=(100, 4), seed=5)
    found = table.numpy()
    assert found.dtype == np.float32
    assert 0.04 < found.std() < 0.06
    assert len(np.unique(found)) == 400
    np.testing.assert_array_equal(found, local(nn.normal, 3, shape=(100, 4), seed=5).numpy())
    assert table.assign(np.arange(4)).numpy()[99].tolist() == [0, 1, 2, 3]


def test_variables_of_a_model() -> None:
    model = {"table": local(), "fixed": local(trainable=False), "w": Variable(START)}
    assert jitflow.variables(model) == [*model.values()]
    assert jitflow.variables(model, trainable=True) == [model["table"], model["w"]]


def test_what_is_refused() -> None:
    table = local()
    for wrong, message in (
        (lambda: local(axis=1), "along axis 1"),
        (lambda: local(shards=0), "one shard or more"),
        (lambda: local(np.float32(3)), "a first axis"),
        (lambda: local(nn.normal), "needs a shape"),
        (lambda: local(lambda shape, generator: np.zeros(7), shape=(4, 2)), "another shape"),
        (lambda: ShardedVariable(START, servers="there"), "expected servers to be"),
        (lambda: jitflow.function(lambda n: table[n > 3])(IDS), "must be of integer"),
        (lambda: jitflow.function(lambda n: table[1:n])(4), "something else than integers"),
        (lambda: table[np.array([60])], "index 60 is out of bounds"),
        (lambda: jitflow.function(lambda: table.assign(3))(), "a store"),
        (lambda: table.__setitem__(3, 4), "a store"),
        (lambda: np.add(table, 1, out=table), "a store"),
        (lambda: optim.LBFGS().minimize(lambda: _one(table, IDS), [table]), "LBFGS needs the loss"),
    ):  # fmt: skip
        with pytest.raises((UserValueError, UserTypeError, UserNotImplementedError, IndexError), match=message):
            wrong()
    step, _ = training(_one, table, optim.SGD(0.1))
    step(IDS)
    optimiser = optim.SGD(0.1)
    with pytest.raises(UserValueError, match="by two optimisers"):
        optimiser.minimize(lambda: _one(table, IDS), [table])
