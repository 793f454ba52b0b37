"""Containers are the same in the host program: a reference is a number, which stands in kernels as well.

Only what makes one is told of the heap, which belongs to the whole program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitflow.ir.core import Op
from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.passes.lower.numbers import lower_arithmetic
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["CONTAINER_LOWERING"]


def _lower_make(host: OwningProgram, op: Op) -> None:
    if host.heap is None:
        host.heap = host.scopes.open[0].builder.make("heap")
    made = host.builder.make("make_container", host.heap, type=op.result.type)
    host.set_number(op.result, made)


CONTAINER_LOWERING: Mapping[str, Callable[[OwningProgram, Op], None]] = {
    **dict.fromkeys((definition.name for definition in CONTAINER_OPS), lower_arithmetic),
    "make_container": _lower_make,
}
