"""Which fraction of its roofline each kind of kernel for GPUs is predicted to reach: `python -m benchmarks.rooflines`.

Nobody needs a GPU for it. The kernels' very PTX runs in the interpreter of the tests, on a small part of the work,
which counts what warps execute and which pieces of memory they touch; the assembler says how many registers they have.
What the whole work takes is the longest of: memory, as far as the warps that fit on a multiprocessor keep it busy;
instructions; products, by their form; memory on the chip. Its roof is what cannot be left out: each operand read and
each result written once at the bandwidth that the maker states, or the arithmetic of a product at its form's peak.
On sm_90 that is the peak of ``wgmma``; tiles multiply by ``mma.sync``, which reaches some 0.62 of it there, and all of
it before. So 0.62 is the bound of what products can come to on an H200.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.backends.cuda.nvrtc import Resources, resources
from jitflow.passes.schedule.target import A100, H200, Gpu

__all__ = ["CASES", "Case", "predict", "table"]

LAUNCH = 2500.0
"""Nanoseconds of a launch behind another one."""
LATENCY = 700.0
"""Nanoseconds from asking for memory until it is there."""
IN_FLIGHT = 4 * 128
"""Bytes that a warp asks for before it needs the first: a loop over 128 bytes a turn, of which four are written out."""
BUSY = {"memory": 0.92, "instructions": 0.8, "products": 0.9, "shared": 0.9}
"""Which part of the peak is reached where nothing else is in the way."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program on a shape that the interpreter runs, and how many times as much work it is about."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    times: int
    dtype: str = "f4"
    form: str = "fma"
    flops: int = 0
    """Of the products in the small work."""
    fastmath: bool = False


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _layer_norm(x: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5))


