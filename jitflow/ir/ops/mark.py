"""A name for a value: what `jitflow.name` leaves in the program.

A mark computes nothing and nobody needs it, so the first removal of dead ops takes it away. Before that, `extract`
finds by it the values that a part of the program is to give, and `unmark` hands its name on to the value.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.records import Attributes, OpDef
from jitflow.ir.types import Type

__all__ = ["MARK_OPS"]


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


MARK_OPS = [
    OpDef("mark", "the program calls the operand ``label``", "tensor", 1, _nothing, lambda *_: (),
          attributes=("label",)),
]  # fmt: skip
