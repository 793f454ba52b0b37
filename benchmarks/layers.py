"""How long stacks of equal layers take to compile, beside JAX and torch: ``python -m benchmarks.layers [CASE]...``.

A training step of 5 to 80 equal layers with Adam, as a loop over a Python list makes them, and the step of the
transformer of `attention`. What counts is the first step, in a process whose compiler has compiled something before,
and what a further layer adds to it; then the time of later steps. Each peer has a process of its own for each case, on
one core, and they take turns; losses are compared, and medians count. Nobody finds what was compiled before.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow
from jitflow import optim

from .attention import training_step
from .machine import ONE_THREAD, describe_machine, ensure_environment, pin_to_one_core, versions

__all__ = ["CASES", "PEERS", "a_further_layer", "by_hand", "first_weights", "in_jitflow", "inputs", "main", "stack"]

STACKS = {f"{count} layers": count for count in (5, 10, 20, 40, 80)}
TRANSFORMER = "transformer 4 x 256 x 256"
CASES = (*STACKS, TRANSFORMER)
WIDTH, BATCH = 64, 32
RATE, KEPT, KEPT_SQUARES, EPSILON = 1e-3, 0.9, 0.999, 1e-8
STEPS = 3
"""Of so many first steps losses are compared."""
QUANTUM = 1.0
"""Seconds for which later steps are timed."""
MOST_STEPS = 300
"""Later steps that are timed at most: after thousands the numbers are too small for some processors' fast ways."""
TOLERANCE = 1e-3
Step = Callable[[], Any]


def first_weights(count: int, width: int = WIDTH) -> list[tuple[np.ndarray, np.ndarray]]:
    """A matrix and a bias for each layer."""
    random = np.random.default_rng(2016)
    scale = np.float32(1.4 / width**0.5)
    return [(random.standard_normal((width, width), np.float32) * scale, np.zeros(width, np.float32))
            for _ in range(count)]  # fmt: skip


def inputs(batch: int = BATCH, width: int = WIDTH) -> np.ndarray:
    """What goes into the first layer, ``(batch, width)``."""
    return np.random.default_rng(1).standard_normal((batch, width), np.float32)


def loss_in(xp: Any) -> Callable[..., Any]:
    """The loss of a stack, in NumPy or in what has its functions."""

    def loss(weights: Any, x: Any) -> Any:
        for matrix, bias in weights:
            x = xp.maximum(x @ matrix + bias, 0)
        return (x * x).mean()

    return loss


def by_hand(count: int) -> list[float]:
    """The losses of the first steps, with derivatives and Adam written out."""
    weights = [array for pair in first_weights(count) for array in pair]
    means, squares, losses = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights], []
    for step in range(1, STEPS + 1):
        entering = [inputs()]
        for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
            entering.append(np.maximum(entering[-1] @ matrix + bias, 0))
        losses.append(float((entering[-1] ** 2).mean()))
        by_result, gradients = 2 * entering[-1] / entering[-1].size, []
        for matrix, entered, left in zip(weights[-2::-2], entering[-2::-1], entering[:0:-1], strict=True):
            by_sum = by_result * (left > 0)
            gradients = [entered.T @ by_sum, by_sum.sum(0), *gradients]
            by_result = by_sum @ matrix.T
        for weight, mean, square, gradient in zip(weights, means, squares, gradients, strict=True):
            mean += (1 - KEPT) * (gradient - mean)
            square += (1 - KEPT_SQUARES) * (gradient * gradient - square)
            root = np.sqrt(square) / np.sqrt(1 - KEPT_SQUARES**step)
            weight -= RATE / (1 - KEPT**step) * mean / (root + EPSILON)
    return losses


# -- the peers -------------------------------------------------------------------------------------


def stack(count: int) -> tuple[Any, tuple[Any, ...]]:
    """A training step in jitflow, and its arguments."""
    weights = [tuple(map(jitflow.Variable, pair)) for pair in first_weights(count)]
    adam, loss, x = optim.Adam(RATE, KEPT, KEPT_SQUARES, EPSILON), loss_in(np), inputs()

    @jitflow.function
    def step(weights: Any, x: Any) -> Any:
        value, gradients = jitflow.value_and_grad(loss)(weights, x)
        adam.apply(gradients, weights)
        return value

    return step, (weights, x)


def in_jitflow(count: int) -> Step:
    step, arguments = stack(count)
    return lambda: step(*arguments)


def _in_jax(count: int) -> Step:
    import jax
    import jax.numpy as jnp

    loss, x = loss_in(jnp), jnp.asarray(inputs())
    weights = jax.tree.map(jnp.asarray, first_weights(count))
    means, squares = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    state = [weights, means, squares, np.int32(0)]

    def step(weights: Any, means: Any, squares: Any, steps: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x)
        steps = steps + 1
        means = jax.tree.map(lambda m, g: KEPT * m + (1 - KEPT) * g, means, gradients)
        squares = jax.tree.map(lambda s, g: KEPT_SQUARES * s + (1 - KEPT_SQUARES) * g * g, squares, gradients)
        size = (RATE / (1 - KEPT**steps)).astype(np.float32)
        root = jnp.sqrt(1 - KEPT_SQUARES**steps).astype(np.float32)
        weights = jax.tree.map(lambda w, m, s: w - size * m / (jnp.sqrt(s) / root + EPSILON), weights, means, squares)
        return value, weights, means, squares, steps

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))

    def run() -> Any:
        value, *state[:] = jax.block_until_ready(compiled(*state))
        return value

    return run


