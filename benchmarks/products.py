"""Matrix products beside NumPy's, torch's and JAX's, one thread: ``python -m benchmarks.products [GROUP]...``.

Everybody is pinned to one core and called in turns, by the time that it computes, since others may want the core as
well; medians count. The speed is a share of what a loop of multiplications and additions in registers reaches, and
of what reading the larger matrix would take at the bandwidth of a sum over it. Limits are printed beside what was
measured: how many times as fast as the best of the others, as geometric mean and for the least of a group.
"""

from __future__ import annotations

import ctypes
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from llvmlite import binding

import jitflow
from jitflow.machines import processor

from .machine import ONE_THREAD, describe_machine, ensure_environment, pin_to_one_core, versions

__all__ = ["main"]

ROUNDS = 9
QUANTUM = 0.02
"""Seconds of one peer's turn."""


@dataclass(frozen=True)
class Group:
    """Shapes (rows, columns, inner), what they are for, and the ratios that they should have."""

    shapes: tuple[tuple[int, int, int], ...]
    mean: float
    least: float
    follows: bool = False
    """Whether a bias and GELU follow."""
    turned: bool = False
    """Whether the right matrix lies transposed, too."""


MIDDLING = tuple((size, size, size) for size in (128, 200, 256, 384, 512, 768, 1024, 1536, 2048))
SKINNY = ((128, 128), (1000, 1000), (1024, 1024), (4096, 1024), (1024, 4096), (2000, 8000), (30000, 512))
GROUPS = {
    "small": Group(tuple((size, size, size) for size in (2, 4, 8, 12, 16, 24, 32, 48, 64)), 2.0, 0.95),
    "plain": Group(MIDDLING, 1.03, 0.95),
    "gelu": Group(MIDDLING, 1.2, 0.95, follows=True),
    **{f"rows {rows}": Group(tuple((rows, *sizes) for sizes in SKINNY), 1.3, 0.95, turned=True) for rows in (1, 8, 32)},
}
Call = Callable[[], Any]


def plain(a: Any, b: Any, bias: Any) -> Any:
    """A product that nothing follows."""
    return a @ b


def gelu(a: Any, b: Any, bias: Any) -> Any:
    """A dense layer with the GELU of Hendrycks and Gimpel, in its approximation by a tanh."""
    x = a @ b + bias
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def peers(follows: bool, a: Any, b: Any, bias: Any) -> Iterator[tuple[str, Call]]:
    """What everybody does, by name, as far as they are installed."""
    function = gelu if follows else plain
    compiled = jitflow.function(function)
    yield "jitflow", lambda: compiled(a, b, bias)
    yield "numpy", lambda: function(a, b, bias)
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.set_num_threads(1)
        x, y, z = map(torch.from_numpy, (a, b, bias))
        activated = torch.nn.functional.gelu
        yield "torch", (lambda: activated(torch.addmm(z, x, y), approximate="tanh")) if follows else (lambda: x @ y)
    try:
        import jax
    except ImportError:
        return
    traced = jax.jit((lambda a, b, c: jax.nn.gelu(a @ b + c, approximate=True)) if follows else (lambda a, b, c: a @ b))
    u, v, w = map(jax.numpy.asarray, (a, b, bias))
    yield "jax", lambda: traced(u, v, w).block_until_ready()


def seconds_of(calls: dict[str, Call]) -> dict[str, float]:
    """The median seconds of a call of everybody, in turns."""
    counts, samples = {}, {name: list[float]() for name in calls}
    for name, call in calls.items():
        call(), call()
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(QUANTUM / max(time.perf_counter() - start, 1e-7)))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            clock = time.process_time if name == "jax" else time.thread_time  # JAX computes in threads of its own
            start = clock()
            for _ in range(counts[name]):
                call()
            samples[name].append((clock() - start) / counts[name])
    return {name: statistics.median(found) for name, found in samples.items()}


