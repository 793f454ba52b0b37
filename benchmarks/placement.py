"""How long placement takes for graphs of ten thousand ops, in processor time: ``python -m benchmarks.placement``."""

from __future__ import annotations

import random
import time
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Value
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import F64
from jitflow.ir.types import Tensor
from jitflow.machines.machine import as_machine
from jitflow.passes.place import decide, placed
from jitflow.passes.place.simulator import simulate_graph

__all__ = ["branches", "main", "tangle"]

_N = symbol("n")


def _function(builder: Builder, x: Value, result: Value, size: int) -> Function:
    return Function("graph", builder.region((x,), (result,)), attributes=MappingProxyType({"hints": (("n", size),)}))


def branches(width: int, length: int, names: list[str], size: int) -> Function:
    """A wide fork of chains, and the sum of what they give."""
    builder, x = Builder(), Value(Tensor(F64, (_N, _N)), "x")
    ends = []
    for branch in range(width):
        value = x
        for number in range(length):
            name = names[(branch + number) % len(names)]
            value = builder.make(name, value, x) if name in ("matmul", "add") else builder.make(name, value)
        ends.append(value)
    total = ends[0]
    for end in ends[1:]:
        total = builder.make("add", total, end)
    return _function(builder, x, total, size)


def tangle(count: int, reach: int, names: list[str], size: int, seed: int = 0) -> Function:
    """Each op takes two of the latest values at random."""
    chance = random.Random(seed)
    builder, x = Builder(), Value(Tensor(F64, (_N, _N)), "x")
    values = [x]
    for _ in range(count):
        values.append(builder.make(chance.choice(names), *(chance.choice(values[-reach:]) for _ in range(2))))
    return _function(builder, x, values[-1], size)


def main() -> None:
    """Print seconds for each graph, and what is predicted for one device and for all."""
    graphs = {
        "10 branches": branches(10, 1000, ["sin", "matmul", "add", "exp"], 300),
        "100 branches": branches(100, 100, ["matmul"], 300),
        "100 elementwise": branches(100, 100, ["sin", "add"], 300),
        "tangle, products": tangle(10_000, 50, ["matmul", "add"], 300),
        "tangle, small": tangle(10_000, 50, ["add", "multiply", "power"], 30),
    }
    for title, function in graphs.items():
        for text in ("2*cpu", "4*cpu"):
            begin = time.process_time()
            decision = decide(function, as_machine(text))
            placed(decision)
            spent = time.process_time() - begin
            alone = simulate_graph(decision.graph, [0] * len(decision.plan)).seconds
            together = simulate_graph(decision.graph, decision.plan).seconds
            print(f"{title:18}{text}  placed in {spent:.2f} s; one device {alone:.4f} s, the plan {together:.4f} s")


if __name__ == "__main__":
    main()
