"""Arrays that stay on the tape from which they are popped.

What is popped lies in the tape's memory until something is pushed over it, and there whoever reads it may find it, so
that nothing is copied. An array that leaves the turn that pops it gets memory of its own where it leaves, as any array
does that its region does not own. So it may stay unless the region that pops it pushes to the same tape afterwards, or
the program returns it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.types import dims_of

__all__ = ["lent_arrays"]


def lent_arrays(function: Function) -> dict[Value, Value]:
    """For each array that is popped and may stay where it is, its tape."""
    if not any(op.name == "pop" for op in walk(function.region)):
        return {}
    shown = {op.result: op.operands[0] for op in function.region.body if "view" in op.definition.traits}
    returned = set(function.results)
    for value in function.results:
        while value in shown:
            value = shown[value]
            returned.add(value)
    return {op.result: op.operands[0] for op in _staying(function.region) if op.result not in returned}


def _staying(region: Region) -> Iterator[Op]:
    """The pops of arrays, here and inside, behind which their region does not push to the same tape."""
    pushed: set[Value] = set()
    for op in reversed(region.body):
        if op.name == "push":
            pushed.add(op.operands[0])
        elif op.name == "pop" and dims_of(op.result.type) and op.operands[0] not in pushed:
            yield op
        for inner in op.regions:
            yield from _staying(inner)
            pushed.update(nested.operands[0] for nested in walk(inner) if nested.name == "push")
