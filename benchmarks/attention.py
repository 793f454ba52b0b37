"""Attention, layers and transformers beside torch and JAX: ``python -m benchmarks.attention [CASE]... [--all]``.

What people write in NumPy, with products, a softmax, transposes and reshapes, beside torch (with its own
``scaled_dot_product_attention``, written out, and compiled) and JAX. Everybody works in this process, in turns, on the
same numbers, on one core or on all (``--all``); results are compared, and medians count.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow

from .convnets import measured
from .limits import arithmetic_peak
from .machine import (
    ALL_THREADS,
    ONE_THREAD,
    describe_machine,
    ensure_environment,
    pin_to_one_core,
    usable_cores,
    versions,
)

__all__ = ["CASES", "LAYERS", "main", "training_step", "transformer"]

LAYERS, HEADS = 8, 4
TOLERANCE = 2e-3
RATE = 0.01
Works = dict[str, Callable[[], Any]]


def softmax(xp: Any, x: Any) -> Any:
    """Of each row."""
    powers = xp.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    """Of queries, keys and values ``(..., length, width)``."""
    scores = q @ xp.swapaxes(k, -1, -2) / np.float32(q.shape[-1] ** 0.5)
    return softmax(xp, scores) @ v


def perceptron(xp: Any, x: Any, up: Any, bias: Any, down: Any) -> Any:
    """Two layers with a GELU, in its approximation by a tanh."""
    y = x @ up + bias
    return (y * np.float32(0.5) * (1 + xp.tanh(np.float32(0.79788456) * (y + np.float32(0.044715) * y * y * y)))) @ down


def normalised(xp: Any, x: Any) -> Any:
    """Rows with mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))


def transformer(xp: Any, attend: Callable[..., Any], x: Any, weights: Any) -> Any:
    """Layers of attention with several heads and of a perceptron, each behind a normalisation, before a sum."""
    batch, length, width = x.shape
    for mix, out, up, bias, down in weights:
        heads = (normalised(xp, x) @ mix).reshape(batch, length, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        found = attend(heads[0], heads[1], heads[2]).transpose(0, 2, 1, 3).reshape(batch, length, width)
        x = x + found @ out
        x = x + perceptron(xp, normalised(xp, x), up, bias, down)
    return x


def _weights(width: int) -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(0)
    shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width,), (4 * width, width))
    return [
        tuple((random.standard_normal(shape) / shape[0] ** 0.5 / 2).astype(np.float32) for shape in shapes)
        for _ in range(LAYERS)
    ]


def _attention(*shape: int) -> Works:
    import jax
    import torch

    q, k, v = np.random.default_rng(0).standard_normal((3, *shape)).astype(np.float32)
    mine = jitflow.function(lambda q, k, v: attention(np, q, k, v))
    theirs = [torch.from_numpy(one if len(shape) == 4 else one[None]) for one in (q, k, v)]
    flash = torch.nn.functional.scaled_dot_product_attention
    written = torch.compile(_attention_in_torch)
    traced = jax.jit(lambda q, k, v: attention(jax.numpy, q, k, v))
    given = [jax.numpy.asarray(one) for one in (q, k, v)]
    return {
        "jitflow": lambda: mine(q, k, v),
        "torch": lambda: flash(*theirs),
        "torch, written out": lambda: _attention_in_torch(*theirs),
        "torch.compile": lambda: written(*theirs),
        "jax": lambda: traced(*given).block_until_ready(),
    }


