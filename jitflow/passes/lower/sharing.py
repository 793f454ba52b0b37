"""Kernels that several threads share: each takes a span of the outermost loop.

    for %0, %n, %1 (%i) { ... }    ->    share %n, %work {step=1, threads=8} (%first, %last, %worker) {
                                           for %first, %last, %1 (%i) { ... }
                                         }

A row, or a vector of outputs, is computed by one thread in the way in which it would be computed alone, so the bits are
the same for any number of threads. What the loop does on the whole span at once, ``share`` does in spans side by side,
cut at multiples of ``step``; ``work`` is what a position costs. The number of the thread, 0 for the caller's, tells
which part of scratch memory is its own.

Left to one thread are kernels in which a loop around the others is reduced, that hold a result outside of all loops, or
that go down large matrices in bands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Index
from jitflow.passes.fusion.nest import Loop

if TYPE_CHECKING:
    from jitflow.passes.lower.elements import Elements

__all__ = ["Span", "open_span"]


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The part of a loop that a thread is to run, and which thread that is."""

    loop: Loop | None
    """None where it is no axis of the nest, but rows of it."""
    count: Dim
    first: Value
    last: Value
    worker: Value
    step: int
    """Spans begin at multiples of it."""
    work: Dim
    """How many instructions a position costs."""


def open_span(kernel: Elements, loop: Loop | None, count: Dim, step: int, work: Dim) -> Span:
    """The span of a loop with ``count`` positions of so much ``work`` each."""
    first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
    kernel.worker = worker
    return Span(loop, count, first, last, worker, step, work)
