"""Ways to CUDA for tests: from tensor functions and from kernels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.workloads import WORKLOADS
from jitflow.api import function as compiled
from jitflow.backends.cuda import CudaModule, print_program
from jitflow.backends.cuda.grid import Launch
from jitflow.backends.cuda.nvrtc import is_available
from jitflow.ir.core import Builder, Function, Region, Value
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import GPU, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from tests.passes.programs import PROGRAMS

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")

needs_nvrtc = pytest.mark.skipif(not is_available(), reason="needs the wheel nvidia-cuda-nvrtc: pip install '.[test]'")


def lowered(function: Function) -> Function:
    """The host program of a tensor function for a GPU, with its kernels, in primitives."""
    return expand(lower(run_passes(function, FUSION_PIPELINE), GPU).host)


def printed(function: Function) -> CudaModule:
    return print_program(lowered(function))


def shape_of(launch: Launch, arguments: Sequence[int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Blocks of the grid and threads of a block, for the arguments of a call (in those for sizes)."""
    builder = Builder()

    def number(value: int) -> Value:
        return builder.make("size", dim=value)

    region = builder.region((), launch.shape(builder, number, [*map(number, arguments)]))
    x, y, z = interpret(Function("shape", region, (), "loop"))
    return (x, y, z), launch.block


def module_of(kernel: Function) -> CudaModule:
    """A module of one kernel."""
    return print_program(Function("program", Region((), ()), (), "host", functions=(kernel,)))


@functools.cache
def sources() -> dict[str, Any]:
    """For each program and each workload what gives its source."""

    def of_program(name: str) -> str:
        return printed(parse(PROGRAMS[name])).text

    def of_workload(name: str) -> str:
        workload = WORKLOADS[name]
        inputs = workload.make_inputs(np.random.default_rng(1), True)
        return compiled(workload.function).ir(*inputs, stage="cuda")

    programs = {f"program {name}": functools.partial(of_program, name) for name in PROGRAMS}
    return programs | {f"workload {name}": functools.partial(of_workload, name) for name in WORKLOADS}
