"""Loops that several threads share: each takes spans of the positions.

    for %0, %n, %1 (%i) { ... }    ->    share %n, %work {step=1, threads=8} (%first, %last, %worker) {
                                           for %first, %last, %1 (%i) { ... }
                                         }

A row, or a vector of outputs, is computed by one thread in the way in which it would be computed alone, so the bits are
the same for any number of threads. What the loop does on the whole span at once, ``share`` does in spans side by side,
cut at multiples of ``step``; ``work`` is what a position costs. The number of the thread, 0 for the caller's, tells
which part of scratch memory is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Index
from jitflow.passes.schedule.cost import WORTH, worth_threads

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.emitter import Emitter
    from jitflow.passes.schedule.target import Target

__all__ = ["share"]


class Shared(Protocol):
    """A kernel under construction."""

    target: Target
    emitter: Emitter
    worker: Value | None
    """The number of the thread that runs what is being emitted, where several do."""
    parts: int
    """For how many threads scratch memory has a part."""


def share(kernel: Shared, count: Dim, step: int, work: Dim, body: Callable[[Value, Value], object]) -> None:
    """Emit ``body`` from a first position to the one behind the last, of so many: of all, or of a thread's span.

    ``work`` is what a position takes.
    """
    emitter = kernel.emitter
    if not worth_threads(count, step, work, kernel.target.threads):
        body(emitter.size(0), emitter.size(count))
        return
    first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
    kernel.worker, kernel.parts = worker, kernel.target.threads
    emitter.share(
        emitter.size(count), emitter.size(work), (first, last, worker), lambda: body(first, last), step=step,
        threads=kernel.target.threads, worth=WORTH,
    )  # fmt: skip
    kernel.worker = None
