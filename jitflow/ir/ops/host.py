"""Host ops: what runs the kernels. Arguments and results are 64-bit slots (see ``runtime/plan.py``)."""

from __future__ import annotations

from collections.abc import Sequence

import jitflow.ir.ops.memory as memory
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Buffer, Tape, Type

__all__ = ["HOST_OPS"]

_EXTERNAL = (Effect("external"),)
_ON_TAPE = (Effect("reads", 0), Effect("writes", 0))


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


def _infer_alloc(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Buffer(attributes["dtype"], attributes.get("device", "cpu")),)


def _infer_room(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    if not isinstance(operands[0], Tape):
        raise TypeRuleError(f"expected a tape, got {operands[0]}")
    return (Buffer(operands[0].dtype),)


HOST_OPS = [
    OpDef("argument", "what the argument slot holds: a buffer, a size or stride, or a scalar", "host", 0, None, None,
          (), frozenset(), ("slot",)),
    OpDef("result", "puts a buffer, size, stride or scalar into a result slot", "host", 1, _nothing, None, _EXTERNAL,
          frozenset(), ("slot",)),
    OpDef("alloc", "operand: bytes; new memory, failing with MemoryError; ``kept`` until the program ends, never freed",
          "host", 1, _infer_alloc, memory.alloc, (Effect("allocates"), Effect("check")), frozenset(),
          ("dtype", "device", "kept")),
    OpDef("free", "buffer, bytes: gives memory back", "host", 2, _nothing,
          lambda operands, attributes, types: (), (Effect("writes", 0),)),
    OpDef("launch", "runs the kernel ``kernel`` on the operands and gives what it yields; fails where a check in it "
          "fails. With ``shared`` the kernel's last parameters are a span of positions and the number of a thread, and "
          "so many threads as its second number says may take parts of the span, cut at multiples of the first; one "
          "more operand says how many positions are worth a thread's while",
          "host", None, None, None, _EXTERNAL, frozenset(), ("kernel", "shared")),
    OpDef("library", "calls the library symbol ``symbol`` with the operands by value, buffers as pointers; the "
          "symbol's own row says how", "host", None, _nothing, None, _EXTERNAL, frozenset(), ("symbol",)),
    OpDef("offset", "buffer, bytes: the same memory from that many bytes on", "host", 2,
          lambda operands, attributes: (operands[0],), memory.offset),
    OpDef("extend", "tape, bytes: room at the end of a tape", "host", 2, _infer_room, memory.extend, _ON_TAPE),
    OpDef("retract", "tape, bytes: takes the last bytes off a tape, where they stay until something is put there again",
          "host", 2, _infer_room, lambda operands, attributes, types: operands[0].pop(), _ON_TAPE),
    OpDef("clear", "gives the memory of a tape back", "any", 1, _nothing, memory.clear, (Effect("writes", 0),)),
]  # fmt: skip
