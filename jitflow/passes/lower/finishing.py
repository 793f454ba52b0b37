"""The passes that finish a host program for a processor, by name, in the order in which they run.

What each of them does stands in its file. A host program tells them by its attributes what the tensor function knew:
``overlap``, that its arguments may show each other, and ``lasting``, the slots of the variables that outlive it and are
written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from jitflow.passes.lower.hoist import hoist
from jitflow.passes.lower.poll import poll
from jitflow.passes.lower.procedures import procedures
from jitflow.passes.lower.settle import settle
from jitflow.passes.runner import Pass
from jitflow.passes.scalar_loops.count import count
from jitflow.passes.scalar_loops.inside import inside
from jitflow.passes.scalar_loops.outline import outline
from jitflow.passes.scalar_loops.paces import paces
from jitflow.passes.scalar_loops.spread import spread

__all__ = ["GPU_HOST_PASSES", "HOST_PASSES"]

HOST_PASSES: Mapping[str, Pass] = {
    "procedures": procedures,
    "hoist_memory": hoist,
    "outline": outline,
    "spread": spread,
    "inside": inside,
    "paces": paces,
    "count": count,
    "poll": poll,
    "settle": settle,
}

GPU_HOST_PASSES: Mapping[str, Pass] = {
    "outline": partial(outline, reaching_memory=True),
    "poll": poll,
}
"""Those of a program whose memory is a GPU's: numbers stay on the host, loops that reach elements are one thread's."""
