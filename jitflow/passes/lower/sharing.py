"""Kernels that several threads share: each takes a span of the outermost loop.

    kernel @k(..., %n) {                   kernel @k(..., %n, %first, %last, %worker) {
      for %0, %n, %1 (%i) { ... }    ->      for %first, %last, %1 (%i) { ... }

    launch ..., %n                         launch ..., %n, %0, %n, %0, %least {shared=(1, 8)}

A row, or a vector of outputs, is computed by one thread in the way in which it would be computed alone, so the bits are
the same for any number of threads. What the kernel gives on the whole span at once, ``launch`` gives in spans side by
side, cut at multiples of the first number of ``shared``, to at most as many threads as the second one says; ``least``
says how many positions are worth a thread's while. The number of the thread, 0 for the caller's, tells which part of
scratch memory is its own.

Left to one thread are kernels in which a loop around the others is reduced, that hold a result outside of all loops, or
that go down large matrices in bands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, minimum, product
from jitflow.ir.types import Index
from jitflow.passes.fusion.nest import Loop

if TYPE_CHECKING:
    from jitflow.passes.lower.elements import Elements
    from jitflow.passes.lower.emitter import Emitter
    from jitflow.passes.lower.target import Target

__all__ = ["Shared", "Span", "outermost_span", "span_over"]

WORTH = 1 << 18
"""Instructions, each for one element, that are worth a thread's while: some ten microseconds."""
FOR_MEMORY = 4
"""What reading or writing an element costs in these."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The part of a loop that a kernel is to run, and who runs it: three more parameters."""

    loop: Loop | None
    """None where it is no axis of the nest, but rows of it."""
    count: Dim
    first: Value
    last: Value
    worker: Value
    step: int
    """Spans begin at multiples of it."""
    least: Dim
    """How many positions are worth a thread's while."""


def outermost_span(kernel: Elements) -> Span | None:
    """How the outermost loop of a kernel is shared; None where it is not."""
    schedule = kernel.schedule
    if not kernel.outer:
        return None
    outermost, *inner = kernel.outer
    if any(outermost not in schedule.loops_of(value) for value in kernel.region.yielded):
        return None
    step = kernel.lanes if outermost is kernel.vector else 1
    accesses = len(kernel.nest.layouts) + len(kernel.region.yielded)
    volume = product([loop.dim for loop in (*inner, *kernel.reduced)]) * (schedule.cost + FOR_MEMORY * accesses)
    return span_over(kernel, outermost, outermost.dim, step, volume)


class Shared(Protocol):
    """A kernel under construction that threads may share."""

    target: Target
    emitter: Emitter
    worker: Value | None


def span_over(kernel: Shared, loop: Loop | None, count: Dim, step: int, work: Dim) -> Span | None:
    """The span of a loop with ``count`` positions of so much ``work`` each; None if that is never worth it."""
    least = maximum(WORTH // maximum(minimum(work, WORTH), 1), step)
    if kernel.target.threads == 1 or (isinstance(count, int) and isinstance(least, int) and count < 2 * least):
        return None
    first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
    kernel.worker = worker
    kernel.emitter.depth_of |= dict.fromkeys((first, last, worker), 0)
    return Span(loop, count, first, last, worker, step, least)