def _in_torch(count: int) -> Step:
    """The stack and its derivative compiled; the optimiser takes all variables at once, by its own kernels."""
    import torch

    weights = [tuple(torch.from_numpy(array).requires_grad_() for array in pair) for pair in first_weights(count)]
    adam = torch.optim.Adam([array for pair in weights for array in pair], RATE, (KEPT, KEPT_SQUARES), EPSILON)
    x = torch.from_numpy(inputs())

    @torch.compile
    def loss(weights: Any, x: Any) -> Any:
        for matrix, bias in weights:
            x = torch.relu(x @ matrix + bias)
        return (x * x).mean()

    def run() -> Any:
        adam.zero_grad()
        value = loss(weights, x)
        value.backward()
        adam.step()
        return value.detach()

    return run


PEERS: dict[str, Callable[[int], Step]] = {"jitflow": in_jitflow, "jax": _in_jax, "torch.compile": _in_torch}


# -- measuring -------------------------------------------------------------------------------------


def _session(peer: str, case: str) -> None:
    """The first steps of a case, and later ones, in this process; printed as a line of JSON."""
    _in_use(peer)
    step = PEERS[peer](STACKS[case]) if case in STACKS else training_step(4, 256, 256)[peer]
    start, begun = time.perf_counter(), _processor_time()
    losses = [float(step())]
    first, processor = time.perf_counter() - start, _processor_time() - begun
    losses += [float(step()) for _ in range(STEPS - 1)]
    times: list[float] = []
    end = time.perf_counter() + QUANTUM
    while (time.perf_counter() < end and len(times) < MOST_STEPS) or len(times) < STEPS:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    found = {"losses": losses, "first": first, "processor": processor, "step": statistics.median(times)}
    print(json.dumps(found), flush=True)


def _in_use(peer: str) -> None:
    """Compile something small, so that no first step pays for the compiler's own start."""
    PEERS[peer](1)()


def _processor_time() -> float:
    """Seconds of this process and of those that it has started and that are over."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _measured(peer: str, case: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.layers", "--session", peer, case]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(names: list[str], peers: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    for case in CASES:
        if not case.startswith(tuple(names)):
            continue
        found: dict[str, list[dict[str, Any]]] = {peer: [] for peer in peers}
        for _ in range(rounds):
            for peer in peers:
                found[peer].append(_measured(peer, case))
        for one in found.values():
            np.testing.assert_allclose(one[0]["losses"], found[peers[0]][0]["losses"], TOLERANCE, err_msg=case)
        row: dict[str, Any] = {"case": case}
        for peer, runs in found.items():
            row[peer] = {kind: statistics.median(run[kind] for run in runs) for kind in ("first", "processor", "step")}
        texts = (
            f"{peer} {row[peer]['first']:.2f} s ({row[peer]['processor']:.2f}), then {1e3 * row[peer]['step']:.2f} ms"
            for peer in peers
        )
        print(f"  {case}: {'; '.join(texts)}", flush=True)
        yield row


def a_further_layer(rows: list[dict[str, Any]], peer: str) -> float | None:
    """The seconds of the processor by which a layer more makes the first step longer; None of less than two stacks."""
    times = [(STACKS[row["case"]], row[peer]["processor"]) for row in rows if row["case"] in STACKS and peer in row]
    if len(times) < 2:
        return None
    return float(np.polyfit(*zip(*times, strict=True), 1)[0])


def main(
    names: Annotated[list[str] | None, typer.Argument(help="cases, by how they begin; all if none")] = None,
    peer: Annotated[list[str] | None, typer.Option(help="only these; may be repeated")] = None,
    rounds: Annotated[int, typer.Option(help="processes for each peer and case", min=1)] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
    session: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure first steps in seconds (and seconds of the processor), later ones, and what a further layer adds."""
    ensure_environment(ONE_THREAD, "benchmarks.layers")
    pin_to_one_core()
    if session:
        _session(session, (names or [CASES[0]])[0])
        return
    print(f"{describe_machine()['cpu']}, {versions()}")
    peers = peer or [*PEERS]
    rows: list[dict[str, Any]] = []
    further: dict[str, float | None] = {}
    for row in _rows(names or [""], peers, rounds):
        rows.append(row)
        further = {one: a_further_layer(rows, one) for one in peers}
        if json_file is not None:  # a long run leaves what it has
            stored = {"machine": describe_machine(), "versions": versions(), "a further layer": further, "rows": rows}
            json_file.write_text(json.dumps(stored, indent=1) + "\n")
    print(", ".join(f"{one}: {1e3 * seconds:.1f} ms a layer" for one, seconds in further.items() if seconds))


if __name__ == "__main__":
    typer.run(main)
