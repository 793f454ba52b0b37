"""What lowering needs to know of the processor: how wide its vectors are, and who runs the iterations of outer loops.

The kernels are the same for every target, made by one lowering. On a GPU a vector is a warp: its 32 lanes are 32
threads, so a horizontal reduction is a warp's, and in a vertical one every thread has an output of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CPU", "GPU", "Given", "Target"]


@dataclass(frozen=True, slots=True)
class Given:
    """The text of a schedule that a user gives for a kernel, the loops that it is for, and where it stands."""

    kernel: str
    loops: str
    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of processor.

    ``vector_bytes`` is the width of its vectors. ``lanes``, if it is not 0, is how many lanes every vector has whatever
    its dtype. ``distributed``: iterations of outer loops may run at the same time, so these loops are marked
    ``parallel``, scratch memory is not shared between them, and what pays only on one core with wide vectors and deep
    caches is left out (short loops joined under patterns of lanes, versions for short sizes, writes past the caches).
    ``masked``: vector loops run under masks throughout, rather than once without and once, for the tail, with.
    ``threads``: how many may run a kernel, each of which takes spans of the outermost loop (`sharing.py`).
    ``tile`` is how many rows of how many bytes of a matrix product are made at a time, None where products are the
    library's. ``notes``: the program tells a profile when what it launches begins and ends (`notes.py`). ``given`` are
    schedules that the user wants instead of those that are chosen.
    """

    vector_bytes: int = 64
    lanes: int = 0
    distributed: bool = False
    masked: bool = False
    threads: int = 1
    tile: tuple[int, int] | None = None
    notes: bool = False
    given: tuple[Given, ...] = ()


CPU = Target(tile=(16, 192))
GPU = Target(lanes=32, distributed=True, masked=True)
