"""In place means in place: what the host programs of optimiser steps over ten parameters allocate, copy and launch.

``plans.txt`` is a table as in `tests/passes/lower/test_plans.py`; ``pytest -n0 --bless tests/variables`` renews it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.parser import parse
from tests.passes.lower.test_plans import KINDS, inside_out, kind_of

TABLE = Path(__file__).parent / "plans.txt"
SHAPES = [(84, 40), (40,), (40, 50), (50,), (50, 30), (30,), (30, 30), (30,), (30, 17), (17,)]


def _variables() -> list[jitflow.Variable]:
    return [jitflow.Variable(np.zeros(shape, np.float32)) for shape in SHAPES]


PARAMETERS, FIRST, SECOND = _variables(), _variables(), _variables()
STEPS = jitflow.Variable(0)


@jitflow.function
def sgd(gradients: Any, lr: float) -> None:
    for w, g in zip(PARAMETERS, gradients, strict=True):
        w -= lr * g


@jitflow.function
def momentum(gradients: Any, lr: float) -> None:
    for w, g, m in zip(PARAMETERS, gradients, FIRST, strict=True):
        m[...] = 0.9 * m + g
        w -= lr * m


@jitflow.function
def adam(gradients: Any, lr: float) -> None:
    STEPS.assign_add(1)
    scale = lr * np.sqrt(1 - 0.999**STEPS) / (1 - 0.9**STEPS)
    for w, g, m, v in zip(PARAMETERS, gradients, FIRST, SECOND, strict=True):
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        w -= scale * m / (np.sqrt(v) + 1e-8)


@jitflow.function
def decayed(lr: float) -> None:
    for w in PARAMETERS:
        w -= lr * w


@jitflow.function
def clipped(gradients: Any, lr: float) -> Any:
    norm = np.sqrt(sum((g * g).sum() for g in gradients))
    scale = np.minimum(1, 1 / norm)
    for w, g in zip(PARAMETERS, gradients, strict=True):
        w -= lr * scale * g
    return norm


@jitflow.function
def one_layer(x: Any, lr: float) -> Any:
    w, b = PARAMETERS[:2]
    hidden = np.maximum(x @ w + b, 0)
    w -= lr * (x.T @ hidden)
    b -= lr * hidden.sum(axis=0)
    return hidden.mean()


GRADIENTS = [np.ones(shape, np.float32) for shape in SHAPES]
PROGRAMS = {
    sgd: (GRADIENTS, 0.1),
    momentum: (GRADIENTS, 0.1),
    adam: (GRADIENTS, 0.1),
    decayed: (0.1,),
    clipped: (GRADIENTS, 0.1),
    one_layer: (np.ones((32, 84), np.float32), 0.1),
}


def test_plans(request: pytest.FixtureRequest) -> None:
    rows: list[tuple[str, ...]] = [("program", *KINDS)]
    for function, arguments in PROGRAMS.items():
        host = parse(function.ir(*arguments, stage="kernels"))
        counts = Counter(kind_of(op) for op, _ in inside_out(host.region))
        rows.append((function.__name__, *(str(counts[kind]) for kind in KINDS)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    text = "\n".join(lines) + "\n"
    if request.config.getoption("--bless"):
        TABLE.write_text(text)
    assert text == TABLE.read_text()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_the_steps_compute_what_python_computes(function: Any) -> None:
    random = np.random.default_rng(0)
    everything = [STEPS, *PARAMETERS, *FIRST, *SECOND]
    arguments = PROGRAMS[function]
    if arguments[0] is GRADIENTS:
        arguments = ([random.standard_normal(shape, np.float32) for shape in SHAPES], *arguments[1:])
    for variable in everything[1:]:
        variable.assign(random.random(variable.shape, np.float32))
    before, found = [variable.numpy() for variable in everything], []
    for run in (function, function.__wrapped__):
        for variable, value in zip(everything, before, strict=True):
            variable.assign(value)
        for _ in range(3):
            run(*arguments)
        found.append([variable.numpy() for variable in everything])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
