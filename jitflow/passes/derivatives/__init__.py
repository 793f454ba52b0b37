"""Derivatives as a transformation of the IR: `differentiate` writes out what the ops of `ir/ops/derivative.py` ask for.

notation    what rules are written with
partials    the partial derivatives of elementwise ops, for both modes
transposes  the reverse rules of everything else
activity    which values and which storage matter
reverse     the reverse sweep over straight code and storage, and `reverse_regions` over branches and loops
remember    what the forward sweep keeps for it, and what it computes again
forward     forward mode
"""

from jitflow.passes.derivatives.differentiate import differentiate

__all__ = ["differentiate"]
