"""Gradients of the random programs with statements, against differences along a random direction.

The loss is the sum of sines of all floats that a program returns. Where the difference is no derivative (a decision
goes another way a little further on, a value is not finite), the program says nothing and counts as passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import UserError, UserNotImplementedError
from tests.truth.quiet import quiet
from tests.truth.run import define
from tests.truth.whole.kinds import Array
from tests.truth.whole.programs import program_of

__all__ = ["PassedOver", "Wrong", "check_gradient", "run_seeds"]


class PassedOver(Exception):
    """The program has no derivative that could be compared, or jitflow does not compile it."""


class Wrong(AssertionError):
    """The gradient is not that of the program."""


def run_seeds(check: Callable[[int], None], seeds: range) -> None:
    """Check the programs of many seeds, and report all that are wrong."""
    problems, checked = [], 0
    for seed in seeds:
        try:
            check(seed)
            checked += 1
        except PassedOver:
            continue
        except Exception as problem:
            problems.append(f"seed {seed}: {type(problem).__name__}: {problem}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert checked >= len(seeds) // 5


def check_gradient(seed: int, length: int = 3) -> None:
    """Check the program of a seed. Raises `Wrong`, or `PassedOver`."""
    text, _ = program_of(seed, length)
    random = np.random.default_rng(seed)
    sizes = {"n": 4 + seed % 3, "m": 3}
    arguments: dict[str, Any] = {}
    for name, kind in text.parameters.items():
        if isinstance(kind, Array):
            shape = tuple(sizes[length] for length in kind.lengths)
            arguments[name] = random.standard_normal(shape) * 2 if kind.dtype in ("f8", "f4") else np.ones(shape)
            arguments[name] = (arguments[name] * (1 if kind.dtype in ("f8", "f4") else 3)).astype(kind.dtype)
        elif kind.kind == "int":
            arguments[name] = int(random.integers(0, 4))
        elif kind.kind == "bool":
            arguments[name] = bool(random.integers(2))
        else:
            arguments[name] = float(random.standard_normal())
            arguments[name] = arguments[name] if kind.kind == "float" else np.float64(arguments[name])
    names = list(arguments)
    by = [n for n, name in enumerate(names) if np.asarray(arguments[name]).dtype == np.float64]
    if not by:
        raise PassedOver("no floats")
    source = f"{text.source}\n{_loss(text.source, names, arguments)}"
    _compare(define(source, "loss"), arguments, by, random, source)


def _loss(source: str, names: list[str], arguments: dict[str, Any]) -> str:
    """The text of a function that makes one number of what the program returns."""
    with quiet():
        try:
            result = define(source)(*_copies(arguments))
        except Exception as error:
            raise PassedOver(f"it raises {error!r}") from None
    items = result if isinstance(result, tuple) else (result,)
    floats = [n for n, item in enumerate(items) if np.asarray(item).dtype == np.float64]
    if not floats:
        raise PassedOver("it returns no floats")
    part = "result[{}]" if isinstance(result, tuple) else "result"
    terms = " + ".join(f"np.sum(np.sin({part.format(n)}))" for n in floats)
    return f"def loss({', '.join(names)}):\n    result = program({', '.join(names)})\n    return {terms}\n"


def _copies(arguments: dict[str, Any]) -> list[Any]:
    return [np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments.values()]


def _compare(loss: Callable[..., Any], arguments: dict[str, Any], by: list[int], random: Any, source: str) -> None:
    values = list(arguments.values())
    directions = {n: random.standard_normal(np.shape(values[n])) for n in by}

    def along(step: float) -> float:
        moved = _copies(arguments)
        for n in by:
            there = values[n] + step * directions[n]
            moved[n] = there if isinstance(values[n], np.ndarray) else type(values[n])(there)
        with quiet():
            return float(loss(*moved))

    slopes = [(along(step) - along(-step)) / (2 * step) for step in (1e-5, 4e-6)]
    base = along(0.0)
    smooth = abs(along(1e-5) + along(-1e-5) - 2 * base) < 1e-4 * (1 + abs(slopes[0]))
    close = np.isclose(*slopes, rtol=1e-4, atol=1e-6)
    try:
        with quiet():
            value, gradients = jitflow.value_and_grad(loss, argnums=tuple(by))(*_copies(arguments))
    except UserNotImplementedError as error:
        raise PassedOver(f"not compiled: {error}") from None
    except UserError as error:
        raise PassedOver(f"{error}") from None
    if not np.isclose(value, base, rtol=1e-9, atol=1e-9, equal_nan=True):
        raise Wrong(f"expected the value {base}, got {value}\n{source}")
    if not np.isfinite(base) or not close or not smooth:
        raise PassedOver("no derivative")
    if not all(np.isfinite(gradient).all() for gradient in gradients):
        raise PassedOver("a value on the way is not finite")
    found = sum(float(np.sum(gradient * directions[n])) for n, gradient in zip(by, gradients, strict=True))
    if not np.isclose(found, slopes[1], rtol=1e-4, atol=1e-5):
        raise Wrong(f"expected the slope {slopes[1]}, got {found}\n{source}")
