"""What `vmap` refuses, and what examples raise."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import vmap
from jitflow.errors import UserNotImplementedError

X = np.arange(12.0).reshape(3, 4)
variable, buffer, log = jitflow.Variable(np.zeros(4)), np.zeros(4), []
numpys = np.random.default_rng(0)


class Holder:
    value = 0.0


holder = Holder()


def stores_to_a_variable(x: Any) -> Any:
    variable[0] = x[0]
    return x


def stores_to_an_array(x: Any) -> Any:
    buffer[:] = x
    return x


def appends(x: Any) -> Any:
    log.append(x.sum())
    return x


def sets_an_attribute(x: Any) -> Any:
    holder.value = x.sum()
    return x


def inner_list(xs: Any) -> Any:
    found = []

    def one(x: Any) -> Any:
        found.append(x.sum())
        return x

    return vmap(one)(xs), found[0]


def inner_name(xs: Any) -> Any:
    last = 0.0

    def one(x: Any) -> Any:
        nonlocal last
        last = x.sum()
        return x

    return vmap(one)(xs), last


def inner_array(xs: Any) -> Any:
    total = np.zeros(4)

    def one(x: Any) -> Any:
        total[:] += x
        return x

    return vmap(one)(xs), total


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (vmap(stores_to_a_variable), "writes to an array or a variable from outside"),
        (vmap(stores_to_an_array), "writes to an array or a variable from outside"),
        (vmap(appends), "for each example of a batch, a store to log"),
        (vmap(sets_an_attribute), "for each example of a batch, assigning to the attribute 'value'"),
        (jitflow.function(inner_list), "that changes a list or dict"),
        (jitflow.function(inner_name), "assigns to a local variable of a function around it"),
        (jitflow.function(inner_array), "writes to an array or a variable from outside"),
        (vmap(lambda x: x + numpys.normal()), "draws from a generator of NumPy's"),
        (vmap(lambda x: x[numpys.permutation(4)]), "draws from a generator of NumPy's"),
        (vmap(lambda x: x + random.random()), "draws from a generator of NumPy's or Python's"),
    ],
)
def test_what_all_examples_share_stays(fun: Callable[..., Any], message: str) -> None:
    with pytest.raises(UserNotImplementedError, match=message) as caught:
        fun(X)
    assert caught.value.location.file == __file__
    assert not log
    assert holder.value == 0.0
    assert not buffer.any()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: vmap(np.add)(X, X[:2]), r"inconsistent sizes for array axes to be mapped: \(3,\) \(2,\)"),
        (lambda: vmap(np.negative, in_axes=2)(X), "along axis 2, .* at least 3, but is only 2"),
        (lambda: vmap(np.negative, in_axes=-3)(X), "along axis -3, .* at least 3, but is only 2"),
        (lambda: vmap(np.add)(X, 2.0), "along axis 0, .* at least 1, but is only 0"),
        (lambda: vmap(np.negative, in_axes=None)(X), "no array to map"),
        (lambda: vmap(np.negative, in_axes=(0, 0))(X), "a tuple with one for each positional argument"),
        (lambda: vmap(np.negative, in_axes=((0, 0),))(X), "in_axes has another structure than its argument"),
        (lambda: vmap(np.negative, out_axes=5)(X), "out_axes names axis 5"),
        (lambda: vmap(np.negative, out_axes=None)(X), "a result for which out_axes says None"),
        (lambda: vmap(np.negative, out_axes=(0, 0))(X), "out_axes has another structure"),
        (lambda: vmap(lambda x: x[x > 5])(X), "differ in shape, and cannot be stacked"),
        (lambda: vmap(lambda x: np.arange(int(x[0])))(X), "differ in shape, and cannot be stacked"),
        (lambda: vmap(lambda x: x[:2] if x[0] > 3 else x)(X), "differ in shape, and cannot be stacked"),
    ],
)
def test_values_that_do_not_fit(run: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: vmap(np.negative, in_axes="a"), "must be an axis, None, or a structure"),
        (lambda: vmap(lambda x: "a")(X), "something else than numbers and arrays"),
        (lambda: vmap(lambda x: f"{x[0]}")(X), "something else than numbers and arrays"),
        (lambda: vmap(lambda x: (x, x.tolist()))(X), "a list of which only the running program knows the length"),
        (lambda: vmap(lambda x: np.sin)(X), "something else than numbers and arrays"),
        (lambda: vmap(lambda x, f: f(x))(X, np.sin), "something that is no array"),
    ],
)
def test_types_that_do_not_fit(run: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        run()


def reads(x: Any) -> Any:
    return x[int(x[0])]


def asserts(x: Any) -> Any:
    assert x[0] < 7, f"too large: {x[0]}"
    return x


def raises(x: Any) -> Any:
    if x[0] > 7:
        raise OverflowError("big")
    return x


def always(x: Any) -> Any:
    raise ValueError("always")


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (reads, IndexError, "index 4 is out of bounds for axis 0 with size 4"),
        (asserts, AssertionError, r"too large: 8\.0"),
        (raises, OverflowError, "big"),
        (always, ValueError, "always"),
    ],
)
def test_the_first_example_that_fails(fun: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vmap(fun)(X)
    with pytest.raises(error, match=message):
        jitflow.function(lambda xs: vmap(fun)(xs))(X)


def halves(x: Any) -> Any:
    return x if len(x) == 1 else np.concatenate([halves(x[::2]), -halves(x[1::2])])


def test_results_of_one_shape_that_only_the_run_knows_say_it() -> None:
    with pytest.raises(ValueError, match="may differ in shape") as raised:
        vmap(halves)(X)
    assert "in halves" in str(raised.value.render())
    assert "y.reshape(6)" in str(raised.value.render())
    np.testing.assert_array_equal(vmap(lambda x: halves(x).reshape(4))(X), np.stack([halves(x) for x in X]))
    with pytest.raises(ValueError, match="cannot reshape array of size 0"):
        vmap(lambda x: x[x > 4].reshape(4))(X)


def test_a_check_that_an_example_does_not_come_to_does_not_count() -> None:
    def guarded(x: Any) -> Any:
        if x[0] < 4:
            return x[int(x[0])]
        return 0.0

    def until(x: Any) -> Any:
        i, total = 0, 0.0
        while i < 4 and x[i] < 6:
            total += 1 / int(7 - x[i])
            i += 1
        return total

    np.testing.assert_array_equal(vmap(guarded)(X), [0, 0, 0])
    np.testing.assert_allclose(vmap(until)(X), [until(x) for x in X])


def test_prints_are_in_the_order_of_the_examples(capfd: pytest.CaptureFixture[str]) -> None:
    def shows(x: Any) -> Any:
        print("at", x[0])
        print("sum", x.sum())
        return x.sum()

    np.testing.assert_array_equal(vmap(shows)(X), X.sum(1))
    assert capfd.readouterr().out == "at 0.0\nsum 6.0\nat 4.0\nsum 22.0\nat 8.0\nsum 38.0\n"


def test_prints_that_are_the_same_for_all_are_done_for_each(capfd: pytest.CaptureFixture[str]) -> None:
    def shows(x: Any, turns: int) -> Any:
        print("an example")
        while turns > 0:
            print("turn", turns)
            turns -= 1
        return x

    shown = vmap(shows, (0, None))
    for count in (3, 1, 0):
        shown(X[:count], 2)
        assert capfd.readouterr().out == "an example\nturn 2\nturn 1\n" * count
    called: list[int] = []
    counted = jitflow.callback(lambda: float(called.append(0) or len(called)), jitflow.Spec("float"))
    np.testing.assert_array_equal(vmap(lambda x: counted())(X), [1, 2, 3])


def stored_apart(x: Any, places: Any) -> Any:
    x[places, :, places] = 1.0
    return x


def added(x: Any, places: Any) -> Any:
    np.add.at(x, (slice(None), places), 1.0)
    return x


@pytest.mark.parametrize(
    "fun",
    [lambda x, places: x[places, :, places], lambda x, places: x[:, places], lambda x, places: np.take(x, places, -1),
     stored_apart, added],
)  # fmt: skip
@pytest.mark.parametrize("is_shared", [False, True])
def test_positions_name_the_axes_of_one_example(fun: Callable[..., Any], is_shared: bool) -> None:
    xs = np.random.default_rng(0).normal(size=(4, 3, 3, 3))
    places = np.array([1, 0]) if is_shared else np.array([[0, 2], [1, 1], [-1, 0], [2, 1]])
    for wrong in (0, 9):
        places.flat[-1] += wrong
        each_ones = xs if is_shared else places
        given = [(x.copy(), places if is_shared else own) for x, own in zip(xs, each_ones, strict=True)]
        mapped = vmap(fun, in_axes=(0, None if is_shared else 0))
        if not wrong:
            np.testing.assert_array_equal(mapped(xs, places), np.stack([fun(*each) for each in given]))
            continue
        with pytest.raises(IndexError) as raised:
            [fun(*each) for each in given]
        with pytest.raises(IndexError, match=f"^{raised.value}$"):
            mapped(xs, places)
