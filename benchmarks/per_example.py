"""Gradients of each example beside JAX: ``python -m benchmarks.per_example [CASE]...``.

The classifiers are that of the digits, a perceptron with a cross entropy, and that of `training_cases`. What is
measured is ``vmap(grad(loss), in_axes=(None, 0, 0))``, compiled by both, on the same numbers, and NumPy's answer
written out by hand. Everybody works in this process, in turns, on one core; memory that is freed is kept, so nobody
pays for fresh pages. Results are compared, and medians count.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow

from .convnets import measured
from .machine import KEEP_MEMORY, ONE_THREAD, describe_machine, ensure_environment, pin_to_one_core, versions

__all__ = ["CASES", "by_hand", "loss_in", "main", "numbers"]

CASES = {
    f"{name}_{batch}": (widths, batch)
    for name, widths in (("digits", (64, 100, 10)), ("classifier", (784, 100, 10)))
    for batch in (32, 128)
}
"""The widths of the layers, and how many examples there are."""

Weights = tuple[Any, ...]
TOLERANCE = 1e-4


def loss_in(xp: Any) -> Callable[..., Any]:
    """The loss of one example, in NumPy or in what has its functions."""

    def loss(weights: Weights, x: Any, label: Any) -> Any:
        w1, b1, w2, b2 = weights
        logits = xp.maximum(x @ w1 + b1, 0) @ w2 + b2
        below = logits - logits.max()
        return xp.log(xp.exp(below).sum()) - below[label]

    return loss


def by_hand(weights: Weights, x: np.ndarray, labels: np.ndarray) -> Weights:
    """The gradients of all examples, written out."""
    w1, b1, w2, b2 = weights
    hidden = np.maximum(x @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    powers = np.exp(logits - logits.max(1, keepdims=True))
    by_logits = powers / powers.sum(1, keepdims=True)
    by_logits[np.arange(len(x)), labels] -= 1
    by_hidden = by_logits @ w2.T * (hidden > 0)
    return x[:, :, None] * by_hidden[:, None], by_hidden, hidden[:, :, None] * by_logits[:, None], by_logits


def numbers(widths: tuple[int, ...], batch: int) -> tuple[Weights, np.ndarray, np.ndarray]:
    """Weights, examples and labels of a case."""
    random = np.random.default_rng((2016, batch))
    shapes = [shape for ends in itertools.pairwise(widths) for shape in (ends, ends[1:])]
    weights = tuple(random.standard_normal(shape, np.float32) * np.float32(0.05) for shape in shapes)
    return weights, random.standard_normal((batch, widths[0]), np.float32), random.integers(0, widths[-1], batch)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="cases, by how they begin; all if none")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure, and print how many times as fast as JAX jitflow is."""
    ensure_environment({**ONE_THREAD, **KEEP_MEMORY}, "benchmarks.per_example")
    pin_to_one_core()
    print(f"{describe_machine()['cpu']}, {versions()}")
    rows = list(_rows(names or [""]))
    if json_file is not None:
        stored = {"machine": describe_machine(), "versions": versions(), "one thread": rows}
        json_file.write_text(json.dumps(stored, indent=1) + "\n")


def _rows(names: list[str]) -> Iterator[dict[str, Any]]:
    import jax
    import jax.numpy as jnp

    ours = jitflow.vmap(jitflow.grad(loss_in(np)), in_axes=(None, 0, 0))
    theirs = jax.jit(jax.vmap(jax.grad(loss_in(jnp)), in_axes=(None, 0, 0)))
    for case, (widths, batch) in CASES.items():
        if not case.startswith(tuple(names)):
            continue
        given = numbers(widths, batch)
        there = jax.tree.map(jnp.asarray, given)
        for one, other, expected in zip(ours(*given), theirs(*there), by_hand(*given), strict=True):
            np.testing.assert_allclose(one, expected, TOLERANCE, TOLERANCE)
            np.testing.assert_allclose(np.asarray(other), expected, TOLERANCE, TOLERANCE)
        works: dict[str, Callable[[], Any]] = {
            "jitflow": lambda given=given: ours(*given),
            "jax": lambda there=there: jax.block_until_ready(theirs(*there)),
            "numpy": lambda given=given: by_hand(*given),
        }
        seconds = measured(works)
        ratio = seconds["jax"] / seconds["jitflow"]
        times = ", ".join(f"{peer} {1e6 * number:.0f}" for peer, number in seconds.items())
        print(f"  {case}: {times} us; {ratio:.2f} times jax", flush=True)
        yield {"case": case, "seconds": seconds, "ratio": ratio}


if __name__ == "__main__":
    typer.run(main)
