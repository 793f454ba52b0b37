"""What comes again in a program is compiled once: equal pieces become calls of one function, with the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import optim
from jitflow.compilation.compiler import lower
from jitflow.passes import runner
from jitflow.passes.analyses import repeats
from jitflow.passes.analyses.repeats import Repeats, find_repeats
from jitflow.passes.fusion import factor
from tests.compare import EXACT, REDUCTION, assert_same
from tests.truth.run import check_interpreted
from tests.truth.test_random_programs import program_of


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make functions of little that comes again, so that programs may be small."""
    monkeypatch.setattr(factor, "LEAST_FACTORED", 0)
    monkeypatch.setattr(factor, "FEWEST_FACTORED", 3)
    monkeypatch.setattr(factor, "FEWEST_SAVED", 3)
    monkeypatch.setattr(factor, "MOST_OPS_TWICE", 4)
    monkeypatch.setattr(repeats, "_GRAM", 3)


def calls(function: Any) -> list[int]:
    """How often each function that came out of a program is called."""
    return [int(count) for count in re.findall(r"is called (\d+) times", str(function.explain()))]


def whole(program: Callable[..., Any], *arguments: Any) -> Any:
    """What the program gives where nothing is factored out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor, "MOST_OPS_TWICE", 1 << 30)
        return jitflow.function(program)(*arguments)


def layers(count: int, *shape: int) -> list[np.ndarray]:
    random = np.random.default_rng(count)
    return [random.normal(size=shape).astype(np.float32) / np.float32(shape[-1] ** 0.5) for _ in range(count)]


def block(x: Any, w: Any) -> Any:
    y = np.tanh(x @ w)
    y = y - y.mean(axis=1, keepdims=True)
    return x + y / np.sqrt((y * y).mean(axis=1, keepdims=True) + np.float32(1e-3))


def stack(x: Any, weights: Any) -> Any:
    for w in weights:
        x = block(x, w)
    return (x * x).mean()


def trained(x: Any, weights: Any) -> Any:
    value, gradients = jitflow.value_and_grad(stack, argnums=1)(x, weights)
    return value, [w - np.float32(0.1) * gradient for w, gradient in zip(weights, gradients, strict=True)]


def test_layers_and_their_reverse_sweeps_are_called() -> None:
    compiled, longer = jitflow.function(trained), jitflow.function(trained)
    (x,) = layers(1, 6, 8)
    assert_same(compiled(x, layers(5, 8, 8)), whole(trained, x, layers(5, 8, 8)), EXACT)
    assert_same(longer(x, layers(9, 8, 8)), whole(trained, x, layers(9, 8, 8)), EXACT)
    assert max(calls(compiled)) >= 4
    assert max(calls(longer)) >= 8
    assert len(longer.explain().kernels) == len(compiled.explain().kernels)


def test_variables_of_an_optimiser_are_stored_outside() -> None:
    def steps(factored: bool) -> Any:
        weights, adam = [jitflow.Variable(w) for w in layers(5, 8, 8)], optim.Adam(0.01)

        def step(x: Any, weights: Any) -> Any:
            value, gradients = jitflow.value_and_grad(stack, argnums=1)(x, weights)
            adam.apply(gradients, weights)
            return value

        (x,) = layers(1, 6, 8)
        compiled = jitflow.function(step)
        values = [compiled(x, weights) for _ in range(3)] if factored else [whole(step, x, weights)]
        assert not factored or max(calls(compiled)) >= 4
        values += [] if factored else [compiled(x, weights) for _ in range(2)]
        return values, [w.numpy() for w in weights]

    assert_same(steps(True), steps(False), REDUCTION)


def test_layers_that_differ_are_no_calls_of_one_function() -> None:
    """In a number, in a size of the first call, in the order of what they take."""

    def program(x: Any, weights: Any) -> Any:
        for number, w in enumerate(weights):
            x = np.tanh(x * (number + 2) - np.maximum(x, number) * number) @ w
            x = x - x.max(axis=1, keepdims=True) if number % 2 else x.max(axis=1, keepdims=True) - x
        return x

    (x,) = layers(1, 6, 8)
    compiled, weights = jitflow.function(program), layers(2, 8, 8) + layers(1, 8, 5) + layers(2, 5, 5)
    assert_same(compiled(x, weights), whole(program, x, weights), EXACT)
    assert calls(compiled) == []


def test_the_same_function_serves_other_sizes() -> None:
    compiled = jitflow.function(stack)
    for rows, width in ((6, 8), (1, 3), (0, 8), (33, 1)):
        (x,), weights = layers(1, rows, width), layers(4, width, width)
        if rows:
            assert_same(compiled(x, weights), whole(stack, x, weights), EXACT)
    assert max(calls(compiled)) == 4


def test_a_mistake_in_one_layer_is_told_as_before() -> None:
    compiled = jitflow.function(stack)
    (x,), weights = layers(1, 6, 8), layers(4, 8, 8)
    compiled(x, weights)
    weights[2] = weights[2][:7]
    with pytest.raises(ValueError, match="matmul: Input operand 1 has a mismatch") as expected:
        stack(x, weights)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))) as found:
        compiled(x, weights)
    assert [frame.name for frame in found.traceback][-1] == "block"
    assert_same(compiled(x, layers(4, 8, 8)), whole(stack, x, layers(4, 8, 8)), EXACT)


def test_arrays_that_a_layer_makes_for_itself_go_along() -> None:
    def program(x: Any, weights: Any) -> Any:
        for w in weights:
            halves = np.empty((2, *x.shape), x.dtype)
            halves[0] = np.tanh(x @ w)
            halves[1] = np.exp(-x * x) - halves[0]
            x = halves[1] * np.sqrt(np.abs(halves[0])) + x.max(axis=1, keepdims=True)
        return x

    compiled = jitflow.function(program)
    (x,), weights = layers(1, 6, 8), layers(5, 8, 8)
    assert_same(compiled(x, weights), whole(program, x, weights), EXACT)
    assert max(calls(compiled)) >= 4


def test_sizes_that_the_run_finds_are_bound_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a number beside layers, by which a result is cut; and of numbers that layers come to."""
    monkeypatch.setattr(runner, "CONFIG", replace(runner.CONFIG, verify=True))

    def beside(x: Any, weights: Any, counts: Any) -> Any:
        for w in weights:
            x = block(x, w)
        doubled, count = x * 2, int(counts.sum())
        return doubled[:count]

    def inside(x: Any, weights: Any, counts: Any) -> Any:
        found = []
        for w in weights:
            x = block(x, w)
            count = int(np.argmax(x[:, 0]))
            found.append(x[:count].sum() + counts[:count].sum())
            x = x + x[:count].sum()
        return x, found

    (x,), weights = layers(1, 6, 8), layers(5, 8, 8)
    for program, most in ((beside, 5), (inside, 0)):  # whose pieces would have to bind a size in their middle
        compiled = jitflow.function(program)
        assert_same(compiled(x, weights, np.array([1, 3])), whole(program, x, weights, np.array([1, 3])), EXACT)
        assert max(calls(compiled), default=0) == most


