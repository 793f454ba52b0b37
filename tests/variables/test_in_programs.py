"""Variables in compiled functions: arrays that outlive the call, wherever the program finds them."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow


def variable(*shape: int) -> jitflow.Variable:
    return jitflow.Variable(np.arange(float(np.prod(shape))).reshape(shape), name="w")


class Layer:
    def __init__(self) -> None:
        self.w = variable(3)
        self.others = [variable(2), {"b": variable(2)}]


def test_reading_and_writing():
    w = variable(2, 3)

    @jitflow.function
    def step(x):
        w[...] = w * 2
        w[0] += x
        w[:, 1] -= 1
        return w.sum()

    expected = np.arange(6.0).reshape(2, 3)
    for _ in range(3):
        expected *= 2
        expected[0] += 1.5
        expected[:, 1] -= 1
        assert step(1.5) == expected.sum()
        assert np.array_equal(w.numpy(), expected)
    assert step.cache_info().misses == 1


def test_paths():
    layer = Layer()

    @jitflow.function
    def step(layer, argument):
        layer.w -= 1
        layer.others[0] *= 2
        layer.others[1]["b"].assign(argument)
        argument.assign_add(layer.w[:2])

    argument = jitflow.Variable(np.ones(2))
    for turn in range(1, 4):
        before = argument.numpy()
        step(layer, argument)
        assert np.array_equal(layer.w.numpy(), np.arange(3.0) - turn)
        assert np.array_equal(layer.others[0].numpy(), np.arange(2.0) * 2**turn)
        assert np.array_equal(layer.others[1]["b"].numpy(), before)
        assert np.array_equal(argument.numpy(), before + layer.w.numpy()[:2])
    step(Layer(), jitflow.Variable(np.ones(2)))
    assert step.cache_info().misses == 1


def test_other_variables_of_other_sizes_compile_nothing():
    @jitflow.function
    def add(w, x):
        w += x

    for size in range(2, 9):
        w = variable(size)
        add(w, np.ones(size))
        assert np.array_equal(w.numpy(), np.arange(size) + 1.0)
    assert add.cache_info().misses == 1


def test_one_variable_by_two_names_is_one_storage():
    captured = variable(3)

    @jitflow.function
    def step(w):
        w += 1
        return captured.sum(), w is captured

    assert step(captured) == (6, True)
    assert step(captured) == (9, True)


def test_the_variable_itself_is_returned():
    w = variable(3)

    @jitflow.function
    def step():
        w[0] += 1
        return w

    assert step() is w


def test_returned_views_are_copies():
    w = variable(3)

    @jitflow.function
    def parts():
        return w[1:], w.T, w.numpy()

    @jitflow.function
    def written():
        w[0] = 5
        return w[:2], w[::-1]

    for function in (parts, written):
        for part in function():
            assert not np.shares_memory(part, w._elements)
    assert np.array_equal(written()[1], [2, 1, 5])


def test_an_array_that_is_a_variable_or_another():
    w, v = variable(2), variable(2)

    @jitflow.function
    def choose(x):
        u = w if x > 0 else v
        u[0] += x
        return u

    result = choose(1.0)
    assert not np.shares_memory(result, w._elements)
    assert np.array_equal(w.numpy(), [1, 1])
    choose(-1.0)
    assert np.array_equal(v.numpy(), [-1, 1])


def test_methods():
    w = variable(3)

    @jitflow.function
    def step(positions, x):
        w.assign(x)
        w.assign_add(1)
        w.assign_sub(x * 2)
        w.scatter_add(positions, 10.0)
        return w.name, w.trainable, isinstance(w, jitflow.Variable), w.shape

    assert step(np.array([0, 0, 2]), np.arange(3.0)) == ("w", True, True, (3,))
    assert np.array_equal(w.numpy(), [21, 0, 9])


def test_loops():
    w = variable(4)

    @jitflow.function
    def run(steps):
        for step in range(steps):
            w[step % 4] += step
            if w[0] > 10:
                w[0] = 0

    run(20)
    expected = np.arange(4.0)
    for step in range(20):
        expected[step % 4] += step
        if expected[0] > 10:
            expected[0] = 0
    assert np.array_equal(w.numpy(), expected)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.zeros(2), ValueError, r"could not broadcast input array from shape \(2,\) into shape \(3,\)"),
        (np.zeros(3, complex), TypeError, r"Cannot cast array data from dtype\('complex128'\) to dtype\('float64'\)"),
    ],
)
def test_values_that_do_not_fit(value: np.ndarray, error: type[Exception], message: str):
    w = variable(3)

    @jitflow.function
    def assign(value):
        w.assign(value)

    with pytest.raises(error, match=message):
        assign(value)
    assert np.array_equal(w.numpy(), np.arange(3.0))


def test_an_array_of_a_variable_is_a_snapshot():
    w = variable(3)

    @jitflow.function
    def update():
        before = np.asarray(w)
        w.assign(before + 1)
        return before, np.ascontiguousarray(w)

    assert np.array_equal(update(), [[0, 1, 2], [1, 2, 3]])

    @jitflow.function
    def write():
        np.asarray(w)[0] = 5

    with pytest.raises(ValueError, match="read-only"):
        write()
    assert w[0] == 1


def test_a_static_variable():
    w, v = variable(2), variable(3)
    total = jitflow.function(lambda x: x.sum(), static="x")
    assert (total(w), total(v), total(w)) == (1, 3, 1)
    w += 1
    assert total(w) == 3


@pytest.mark.parametrize("value", [2.5, np.float64(2.5), np.array(2.5), np.ones(3), 1j])
def test_what_cannot_be_cast(value):
    w = jitflow.Variable(np.arange(3))

    @jitflow.function
    def assign(value):
        w.assign(value)

    messages = []
    for function in (assign, w.assign):
        with pytest.raises(TypeError, match="Cannot cast") as caught:
            function(value)
        messages.append(str(caught.value).splitlines()[0])
    assert messages[0] == messages[1]
    for fits in (5, True, np.int8(7), np.array([1, 2, 3], np.int16)):
        assign(fits)
        assert np.array_equal(w.numpy(), np.broadcast_to(fits, 3))


def test_an_array_that_each_turn_chooses():
    def program(a, b, n):
        total = 0.0
        for i in range(n):
            one = a if i % 3 == 0 else b
            one[2] += 1
            total += one[2] * i
        return total

    compiled = jitflow.function(program)
    for make in (np.array, jitflow.Variable):
        ours, theirs = ([make([1.0, 2.0, 3.0]), make([4.0, 5.0, 6.0])] for _ in range(2))
        expected = [np.array(array) for array in theirs]
        assert compiled(*ours, 10) == program(*expected, 10)
        for one, other in zip(ours, expected, strict=True):
            assert np.array_equal(one, other)
