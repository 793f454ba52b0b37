"""The table of operations: the single source of truth about what every op is.

One row (`OpDef`) holds name, documentation, operands, typing rule, effects and reference meaning in NumPy. What a
layer adds (a gradient rule, a lowering to loops, the LLVM emission) is a table in that layer, keyed by the op's name.

Three sets share the machinery: tensor ops say what the user meant, loop ops what a kernel does, host ops what runs the
kernels. Elementwise arithmetic is one set of rows for all three: on tensors, on scalars, and on vectors of lanes.
"""

from __future__ import annotations

from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.ir.ops.control import CONTROL_OPS
from jitflow.ir.ops.derivative import DERIVATIVE_OPS
from jitflow.ir.ops.devices import DEVICE_OPS
from jitflow.ir.ops.elementwise import ELEMENTWISE_OPS
from jitflow.ir.ops.held_arrays import HELD_ARRAY_OPS
from jitflow.ir.ops.host import HOST_OPS
from jitflow.ir.ops.indexing import INDEXING_OPS
from jitflow.ir.ops.linear import LINEAR_OPS
from jitflow.ir.ops.loop import LOOP_OPS
from jitflow.ir.ops.mark import MARK_OPS
from jitflow.ir.ops.reduction import REDUCTION_OPS
from jitflow.ir.ops.routine import ROUTINE_OPS
from jitflow.ir.ops.shape import SHAPE_OPS
from jitflow.ir.ops.state import STATE_OPS
from jitflow.ir.ops.texts import TEXT_OPS
from jitflow.ir.records import OpDef

__all__ = ["OPS"]

OPS: dict[str, OpDef] = {
    op.name: op
    for table in (
        ELEMENTWISE_OPS,
        REDUCTION_OPS,
        SHAPE_OPS,
        INDEXING_OPS,
        LINEAR_OPS,
        ROUTINE_OPS,
        CONTROL_OPS,
        STATE_OPS,
        CONTAINER_OPS,
        HELD_ARRAY_OPS,
        TEXT_OPS,
        DERIVATIVE_OPS,
        MARK_OPS,
        DEVICE_OPS,
        LOOP_OPS,
        HOST_OPS,
    )
    for op in table
}
