"""Batching as a transformation of the IR: `batch` writes out a `vmap`, for all of its examples at once.

varying    which values and sizes differ from example to example
examples   what rules are written with: all examples of a value
rules      what becomes of single ops: their axes move by one (`storage`: of those that read and write it)
indexing   reading and writing at positions that each example has of its own
positions  sizes that vary, and what stands at them
control    branches and loops
turns      the loop over the examples, for all that has no rule
batch      the walk over the ops of a region
"""

from jitflow.passes.batching.batch import batch

__all__ = ["batch"]
