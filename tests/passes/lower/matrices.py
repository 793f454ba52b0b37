"""Matrices of every layout, and programs lowered to kernels, for the tests of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.ir.core import Function
from jitflow.ir.parser import parse
from jitflow.passes.lower import lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.passes.schedule.target import Target

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray, "F": np.asfortranarray,
    "general": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
}  # fmt: skip


def integers(random: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Any:
    """Numbers whose products and sums are exact."""
    return random.integers(-9, 10, shape).astype(dtype)


def lowered(text: str, target: Target) -> Function:
    """The host program of a function of tensor ops."""
    return lower(run_passes(parse(text), FUSION_PIPELINE), target).host
