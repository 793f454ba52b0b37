"""What stays on the caller's own device, and why.

Calls of Python stay there whatever the other devices are: placement puts them there, and partitions rely on it. The
rest is a table of what has no code for a GPU, which lowering for one refuses.
"""

from __future__ import annotations

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.ir.ops.held_arrays import HELD_ARRAY_OPS
from jitflow.ir.ops.texts import TEXT_OPS
from jitflow.ir.routine_table import why_not_on_gpu
from jitflow.ir.routines import Routine
from jitflow.ir.types import Scalar, Tensor

__all__ = ["WHOLE", "calls_python", "reason_to_stay", "refuse_homebound"]

_TAPES = "a list that the program changes, or a loop whose values a gradient needs again and whose turns nobody counts"
WHOLE = {
    "recursion": "a function that calls itself",
    "draw": "a draw from a generator of NumPy's",
    **dict.fromkeys(
        (definition.name for definition in (*CONTAINER_OPS, *HELD_ARRAY_OPS)),
        "a container of Python's that the program changes",
    ),
    **dict.fromkeys((definition.name for definition in TEXT_OPS), "text that the program makes"),
}
"""Programs with these ops run on the caller's device as a whole, and what that is about."""
_OPS = {
    "print": "what is printed comes from the host",
    **{name: f"{what} stays on the host" for name, what in WHOLE.items()},
    **dict.fromkeys(("tape", "push", "pop", "peek", "poke"), f"{_TAPES}, lies in the host's memory"),
}


def calls_python(op: Op) -> bool:
    """Whether an op calls a function of the user's, or is ordered with all that happens outside."""
    if any(effect.kind == "external" for effect in op.own_effects):
        return True
    return op.name == "host_call" and isinstance(op.attributes.get("on_failure", op.attributes["routine"]), Routine)


def reason_to_stay(op: Op) -> str:
    """Why an op has to be on the caller's own device; empty for an op that a GPU can do.

    Routines of numbers alone are called by the host program of the GPU, which has them; those of libraries that work on
    arrays are cupy's (`jitflow.ir.routine_table`).
    """
    return _reason_of_call(op) if op.name == "host_call" else _OPS.get(op.name, "")


def _reason_of_call(op: Op) -> str:
    numbers = [isinstance(value.type, Scalar) for value in (*op.operands, *op.results)]
    if all(numbers):
        return ""
    routine = op.attributes["routine"]
    if isinstance(op.attributes.get("on_failure", routine), Routine):
        return "it is a function of Python's, which runs on the host"
    if all(numbers[: len(op.operands)]):
        return "it makes an array of numbers, which are the host's"
    dtypes = [operand.type.dtype for operand in op.operands if isinstance(operand.type, Scalar | Tensor)]
    return why_not_on_gpu(routine, dict(op.attributes["options"]), dtypes)


def refuse_homebound(function: Function, device: str = "a GPU") -> None:
    """Raise `UserNotImplementedError` at the first op of a function for a GPU that has to stay on the host."""
    for op in walk(function.region):
        reason = reason_to_stay(op)
        if reason:
            what = op.attributes["routine"] if op.name == "host_call" else op.name
            raise UserNotImplementedError(
                f"{what} on {device}: {reason}",
                mend="compile it for the CPU, or leave this part to cpu:0",
                location=op.loc,
            )
