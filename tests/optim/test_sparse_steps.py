"""Steps along gradients of gathers: the rows that were gathered change as along the whole gradient, and no others."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import jitflow
from jitflow import nn, optim

ROWS, COLUMNS = 200, 3
IDS = np.array([3, 7, -1, 3, 199, 3, 0])
MORE = np.array([[5, 7], [0, -200]])
TARGET = np.random.default_rng(4).normal(size=(len(IDS), COLUMNS))

Loss = Callable[[Any, Any, Any], Any]


def _one(table: Any, ids: Any, more: Any) -> Any:
    return ((table[ids] - TARGET) ** 2).sum()


def _embedding(table: Any, ids: Any, more: Any) -> Any:
    return (nn.embedding(table, more) ** 2).sum() + (np.take(table, ids, axis=0) * TARGET).sum()


def _tied(table: Any, ids: Any, more: Any) -> Any:
    return (table[ids] * TARGET).sum() + (table * table).sum()


LOSSES: dict[str, Loss] = {
    "one gather": _one,
    "two gathers": _embedding,
    "positions of two axes": lambda table, ids, more: (table[ids, ids % 3] ** 3).sum(),
    "all columns": lambda table, ids, more: (table[ids, :] ** 2).sum(),
    "behind arithmetic": lambda table, ids, more: ((2 * table)[ids] ** 2).sum(),
    "a factor for each row": lambda table, ids, more: ((table * np.arange(200.0)[:, None])[more] ** 2).mean(),
    "in the loop of a recurrence": lambda table, ids, more: _recurrent(table, more),
    "in a branch": lambda table, ids, more: _one(table, ids, more) if ids[0] == 3 else (table[more] ** 2).sum(),
    "a dense part as well": _tied,
}

OPTIMISERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: optim.SGD(0.1),
    "SGD with decay": lambda: optim.SGD(0.1, weight_decay=0.1),
    "SGD, clipped": lambda: optim.SGD(0.1, clip_norm=0.5),
    "SGD, clipped by value": lambda: optim.SGD(0.1, clip_value=0.5),
    "Adagrad": lambda: optim.Adagrad(0.1, decay=0.01),
    "Momentum": lambda: optim.Momentum(0.1),
    "Adam": lambda: optim.Adam(0.1, clip_norm=0.1),
}
SPARSE = ("SGD", "SGD, clipped", "Adagrad")


def _recurrent(table: Any, more: Any) -> Any:
    state = np.zeros(table.shape[1])
    for step in range(more.shape[1]):
        state = np.tanh(state + table[more[:, step]].sum(axis=0))
    return state.sum()


START = np.random.default_rng(5).normal(size=(ROWS, COLUMNS))


def _tables() -> tuple[Any, Any]:
    return jitflow.Variable(START, "table"), jitflow.Variable(START, "table")


@functools.cache
def _with_its_whole_gradient(loss: str) -> tuple[Any, Callable[[], Any]]:
    """A table, and its whole gradient: compiled once for all optimisers."""
    table, function = jitflow.Variable(START, "table"), LOSSES[loss]
    gradient = jitflow.grad(lambda ids, more: function(table, ids, more), variables=[table])
    return table, lambda: gradient(IDS, MORE)


PAIRS = [
    # Each loss meets one of the optimisers, and each of these a loss or two; all meet where there is time.
    pytest.param(loss, optimiser, marks=() if (row - column) % len(OPTIMISERS) == 0 else pytest.mark.stress)
    for row, loss in enumerate(LOSSES)
    for column, optimiser in enumerate(OPTIMISERS)
]


@pytest.mark.parametrize(("loss", "optimiser"), PAIRS)
def test_a_step_is_what_it_is_along_the_whole_gradient(loss: str, optimiser: str) -> None:
    table, _ = _tables()
    other, gradient = _with_its_whole_gradient(loss)
    other.assign(START)
    ours, theirs = OPTIMISERS[optimiser](), OPTIMISERS[optimiser]()
    function = LOSSES[loss]

    @jitflow.function
    def step(ids: Any, more: Any) -> Any:
        return ours.minimize(lambda: function(table, ids, more), [table])

    for _ in range(3):
        step(IDS, MORE)
        theirs.apply(gradient(), [other])
        np.testing.assert_allclose(table.numpy(), other.numpy(), rtol=1e-13, atol=1e-15)


def _large_values(function: Any, *args: Any) -> list[str]:
    """The ops that compute an array as large as the table."""
    text = function.ir(*args, stage="optimized")
    size = re.search(r"%table: var (f64\[\w+, \w+\])", text)
    assert size is not None
    lines = re.findall(r"^ *%\w+: (.*)$", text, re.MULTILINE)
    return [line for line in lines if line.startswith(size[1]) and "= load" not in line]


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_no_array_is_as_large_as_the_table(optimiser: str) -> None:
    table, _ = _tables()
    ours = OPTIMISERS[optimiser]()

    @jitflow.function
    def step(ids: Any, more: Any) -> Any:
        return ours.minimize(lambda: _embedding(table, ids, more), [table])

    assert (not _large_values(step, IDS, MORE)) == (optimiser in SPARSE)


@pytest.mark.parametrize("optimiser", SPARSE)
def test_rows_of_all_turns(optimiser: str) -> None:
    """A recurrence that gathers in each turn makes no array as large as the table either, nor does a loop in a loop."""
    (table, other), ours = _tables(), OPTIMISERS[optimiser]()
    more = np.array([[5, 7, 3], [0, -200, 7]])

    def nested(table: Any, more: Any) -> Any:
        total = 0.0
        for step in range(more.shape[1]):
            state = np.ones(table.shape[1])
            for row in range(more.shape[0]):
                state = np.sin(state * table[more[row : row + 1, step]].sum(axis=0))
            total = total + (state * _recurrent(table, more)).sum()
        return total

    @jitflow.function
    def step(more: Any) -> Any:
        return ours.minimize(lambda: nested(table, more), [table])

    assert not _large_values(step, more)
    gradient = jitflow.grad(lambda more: nested(other, more), variables=[other])
    theirs = OPTIMISERS[optimiser]()
    for _ in range(3):
        step(more)
        theirs.apply(gradient(more), [other])
        np.testing.assert_allclose(table.numpy(), other.numpy(), rtol=1e-12, atol=1e-14)


def test_a_gather_behind_a_write() -> None:
    """What is read again later is not what was loaded."""
    table, _ = _tables()
    before = table.numpy()

    def loss(ids: Any) -> Any:
        first = table[ids].sum()
        table[3] = 2.0 * table[7]
        return first * (table[ids] ** 2).sum()

    found = jitflow.grad(loss, variables=[table])(IDS)[0]
    table.assign(before)

    def plain(whole: Any) -> Any:
        own = whole.copy()
        first = own[IDS].sum()
        own[3] = 2.0 * own[7]
        return first * (own[IDS] ** 2).sum()

    np.testing.assert_allclose(found, jitflow.grad(plain)(before), rtol=1e-12)
    direction = np.random.default_rng(2).normal(size=before.shape)
    slope = (plain(before + 1e-6 * direction) - plain(before - 1e-6 * direction)) / 2e-6
    assert (found * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_in_a_loop_of_steps() -> None:
    table, other = _tables()

    @jitflow.function
    def train(batches: Any) -> None:
        for ids in batches:
            optim_of_loop.minimize(lambda: (table[ids] ** 2).sum(), [table])

    optim_of_loop = optim.Adagrad(0.1)
    alone = optim.Adagrad(0.1)
    batches = np.array([[1, 2, 1], [5, -1, 2]])
    assert not _large_values(train, batches)
    train(batches)
    for ids in batches:
        alone.apply(jitflow.grad(lambda: (other[ids] ** 2).sum(), variables=[other])(), [other])
    np.testing.assert_allclose(table.numpy(), other.numpy(), rtol=1e-14)


def test_an_argument_is_updated_by_rows() -> None:
    @jitflow.function
    def step(table: Any, ids: Any) -> None:
        table -= 0.5 * jitflow.grad(lambda rows: (rows[ids] ** 2).sum())(table)

    table = np.random.default_rng(6).normal(size=(ROWS, COLUMNS))
    expected = table.copy()
    np.add.at(expected, IDS, -0.5 * 2 * table[IDS])
    assert not _large_values(step, table, IDS)
    step(table, IDS)
    np.testing.assert_allclose(table, expected, rtol=1e-13)


def test_where_nothing_arrives_nothing_happens() -> None:
    """Nothing is nothing, even times an infinite rate; a sum that the user wrote is his."""
    table, _ = _tables()
    before = table.numpy()

    @jitflow.function
    def step(ids: Any, rate: Any) -> None:
        (gradient,) = jitflow.grad(lambda: (table[ids] ** 2).sum(), variables=[table])()
        table[...] -= rate * gradient

    step(np.array([4]), np.inf)
    after = np.array(table)
    assert not np.isfinite(after[4]).any()
    after[4] = before[4]
    np.testing.assert_array_equal(after, before)

    @jitflow.function
    def written(table: Any, ids: Any, rate: Any) -> None:
        whole = np.zeros_like(table)
        np.add.at(whole, ids, 1.0)
        table -= rate * whole

    plain = before.copy()
    written(plain, np.array([4]), np.inf)
    assert np.isnan(plain[5]).all()


def test_a_position_out_of_range_leaves_all_as_it_was() -> None:
    table, _ = _tables()
    before = table.numpy()
    optimiser = optim.Adagrad(0.1)

    @jitflow.function
    def step(ids: Any) -> Any:
        return optimiser.minimize(lambda: (table[ids] ** 2).sum(), [table])

    step(IDS)
    after = table.numpy()
    with pytest.raises(IndexError, match="index 200 is out of bounds for axis 0 with size 200"):
        step(np.array([1, 200]))
    np.testing.assert_array_equal(table.numpy(), after)
    assert (before != after).any()
    assert optimiser.steps.numpy() == 1
    step(np.array([], np.int64))
    np.testing.assert_array_equal(table.numpy(), after)


def test_where_most_rows_are_gathered_the_gradient_is_whole() -> None:
    table = jitflow.Variable(np.ones((8, COLUMNS)), "table")
    optimiser = optim.SGD(0.1)

    @jitflow.function
    def step(ids: Any) -> Any:
        return optimiser.minimize(lambda: (table[ids] ** 2).sum(), [table])

    assert _large_values(step, np.arange(5))
    step(np.arange(5))
    np.testing.assert_allclose(table.numpy()[:, 0], [0.8] * 5 + [1.0] * 3)


@pytest.mark.parametrize("dtype", ["f2", "f4", "bfloat16"])
@pytest.mark.parametrize("ids", [np.array([3, 7, 3], np.int32), np.array([3, 7, 3], np.uint8), np.array([], np.int64)])
def test_narrow_floats_and_ids(dtype: str, ids: Any) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    start = np.random.default_rng(8).normal(size=(ROWS, COLUMNS)).astype(kind)
    table, other = jitflow.Variable(start), jitflow.Variable(start)
    ours, theirs = optim.Adagrad(0.1), optim.Adagrad(0.1)
    ours.minimize(lambda ids: (table[ids] ** 2).sum(), [table], ids)
    theirs.apply(jitflow.grad(lambda ids: (other[ids] ** 2).sum(), variables=[other])(ids), [other])
    found, expected = table.numpy(), other.numpy()
    assert found.dtype == kind
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
    assert (found != start).any() == bool(ids.size)
