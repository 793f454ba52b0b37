"""What partitions of a program say to each other: values that cross, that all have come, how far one is.

A *channel* is a queue of one call. Exactly one ``send`` and one ``recv`` of the whole program name it, in regions that
run equally often, so that messages meet in their order. Without an operand and a result, a message is a token: it says
that the sender has come that far. In a host program the call's frame is the first operand, and an array is its memory
with its sizes. What all of them mean together: `jitflow.ir.channels`.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Place, Tape, Type, Variable

__all__ = ["DEVICE_OPS"]

_EXTERNAL = (Effect("external"),)


def _infer_send(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    for operand in operands:
        if isinstance(operand, Variable | Place | Tape):
            raise TypeRuleError(f"send: expected a value, got {operand}; storage stays on its device")
    return ()


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


DEVICE_OPS = [
    OpDef("send", "hands its operand, or a token, to the partition on device ``to`` by the channel ``channel``", "any",
          None, _infer_send, None, _EXTERNAL, frozenset(), ("channel", "to")),
    OpDef("recv", "what the partition on device ``source`` sends by the channel ``channel``; a size that stands in its "
          "type for the first time is bound by it. Fails where the sender has failed", "any", None, None, None,
          _EXTERNAL, frozenset(), ("channel", "source")),
    OpDef("meet", "goes on when all partitions have come to it; fails if one of them has failed", "any", None,
          _nothing, None, _EXTERNAL),
    OpDef("progress", "notes how far its partition has come: entry ``level`` of its record becomes ``order``, or one "
          "more than it was, and what follows is cleared", "any", None, _nothing, None, _EXTERNAL, frozenset(),
          ("level", "order")),
]  # fmt: skip
