"""Which results are written past the caches."""

from __future__ import annotations

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.passes.schedule.cost import CACHE_LINE, STREAM_FROM, STREAM_USED_FROM, STREAMED_PARTS
from jitflow.passes.schedule.joined import JoinedLoops

__all__ = ["may_pass_caches", "past_caches"]


def may_pass_caches(value: Value, loops: JoinedLoops, lanes: int) -> bool:
    """Whether vectors of a result may be written past the caches: memory of our own, in whole lines or parts of one."""
    access = loops.output_access(value)
    width = lanes * access.dtype.itemsize
    unit = loops.vector is not None and access.strides.get(loops.vector, 0) == access.dtype.itemsize
    fits = width % CACHE_LINE == 0 or width in STREAMED_PARTS
    return unit and fits and value not in loops.into and access.offset == 0


def past_caches(value: Value, loops: JoinedLoops, lanes: int, *, used: bool) -> Dim:
    """Above 0 where a result is written past the caches, since it would drive out more than it is worth.

    Its lines begin where lines of the caches do. ``used``: the program works on it next.
    """
    if not may_pass_caches(value, loops, lanes):
        return 0
    access = loops.output_access(value)
    nbytes = product([loop.dim for loop in access.strides]) * access.dtype.itemsize
    strides = [stride for loop, stride in access.strides.items() if loop is not loops.vector]
    shortest = [stride for stride in strides if not any(_is_multiple(stride, other) for other in strides)]
    large = nbytes // STREAM_USED_FROM if used else sum(_read(loops), nbytes) // STREAM_FROM
    return minimum(large, *(1 - stride % CACHE_LINE for stride in shortest))


def _is_multiple(stride: Dim, other: Dim) -> bool:
    return stride != other and other != 0 and stride % other == 0


def _read(loops: JoinedLoops) -> list[Dim]:
    """How many bytes of each operand a kernel reads: a row of a table is not all of it, two windows of one are one."""
    found: dict[Value, tuple[int, Dim]] = {}
    for access in loops.nest.loads:
        along = [loop.dim for loop, stride in access.strides.items() if stride != 0]
        before, _ = found.get(access.buffer, (-1, 0))
        if len(along) > before:
            found[access.buffer] = len(along), product(along) * access.dtype.itemsize
    return [nbytes for _, nbytes in found.values()]
