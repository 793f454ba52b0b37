"""Host ops: what runs the kernels. Arguments and results are 64-bit slots (see ``runtime/entry/plan.py``)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jitflow.ir.ops.memory as memory
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Buffer, Container, Index, Scalar, Tape, Type

__all__ = ["HOST_OPS"]

_EXTERNAL = (Effect("external"),)
_ON_TAPE = (Effect("reads", 0), Effect("writes", 0))


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


def _infer_clock(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Index(),)


def _infer_alloc(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Buffer(attributes["dtype"], attributes.get("device", "cpu")),)


def _infer_transfer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    target, source, _ = operands
    if not isinstance(target, Buffer) or not isinstance(source, Buffer) or target.device == source.device:
        raise TypeRuleError(f"transfer: expected memory of two devices, got {target} and {source}")
    return ()


def _infer_room(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    if not isinstance(operands[0], Tape):
        raise TypeRuleError(f"expected a tape, got {operands[0]}")
    return (Buffer(operands[0].dtype),)


def _infer_items(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (held,) = operands
    if not isinstance(held, Container) or not isinstance(held.item, Scalar):
        raise TypeRuleError(f"item_memory: expected an array, got {held}")
    return (Buffer(held.item.dtype),)


def _item_memory(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    return memory.Memory.of_array(operands[0].elements)


HOST_OPS = [
    OpDef("argument", "what the argument slot holds: a buffer, a size or stride, or a scalar", "host", 0, None, None,
          (), frozenset(), ("slot",)),
    OpDef("result", "puts a buffer, size, stride or scalar into a result slot", "host", 1, _nothing, None, _EXTERNAL,
          frozenset(), ("slot",)),
    OpDef("alloc", "operand: bytes; new memory, failing with MemoryError; ``kept`` until the program ends, never "
          "freed; with ``parts``, equal ones, one for each thread", "host", 1, _infer_alloc, memory.alloc,
          (Effect("allocates"), Effect("check")), frozenset(),
          ("dtype", "device", "kept", "parts")),
    OpDef("free", "buffer, bytes: gives memory back", "host", 2, _nothing,
          lambda operands, attributes, types: (), (Effect("writes", 0),)),
    OpDef("launch", "runs the kernel ``kernel`` on the operands and gives what it yields; fails where a check in it "
          "fails. With ``block`` (threads along x, y, z) a GPU runs it: behind the kernel's operands come the error "
          "record, if it is ``recorded``, the blocks of the grid along x, y and z, and the bytes on the chip that each "
          "block has; of a kernel for indices of 32 bits and one of 64 it is the ``narrow`` one. A check in it fails "
          "at the next ``inspect``",
          "host", None, None, None, _EXTERNAL, frozenset(), ("kernel", "block", "recorded", "narrow")),
    OpDef("library", "calls the library symbol ``symbol`` with the operands by value, buffers as pointers; the "
          "symbol's own row says how", "host", None, _nothing, None, _EXTERNAL, frozenset(), ("symbol",)),
    OpDef("offset", "buffer, bytes: the same memory from that many bytes on", "host", 2,
          lambda operands, attributes: (operands[0],), memory.offset),
    OpDef("transfer", "target, source, bytes: copies bytes from the memory of one device to that of another, behind "
          "all that the device was given to do before. Host memory that it fills is there after the next ``wait``",
          "host", 3, _infer_transfer, memory.transfer, (Effect("writes", 0), Effect("reads", 1))),
    OpDef("wait", "waits until the device has done all that it was given", "host", 0, _nothing,
          lambda operands, attributes, types: (), _EXTERNAL),
    OpDef("attach", "makes the device the one for which the thread calls the driver", "host", 0, _nothing,
          lambda operands, attributes, types: (), _EXTERNAL, frozenset(), ("device",)),
    OpDef("inspect", "an error record in the host's memory: fails as the check does that has filled it", "host", 1,
          _nothing, lambda operands, attributes, types: (), (Effect("check"), Effect("reads", 0))),
    OpDef("extend", "tape, bytes: room at the end of a tape", "host", 2, _infer_room, memory.extend, _ON_TAPE),
    OpDef("retract", "tape, bytes: takes the last bytes off a tape, where they stay until something is put there again",
          "host", 2, _infer_room, lambda operands, attributes, types: operands[0].pop(), _ON_TAPE),
    OpDef("clock", "the time in nanoseconds, of a clock that never goes backwards", "host", 0, _infer_clock,
          lambda operands, attributes, types: time.monotonic_ns(), _EXTERNAL),
    OpDef("note", "start, bytes, operations: tells the profile that since ``start``, the time of a `clock`, so many "
          "bytes were moved and so much was computed. ``kind``, ``work`` and ``lines`` say what was at work, "
          "``channel`` and ``to`` where a message went", "host", 3,
          _nothing, lambda *_: (), _EXTERNAL, frozenset(), ("kind", "work", "lines", "channel", "to")),
    OpDef("fill_draws", "generator, count, memory, parameters: fills memory with draws, as a `draw` with dims does. "
          "``arrays`` are the positions of the parameters that are memory, of as many elements", "host", None, _nothing,
          memory.fill_draws, _EXTERNAL, frozenset(), ("method", "arrays")),
    OpDef("heap", "what the containers of the program are made of", "host", 0, _infer_clock, lambda *_: 0,
          (Effect("allocates"),)),
    OpDef("item_memory", "where the items of an array of the heap lie; ``kept``: they stay there until the program "
          "ends", "any", 1, _infer_items, _item_memory, (Effect("reads", 0, "entries"),), frozenset(), ("kept",)),
    OpDef("hold", "an array of the heap: it is needed up to here, if only for where its items lie", "any", 1, _nothing,
          lambda *_: (), (Effect("writes", 0, "entries"),)),
    OpDef("clear", "gives the memory of a tape back", "any", 1, _nothing, memory.clear, (Effect("writes", 0),)),
]  # fmt: skip
