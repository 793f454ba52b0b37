"""Networks and learning, as plain Python, against other formulas for the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.signal
from numpy.lib.stride_tricks import sliding_window_view

from tests.gallery import example, plain


def convolve(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    windows = sliding_window_view(x, weights.shape[:2], (1, 2))
    return np.einsum("bijcyx,yxcf->bijf", windows, weights)


def pool(x: np.ndarray) -> np.ndarray:
    even = x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2]
    return even.reshape(len(x), x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1).max((2, 4))


def test_convolution() -> None:
    pictures, weights, bias = example("convolution")
    got = plain("convolution")(pictures, weights, bias)
    for feature in range(weights.shape[3]):
        for picture, output in zip(pictures, got, strict=True):
            channels = zip(picture.transpose(2, 0, 1), weights[..., feature].transpose(2, 0, 1), strict=True)
            expected = sum(scipy.signal.correlate2d(one, window, "valid") for one, window in channels)
            np.testing.assert_allclose(output[..., feature], expected + bias[feature], rtol=1e-5)


def test_max_pooling() -> None:
    (x,) = example("max_pooling")
    output, back = plain("max_pooling")(x)
    np.testing.assert_array_equal(output, pool(x))
    np.testing.assert_array_equal(pool(back), pool(x))
    np.testing.assert_array_equal(back, np.where(x == np.kron(pool(x), np.ones((1, 2, 2, 1))), x, 0))


def test_lenet() -> None:
    x, conv1, bias1, conv2, bias2, *dense = example("lenet")
    y = x.astype(np.float64)
    y = pool(np.maximum(convolve(y, conv1) + bias1, 0))
    y = pool(np.maximum(convolve(y, conv2) + bias2, 0)).reshape(len(x), -1)
    y = np.maximum(np.maximum(y @ dense[0], 0) @ dense[1], 0) @ dense[2]
    np.testing.assert_allclose(plain("lenet")(x, conv1, bias1, conv2, bias2, *dense), y, rtol=1e-3, atol=1e-3)


def test_resnet_block() -> None:
    x, conv1, conv2, conv3 = (one.astype(np.float64) for one in example("resnet_block"))

    def normalise(y: np.ndarray) -> np.ndarray:
        return (y - y.mean(0)) / np.sqrt(y.std(0) + 1e-5)

    y = np.pad(convolve(x, conv1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.maximum(normalise(convolve(np.maximum(normalise(y), 0), conv2)), 0)
    expected = np.maximum(normalise(convolve(y, conv3)) + x, 0)
    np.testing.assert_allclose(plain("resnet_block")(*example("resnet_block")), expected, rtol=1e-3, atol=1e-3)


def test_softmax_attention() -> None:
    x, wq, wk, wv, wo, heads = example("softmax_attention")
    length, channels = x.shape
    width = channels // heads
    q, k, v = ((x @ w).astype(np.float64) for w in (wq, wk, wv))
    rows = np.zeros((length, channels))
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for token in range(length):
            weights = np.exp(k[: token + 1, part] @ q[token, part] / np.sqrt(width))
            rows[token, part] = np.average(v[: token + 1, part], axis=0, weights=weights)
    np.testing.assert_allclose(plain("softmax_attention")(x, wq, wk, wv, wo, heads), rows @ wo, rtol=1e-3, atol=1e-5)


def test_mlp() -> None:
    x, y, w1, b1, w2, b2, rate, _ = example("mlp")

    def loss(*weights: np.ndarray) -> float:
        first, shift, second, last = weights
        z = np.maximum(x @ first + shift, 0) @ second + last
        return float(np.mean(np.logaddexp(0, z) - y * z))

    before = [w1.copy(), b1.copy(), w2.copy(), b2.copy()]
    assert plain("mlp")(x, y, w1, b1, w2, b2, rate, 1)[0] == pytest.approx(loss(*before))
    for number, after in enumerate((w1, b1, w2, b2)):
        for place in np.ndindex(after.shape):
            moved = [[one.copy() for one in before] for _ in range(2)]
            moved[0][number][place] += 1e-6
            moved[1][number][place] -= 1e-6
            slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-6
            assert after[place] == pytest.approx(before[number][place] - rate * slope, abs=1e-6)
    many = plain("mlp")(x, y, w1, b1, w2, b2, rate, 300)
    assert many[-1] < many[0] / 2


def test_lstm() -> None:
    x, w, u, b = example("lstm")
    hidden, c = plain("lstm")(x, w, u, b)
    for row in range(x.shape[1]):
        h, cell = np.zeros(u.shape[0]), np.zeros(u.shape[0])
        for t in range(len(x)):
            i, f, g, o = np.split(x[t, row] @ w + h @ u + b, 4)
            cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            h = np.tanh(cell) / (1 + np.exp(-o))
            np.testing.assert_allclose(hidden[t, row], h)
        np.testing.assert_allclose(c[row], cell)


def test_kmeans() -> None:
    points, start, limit = example("kmeans")
    centres, labels, rounds = plain("kmeans")(points, start, limit)
    assert 1 < rounds < limit
    np.testing.assert_array_equal(scipy.cluster.vq.vq(points, centres)[0], labels)
    for k, centre in enumerate(centres):
        np.testing.assert_allclose(centre, points[labels == k].mean(axis=0))
    expected, _ = scipy.cluster.vq.kmeans2(points, start, 20, minit="matrix")
    np.testing.assert_allclose(centres, expected)


def test_perceptron() -> None:
    x, y, _ = example("perceptron")
    weights, bias, rounds = plain("perceptron")(x, y, 1000)
    assert rounds < 1000
    assert np.all(np.sign(x @ weights + bias) == y)
    assert plain("perceptron")(x, y, 1)[2] == 1
