"""Names of values, and the parts of a program that give them: `jitflow.name` and `partial`, against plain NumPy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError, UserNotImplementedError

RANDOM = np.random.default_rng(7)
X, W1, W2 = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(6, 3))
HIDDEN = np.maximum(X @ W1, 0)


@jitflow.function
def network(x, w1, w2):
    hidden = jitflow.name(np.maximum(x @ w1, 0), "hidden")
    logits = jitflow.name(hidden @ w2, "logits")
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# -- what a name is


def test_a_name_is_its_value() -> None:
    assert jitflow.name(X, "x") is X
    assert jitflow.name(None, "nothing") is None

    @jitflow.function
    def named(x):
        y = x * 2
        assert jitflow.name(y, "y") is y
        y[0] = 7
        return y, jitflow.name(3, "three")

    found, three = named(X[0])
    assert found[0] == 7
    assert three == 3
    same(found[1:], X[0, 1:] * 2)


def test_a_name_costs_nothing_and_is_shown() -> None:
    text = network.ir(X, W1, W2, stage="optimized")
    assert "mark" not in text
    assert "%hidden: " in text
    assert "%logits: " in text


def test_names_in_loops_and_of_several_values_are_no_mistake() -> None:
    @jitflow.function
    def looped(x, n):
        for _ in range(n):
            x = jitflow.name(np.sin(x), "turn")
        return jitflow.name(x, "turn")

    same(looped(X, 2), np.sin(np.sin(X)))


# -- fetching and feeding


def test_fetching_takes_the_arguments_that_the_value_needs() -> None:
    body = network.partial("hidden")
    same(body(X, W1), HIDDEN)
    same(body(X, w1=W1, w2=W2), HIDDEN)
    both = network.partial(["logits", "hidden"])(X, W1, W2)
    assert type(both) is list
    same(both[0], HIDDEN @ W2)
    same(both[1], HIDDEN)
    assert type(network.partial(("logits",))(X, W1, W2)) is tuple


def test_what_is_fed_replaces_what_computes_it() -> None:
    head = network.partial("logits", feed={"hidden": HIDDEN})
    same(head(w2=W2), HIDDEN @ W2)
    same(head(w2=W2, hidden=HIDDEN + 1), (HIDDEN + 1) @ W2)
    same(head(X * 0, W1, W2), HIDDEN @ W2)
    assert "matmul" not in network.partial("hidden", feed=["hidden"]).ir(hidden=HIDDEN, stage="optimized")
    named = network.partial("logits", feed=["hidden"])
    same(named(w2=W2, hidden=HIDDEN), HIDDEN @ W2)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'hidden'"):
        named(w2=W2)
    assert str(inspect.signature(named)) == "(x=<not given>, w1=<not given>, w2=<not given>, *, hidden)"


def test_a_part_compiles_once_for_all_sizes() -> None:
    head = network.partial("logits", feed=["hidden"])
    for rows in (2, 3, 9):
        head(w2=W2, hidden=HIDDEN.repeat(rows, axis=0))
    assert head.cache_info().misses == 1


def test_the_rest_of_the_program_is_gone() -> None:
    text = network.partial("hidden").ir(X, W1, W2)
    assert "exp" not in text
    assert text.count("matmul %") == 1


def test_numbers_sizes_and_constants_have_names() -> None:
    @jitflow.function
    def scaled(x, rate):
        rows = jitflow.name(x.shape[0], "rows")
        factor = jitflow.name(0.5, "factor")
        total = jitflow.name(x.sum(), "total")
        doubled = jitflow.name(rate * 2, "doubled")
        return np.ones(rows) * factor * total + doubled

    found = scaled.partial(["rows", "factor", "total", "doubled"])(X, 3.0)
    assert [type(one) for one in found] == [int, float, np.float64, float]
    assert found[:2] == [4, 0.5]
    assert found[3] == 6.0
    same(scaled(X, 1.0), np.ones(4) * 0.5 * X.sum() + 2)
    fed = scaled.partial("total", feed={"factor": 2.0})
    same(fed(X), X.sum())


def test_fetched_arrays_are_new() -> None:
    @jitflow.function
    def passed_on(x):
        return jitflow.name(jitflow.name(x, "input")[1:], "rest").sum()

    x = X.copy()
    whole, rest = passed_on.partial(["input", "rest"])(x)
    assert not np.shares_memory(whole, x)
    assert not np.shares_memory(rest, x)
    same(whole, x)
    same(rest, x[1:])


def test_what_is_fed_stays_as_it_is() -> None:
    @jitflow.function
    def changed(x):
        y = jitflow.name(x + 1, "y")
        y[0] = 0
        return jitflow.name(y * 2, "z")

    given = X[0].copy()
    found = changed.partial("z", feed={"y": given})()
    same(given, X[0])
    same(found, np.array([0, *X[0, 1:]]) * 2)


# -- effects


def make_counter() -> tuple[jitflow.Variable, Callable[..., Any]]:
    count = jitflow.Variable(np.zeros(3))

    @jitflow.function
    def step(x, y):
        count[...] += x
        total = jitflow.name(count * 2, "total")
        print("loss", (total * y).sum())
        x[0] = -1
        return total

    return count, step


def test_a_part_changes_nothing_unless_it_is_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    count, step = make_counter()
    part, given = step.partial("total"), np.arange(3.0)
    given.flags.writeable = False
    for _ in range(2):
        same(part(given), 2 * np.arange(3.0))  # it sees its own writes
    same(count.numpy(), np.zeros(3))
    assert capsys.readouterr().out == ""

    given, acting = np.arange(3.0), step.partial("total", effects=True)
    same(acting(given, np.ones(3)), [0, 2, 4])
    same(count.numpy(), np.arange(3.0))
    assert capsys.readouterr().out == "loss 6.0\n"
    assert given[0] == -1
    with pytest.raises(TypeError, match="needs the argument y, which was not given"):
        acting(given)


def test_a_part_of_a_training_step_needs_no_labels() -> None:
    w = jitflow.Variable(W2)
    optimiser = jitflow.optim.SGD(0.1)

    @jitflow.function
    def step(x, labels):
        def loss():
            logits = jitflow.name(x @ w, "logits")
            return ((logits - labels) ** 2).mean()

        return optimiser.minimize(loss, [w])

    same(step.partial("logits")(HIDDEN), HIDDEN @ W2)
    same(step.partial("logits")(HIDDEN, np.zeros((4, 3))), HIDDEN @ W2)
    same(w.numpy(), W2)
    same(step.partial("logits", effects=True)(HIDDEN, np.zeros((4, 3))), HIDDEN @ W2)
    assert np.abs(w.numpy() - W2).max() > 1e-3


def test_gradients_of_what_is_fed_stop_there() -> None:
    @jitflow.function
    def slope(x):
        def loss(x):
            return (jitflow.name(x * x, "square") * x).sum()

        return jitflow.name(jitflow.grad(loss)(x), "slope")

    same(slope.partial("slope")(X), 3 * X**2)
    same(slope.partial("slope", feed={"square": X})(X), X)


def test_names_inside_of_derivatives() -> None:
    def waves(x):
        return (jitflow.name(np.sin(x), "sines") * x).sum()

    def some(x):
        return (jitflow.name(x[np.nonzero(x > 0)[0]] * 2, "picked") ** 2).sum()

    forward = jitflow.function(lambda x: jitflow.jvp(waves, (x,), (x,)))
    second = jitflow.function(lambda x: jitflow.grad(lambda y: jitflow.grad(waves)(y).sum())(x))
    for function in (forward, second, jitflow.grad(waves)):
        same(function.partial("sines")(X[0]), np.sin(X[0]))
    same(jitflow.grad(some).partial("picked")(X[0]), X[0][X[0] > 0] * 2)
    for again in (
        jitflow.grad(jitflow.checkpoint(waves)),
        jitflow.function(lambda x: jitflow.checkpoint(waves)(x) * 2),
    ):
        same(again.partial("sines")(X[0]), np.sin(X[0]))
        same(again(X[0]), jitflow.function(again.__wrapped__)(X[0]))


def test_names_of_integers_in_what_is_computed_again() -> None:
    @jitflow.checkpoint
    def largest(x):
        return (x * jitflow.name(np.argsort(x), "order")).sum()

    same(jitflow.grad(largest).partial("order")(X[0]), np.argsort(X[0]))
    same(jitflow.grad(largest).partial(["order"], effects=True)(X[0])[0], np.argsort(X[0]))


def test_names_in_functions_with_a_gradient_of_their_own() -> None:
    @jitflow.custom_gradient
    def waves(x):
        return jitflow.name(np.sin(x), "sines").sum(), lambda dy: dy * x

    assert "a gradient of their own" in refused(jitflow.grad(waves).partial("sines"), X[0]).found


# -- checks


def test_checks_of_the_part_hold_and_others_do_not() -> None:
    @jitflow.function
    def picked(x, i, j):
        first = jitflow.name(x[i], "first")
        second = jitflow.name(x[j], "second")
        return first + second

    x = np.arange(3.0)
    assert picked.partial("first")(x, 1, 9) == 1.0
    with pytest.raises(IndexError):
        picked.partial("first")(x, 9, 1)
    with pytest.raises(IndexError):
        picked.partial("second")(x, 1, 9)


def test_positions_that_are_fed_are_checked() -> None:
    @jitflow.function
    def at_the_largest(x, y):
        return jitflow.name(y[jitflow.name(np.argmax(x), "where")], "there")

    there = at_the_largest.partial("there", feed=["where"])
    assert there(y=np.arange(4.0), where=np.int64(2)) == 2.0
    with pytest.raises(IndexError):
        there(y=np.arange(4.0), where=np.int64(7))


def test_loops_and_storage_in_a_part() -> None:
    @jitflow.function
    def waves(u, n, v):
        for i in range(n):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            v[i] = u.max()
        jitflow.name(u, "state")
        jitflow.name(v, "history")
        return u.sum() + v.sum()

    u, v = np.zeros(9), np.zeros(5)
    u[4] = 1.0
    start = u.copy()
    expected_u, expected_v = u.copy(), v.copy()
    waves(expected_u, 5, expected_v)
    state, history = waves.partial(["state", "history"])(u, 5, v)
    same(state, expected_u)
    same(history, expected_v)
    same(u, start)
    assert not v.any()


# -- mistakes


def refused(part: Callable[..., Any], *args: Any, **kwargs: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        part(*args, **kwargs)
    return caught.value


def test_names_that_there_are_not() -> None:
    error = refused(network.partial("output"), X, W1, W2)
    assert isinstance(error, ValueError)
    assert error.message == "no value is called 'output'"
    assert error.expected == "one of 'hidden', 'logits'"
    assert error.location is not None
    assert error.location.function == "network"
    assert "no value is called 'h'" in str(refused(network.partial("logits", feed={"h": X}), X, W1, W2))


def test_names_of_many_values() -> None:
    @jitflow.function
    def many(x, n):
        for _ in range(n):
            x = jitflow.name(np.sin(x), "turn")
        if x.sum() > 0:
            x = jitflow.name(-x, "turned")
        for _ in range(2):
            x = jitflow.name(x + 1, "later")
        return x

    for label in ("turn", "turned"):
        assert "in a loop or a branch" in str(refused(many.partial(label), X, 3))
        assert "in a loop or a branch" in str(refused(many.partial("later", feed={label: X}), X, 3))
    error = refused(many.partial("later"), X, 3)
    assert "two values are called 'later'" in str(error)
    assert "test_naming.py" in error.found


def test_arguments_that_are_missing() -> None:
    error = refused(network.partial("logits"), X, W1)
    assert isinstance(error, TypeError)
    assert error.message == "the part needs the argument w2, which was not given"
    assert error.location is not None
    assert "hidden @ w2" in inspect.getsource(network.__wrapped__)

    @jitflow.function
    def decided(x, n, out):
        if n > 3:
            x = x + 1
        out[...] = x
        return jitflow.name(x * 2, "twice")

    assert "the argument n" in str(refused(decided.partial("twice"), X))
    assert "the argument out" in str(refused(decided.partial("twice"), X, 1))


def test_questions_about_arguments_that_are_missing() -> None:
    def asked(question: Callable[[Any], Any]) -> str:
        @jitflow.function
        def program(x, y):
            return jitflow.name(y * 2 if question(x) else y, "y")

        return str(refused(program.partial("y"), y=X))

    for question in (
        lambda x: isinstance(x, np.ndarray),
        lambda x: hasattr(x, "shape"),
        lambda x: type(x) is float,
        lambda x: x.shape[0] > 2,
        lambda x: x is not None and len(x),
        lambda x: bool(x),
        lambda x: np.add(x, 1, out=np.zeros(3)),
        lambda x: np.copyto(np.zeros(3), x),
        lambda x: np.zeros(3).fill(x),
    ):
        assert "the argument x, which was not given" in asked(question)


def test_a_check_before_a_value_stays_and_one_behind_it_goes() -> None:
    @jitflow.function
    def checked(x):
        y = jitflow.name(x + 1, "y")
        if x.sum() < 0:
            raise ValueError("below")
        return jitflow.name(y * 2, "z")

    same(checked.partial("y")(-(X[0] ** 2)), 1 - X[0] ** 2)
    with pytest.raises(ValueError, match="below"):
        checked.partial("z")(-(X[0] ** 2))


def test_a_static_argument_may_be_missing() -> None:
    @jitflow.function(static="mode")
    def chosen(x, mode):
        y = jitflow.name(x * 2, "y")
        return y if mode == "plain" else -y

    same(chosen.partial("y")(X), X * 2)
    assert "the argument mode" in str(refused(chosen.partial("y", effects=True), X))


def test_random_numbers_in_a_part_are_drawn_again() -> None:
    rng = jitflow.random.Generator(3)

    @jitflow.function
    def draw(x):
        return jitflow.name(rng.normal(size=3), "noise") + x

    part = draw.partial("noise")
    first = part()
    same(part(), first)
    same(draw(0.0), first)
    assert not np.array_equal(part(), first)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (HIDDEN[:2], "'hidden' is fed an array of another shape"),
        (HIDDEN[0], "'hidden' is fed an array of another shape"),
        (HIDDEN.astype(np.float32), "'hidden' is fed what is not of the type"),
        (1.0, "'hidden' is fed what is not of the type"),
        ("text", "'hidden' is fed a str"),
    ],
)
def test_feeds_that_do_not_fit(given: Any, words: str) -> None:
    assert words in str(refused(network.partial("logits", feed={"hidden": given}), X, W1, W2))


def test_feeds_are_compared_at_every_call() -> None:
    head = network.partial("logits", feed=["hidden"])
    same(head(X, W1, W2, hidden=HIDDEN), HIDDEN @ W2)
    assert "another shape" in str(refused(head, X, W1, W2, hidden=HIDDEN[:2]))


def test_unusable_parts() -> None:
    for call, words in (
        (lambda: network.partial([]), "the name of a value to fetch"),
        (lambda: network.partial(["hidden", "hidden"]), "fetched twice"),
        (lambda: network.partial("hidden", feed={"x": X}), "the name of a parameter too"),
        (lambda: network.partial("hidden").partial("hidden"), "a part of a part"),
        (lambda: network.partial([1]), "names of values are strings"),
    ):
        assert words in str(refused(call))
    part = network.partial("hidden")
    inside = jitflow.function(lambda x, w: part(x, w) + 1)
    assert isinstance(refused(inside, X, W1), UserNotImplementedError)
    nameless = jitflow.function(lambda x: jitflow.name(x, 3))
    assert "must be a string" in str(refused(nameless, X))
    wrong = jitflow.function(lambda x: jitflow.name((x, x), "pair"))
    assert "'pair' names a tuple" in str(refused(wrong, X))


def test_arguments_that_overlap() -> None:
    @jitflow.function
    def shifted(x, y):
        x[1:] = y
        return jitflow.name(x * 2, "twice")

    memory = np.arange(4.0)
    assert "overlap in memory" in str(refused(shifted.partial("twice"), memory, memory[:-1]))
    same(shifted.partial("twice")(memory.copy(), memory[:-1]), [0, 0, 2, 4])


def test_a_part_has_no_gradient() -> None:
    @jitflow.function
    def program(x: Any) -> Any:
        half = jitflow.name((x * x).sum(), "half")
        return half * 2

    part = program.partial("half")
    for ask in (
        lambda: jitflow.grad(part)(X),
        lambda: jitflow.jacobian(part)(X),
        lambda: jitflow.vjp(part, X),
        lambda: jitflow.jvp(part, (X,), (X,)),
    ):
        with pytest.raises(NotImplementedError, match="the gradient of a part of a function"):
            ask()