def multiplications_a_second(dtype: Any) -> float:
    """How many numbers of a dtype a second are multiplied and added in registers."""
    vector_bytes, registers = processor.vectors()
    lanes, accumulators = vector_bytes // np.dtype(dtype).itemsize, registers * 3 // 4
    element = "float" if dtype == np.float32 else "double"
    vector, suffix = f"<{lanes} x {element}>", f"v{lanes}f{8 * np.dtype(dtype).itemsize}"
    numbers = range(accumulators)
    lines = [
        f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
        "define void @peak(ptr %at, i64 %count) {\nstart:\n  br label %turn\nturn:",
        "  %i = phi i64 [ 0, %start ], [ %following, %turn ]",
        *(f"  %s{n} = phi {vector} [ zeroinitializer, %start ], [ %t{n}, %turn ]" for n in numbers),
        f"  %x = load {vector}, ptr %at, align 4",
        *(f"  %t{n} = call {vector} @llvm.fma.{suffix}({vector} %x, {vector} %x, {vector} %s{n})" for n in numbers),
        "  %following = add i64 %i, 1\n  %more = icmp slt i64 %following, %count",
        "  br i1 %more, label %turn, label %done\ndone:",
        *(f"  store {vector} %t{n}, ptr %at, align 4" for n in numbers),
        "  ret void\n}",
    ]
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly("\n".join(lines)), machine)
    engine.finalize_object()
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("peak"))
    room, count = np.zeros(32, dtype), 300_000
    seconds = seconds_of({"peak": lambda: run(room.ctypes.data, count)})["peak"]
    return accumulators * lanes * count / seconds


def measured(name: str, group: Group, dtype: Any, peak: float) -> Iterator[dict[str, Any]]:
    """The rows of a group."""
    random = np.random.default_rng(0)
    for rows, columns, inner in group.shapes:
        for turned in (False, True) if group.turned else (False,):
            a = random.standard_normal((rows, inner)).astype(dtype)
            stored = random.standard_normal((columns, inner) if turned else (inner, columns)).astype(dtype)
            b, bias = stored.T if turned else stored, random.standard_normal(columns).astype(dtype)
            calls = dict(peers(group.follows, a, b, bias))
            scale = float(np.abs(a).astype(np.float64).max() * np.abs(b).max()) * inner
            bound = 20 * np.finfo(dtype).eps * scale
            assert np.abs(calls["jitflow"]() - calls["numpy"]()).max() <= bound, (name, rows, columns, inner)
            seconds = seconds_of(calls)
            best = min(other for peer, other in seconds.items() if peer != "jitflow")
            yield {
                "group": name, "dtype": np.dtype(dtype).name, "rows": rows, "columns": columns, "inner": inner,
                "turned": turned, "seconds": seconds, "ratio": best / seconds["jitflow"],
                "share of peak": rows * columns * inner / seconds["jitflow"] / peak,
                "bytes of the right matrix a second": stored.nbytes / seconds["jitflow"],
            }  # fmt: skip


def geometric_mean(numbers: list[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.fmean(map(math.log, numbers)))


def main(
    names: Annotated[list[str] | None, typer.Argument(help="groups; all if none")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure, and print what was measured beside its limits."""
    ensure_environment(ONE_THREAD, "benchmarks.products")
    pin_to_one_core()
    print(f"{describe_machine()['cpu']}, {versions()}")
    rows, summary = list[dict[str, Any]](), list[dict[str, Any]]()
    for dtype in (np.float32, np.float64):
        peak = multiplications_a_second(dtype)
        print(f"{np.dtype(dtype).name}: {2 * peak / 1e9:.0f} GFLOP/s in registers")
        for name in names or list(GROUPS):
            group, found = GROUPS[name], list[dict[str, Any]]()
            for row in measured(name, group, dtype, peak):
                found.append(row)
                times = ", ".join(f"{peer} {1e6 * seconds:.1f}" for peer, seconds in row["seconds"].items())
                turned = " turned" if row["turned"] else ""
                print(f"  {name} {row['rows']} x {row['columns']} x {row['inner']}{turned}: "
                      f"{times} us; {row['ratio']:.2f} times the best, {row['share of peak']:.2f} of the peak, "
                      f"{row['bytes of the right matrix a second'] / 1e9:.1f} GB/s", flush=True)  # fmt: skip
            ratios = [row["ratio"] for row in found]
            mean, least = geometric_mean(ratios), min(ratios)
            print(f"{name}, {np.dtype(dtype).name}: mean {mean:.2f} (limit {group.mean}), "
                  f"least {least:.2f} (limit {group.least})")  # fmt: skip
            summary.append({"group": name, "dtype": np.dtype(dtype).name, "mean": mean, "least": least,
                            "limits": asdict(group) | {"shapes": None}, "peak": 2 * peak})  # fmt: skip
            rows += found
    if json_file is not None:
        record = {"machine": describe_machine(), "versions": versions(), "summary": summary, "rows": rows}
        json_file.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
