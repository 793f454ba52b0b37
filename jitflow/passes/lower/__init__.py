"""Lowering: a fused tensor function becomes kernels (loop ops) and the host program that runs them."""

from jitflow.passes.lower.host import Lowered, lower
from jitflow.passes.lower.parts import LoweredParts, lower_part, lower_parts, meets_at_end, on_device
from jitflow.passes.lower.results import PlaceSource, ResultPlace
from jitflow.passes.schedule.target import CPU, GPU, Target

__all__ = ["CPU", "GPU", "Lowered", "LoweredParts", "PlaceSource", "ResultPlace", "Target", "lower", "lower_part",
           "lower_parts", "meets_at_end", "on_device"]  # fmt: skip
