"""`jitflow.quantise`: products of bytes in the place of products of floats, and what it says of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import Spec, Variable, nn
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError

RANDOM = np.random.default_rng(4)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


X = normal(60, 30)
W1, B1 = Variable(normal(30, 40) / 5), Variable(normal(40))
W2 = normal(40, 7) / 6


def network(x: Any) -> Any:
    return nn.relu(x @ W1 + B1) @ W2


def levels_of(x: np.ndarray, lowest: float, highest: float) -> tuple[np.ndarray, float, int]:
    """Levels, scale and zero, written once more."""
    lowest, highest = min(lowest, 0), max(highest, 0)
    scale = (highest - lowest) / 255
    zero = round(-lowest / scale)
    return np.clip(np.rint(x * np.float32(1 / scale)) + zero, 0, 255), scale, zero


def product_of(x: np.ndarray, w: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    levels, scale, zero = levels_of(x, lowest, highest)
    own = np.abs(w).max(0).astype(np.float64) / 127
    return (levels - zero) @ np.rint(w / own) * (own * scale)


def test_results_are_those_of_levels_and_weights_in_bytes() -> None:
    small = jitflow.quantise(network, [X[:20], X[20:]])
    hidden = np.maximum(X @ W1[...] + B1[...], 0)
    first = np.maximum(product_of(X, W1[...], X.min(), X.max()).astype(np.float32) + B1[...], 0)
    expected = product_of(first, W2, 0, hidden.max())
    for rows in (60, 1, 2, 0):
        found = small(X[:rows])
        assert (found.dtype, found.shape) == (np.float32, (rows, 7))
        scale = np.abs(expected).max()
        close = np.abs(found - expected[:rows]) < 1e-5 * scale
        assert close.sum() >= 0.95 * close.size  # the others are a level next to it, where a sum is between two
        np.testing.assert_allclose(found, expected[:rows], atol=0.01 * scale)


def test_the_report_tells_each_product() -> None:
    report = jitflow.quantise(network, [(X,)]).report()
    first, second = report
    assert (first.weight, first.shape, second.weight, second.shape) == ("W1", (30, 40), "W2", (40, 7))
    assert (first.lowest, first.highest) == (X.min(), X.max())
    assert second.lowest == 0
    line = network.__code__.co_firstlineno + 1
    assert first.line == second.line == f"test_quantise.py:{line}"
    exact = X.astype(np.float64) @ W1[...]
    error = np.linalg.norm(product_of(X, W1[...], X.min(), X.max()) - exact) / np.linalg.norm(exact)
    assert first.error == pytest.approx(error, rel=1e-3)
    assert 0 < second.error < 0.02
    table = str(report).splitlines()
    assert table[0].split() == ["weight", "line", "shape", "activations", "error"]
    assert table[2].split() == ["W2", second.line, "40", "x", "7", "0", "to", f"{second.highest:.4g}",
                                f"{second.error:.2%}"]  # fmt: skip


@pytest.mark.parametrize("form", ["left", "vector", "dot", "einsum", "stack", "derived", "f64", "turned"])
def test_all_forms_of_products_with_a_weight(form: str) -> None:
    weight = W2
    forms = {
        "left": (lambda x: weight.T @ x.T, X[:, :, None][..., 0] @ np.ones((30, 40), np.float32)),
        "vector": (lambda x: x @ weight, normal(40)),
        "dot": (lambda x: np.dot(x, weight), normal(9, 40)),
        "einsum": (lambda x: np.einsum("bk,kn->nb", x, weight), normal(9, 40)),
        "stack": (lambda x: x @ weight, normal(3, 5, 40)),
        "derived": (lambda x: x @ (2 * weight[3:, ::2] + 1), normal(5, 37)),
        "f64": (lambda x: x @ weight.astype(np.float64), normal(9, 40).astype(np.float64)),
        "turned": (lambda x: x @ weight.T, normal(9, 7)),
    }
    function, x = forms[form]
    small = jitflow.quantise(function, [x])
    (layer,) = small.report()
    assert not layer.left
    found, expected = small(x), function(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert 0 < np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


@pytest.mark.parametrize("factor", [1e200, np.array(1e300)])
def test_numbers_beyond_float32_stay_floats(factor: Any) -> None:
    weight, own = normal(30, 5).astype(np.float64), normal(30, 4).astype(np.float64) * 1e200
    x = X.astype(np.float64)
    small = jitflow.quantise(lambda x: ((x * factor) @ weight, x @ own, x @ weight), [x])
    assert [layer.left for layer in small.report()] == ["its numbers leave the range of float32"] * 2 + [""]
    found = small(x)
    np.testing.assert_allclose(found[0], (x * factor) @ weight, rtol=1e-9)
    assert np.isfinite(found[1]).all()


def test_what_a_batch_makes_pins_no_size() -> None:
    """Neither activations behind other products nor zeros for a batch are weights, whose sizes are known."""
    recurrent, weight = normal(16, 16) / 4, normal(30, 16) / 5

    def states(x: Any) -> Any:
        state = np.zeros((len(x), 16), np.float32)
        for _ in range(2):
            state = np.tanh(x @ weight + state @ recurrent)
        return state

    small = jitflow.quantise(states, [X])
    for count in (9, 2, 5, 30):
        np.testing.assert_allclose(small(X[:count]), states(X[:count]), atol=0.1)
    assert small.cache_info().misses == 1


def test_activations_that_much_leads_to_are_found_at_once() -> None:
    def deep(x: Any) -> Any:
        for _ in range(60):
            x = x * 0.5 + x * 0.5
        return x @ W1

    np.testing.assert_array_equal(jitflow.quantise(deep, [X])(X), jitflow.quantise(lambda x: x @ W1, [X])(X))


def test_what_stays_a_product_of_floats_is_told() -> None:
    kernels = normal(4, 1, 3, 3)

    def mixed(x: Any) -> Any:
        scores = x @ x.T
        features = nn.conv(x[None, None], kernels).mean()
        return (scores @ x) @ W1 + features

    small = jitflow.quantise(mixed, [X / 9])
    left = [layer.left for layer in small.report()]
    assert left == ["both operands depend on arguments", "it is a convolution", "both operands depend on arguments", ""]
    assert "float: it is a convolution" in str(small.report())
    expected = mixed(X / 9)
    np.testing.assert_allclose(small(X / 9), expected, atol=0.03 * np.abs(expected).max())


def test_one_weight_at_two_places_has_two_ranges() -> None:
    square = normal(30, 30) / 5

    def twice(x: Any) -> Any:
        x = np.tanh(x @ square)
        return x @ square

    small = jitflow.quantise(twice, [X])
    first, second = small.report()
    assert first.weight == second.weight == "square"
    assert first.highest > 2 > 1 >= second.highest
    np.testing.assert_allclose(small(X), twice(X), atol=0.2)


def test_a_loop_has_one_range_for_all_turns() -> None:
    square = normal(30, 30) / 9

    def again(x: Any, count: int) -> Any:
        for _ in range(count):
            x = np.tanh(x @ square)
        return x

    small = jitflow.quantise(again, [(X, 6)])
    (layer,) = small.report()
    assert (layer.lowest, layer.highest) == (X.min(), X.max())
    np.testing.assert_allclose(small(X, 9), again(X, 9), atol=0.05)


def test_weights_are_those_of_the_moment_and_biases_are_not() -> None:
    weight, bias = Variable(normal(30, 5)), Variable(normal(5))
    small = jitflow.quantise(lambda x: x @ weight + bias, [X])
    before = small(X)
    weight.assign(weight * 2)
    np.testing.assert_array_equal(small(X), before)
    bias.assign(bias + 1)
    np.testing.assert_allclose(small(X), before + 1, atol=1e-5)


def test_other_weights_are_refused() -> None:
    state = {"weight": normal(30, 5), "gain": 2.0}
    small = jitflow.quantise(lambda x: x @ (state["weight"] * state["gain"]), [X])
    before, weight = small(X), state["weight"]
    for name, other in (("weight", normal(30, 5)), ("weight", normal(30, 8)), ("gain", 3.0)):
        was, state[name] = state[name], other
        with pytest.raises(UserValueError, match="quantise anew once weights are other arrays"):
            small(X)
        state[name] = was
    assert state["weight"] is weight
    np.testing.assert_array_equal(small(X), before)


def test_weights_that_the_program_makes() -> None:
    def made(x: Any) -> Any:
        return x @ np.linspace(-1, 1, 300, dtype=np.float32).reshape(30, 10)

    small = jitflow.quantise(made, [X])
    for x in (X, X[:1]):
        np.testing.assert_allclose(small(x), made(x), atol=0.2)


def test_activations_of_a_tiny_range() -> None:
    small = jitflow.quantise(lambda x: x @ W2, [np.full((2, 40), 1e-44, np.float32)])
    np.testing.assert_allclose(small(np.zeros((2, 40), np.float32)), 0)


def test_activations_are_clipped_to_what_was_seen_and_nan_is_the_lowest() -> None:
    small = jitflow.quantise(lambda x: x @ np.eye(4, dtype=np.float32), [np.array([[-1.0, 3.0, 0.0, 0.5]], np.float32)])
    found = small(np.array([[-7, 100, np.inf, -np.inf], [np.nan, 0, -0.0, 3]], np.float32))
    np.testing.assert_allclose(found, [[-1, 3, 3, -1], [-1, 0, 0, 3]], atol=0.01)
    assert found[1, 1] == 0  # 0 is a level


def test_layers_of_nothing_but_zeros() -> None:
    zeros = np.zeros((5, 3), np.float32)
    small = jitflow.quantise(lambda x: x @ zeros, [np.zeros((2, 5), np.float32), np.zeros((0, 5), np.float32)])
    np.testing.assert_array_equal(small(np.ones((2, 5), np.float32)), np.zeros((2, 3)))
    assert small.report()[0].error == 0


def test_in_another_function_and_with_options() -> None:
    small = jitflow.quantise(jitflow.function(network, fastmath=True), [X])
    outer = jitflow.function(lambda x: 2 * small(x) + x @ np.ones((30, 7), np.float32))
    np.testing.assert_allclose(outer(X), 2 * small(X) + X.sum(1, keepdims=True), rtol=1e-4, atol=1e-3)


def test_examples_of_a_batch_and_threads() -> None:
    small = jitflow.quantise(network, [X])
    found = small(X)
    np.testing.assert_array_equal(jitflow.vmap(small)(X), found)
    threads = jitflow.num_threads()
    try:
        jitflow.set_num_threads(2)
        many = np.tile(X, (40, 1))
        np.testing.assert_array_equal(small(many), np.tile(found, (40, 1)))
    finally:
        jitflow.set_num_threads(threads)


class Model:
    def __init__(self) -> None:
        self.layers = [(Variable(normal(30, 16) / 5), Variable(normal(16))), (Variable(normal(16, 4) / 4), None)]

    def __call__(self, x: Any, scale: float = 1.0) -> Any:
        for weight, bias in self.layers:
            x = x @ weight if bias is None else np.maximum(x @ weight + bias, 0)
        return {"scores": x * scale}


def test_methods_layers_in_lists_and_results_in_structures() -> None:
    model = Model()
    small = jitflow.quantise(model.__call__, [X])
    assert [layer.weight for layer in small.report()] == ["layers[0][0]", "layers[1][0]"]
    np.testing.assert_allclose(small(X, 2.0)["scores"], model(X, 2.0)["scores"], atol=0.2)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_it_is_exported_without_the_weights_of_floats(target: str, tmp_path: Path) -> None:
    if not jitflow.machines.processor.has_features("avx2"):
        pytest.skip("no AVX2 here")
    weight = Variable(normal(32, 500))
    small = jitflow.quantise(lambda x: x @ weight, [X[:, :1] + np.ones((60, 32), np.float32)])
    x = np.abs(normal(9, 32))
    exported = small.export(tmp_path / "small", Spec("f32", ("n", 32)), target=target, name="small")
    assert "weight" not in exported.header.read_text()
    assert b"weight" not in b"".join(name.encode() for name in exported.header.read_text().split("(void)"))
    if exported.library is None:
        pytest.skip(exported.why)
    loaded = jitflow.load(exported.library)
    assert sum(array.nbytes for array in loaded.state.values()) < weight[...].nbytes / 2
    np.testing.assert_array_equal(loaded(x), small(x))
    np.testing.assert_array_equal(loaded(x[:1]), small(x[:1]))


# -- what is refused -----------------------------------------------------------------------------------


def test_calibration_data_that_is_none() -> None:
    with pytest.raises(UserValueError, match="no calibration data"):
        jitflow.quantise(network, [])
    with pytest.raises(UserTypeError, match="put them in a list"):
        jitflow.quantise(network, X)
    with pytest.raises(UserTypeError, match="expected a function to quantise"):
        jitflow.quantise(3, [X])  # type: ignore[arg-type]


def test_what_is_not_finite_is_told_of_its_product() -> None:
    broken = X.copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"the product with W1 \(test_quantise.py:\d+\) is not finite: an operand"):
        jitflow.quantise(network, [broken])
    infinite = np.full((30, 2), np.inf, np.float32)
    with pytest.raises(ValueError, match="is not finite: the weight"):
        jitflow.quantise(lambda x: x @ infinite, [X])


def test_nothing_to_quantise() -> None:
    with pytest.raises(UserValueError, match="both operands depend on arguments"):
        jitflow.quantise(lambda x, w: x @ w, [(X, W1[...])])
    with pytest.raises(UserValueError, match="a function without products"):
        jitflow.quantise(lambda x: x + 1, [X])


def test_a_product_that_the_calibration_never_got_to() -> None:
    def branches(x: Any, other: bool) -> Any:
        return x @ W1 if other else x @ (W1 + 1)

    small = jitflow.quantise(branches, [(X, True)])
    assert small.report()[1].left == "the calibration data never gets there"
    with pytest.raises(UserValueError, match="was not reached with the calibration data"):
        small(X, True)


def test_gradients_and_training_are_refused() -> None:
    with pytest.raises(UserNotImplementedError, match="a gradient in a function that is quantised"):
        jitflow.quantise(jitflow.grad(lambda x: (x @ W1).sum()), [X])
    small = jitflow.quantise(network, [X])
    with pytest.raises(UserNotImplementedError, match="a gradient in a function that is quantised"):
        jitflow.grad(lambda x: small(x).sum())(X)
    weight = Variable(normal(30, 3))

    def training(x: Any) -> Any:
        found = x @ weight
        weight.assign(weight * 2)
        return found

    with pytest.raises(UserNotImplementedError, match="writes to a weight"):
        jitflow.quantise(training, [X])


def test_a_part_is_refused_and_another_size() -> None:
    part = jitflow.function(lambda x: jitflow.name(x @ W1, "hidden") + 1).partial("hidden")
    with pytest.raises(UserNotImplementedError, match="a quantised form of a part"):
        jitflow.quantise(part, [X])
    small = jitflow.quantise(network, [X])
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        small(X[:, :9])


# -- a classifier --------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_a_classifier_of_digits_is_as_good() -> None:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = (images[order] / 16).astype(np.float32), labels[order]
    rng, optimiser = jitflow.random.Generator(2), jitflow.optim.Adam(0.01)
    weights = [Variable(nn.he_normal(shape, rng)) for shape in ((64, 100), (100, 10))]
    biases = [Variable(nn.zeros(100)), Variable(nn.zeros(10))]

    def scores(images: Any) -> Any:
        hidden = nn.relu(images @ weights[0] + biases[0])
        return hidden @ weights[1] + biases[1]

    @jitflow.function
    def step(images: Any, labels: Any) -> Any:
        return optimiser.minimize(lambda: nn.cross_entropy(scores(images), labels), [*weights, *biases])

    train, test = slice(600, None), slice(0, 600)
    for _ in range(80):
        step(images[train], labels[train])
    small = jitflow.quantise(scores, [images[600:900]])
    accuracy, quantised = (
        float((found.argmax(1) == labels[test]).mean())
        for found in (jitflow.function(scores)(images[test]), small(images[test]))
    )
    assert accuracy > 0.93
    assert quantised >= accuracy - 0.005
    assert all(layer.error < 0.02 for layer in small.report())


def error_of(found: Any, expected: Any) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_what_calls_may_change_is_no_weight() -> None:
    square, x = normal(8, 8), normal(12, 8)

    def written(x: Any) -> Any:
        w = square.copy()
        w[0] = x[0]
        return np.tanh(x @ square) @ w

    small = jitflow.quantise(written, [x])
    assert error_of(small(x[::-1]), written(x[::-1])) < 0.03
    tall = normal(40, 8)

    def chosen(x: Any, i: Any) -> Any:
        return x @ tall[i : i + 8] + x @ square

    small = jitflow.quantise(chosen, [(x, 1)])
    assert error_of(small(x, 1), chosen(x, 1)) < 0.03
    with pytest.raises(UserValueError, match="was not reached with the calibration data"):
        small(x, 5)

    def by_size(x: Any) -> Any:
        return x @ (square / x.shape[0])

    small = jitflow.quantise(by_size, [x, x[:5]])
    assert error_of(small(x), by_size(x)) < 0.03
    assert error_of(small(x[:5]), by_size(x[:5])) < 0.03


def test_each_product_of_a_line_has_a_range_of_its_own() -> None:
    square, x = normal(8, 8), normal(12, 8)

    def twice(x: Any) -> Any:
        return np.tanh(x @ square) * 1e4 @ square

    assert error_of(jitflow.quantise(twice, [x])(x), twice(x)) < 0.05


def test_a_weight_that_is_a_product_of_weights_stays_in_floats() -> None:
    square, low, x = normal(8, 8), normal(8, 2), normal(12, 8)

    def adapted(x: Any) -> Any:
        return x @ (square + low @ low.T)

    assert error_of(jitflow.quantise(adapted, [x])(x), adapted(x)) < 0.03
