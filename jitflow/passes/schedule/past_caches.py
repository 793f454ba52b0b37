"""Which results are written past the caches."""

from __future__ import annotations

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.types import Tensor
from jitflow.passes.schedule.cost import CACHE_LINE, STREAM_FROM, STREAM_USED_FROM
from jitflow.passes.schedule.joined import JoinedLoops

__all__ = ["may_pass_caches", "past_caches"]


def may_pass_caches(value: Value, loops: JoinedLoops, lanes: int) -> bool:
    """Whether vectors of a result may be written past the caches: memory of our own, in whole lines or parts of one."""
    access = loops.output_access(value)
    width = lanes * access.dtype.itemsize
    unit = loops.vector is not None and access.strides.get(loops.vector, 0) == access.dtype.itemsize
    return unit and value not in loops.into and access.offset == 0 and (width % CACHE_LINE == 0 or width in (16, 32))


def past_caches(value: Value, loops: JoinedLoops, lanes: int, *, used: bool) -> Dim:
    """1 where a result is written past the caches, since it would drive out more than it is worth; else 0.

    ``used``: the program works on it next.
    """
    if not may_pass_caches(value, loops, lanes):
        return 0
    access = loops.output_access(value)
    nbytes = product([loop.dim for loop in access.strides]) * access.dtype.itemsize
    if used:
        choice: Dim = minimum(nbytes // STREAM_USED_FROM, 1)
    else:
        read = [value.type for value in loops.nest.region.parameters if isinstance(value.type, Tensor)]
        around = sum((product(tensor.dims) * tensor.dtype.itemsize for tensor in read), nbytes)
        choice = minimum(around // STREAM_FROM, 1)
    for loop, stride in access.strides.items():
        if loop is not loops.vector:
            choice = choice * (1 - minimum(stride % CACHE_LINE, 1))
    return choice
