"""A network of floats and its quantised form, both exported, called from C's side: `python -m benchmarks.quantised`.

The network is 784-1024-1024-10 with relus, random weights, batches of 1 and 256, on one thread. Calls go through
``ctypes`` to memory that is there already, in turns with the other form, and, where torch is installed, with torch's
network of floats and its statically quantised one (``torch.ao``). Beside the times stands what bounds them: bytes of
weights in a nanosecond, and products of numbers in one. With ``--digits`` a classifier of scikit-learn's digits is
trained and quantised as well.
"""

from __future__ import annotations

import ctypes
import json as json_format
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

import jitflow
from jitflow import Spec, Variable, nn
from jitflow.machines.processor import TARGETS, has_features, here

from .machine import describe_machine, pin_to_one_core, versions

__all__ = ["SIZES", "Network", "Timed", "accuracies", "exported_call", "measure"]

SIZES = (784, 1024, 1024, 10)
BATCHES = (1, 256)
WITHOUT = {"host": (), "x86-64-v4": ("avx512bw",), "x86-64-v3": ("avx2", "fma")}
"""Targets: this processor, and what lacks instructions for sums of products of bytes; what they need."""

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]


class Network:
    """Layers with relus between them."""

    def __init__(self, sizes: Sequence[int] = SIZES, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.sizes = tuple(sizes)
        self.weights = [Variable(nn.he_normal(pair, random)) for pair in pairwise(sizes)]
        self.biases = [Variable(random.normal(size=size).astype(np.float32) / 10) for size in sizes[1:]]

    def __call__(self, x: Any) -> Any:
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias
            x = nn.relu(x) if number + 1 < len(self.weights) else x
        return x

    @property
    def products(self) -> int:
        """Weights, each of which is multiplied once for each row of a batch."""
        return sum(weight.size for weight in self.weights)

    def examples(self, rows: int, seed: int = 1) -> Array:
        """Activations as pixels are: none is negative."""
        return np.abs(np.random.default_rng(seed).normal(size=(rows, self.sizes[0]))).astype(np.float32)


@dataclass(frozen=True)
class Timed:
    """Median seconds of a call; ``target`` is what the libraries are for, or ``torch``."""

    target: str
    rows: int
    f32: float
    int8: float

    @property
    def speedup(self) -> float:
        """How many times as fast bytes are."""
        return self.f32 / self.int8


def exported_call(function: Any, x: Array, folder: Path, target: str, name: str) -> tuple[Call, Array, int]:
    """A call of a function's exported form, where its result goes, and how many bytes the library has."""
    rows, features = x.shape
    exported = function.export(folder / name, Spec("f32", (rows, features)), target=target, name=name)
    if exported.library is None:
        raise RuntimeError(f"expected a linker: {exported.why}")
    result = np.empty((rows, SIZES[-1]), np.float32)
    call = getattr(ctypes.CDLL(str(exported.library)), name)
    arguments = [ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(result.ctypes.data), None]
    if call(*arguments):
        raise RuntimeError(f"expected {name} to run, for {target}")
    return lambda: call(*arguments), result, exported.library.stat().st_size


def in_turns(calls: Sequence[Call], seconds: float) -> list[float]:
    """The median seconds of each, of the thread's own time: others may use the core."""
    samples: list[list[float]] = [[] for _ in calls]
    deadline = time.perf_counter() + seconds
    while len(samples[0]) < 9 or time.perf_counter() < deadline:
        for own, call in zip(samples, calls, strict=True):
            start = time.thread_time()
            call()
            own.append(time.thread_time() - start)
    return [statistics.median(own) for own in samples]


def measure(target: str, rows: int, folder: Path, *, seconds: float) -> tuple[Timed, list[int]]:
    """Both forms for a target. Raises AssertionError where they differ by more than levels do."""
    network = Network()
    x, stem = network.examples(rows), f"{target.replace('-', '_')}_{rows}"
    small = jitflow.quantise(network.__call__, [network.examples(256)])
    made = [
        exported_call(function, x, folder, target, f"{kind}_{stem}")
        for kind, function in (("f32", jitflow.function(lambda x: network(x))), ("int8", small))
    ]
    (_, floats, _), (_, bytes_, _) = made
    difference = np.linalg.norm(floats - bytes_) / np.linalg.norm(floats)
    assert difference < 0.05, f"{target}: a difference of {difference:.1%}"
    return Timed(target, rows, *in_turns([call for call, _, _ in made], seconds)), [size for _, _, size in made]


def torch_calls(rows: int) -> list[Call]:
    """The network of floats in torch, and its statically quantised one. Raises ImportError without torch."""
    import warnings

    import torch

    torch.set_num_threads(1)
    network = Network()
    modules: list[Any] = []
    for number, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        layer = torch.nn.Linear(*weight.shape)
        layer.weight.data, layer.bias.data = torch.tensor(weight[...].T.copy()), torch.tensor(bias[...])
        modules += [layer, torch.nn.ReLU()] if number + 1 < len(network.weights) else [layer]
    plain = torch.nn.Sequential(*modules).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.ao.quantization import DeQuantStub, QuantStub, convert, fuse_modules, get_default_qconfig, prepare

        torch.backends.quantized.engine = "x86"
        small = torch.nn.Sequential(QuantStub(), *modules, DeQuantStub()).eval()
        small = fuse_modules(small, [["1", "2"], ["3", "4"]])
        small.qconfig = get_default_qconfig("x86")
        prepare(small, inplace=True)
        small(torch.tensor(network.examples(256)))
        convert(small, inplace=True)
    x = torch.tensor(network.examples(rows))

    def calling(module: Any) -> Call:
        def call() -> Any:
            with torch.inference_mode():
                return module(x)

        return call

    return [calling(plain), calling(small)]


def accuracies(epochs: int = 12) -> tuple[float, float]:
    """Of a classifier of digits on images that it was not trained on, in floats and quantised."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = (images[order] / 16).astype(np.float32), labels[order]
    model, optimiser = Network((64, 100, 10)), jitflow.optim.Adam(0.003)
    variables = [*model.weights, *model.biases]

    @jitflow.function
    def step(images: Any, labels: Any) -> Any:
        return optimiser.minimize(lambda: nn.cross_entropy(model(images), labels), variables)

    for _ in range(epochs):
        for start in range(600, len(labels), 32):
            step(images[start : start + 32], labels[start : start + 32])
    small = jitflow.quantise(model.__call__, [images[600:900]])
    test, expected = images[:600], labels[:600]
    found = jitflow.function(lambda x: model(x))(test), small(test)
    first, second = (float((scores.argmax(1) == expected).mean()) for scores in found)
    return first, second


def main(
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    seconds: Annotated[float, typer.Option(help="Time for each line.", min=0.0)] = 2.0,
    digits: Annotated[bool, typer.Option(help="Train and quantise a classifier, too.")] = False,
) -> None:
    """Time the network in floats and in bytes, on one thread."""
    pin_to_one_core()
    lines, sizes, network = list[Timed](), dict[str, list[int]](), Network()
    with tempfile.TemporaryDirectory() as folder:
        for target, needed in WITHOUT.items():
            if target in TARGETS and has_features(*needed):
                for rows in BATCHES:
                    line, sizes[target] = measure(target, rows, Path(folder), seconds=seconds)
                    lines.append(line)
    with suppress(ImportError):
        lines += [Timed("torch", rows, *in_turns(torch_calls(rows), seconds)) for rows in BATCHES]
    title = "784-1024-1024-10, one thread, median of calls in turns, processor's time"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("target", "batch", "f32 us", "int8 us", "speedup", "f32 weights GB/s", "int8 weights GB/s",
                   "f32 products/ns", "int8 products/ns"):  # fmt: skip
        table.add_column(column, justify="left" if column == "target" else "right")
    for line in lines:
        nanoseconds = [1e9 * line.f32, 1e9 * line.int8]
        weights = [network.products * width / one for width, one in zip((4, 1), nanoseconds, strict=True)]
        rates = [network.products * line.rows / one for one in nanoseconds]
        table.add_row(line.target, str(line.rows), f"{line.f32 * 1e6:.1f}", f"{line.int8 * 1e6:.1f}",
                      f"{line.speedup:.2f}", *(f"{one:.1f}" for one in (*weights, *rates)))  # fmt: skip
    console = Console(width=140)
    console.print(table)
    console.print(f"bytes of the libraries for batches of {BATCHES[-1]}, f32 and int8: {sizes['host']}")
    found = accuracies() if digits else None
    if found is not None:
        console.print(f"digits: {found[0]:.2%} in floats, {found[1]:.2%} quantised")
    if json is not None:
        record = {
            "kind": "quantised", "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": describe_machine(),
            "versions": versions(), "processor": here().cpu, "sizes": SIZES, "threads": 1, "bytes": sizes["host"],
            "digits": None if found is None else {"f32": found[0], "int8": found[1]},
            "lines": [{"target": line.target, "batch": line.rows, "f32_seconds": line.f32, "int8_seconds": line.int8,
                       "speedup": line.speedup} for line in lines],
        }  # fmt: skip
        json.write_text(json_format.dumps(record, indent=2, allow_nan=False) + "\n")


if __name__ == "__main__":
    typer.run(main)
