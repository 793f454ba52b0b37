"""Lowering: a fused tensor function becomes kernels (loop ops) and the host program that runs them."""

from jitflow.passes.lower.host import Lowered, ResultPlace, lower

__all__ = ["Lowered", "ResultPlace", "lower"]
