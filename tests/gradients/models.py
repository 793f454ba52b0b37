"""Models as people bring them from other libraries: networks, filters, simulations, factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow

RANDOM = np.random.default_rng(0)


def draw(*shape: int, scale: float = 1.0) -> Any:
    return RANDOM.normal(size=shape) * scale


INPUTS, LABELS = draw(12, 5), RANDOM.integers(0, 3, 12)


def log_sum_exp(x: Any, axis: int) -> Any:
    largest = np.max(x, axis=axis, keepdims=True)
    return largest + np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True))


def sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(x / 2) + 1)


def perceptron(layers: Any) -> Any:
    x = INPUTS
    for weights, bias in layers:
        z = np.dot(x, weights) + bias
        x = np.tanh(z)
    chosen = np.eye(3)[LABELS]
    penalty = sum(np.dot(part.ravel(), part.ravel()) for layer in layers for part in layer)
    return -np.sum((z - log_sum_exp(z, 1)) * chosen) + 0.5 * penalty


def convolutions(p: Any) -> Any:
    pictures = np.sin(np.arange(72.0)).reshape(2, 1, 6, 6)
    windows = np.lib.stride_tricks.sliding_window_view(pictures, (3, 3), axis=(2, 3))
    h = np.maximum(np.einsum("ncijkl,ockl->noij", windows, p["kernel"]) + p["bias"][:, None, None], 0)
    count, channels, rows, columns = h.shape
    h = h.reshape(count, channels, rows // 2, 2, columns // 2, 2).max(axis=(3, 5))
    z = h.reshape(count, -1) @ p["weights"]
    return -(z - log_sum_exp(z, 1))[np.arange(2), np.array([0, 2])].mean()


def long_short_term_memory(p: Any) -> Any:
    x = np.cos(np.arange(42.0)).reshape(7, 2, 3)
    cell, total = np.repeat(p["start"], 2, axis=0), 0.0
    hidden = np.tanh(cell)
    for t in range(x.shape[0]):
        z = np.concatenate([x[t], hidden, np.ones((2, 1))], axis=1)
        forget, enter, leave = (sigmoid(z @ p[name]) for name in ("forget", "enter", "leave"))
        cell = forget * cell + enter * np.tanh(z @ p["change"])
        hidden = leave * np.tanh(cell)
        total += np.sum(hidden**2)
    return total


def transformer(p: Any) -> Any:
    x = np.sin(np.arange(80.0)).reshape(2, 5, 8)

    def normalised(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * p["gain"] + p["shift"]

    def heads(x: Any) -> Any:
        return x.reshape(2, 5, 2, 4).transpose(0, 2, 1, 3)

    h = normalised(x)
    query, key, value = (heads(h @ p[name]) for name in ("query", "key", "value"))
    scores = np.where(np.tril(np.ones((5, 5), bool)), query @ key.swapaxes(-1, -2) / 2.0, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    x = x + (weights @ value).transpose(0, 2, 1, 3).reshape(2, 5, 8) @ p["out"]
    h = normalised(x) @ p["up"]
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    return ((x + h @ p["down"]) ** 2).mean()


def gaussian_process(theta: Any) -> Any:
    x = np.linspace(0, 3, 7)
    covariance = np.exp(theta[0]) * np.exp(-0.5 * (x[:, None] - x) ** 2 / np.exp(theta[1]) ** 2)
    factor = np.linalg.cholesky(covariance + np.exp(theta[2]) * np.eye(7))
    solved = np.linalg.solve(factor.T, np.linalg.solve(factor, np.cos(x)))
    return 0.5 * np.cos(x) @ solved + np.log(np.diag(factor)).sum()


def predators_and_prey(rates: Any) -> Any:
    def slope(z: Any) -> Any:
        x, y = z
        return np.array([rates[0] * x - rates[1] * x * y, -rates[2] * y + rates[3] * x * y])

    z, step, total = np.array([10.0, 5.0]), 0.05, 0.0
    for _ in range(60):
        first = slope(z)
        second = slope(z + step / 2 * first)
        third = slope(z + step / 2 * second)
        z = z + step / 6 * (first + 2 * second + 2 * third + slope(z + step * third))
        total = total + np.sum((z - 5) ** 2)
    return total / 60


def kalman_filter(p: Any) -> Any:
    noise, measured = p["noise"] @ p["noise"].T + 0.1 * np.eye(2), np.eye(1) * np.exp(p["spread"])
    mean, spread, likelihood = np.zeros(2), np.eye(2), 0.0
    for y in np.sin(np.arange(10) * 0.5)[:, None]:
        mean, spread = p["step"] @ mean, p["step"] @ spread @ p["step"].T + noise
        innovation = p["seen"] @ spread @ p["seen"].T + measured
        gain = np.linalg.solve(innovation, p["seen"] @ spread).T
        v = y - p["seen"] @ mean
        likelihood -= 0.5 * (v @ np.linalg.inv(innovation) @ v + np.log(np.linalg.det(2 * np.pi * innovation)))
        mean, spread = mean + gain @ v, spread - gain @ innovation @ gain.T
    return likelihood


def hidden_markov(p: Any) -> Any:
    start, moves, seen = p
    start, moves, seen = start - log_sum_exp(start, 0), moves - log_sum_exp(moves, 1), seen - log_sum_exp(seen, 1)
    symbols = np.array([0, 1, 3, 2, 1, 0, 0, 3])
    alpha = start + seen[:, symbols[0]]
    for symbol in symbols[1:]:
        alpha = log_sum_exp(alpha[:, None] + moves, 0)[0] + seen[:, symbol]
    return log_sum_exp(alpha, 0)[0]


def sinkhorn(costs: Any) -> Any:
    kernel, u, v = np.exp(-np.abs(costs) / 0.5), np.ones(5) / 5, np.ones(5) / 5
    for _ in range(50):
        u = 0.2 / (kernel @ v)
        v = 0.2 / (kernel.T @ u)
    return np.sum(u[:, None] * kernel * v * np.abs(costs))


def springs(x: Any) -> Any:
    v = np.zeros_like(x)
    for _ in range(20):
        force = np.zeros_like(x)
        for a, b in [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]:
            d = x[b] - x[a]
            pull = 10 * (np.sqrt(d @ d) - 1) * d / np.sqrt(d @ d)
            force[a] += pull
            force[b] -= pull
        force[:, 1] -= 9.8
        v = 0.99 * v + 0.01 * force
        x = x + 0.01 * v
    return np.mean((x - 1) ** 2)


def smoke(p: Any) -> Any:
    vx, vy = p

    def carried(f: Any, vx: Any, vy: Any) -> Any:
        rows, columns = f.shape
        x = (np.arange(rows)[:, None] - vx).ravel()
        y = (np.arange(columns)[None, :] - vy).ravel()
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        a, b = x - left, y - top
        left, top = left % rows, top % columns
        right, bottom = (left + 1) % rows, (top + 1) % columns
        above = (1 - b) * f[left, top] + b * f[left, bottom]
        return ((1 - a) * above + a * ((1 - b) * f[right, top] + b * f[right, bottom])).reshape(rows, columns)

    density = np.sin(np.arange(36.0)).reshape(6, 6)
    for _ in range(3):
        vx = carried(vx, vx, vy)
        pressure = np.zeros((6, 6))
        source = -0.5 * (np.roll(vx, -1, 0) - np.roll(vx, 1, 0) + np.roll(vy, -1, 1) - np.roll(vy, 1, 1))
        for _ in range(5):
            around = np.roll(pressure, 1, 0) + np.roll(pressure, -1, 0) + np.roll(pressure, 1, 1)
            pressure = (source + around + np.roll(pressure, -1, 1)) / 4
        vy = vy - 0.5 * (np.roll(pressure, -1, 1) - np.roll(pressure, 1, 1))
        density = carried(density, vx, vy)
    return np.mean((density - 0.5) ** 2)


def elimination_with_pivots(p: Any) -> Any:
    a, b, n = p + 3 * np.eye(4), np.arange(4.0) + 1, 4
    for i in range(n):
        pivot = i + np.argmax(np.abs(a[i:, i]))
        if pivot != i:
            a[[i, pivot]] = a[[pivot, i]]
            b[[i, pivot]] = b[[pivot, i]]
        for j in range(i + 1, n):
            factor = a[j, i] / a[i, i]
            a[j, i:] -= factor * a[i, i:]
            b[j] -= factor * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x**2)


def clusters(p: Any) -> Any:
    points, centres = p[:20], p[20:].copy()
    labels = np.full(20, -1)
    for _ in range(6):
        nearest = np.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        for k in range(3):
            mine = labels == k
            if mine.any():
                centres[k] = points[mine].mean(0)
    return (centres**2).sum()


def learned_rate(p: Any) -> Any:
    targets = INPUTS[:, :3] @ np.array([1.0, 2.0, -1.0])

    def loss(w: Any) -> Any:
        return np.mean((INPUTS[:, :3] @ w - targets) ** 2) + np.exp(p[1]) * np.sum(w**2)

    w, v = np.zeros(3), np.zeros(3)
    for _ in range(6):
        v = 0.9 * v + jitflow.grad(loss)(w)
        w = w - 0.1 * p[0] * v
    return np.mean((INPUTS[:4, :3] @ w - targets[:4]) ** 2)


def equation_learned(p: Any) -> Any:
    """A network that satisfies u'' + u = 0."""

    def u(x: Any) -> Any:
        return np.sum(p["c"] * np.tanh(p["a"] * x + p["b"]))

    total = u(0.0) ** 2
    for x in np.linspace(0.0, 1.0, 4):
        _, second = jitflow.jvp(jitflow.grad(u), (x,), (1.0,))
        total = total + (second + u(x)) ** 2
    return total


def flow(p: Any) -> Any:
    z, total = np.array([0.3, -0.2, 0.5]), 0.0
    for _ in range(3):

        def planar(z: Any) -> Any:
            return z + p["u"] * np.tanh(z @ p["w"] + p["b"])

        total = total + np.linalg.slogdet(jitflow.jacobian(planar)(z))[1]
        z = planar(z)
    return np.sum(z**2) - total


def two_levels(p: Any) -> Any:
    def inner(w: Any) -> Any:
        return np.mean((INPUTS[:, :3] @ w - INPUTS[:, 3]) ** 2) + np.exp(p[0]) * np.sum(w**2)

    w = np.zeros(3)
    for _ in range(2):
        w = w - np.linalg.solve(jitflow.hessian(inner)(w), jitflow.grad(inner)(w))
    return np.mean((INPUTS[:5, :3] @ w - INPUTS[:5, 3]) ** 2) * p[1]


MODELS: list[tuple[Any, Any]] = [
    (perceptron, [(draw(5, 4, scale=0.5), draw(4)), (draw(4, 3), draw(3))]),
    (convolutions, {"kernel": draw(2, 1, 3, 3, scale=0.4), "bias": draw(2) + 0.5, "weights": draw(8, 3)}),
    (long_short_term_memory, {"start": draw(1, 4), **{name: draw(8, 4, scale=0.5) for name in
                              ("forget", "enter", "leave", "change")}}),
    (transformer, {**{name: draw(8, 8, scale=0.3) for name in ("query", "key", "value", "out")},
                   "gain": np.ones(8), "shift": np.zeros(8), "up": draw(8, 16), "down": draw(16, 8)}),
    (gaussian_process, draw(3, scale=0.3)),
    (predators_and_prey, np.array([1.0, 0.1, 1.5, 0.075])),
    (kalman_filter, {"step": np.eye(2) + 0.1 * draw(2, 2), "noise": draw(2, 2), "seen": draw(1, 2), "spread": 0.2}),
    (hidden_markov, (draw(3), draw(3, 3), draw(3, 4))),
    (sinkhorn, draw(5, 5)),
    (springs, np.array([[0.0, 0.0], [1.1, 0.1], [1.0, 1.2], [-0.1, 0.9]])),
    (smoke, (draw(6, 6, scale=0.1), draw(6, 6, scale=0.1))),
    (elimination_with_pivots, draw(4, 4)),
    (clusters, draw(23, 2)),
    (learned_rate, np.array([0.8, -1.0])),
    (equation_learned, {"a": draw(4), "b": draw(4), "c": draw(4)}),
    (flow, {"w": draw(3, scale=0.5), "u": draw(3, scale=0.5), "b": 0.1}),
    (two_levels, np.array([-1.0, 1.5])),
]  # fmt: skip