def _attention(q: Any, k: Any, v: Any) -> Any:
    powers = np.exp((scores := q @ np.swapaxes(k, -1, -2)) - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def _layer(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x @ w + b, 0)


_PRODUCT = ((256, 256), (256, 256), (256,))
CASES = (
    Case("x * y + 1, 64 M", lambda x, y: x * y + 1, ((1 << 16,), (1 << 16,)), 1024),
    Case("silu, 64 M", lambda x: x / (1 + np.exp(-x)), ((1 << 16,),), 1024),
    Case("sum of 64 M", lambda x: x.sum(), ((1 << 19,),), 128),
    Case("(x - mean) / std of 64 M", lambda x: (x - x.mean()) / x.std(), ((1 << 19,),), 128),
    Case("sums of 65536 rows of 1024", lambda x: x.sum(1), ((64, 1024),), 1024),
    Case("sums of 16 rows of 4 M", lambda x: x.sum(1), ((2, 1 << 18),), 128),
    Case("sums of 1024 columns of 65536", lambda x: x.sum(0), ((1 << 12, 64),), 256),
    Case("cumsum of 64 M", lambda x: np.cumsum(x), ((1 << 18,),), 256),
    Case("softmax of 65536 rows of 1024", _softmax, ((64, 1024),), 1024),
    Case("softmax of 16384 rows of 4096", _softmax, ((16, 4096),), 1024),
    Case("layer norm of 65536 rows of 1024", _layer_norm, ((64, 1024),), 1024),
    Case("layer norm of 8192 rows of 8192", _layer_norm, ((8, 8192),), 1024),
    Case("relu(x @ w + b), f16, k = 256, 8192 x 8192", _layer, _PRODUCT, 1024, "f2", "f16", 2 * 256**3),
    Case("relu(x @ w + b), tf32, k = 256, 8192 x 8192", _layer, _PRODUCT, 1024, "f4", "tf32", 2 * 256**3, True),
    Case("attention, f16, 64 heads of 4096 x 64", _attention, ((512, 64),) * 3, 4096, "f2", "f16", 4 * 64 * 512**2),
)  # fmt: skip
_MULTIPLY_ADDS = {"f16": 16 * 8 * 16, "bf16": 16 * 8 * 16, "tf32": 16 * 8 * 8}


@dataclass(frozen=True, slots=True)
class Executed:
    """What a case's launches did: names, threads and bytes on the chip of blocks, counts, and their source."""

    launches: Sequence[tuple[str, int, int, Counter[str]]]
    source: str
    least: int
    """Bytes that cannot be left out."""


def execute(case: Case) -> Executed:
    """Run a case's small work in the interpreter."""
    from tests.backends.cuda.images import alone
    from tests.backends.cuda.native import OnDevice

    random = np.random.default_rng(0)
    given = [random.standard_normal(shape).astype(case.dtype) for shape in case.shapes]
    code = OnDevice(case.function, *given, architecture="compute_80", fastmath=case.fastmath)
    result = code(*given)
    least = sum(array.nbytes for array in given) + np.asarray(result).nbytes
    return Executed(code.device.issued, alone(code.source, code.device.launched), least)


def predict(case: Case, done: Executed, gpu: Gpu) -> dict[str, Any]:
    """What the whole work is predicted to take, and which fraction of its roofline that is."""
    known = resources(done.source, gpu.architecture)
    total, limits = 0.0, Counter[str]()
    for name, threads, on_chip, counts in done.launches:
        warps = _warps(known[name], threads, on_chip, gpu)
        times = _times(case, counts, warps, threads, on_chip, done.least, gpu)
        limit = max(times, key=lambda what: times[what])
        limits[limit] += int(times[limit])
        total += times[limit] + LAUNCH
    peak = gpu.flops[case.form] / (1 if case.form == "fma" else gpu.share)
    roof = max(case.times * done.least / gpu.bandwidth, case.times * case.flops / peak)
    (limit, _), *_ = limits.most_common(1)
    return {
        "case": case.name, "gpu": gpu.name, "microseconds": round(total / 1000, 1), "roof": round(roof / 1000, 1),
        "fraction": round(roof / total, 3), "limit": limit, "launches": len(done.launches),
        "registers": max(known[name].registers for name, *_ in done.launches),
        "spilled": sum(known[name].spilled for name, *_ in done.launches),
    }  # fmt: skip


def _warps(kernel: Resources, threads: int, on_chip: int, gpu: Gpu) -> int:
    """How many warps a multiprocessor holds."""
    warps = -(-threads // 32)
    registers = -(-kernel.registers * 32 // 256) * 256 * warps
    blocks = min(gpu.registers // registers, gpu.on_chip // (on_chip + kernel.on_chip + 1024), gpu.warps // warps,
                 gpu.blocks)  # fmt: skip
    return warps * max(blocks, 1)


def _times(
    case: Case, counts: Counter[str], warps: int, threads: int, on_chip: int, least: int, gpu: Gpu
) -> dict[str, float]:
    """Nanoseconds of each thing that may take longest."""
    rate = gpu.multiprocessors * gpu.clock
    instructions = sum(count for name, count in counts.items() if name not in ("memory", "shared"))
    products = counts["mma"] * _MULTIPLY_ADDS.get(case.form, 0) * 2 / gpu.flops[case.form]
    products += counts["fma"] * 32 * 2 / gpu.flops["fma"]
    asked = max(on_chip / threads * 32 / 2, IN_FLIGHT)
    busy = min(1.0, warps * asked * gpu.multiprocessors / (gpu.bandwidth * LATENCY))
    memory = counts["memory"] / (gpu.bandwidth * busy)
    if case.flops:  # what tiles read again is in the second cache
        memory = max(least / gpu.bandwidth, counts["memory"] / gpu.cache_bandwidth)
    once = {
        "memory": memory, "instructions": instructions / (4 * rate),
        "products": products, "shared": counts["shared"] / (128 * rate),
    }  # fmt: skip
    return {what: case.times * time / BUSY[what] for what, time in once.items()}


def table() -> list[dict[str, Any]]:
    """All cases on both GPUs."""
    return [predict(case, done, gpu) for case in CASES for done in [execute(case)] for gpu in (A100, H200)]


def main(arguments: Sequence[str]) -> None:
    """Print the table, and store it in the file that is named."""
    rows = table()
    for row in rows:
        times = f"{row['microseconds']:9.1f} us, roof {row['roof']:9.1f}, {row['fraction']:6.1%}"
        print(f"{row['case']:46} {row['gpu']:10} {times}  {row['limit']}, {row['launches']} launches")
    if arguments:
        Path(arguments[0]).write_text(json.dumps({"predicted": rows, "assumed": BUSY | {
            "launch": LAUNCH, "latency": LATENCY, "in flight": IN_FLIGHT}}, indent=1) + "\n")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
