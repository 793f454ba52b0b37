"""Programs that placement is tried on, as the function that it gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.compilation.compiler import optimize
from jitflow.ir.core import Function, walk


def optimized(function: Any, *args: Any) -> Function:
    """What placement gets of a compiled function."""
    return optimize(function._trace(function._bind(args, {})))


def devices_of(function: Function, *names: str) -> set[str]:
    """Where the ops of these names are."""
    return {op.attributes["device"] for op in walk(function.region) if op.name in names}


def fork(x):  # type: ignore[no-untyped-def]
    a = x
    for _ in range(3):
        a = np.sin(a @ x)
    b = x + 1
    for _ in range(3):
        b = np.cos(b @ x)
    return a + b


def pipeline(xs, w1, w2):  # type: ignore[no-untyped-def]
    out = np.zeros(xs.shape[0])
    for i in range(xs.shape[0]):
        h = np.tanh(np.tanh(xs[i] @ w1) @ w1)
        out[i] = np.exp(np.exp(h @ w2) @ w2).sum()
    return out


def chain(x):  # type: ignore[no-untyped-def]
    for _ in range(4):
        x = np.sin(x @ x)
    return x


def many_arrays(x):  # type: ignore[no-untyped-def]
    kept = [np.sin(x @ (x + k)) for k in range(8)]
    total = kept[0]
    for one in kept[1:]:
        total = total @ one
    return total
