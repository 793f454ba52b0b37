"""The record of one workload: what is computed, in plain NumPy and in each peer's best form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["REORDERED", "REORDERED_WITHOUT_NAN", "Form", "Inputs", "Workload", "same_source"]

Inputs = tuple[Any, ...]
Form = Callable[..., Any]

REORDERED = {"reassoc", "nsz", "contract"}
"""What numba's loops with sums are allowed, so that they vectorise: jitflow, JAX and torch.compile reorder sums too."""

REORDERED_WITHOUT_NAN = REORDERED | {"nnan"}
"""The same for loops with a maximum, which LLVM vectorises only if no value is NaN."""


@dataclass(frozen=True)
class Workload:
    """One program, its input, and what it would cost at least.

    A form is the same work for one peer. `numba_array`, `numba_loops`, `jax`, `torch` and `cupy` are functions without
    arguments that import their peer and return a form: a function of that peer's arrays, which `peers.py` compiles
    (cupy's, for GPUs, are fused already). Forms allocate their results, as the NumPy program does.
    """

    name: str
    description: str
    function: Form
    """The plain NumPy program: the oracle, and the very source that jitflow compiles."""
    make_inputs: Callable[[np.random.Generator, bool], Inputs]
    """Seeded input, of real size or (True) small."""
    necessary_bytes: int
    """Input read once and output written once, at the real size."""
    flops: int
    """Arithmetic operations at the real size; an elementary function counts as one."""
    relative_tolerance: float
    """Largest accepted difference from NumPy, relative to the largest magnitude of the result."""
    mismatches: float = 0.0
    """Accepted fraction of elements beyond the tolerance, where a rounding may decide a comparison."""
    numba_array: Callable[[], Form] | None = None
    numba_loops: Callable[[], Form] | None = None
    jax: Callable[[], Form] | None = None
    torch: Callable[[], Form] | None = None
    cupy: Callable[[], Form] | None = None
    itemsize: int = 4
    """Bytes of the numbers that are computed with."""
    carried: Mapping[int, int] = field(default_factory=dict)
    """Argument index to result index, where a step's result is the next step's input: JAX donates these."""


def same_source(function: Form, **replaced: Any) -> Form:
    """Return `function` with some of its global names bound to something else.

    A form that is the NumPy program with another module as `np` is made by this, so that it cannot drift.
    """
    assert isinstance(function, FunctionType)
    bound = FunctionType(
        function.__code__, {**function.__globals__, **replaced}, function.__name__, function.__defaults__
    )
    bound.__qualname__ = function.__qualname__
    return bound
