"""Programs as strangers bring them, compiled: each exercises what no program of the gallery does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ITERATED, assert_all_same, assert_same

Program = Callable[..., Any]
CASES: dict[Program, list[Callable[[], tuple[Any, ...]]]] = {}


def brings(*arguments: Callable[[], tuple[Any, ...]]) -> Callable[[Program], Program]:
    """A program, and what makes its arguments for each call."""

    def add(program: Program) -> Program:
        CASES[program] = list(arguments)
        return program

    return add


def noise(*dims: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=dims)


@brings(lambda: (16, 0.05, 5), lambda: (8, 0.01, 2))
def spectral_navier_stokes(n: Any, dt: Any, steps: Any) -> Any:
    x, y = np.meshgrid(np.linspace(0, 1, n + 1)[:n], np.linspace(0, 1, n + 1)[:n])
    vx, vy = -np.sin(2 * np.pi * y), np.sin(4 * np.pi * x)
    waves = 2.0 * np.pi * np.arange(-n / 2, n / 2)
    kx, ky = (np.fft.ifftshift(k) for k in np.meshgrid(waves, waves))
    squares = kx**2 + ky**2
    inverse = 1.0 / np.where(squares == 0, 1, squares)

    def gradient(v: Any) -> Any:
        transformed = np.fft.fftn(v)
        return np.real(np.fft.ifftn(1j * kx * transformed)), np.real(np.fft.ifftn(1j * ky * transformed))

    for _ in range(steps):
        dvx_x, dvx_y = gradient(vx)
        dvy_x, dvy_y = gradient(vy)
        push_x, push_y = -(vx * dvx_x + vy * dvx_y), -(vx * dvy_x + vy * dvy_y)
        vx += dt * push_x
        vy += dt * push_y
        divergence = gradient(push_x)[0] + gradient(push_y)[1]
        pressure = np.real(np.fft.ifftn(-np.fft.fftn(divergence) * inverse))
        px, py = gradient(pressure)
        vx -= dt * px
        vy -= dt * py
        vx = np.real(np.fft.ifftn(np.fft.fftn(vx) / (1.0 + dt * 0.001 * squares)))
        vy = np.real(np.fft.ifftn(np.fft.fftn(vy) / (1.0 + dt * 0.001 * squares)))
    return gradient(vy)[0] - gradient(vx)[1]


@brings(lambda: (12, 15, np.array([[3, 4], [4, 5]])), lambda: (5, 5, np.array([[0, 0]])))
def sandpile(height: Any, width: Any, drops: Any) -> Any:
    sand = np.zeros((height, width), dtype=int)
    sand[height // 2, width // 2] = 200
    for row, column in drops:
        sand[row, column] += 4
    topples = 0
    while (over := sand >= 4).any():
        sand[over] -= 4
        sand[1:][over[:-1]] += 1
        sand[:-1][over[1:]] += 1
        sand[:, 1:][over[:, :-1]] += 1
        sand[:, :-1][over[:, 1:]] += 1
        topples += 1
    return sand, topples, over.sum()


@brings(lambda: (np.frombuffer(b"Man is distinguished", np.uint8),), lambda: (np.frombuffer(b"Ma", np.uint8),))
def base64(data: Any) -> Any:
    alphabet = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8)
    missing = -len(data) % 3
    triples = np.pad(data, (0, missing)).reshape(-1, 3).astype(np.uint32)
    numbers = (triples[:, 0] << 16) | (triples[:, 1] << 8) | triples[:, 2]
    letters = alphabet[np.stack([(numbers >> shift) & 63 for shift in (18, 12, 6, 0)], axis=1)].ravel()
    if missing:
        letters[-missing:] = ord("=")
    return letters


@brings(lambda: (noise(64), 16, 8), lambda: (noise(20), 8, 4))
def spectrogram(x: Any, size: Any, hop: Any) -> Any:
    window = np.hanning(size)
    frames = 1 + (len(x) - size) // hop
    power = np.empty((size // 2 + 1, frames))
    for frame in range(frames):
        power[:, frame] = np.abs(np.fft.rfft(window * x[frame * hop : frame * hop + size])) ** 2
    frequencies = np.fft.rfftfreq(size, d=1 / 100)
    return power, (frequencies[:, None] * power).sum(0) / power.sum(0)


@brings(lambda: (noise(12, 13), 3), lambda: (noise(5, 5), 5))
def median_filter(image: Any, size: Any) -> Any:
    padded = np.pad(image, size // 2, mode="edge")
    found = np.zeros_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            found[i, j] = np.median(padded[i : i + size, j : j + size])
    return found


@brings(lambda: (noise(40, 2), 0.4, 3), lambda: (noise(17, 2, seed=1), 0.7, 4))
def dbscan(points: Any, radius: Any, enough: Any) -> Any:
    labels = -np.ones(len(points), dtype=int)
    visited = np.zeros(len(points), dtype=bool)
    cluster = 0
    for start in range(len(points)):
        if visited[start]:
            continue
        visited[start] = True
        neighbours = np.where(np.sqrt(((points - points[start]) ** 2).sum(axis=1)) <= radius)[0]
        if len(neighbours) < enough:
            continue
        labels[start] = cluster
        queue, waits = np.zeros(len(points), dtype=int), np.zeros(len(points), dtype=bool)
        head, tail = 0, len(neighbours)
        queue[:tail] = neighbours
        waits[neighbours] = True
        while head < tail:
            point = queue[head]
            head += 1
            if not visited[point]:
                visited[point] = True
                around = np.where(np.sqrt(((points - points[point]) ** 2).sum(axis=1)) <= radius)[0]
                if len(around) >= enough:
                    for other in around:
                        if not waits[other]:
                            waits[other] = True
                            queue[tail] = other
                            tail += 1
            if labels[point] == -1:
                labels[point] = cluster
        cluster += 1
    return labels, cluster


@brings(lambda: (np.array([5, 9, 12, 13, 16, 45]),), lambda: (np.array([1, 1, 2, 3, 5, 8, 13]),))
def huffman_lengths(frequencies: Any) -> Any:
    n = len(frequencies)
    parent = np.zeros(2 * n - 1, dtype=int)
    weight = np.concatenate((frequencies, np.full(n - 1, np.iinfo(int).max)))
    used = np.zeros(2 * n - 1, dtype=bool)
    for node in range(n, 2 * n - 1):
        free = np.where(used[:node], np.iinfo(int).max, weight[:node])
        i, j = np.argsort(free, kind="stable")[:2]
        used[i] = used[j] = True
        weight[node] = weight[i] + weight[j]
        parent[i] = parent[j] = node
    depth = np.zeros(2 * n - 1, dtype=int)
    for node in reversed(range(2 * n - 2)):
        depth[node] = depth[parent[node]] + 1
    return depth[:n], (depth[:n] * frequencies).sum() / frequencies.sum()


@brings(lambda: (noise(25, 2),), lambda: (noise(6, 2, seed=3),))
def convex_hull(points: Any) -> Any:
    order = points[np.lexsort((points[:, 1], points[:, 0]))]
    n, size = len(order), 0
    hull = np.zeros((2 * n, 2))
    for i in range(n):
        while size >= 2 and np.cross(hull[size - 1] - hull[size - 2], order[i] - hull[size - 2]) <= 0:
            size -= 1
        hull[size] = order[i]
        size += 1
    lower = size + 1
    for i in range(n - 2, -1, -1):
        while size >= lower and np.cross(hull[size - 1] - hull[size - 2], order[i] - hull[size - 2]) <= 0:
            size -= 1
        hull[size] = order[i]
        size += 1
    return hull[: size - 1]


@brings(lambda: (np.array([10, 9, 2, 5, 3, 7, 101, 18]),), lambda: (np.array([1, 2]),))
def longest_increasing(numbers: Any) -> Any:
    tails = np.zeros(len(numbers), dtype=numbers.dtype)
    size = 0
    for number in numbers:
        place = np.searchsorted(tails[:size], number)
        tails[place] = number
        size = max(int(place) + 1, size)
    return size, tails[:size]


@brings(lambda: (noise(60, 10), 36.0, 40.0), lambda: (noise(40, 4, seed=1), 36.0, 40.0))
def american_option(draws: Any, spot: Any, strike: Any) -> Any:
    count, steps = draws.shape
    prices = spot * np.exp(np.cumsum(0.04 / steps + 0.2 * np.sqrt(1.0 / steps) * draws, axis=1))
    cash = np.maximum(strike - prices[:, -1], 0)
    for step in range(steps - 2, -1, -1):
        cash *= np.exp(-0.06 / steps)
        worth = prices[:, step] < strike
        if worth.sum() > 3:
            fit = np.polyfit(prices[worth, step], cash[worth], 2)
            exercised = strike - prices[worth, step]
            cash[worth] = np.where(exercised > np.polyval(fit, prices[worth, step]), exercised, cash[worth])
    return np.mean(cash), np.std(cash) / np.sqrt(count)


@brings(lambda: (noise(6, 6), noise(6)))
def in_place(a: Any, b: Any) -> Any:
    a += a.T
    a -= b
    b /= np.abs(b).sum()
    a[np.diag_indices(6)] = 0
    a.flat[::7] += 1
    a.ravel()[1:4] = b[:3]
    a[:, [0, 2]] = a[:, [2, 0]]
    np.copyto(b, 1, where=b > 0)
    return a.copy()


@brings(lambda: (noise(40, 5), 2), lambda: (noise(9, 5, seed=1), 3))
def principal_components(x: Any, count: Any) -> Any:
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    vectors = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), range(vectors.shape[1])])
    return centred @ vectors[:, :count], values[:count] / values.sum()


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_it_gives_what_python_gives(program: Program) -> None:
    compiled = jitflow.function(program)
    for make in CASES[program]:
        ours, theirs = copy.deepcopy(make()), copy.deepcopy(make())
        assert_same(compiled(*ours), program(*theirs), ITERATED)
        assert_all_same(ours, theirs, ITERATED)