def _attention_in_torch(q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


def _perceptron(rows: int, width: int) -> Works:
    import jax
    import torch

    _, _, up, bias, down = _weights(width)[0]
    x = np.random.default_rng(1).standard_normal((rows, width)).astype(np.float32)
    mine = jitflow.function(lambda x, up, bias, down: perceptron(np, x, up, bias, down))
    theirs = [torch.from_numpy(one) for one in (x, up, bias, down)]
    traced = jax.jit(lambda *given: perceptron(jax.numpy, *given))
    given = [jax.numpy.asarray(one) for one in (x, up, bias, down)]
    compiled = torch.compile(_perceptron_in_torch)
    return {
        "jitflow": lambda: mine(x, up, bias, down),
        "torch": lambda: _perceptron_in_torch(*theirs),
        "torch.compile": lambda: compiled(*theirs),
        "jax": lambda: traced(*given).block_until_ready(),
    }


def _perceptron_in_torch(x: Any, up: Any, bias: Any, down: Any) -> Any:
    import torch

    return torch.nn.functional.gelu(x @ up + bias, approximate="tanh") @ down


def _transformer_in_torch(x: Any, weights: Any) -> Any:
    import torch

    functional, (batch, length, width) = torch.nn.functional, x.shape
    for mix, out, up, bias, down in weights:
        heads = (functional.layer_norm(x, (width,)) @ mix).view(batch, length, 3, HEADS, width // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(q, k, v)
        x = x + found.transpose(1, 2).reshape(batch, length, width) @ out
        x = x + _perceptron_in_torch(functional.layer_norm(x, (width,)), up, bias, down)
    return x


def _forwards(batch: int, length: int, width: int) -> Works:
    import jax
    import torch

    weights, x = _weights(width), np.random.default_rng(1).standard_normal((batch, length, width)).astype(np.float32)
    mine = jitflow.function(lambda x, weights: transformer(np, lambda *qkv: attention(np, *qkv), x, weights))
    like, heavy = torch.from_numpy(x), [tuple(map(torch.from_numpy, layer)) for layer in weights]
    compiled = torch.compile(_transformer_in_torch)
    traced = jax.jit(lambda x, w: transformer(jax.numpy, lambda *qkv: attention(jax.numpy, *qkv), x, w))
    given = jax.tree.map(jax.numpy.asarray, (x, weights))

    def without_gradients(call: Callable[..., Any]) -> Any:
        with torch.no_grad():
            return call(like, heavy)

    return {
        "jitflow": lambda: mine(x, weights),
        "torch": lambda: without_gradients(_transformer_in_torch),
        "torch.compile": lambda: without_gradients(compiled),
        "jax": lambda: traced(*given).block_until_ready(),
    }


def training_step(batch: int, length: int, width: int) -> Works:
    """A step of gradient descent, which gives the loss; weights stay as they are."""
    import jax
    import torch

    weights, x = _weights(width), np.random.default_rng(1).standard_normal((batch, length, width)).astype(np.float32)

    def descend(xp: Any, value_and_grad: Any) -> Callable[..., Any]:
        def loss(weights: Any, x: Any) -> Any:
            found = transformer(xp, lambda *qkv: attention(xp, *qkv), x, weights)
            return (found * found).mean()

        def step(weights: Any, x: Any) -> Any:
            value, gradients = value_and_grad(loss)(weights, x)
            pairs = (zip(old, new, strict=True) for old, new in zip(weights, gradients, strict=True))
            return value, [tuple(one - np.float32(RATE) * other for one, other in layer) for layer in pairs]

        return step

    mine = jitflow.function(descend(np, jitflow.value_and_grad))
    traced = jax.jit(descend(jax.numpy, jax.value_and_grad))
    given = jax.tree.map(jax.numpy.asarray, (weights, x))
    like, heavy = torch.from_numpy(x), [tuple(torch.from_numpy(one).requires_grad_() for one in w) for w in weights]
    flat = [one for layer in heavy for one in layer]

    def in_torch(forwards: Callable[..., Any]) -> Any:
        value = (forwards(like, heavy) ** 2).mean()
        gradients = torch.autograd.grad(value, flat)
        with torch.no_grad():
            return value, [one - RATE * other for one, other in zip(flat, gradients, strict=True)]

    compiled = torch.compile(_transformer_in_torch)
    return {
        "jitflow": lambda: mine(weights, x)[0],
        "torch": lambda: in_torch(_transformer_in_torch)[0],
        "torch.compile": lambda: in_torch(compiled)[0],
        "jax": lambda: jax.block_until_ready(traced(*given))[0],
    }


CASES: dict[str, Callable[[], Works]] = {
    "attention 8 x 256 x 256": lambda: _attention(8, 256, 256),
    "attention 64 x 256 x 32": lambda: _attention(64, 256, 32),
    "attention 8 x 1024 x 64": lambda: _attention(8, 1024, 64),
    "attention 4 x 8 x 256 x 64": lambda: _attention(4, 8, 256, 64),
    "perceptron 2048 x 256": lambda: _perceptron(2048, 256),
    "transformer 4 x 256 x 256": lambda: _forwards(4, 256, 256),
    "transformer 4 x 256 x 256, step": lambda: training_step(4, 256, 256),
}


def _compared(works: Works) -> None:
    found = {name: work() for name, work in works.items()}
    expected = np.asarray(found["jitflow"])
    for name, other in found.items():
        other = np.asarray(other.detach() if hasattr(other, "detach") else other).reshape(expected.shape)
        np.testing.assert_allclose(other, expected, atol=TOLERANCE, rtol=TOLERANCE, err_msg=name)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="cases, by how they begin; all if none")] = None,
    all_threads: Annotated[bool, typer.Option("--all", help="on all cores, not on one thread")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure, and print how many times as fast as the best of the others jitflow is."""
    ensure_environment(ALL_THREADS if all_threads else ONE_THREAD, "benchmarks.attention")
    if not all_threads:
        pin_to_one_core()
    import torch

    torch.set_num_threads(usable_cores() if all_threads else 1)
    print(f"{describe_machine()['cpu']}, {arithmetic_peak(4) / 1e9:.0f} GFLOP/s, {versions()}")
    rows = list(_rows(names or [""]))
    ratios = [row["ratio"] for row in rows]
    print(f"mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    if json_file is not None:
        stored = json.loads(json_file.read_text()) if json_file.exists() else {}
        stored |= {"machine": describe_machine(), "versions": versions()}
        stored["all cores" if all_threads else "one thread"] = rows
        json_file.write_text(json.dumps(stored, indent=1) + "\n")


def _rows(names: list[str]) -> Iterator[dict[str, Any]]:
    for case, prepare in CASES.items():
        if not case.startswith(tuple(names)):
            continue
        works = prepare()
        _compared(works)
        seconds = measured(works)
        best = min((peer for peer in seconds if peer != "jitflow"), key=seconds.__getitem__)
        times = ", ".join(f"{peer} {1e3 * number:.2f}" for peer, number in seconds.items())
        ratio = seconds[best] / seconds["jitflow"]
        print(f"  {case}: {times} ms; {ratio:.2f} times {best}", flush=True)
        yield {"case": case, "seconds": seconds, "best": best, "ratio": ratio}


if __name__ == "__main__":
    typer.run(main)