def test_nothing_is_called_behind_a_write_to_a_variable() -> None:
    """A call takes memory: it may fail, and then the variable would have changed."""

    def step(x: Any, weights: Any, total: Any) -> Any:
        x = stack(x, weights[:1])
        total[...] = total + x
        y = np.ones((6, 8), np.float32)
        for w in weights:
            y = np.exp(-(y @ w)) - y.max(axis=1, keepdims=True)
        return y

    compiled, total = jitflow.function(step), jitflow.Variable(np.float32(1))
    (x,), weights = layers(1, 6, 8), layers(5, 8, 8)
    assert_same(compiled(x, weights, total), whole(step, x, weights, jitflow.Variable(np.float32(1))), EXACT)
    ops = lower(compiled._asked((), {}, "kernels"))[0].region.ops
    written = [op.name for op in ops].index("write")
    assert not any(op.name == "call" and "frames" in op.attributes for op in ops[written:])


def test_an_array_that_others_see_does_not() -> None:
    def program(x: Any, weights: Any) -> Any:
        seen = np.zeros((len(weights), *x.shape), x.dtype)
        for number, w in enumerate(weights):
            x = np.tanh(x @ w) * np.exp(-x) + np.sqrt(np.abs(x)) - x.sum()
            seen[number] = x
            x = x + seen[number - 1]
        return seen, x

    compiled = jitflow.function(program)
    (x,), weights = layers(1, 6, 8), layers(5, 8, 8)
    assert_same(compiled(x, weights), whole(program, x, weights), EXACT)


def test_results_are_arrays_of_their_own() -> None:
    """What a call gives is returned: twice, as a view, and what is only another shape of it."""

    def program(x: Any, weights: Any) -> Any:
        found = []
        for w in weights:
            y = np.tanh(x @ w) - x.max(axis=1, keepdims=True)
            x = np.exp(-y) + np.sqrt(np.abs(y)) - y.sum()
            found += [x, x.T, x.reshape(-1), x[:2]]
        return found

    compiled = jitflow.function(program)
    (x,), weights = layers(1, 6, 8), layers(4, 8, 8)
    found = compiled(x, weights)
    assert_same(found, whole(program, x, weights), EXACT)
    assert max(calls(compiled)) >= 3
    assert all(np.shares_memory(found[0], other) for other in found[1:4])
    assert not np.shares_memory(found[0], found[4])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_any_order_are_taken(order: Any) -> None:
    (x,), weights = layers(1, 6, 8), [np.asarray(w, order=order) for w in layers(4, 8, 8)]
    compiled = jitflow.function(stack)
    assert_same(compiled(x, weights), whole(stack, x, weights), EXACT)
    assert bool(calls(compiled)) == (order == "C")  # others would be copied at each call


def test_nothing_is_left_behind() -> None:
    compiled = jitflow.function(trained)
    (x,), weights = layers(1, 60, 80), layers(5, 80, 80)
    compiled(x, weights)
    before = jitflow.memory_stats()["bytes_in_use"]
    for _ in range(3):
        compiled(x, weights)
    assert jitflow.memory_stats()["bytes_in_use"] == before


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Each pass of random programs leaves what they mean, this one with the rest behind it."""
    check_interpreted(program_of(4600 + seed, 14))


@pytest.mark.parametrize(
    ("text", "starts", "length"),
    [
        ("xabcabcabcy", (1, 4, 7), 3),
        ("abcd-abcd+abcd", (0, 5, 10), 4),
        ("abcabcxabcabcy", (0, 7), 6),
        ("aaaaaaaa", (0, 3), 3),
    ],
)
def test_where_sequences_repeat_themselves(text: str, starts: tuple[int, ...], length: int) -> None:
    found = find_repeats(text, [True] * len(text))
    assert found is not None
    assert found.saved >= Repeats(starts, length).saved
    assert len({text[start : start + found.length] for start in found.starts}) == 1


def test_no_sequence_repeats_itself_where_it_is_not_free() -> None:
    assert find_repeats("abcabc", [True] * 5 + [False]) is None
    assert find_repeats("abcdef", [True] * 6) is None
