"""Loops of every kind, for `test_explained_loops.py`."""

from __future__ import annotations

import numpy as np

import jitflow


def kinds(u, n, steps):
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    error, total = 1.0, 0.0
    while error > 0.5:
        v = u * error
        error = error * 0.5
        for k in range(3):
            v = v + k
        for j in range(10):
            v = v * j
        if v[0] < 0.1:
            break
    parts = []
    for i in range(6):
        parts.append(u * i)
    for part in parts:
        total = total + part.sum()
    for _, number in {"x": 1.0, "y": 2.0}.items():
        total = total + number
    for row in u.reshape(2, -1):
        total = total + row[0]
    return total, v


def nests(u, n):
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            total += u[j] * helper(u, n)
    for i in range(7):
        total = total + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][i]
        for j in range(i):  # the first turns are written out, the others are loops
            total -= u[j]
    count, seen = 0, []
    while count < 6:
        seen.append(count)
        count += 1
    for position, (a, b) in enumerate(zip(u, u * 2, strict=True)):
        total += position * a * b
    for _ in ():
        total += 1
    return total + sum(seen)


def helper(u, n):
    largest = u[0]
    for i in range(n):
        if u[i] > largest:
            largest = u[i]
    return largest


def explicit(u, n):
    total = jitflow.fori_loop(0, n, lambda i, carry: carry + i, 0.0)
    _, sums = jitflow.scan(lambda carry, x: (carry + x, carry), 0.0, u)
    return jitflow.while_loop(lambda x: x < 100, lambda x: x * 2, total), sums, u[u > 0]


def straight(u):
    return np.exp(u) + 1
