"""Variables outside of compiled functions: they compute as arrays of their values, and hand out snapshots."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jitflow


@pytest.fixture
def w() -> jitflow.Variable:
    return jitflow.Variable(np.arange(4.0), name="w", trainable=False)


def test_what_it_is(w: jitflow.Variable):
    assert (w.name, w.trainable, w.shape, w.dtype, w.ndim, w.size, len(w)) == ("w", False, (4,), np.float64, 1, 4, 4)
    assert repr(w) == "jitflow.Variable([0., 1., 2., 3.], name='w', trainable=False)"
    assert str(w) == "[0. 1. 2. 3.]"
    assert jitflow.Variable([1, 2]).dtype == np.array([1, 2]).dtype
    assert jitflow.Variable(np.ones((2, 0), ">f4")).dtype == np.dtype("f4")
    assert jitflow.Variable(w).numpy().tolist() == [0, 1, 2, 3]


def test_the_value_is_copied():
    value = np.ones(3)
    w = jitflow.Variable(value)
    value[0] = 5
    assert w.numpy().tolist() == [1, 1, 1]


def test_snapshots(w: jitflow.Variable):
    taken = [w.numpy(), np.asarray(w), w[1:], w.T, w.reshape(2, 2), np.asarray(w, "f4"), *np.split(w, 2)]
    before = [array.copy() for array in taken]
    w.assign(7)
    for array, value in zip(taken, before, strict=True):
        assert np.array_equal(array, value)
        assert not np.shares_memory(array, w._elements)
    for array in taken[:4]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    own = np.array(w)
    own[0] = 1
    assert w[0] == 7
    with pytest.raises(ValueError, match="copy"):
        np.array(w, copy=False)


def test_operators(w: jitflow.Variable):
    x = np.arange(4.0)
    for found, expected in [
        (w + 1, x + 1),
        (2 - w, 2 - x),
        (w @ w, x @ x),
        (-w, -x),
        (w == x, x == x),
        (w > 1, x > 1),
        (x * w, x * x),
        (w.sum(), x.sum()),
        (np.sin(w), np.sin(x)),
        (np.concatenate([w, x]), np.concatenate([x, x])),
        (np.add.reduce(w), x.sum()),
        (np.where(w > 1, w, 0), np.where(x > 1, x, 0)),
    ]:
        assert type(found) is type(expected)
        assert np.array_equal(found, expected)
    assert float(jitflow.Variable(2.5)) == 2.5
    assert [1, 2][jitflow.Variable(1)] == 2
    assert jitflow.Variable(True)
    assert 3 in w
    assert list(w) == [0, 1, 2, 3]
    assert len({w: 1, jitflow.Variable(w): 2}) == 2


def test_updates(w: jitflow.Variable):
    same = w
    x = np.arange(4.0)
    w += 1
    w *= 2
    w[0] += 5
    x = (x + 1) * 2
    x[0] += 5
    assert w is same
    assert np.array_equal(w.numpy(), x)
    assert w.assign(x * 2) is w
    assert w.assign_add(1) is w
    assert w.assign_sub(w) is w
    assert w.scatter_add([0, 0], [1.0, 2.0]) is w
    assert w.numpy().tolist() == [3, 0, 0, 0]
    assert np.add(w, 1, out=w) is w
    np.copyto(w, w * 2)
    np.add.at(w, [1], 1)
    w.sort()
    assert w.numpy().tolist() == [2, 2, 3, 8]
    w.fill(0)
    np.put(w, [0], [4])
    assert w.numpy().tolist() == [4, 0, 0, 0]


@pytest.mark.parametrize(
    ("update", "error"),
    [
        (lambda w: w.assign(np.ones(3)), ValueError),
        (lambda w: w.assign(1j), TypeError),
        (lambda w: w.assign_add(np.ones((2, 4))), ValueError),
        (lambda w: w.scatter_add([4], 1.0), IndexError),
        (lambda w: w.__setitem__(4, 1.0), IndexError),
        (lambda w: w.missing, AttributeError),
        (lambda w: np.add(w, 1, out=(w, w)), (TypeError, ValueError)),
    ],
)
def test_mistakes(w: jitflow.Variable, update, error: type[Exception]):
    with pytest.raises(error):
        update(w)
    assert np.array_equal(w.numpy(), np.arange(4.0))
    w += 1  # nobody holds it any more


def test_copies(w: jitflow.Variable):
    for other in (copy.copy(w), copy.deepcopy([w])[0], pickle.loads(pickle.dumps(w))):
        assert repr(other) == repr(w)
        other += 1
    assert np.array_equal(w.numpy(), np.arange(4.0))
    pair = copy.deepcopy([w, w])
    assert pair[0] is pair[1]


def test_what_is_no_value():
    for value in (["a"], [object()], np.array(["2020-01-01"], "M8[D]"), np.zeros(2, [("a", "f4")])):
        with pytest.raises(TypeError, match="a variable of dtype"):
            jitflow.Variable(value)
    with pytest.raises(TypeError, match="a class of its own"):
        type("Special", (jitflow.Variable,), {})


def test_not_made_while_tracing():
    @jitflow.function
    def make(x):
        return jitflow.Variable(x)

    with pytest.raises(NotImplementedError, match="would be made once, while tracing"):
        make(np.ones(2))
