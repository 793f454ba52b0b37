"""Programs of one example, with the arguments of several: what `jitflow.vmap` must do as a loop does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Program", "looped", "stacked"]

_random = np.random.default_rng(0)
X, V = _random.normal(size=(6, 4)), _random.normal(size=6)
W, M = _random.normal(size=(4, 3)), _random.normal(size=(6, 4, 4))
K = np.array([0, 3, 1, 2, 5, 0])


@dataclass(frozen=True)
class Program:
    """A function of one example, the arguments of all, and along which axes the examples are."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    in_axes: tuple[int | None, ...]

    @property
    def name(self) -> str:
        return self.function.__name__

    def of_examples(self, count: int) -> list[Any]:
        """The arguments of the first examples."""
        pairs = zip(self.arguments, self.in_axes, strict=True)
        return [np.copy(value if axis is None else value[:count]) for value, axis in pairs]


PROGRAMS: list[Program] = []


def program(*arguments: Any, in_axes: Sequence[int | None] = ()) -> Callable[[Callable[..., Any]], Any]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function, arguments, tuple(in_axes or [0] * len(arguments))))
        return function

    return enter


def looped(program: Program, arguments: Sequence[Any]) -> Any:
    """What a loop over the examples finds."""
    axes = program.in_axes
    count = next(len(value) for value, axis in zip(arguments, axes, strict=True) if axis == 0)
    found = []
    for number in range(count):
        example = [value if axis is None else value[number] for value, axis in zip(arguments, axes, strict=True)]
        found.append(program.function(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in example)))
    return stacked(found)


def stacked(found: Sequence[Any]) -> Any:
    """Results of one structure, stacked leaf by leaf."""
    first = found[0]
    if isinstance(first, tuple | list):
        return type(first)(stacked([one[place] for one in found]) for place in range(len(first)))
    if isinstance(first, dict):
        return {key: stacked([one[key] for one in found]) for key in first}
    return np.stack(found)


# -- straight


@program(X, W, in_axes=(0, None))
def layer(x, w):
    return np.tanh(x @ w)


@program(X)
def softmax(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum()


@program(K)
def integers(k):
    return k * 2, k // 3, k % 3, -k, k < 2, ~k, int(k) + 1, float(k)


@program(X)
def structures(x):
    return {"a": x[0], "b": (x[1:], [x.sum()])}


@program(X.astype(np.float32))
def single_precision(x):
    return (x * 2 + 1).mean(), np.sin(x), x.std()


@program(X + 1j * X[::-1])
def complex_numbers(x):
    return x.conj() + 2j * x.imag, np.abs(x), x.real, np.exp(x), x.sum()


@program(X > 0)
def bools(x):
    return x & ~x[::-1], x.any(), x.sum(), np.where(x, 1, 2)


@program(X)
def the_same_for_all(x):
    return 1.0, np.arange(3), x * 0 + 1, True


@program(X)
def as_they_are(x):
    return x, x[0], x[::-1]


@program(X)
def shapes(x):
    return (np.concatenate([x, np.ones(2)]), np.stack([x, x * 2], 1), np.outer(x, x), x[:, None] + x[None],
            x.reshape(2, 2).T, np.pad(x, 1))  # fmt: skip


@program(X, M)
def contractions(x, m):
    return np.einsum("i,ij,j", x, m, x), np.einsum("ij,jk->ik", m, W), m @ x, x @ m, m.T @ m, np.dot(x, x)


@program(M)
def reductions(m):
    return m.sum(0), m.max(axis=1), np.trace(m), np.diag(m), np.linalg.norm(m), m.argmin(), m.var(1)


@program(X)
def choices(x):
    return np.where(x > 0, x, 0), np.clip(x, -1, 1), np.maximum(x, 0)


@program(X)
def orders(x):
    return np.sort(x), np.argsort(x), np.argmax(x), np.cumsum(x), np.median(x)


@program(V)
def numbers(a):
    return math.sin(a), abs(a) ** 0.5, round(a, 2)


@program(M, X)
def routines(m, x):
    return np.linalg.solve(m, x), np.linalg.det(m), np.linalg.inv(m) @ m


# -- positions


@program(X, K)
def gathers(x, k):
    return x[k % 4], x[np.array([0, 2])], W[k % 4], W[k % 4, 1], np.take(x, [k % 4, 0])


@program(X, K)
def parts_that_begin_somewhere(x, k):
    start = k % 3
    return x[start + np.arange(2)], x[start : start + 2].sum(), np.arange(5)[k % 5 : k % 5 + 1].sum()


@program(M, K)
def elements_of_matrices(m, k):
    i = k % 4
    m[i, 3 - i] = 7
    m[:, i] *= 2
    return m, m[i, 1], m[1, i]


@program(X)
def sizes_of_the_run(x):
    count = int((x > 0).sum())
    return x[x > 0].sum(), (x > 0).sum(), np.nonzero(x > 0)[0].size, x[:count].sum(), np.arange(count).sum()


# -- branches and loops


@program(V)
def leaky(a):
    if a > 0:
        return a
    return 0.1 * a


@program(X)
def nested_branches(x):
    if x[0] > 0:
        factor = 2.0 if x[1] > 0 else 3.0
        y = x * factor
    else:
        y = -x
    return y + x[0]


@program(V)
def newton(a):
    a = abs(a) + 1
    y, turns = a, 0
    while abs(y * y - a) > 1e-9:
        y = 0.5 * (y + a / y)
        turns += 1
    return y, turns


@program(X, K)
def turns_of_each(x, k):
    total = 0.0
    for i in range(k):
        total += x[i % 4] * i
    return total


@program(X)
def first_beyond(x):
    for i in range(4):
        if x[i] > 0.3:
            return i
    return -1


@program(X)
def recurrent(x):
    state, weights = np.zeros(4), np.full((4, 4), 0.1)
    for i in range(4):
        state = np.tanh(weights @ state + x[i])
    return state


@program(X)
def counted(x):
    i, total = 0, x * 0
    while i < 3:
        total = total + x * i
        i += 1
    return total


@program(X)
def with_a_list(x):
    found = []
    for i in range(4):
        if x[i] > 0:
            found.append(x[i])
    return len(found), sum(found)


@program(X)
def asserted(x):
    assert x.sum() < 1e9, f"too large: {x.sum()}"
    return x.sum()


# -- storage


@program(X, K)
def elements_stored(x, k):
    u = x.copy()
    u[k % 4] = 9
    u[0] += k
    return u


@program(X)
def heat(x):
    u = x.copy()
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(X)
def swapped(x):
    u, v = x.copy(), np.zeros(4)
    for _ in range(3):
        v[:] = u * 2
        u, v = v, u
    return u


@program(X)
def rows_stored(x):
    y = np.zeros((2, 4))
    y[0] = x
    y[1, ::2] = x[:2]
    y[:, 1] += x.sum()
    return y


@program(X)
def its_argument_stored(x):
    x[0] = 9.0
    x[x > 1] = 0
    return x, x.sum()
