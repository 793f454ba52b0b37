"""Programs that update two variables, or arrays in their place, and raise, at some point, if a number is negative."""

from __future__ import annotations

import jitflow


class Stop(Exception):
    """What a callback raises."""


@jitflow.callback
def stop(x: float) -> None:
    if x < 0:
        raise Stop


def straight(w, v, x, n):
    w[...] = w * 2 + x
    v -= w
    assert n >= 0
    v[0] = 7


def index(w, v, x, n):
    w += 1
    v[1:] = w[:-1]
    w[0] = x[n if n >= 0 else n * 100]


def branch(w, v, x, n):
    if n > 2:
        w *= n
    else:
        w -= v
        if n < 0:
            raise ValueError("negative")
    v[...] = w


def loop(w, v, x, n):
    for turn in range(20):
        w[turn % 4] += x[turn % 3] * n
        v[turn % 4] = w[(turn + 1) % 4]
        assert turn < 15 or n >= 0
    w += 1


def endless(w, v, x, n):
    turn = 0
    w[...] = x
    while w[0] < 100:
        w += abs(x[0]) + 1
        turn += 1
        if turn > 5 and n < 0:
            raise ValueError("too long")
    v[...] = w * turn


def views(w, v, x, n):
    part = w[1:3]
    other = w[::2]
    part += 1
    stop(n)
    other *= 2
    part -= v[:2]


def either(w, v, x, n):
    u = w if x[0] > 0 else v
    u[0] = 5
    stop(n)
    u[1] = 6


def swapped(w, v, x, n):
    a, b = w, v
    for turn in range(7):
        a[1:] = b[:-1] + turn
        a, b = b, a
    assert n >= 0
    a[0] = 1


def gathered(w, v, x, n):
    v[[0, 1]] = w[:2]
    w[[0, 3, 0, int(n) * 100 if n < 0 else 2]] = x[:4]


def callbacks(w, v, x, n):
    w += x
    stop(n)
    v += w
    stop(n - 1 if n < 0 else n)
    w += v


PROGRAMS = [straight, index, branch, loop, endless, views, either, swapped, gathered, callbacks]
