"""Sizes with two names.

Where a check finds at run time that two sizes are equal, a value with the one gets a form with the other: a
``broadcast {assumed}`` that repeats nothing and moves nothing.
"""

from __future__ import annotations

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of

__all__ = ["renamed_by"]


def renamed_by(op: Op) -> Value | None:
    """The value that an op gives with other names of its sizes, None if the op does more than that."""
    if op.name != "broadcast" or not op.attributes.get("assumed"):
        return None
    before, after = dims_of(op.operands[0].type), op.attributes["dims"]
    if len(before) != len(after) or op.attributes["axes"] != tuple(range(len(after))):
        return None
    repeats = any(old == 1 and new != 1 for old, new in zip(before, after, strict=True))
    return None if repeats else op.operands[0]
