"""Tapes on the host: numbers go onto them one by one, arrays as blocks of bytes.

A tape is memory of the program that grows at its end. The op stands in front of everything, so that a loop which pushes
numbers, and launches nothing, can be a kernel that is given the tape; what it holds is given back after its last use,
by the region that makes it. The kernel that computes an array writes it straight onto the tape if that makes no
difference to anybody: nothing between the two touches the tape, and its memory lasts as long as the array is used.

    %1 = fusion %0, %a (...)                 %r = extend %t, %bytes
    push %t, %1                       as     launch ... , %r      (whoever uses %1 finds it on the tape)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import product
from jitflow.ir.layout import contiguous
from jitflow.ir.types import Scalar, Tape, Tensor, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage

__all__ = ["TAPE_OPS", "room_on_tape"]


def _lower_tape(host: OwningProgram, op: Op) -> None:
    """An empty tape, known to the whole program, or function that calls itself."""
    kind = op.result.type
    assert isinstance(kind, Tape)
    outermost = (host.bodies[-1] if host.bodies else host.scopes.open[0]).builder
    host.tapes[op.result] = outermost.make("tape", dtype=kind.dtype, names=(op.result.name,))


def _lower_push(host: OwningProgram, op: Op) -> None:
    """Put a number or a copy of an array onto a tape."""
    if op in host.plan.written:
        return
    tape, value = op.operands
    if not dims_of(value.type):
        host.builder.add("push", host.tapes[tape], host.number(value))
        return
    room = room_on_tape(host, tape, value)
    host.copy_into(value, room, room.layout)


def _lower_pop(host: OwningProgram, op: Op) -> None:
    """Take a number off a tape, or let an array be what lies there; it is copied if it cannot stay."""
    (tape,), kind = op.operands, op.result.type
    assert isinstance(kind, Tensor | Scalar)
    if not dims_of(kind):
        number = kind if isinstance(kind, Scalar) else Scalar(kind.dtype)
        host.set_number(op.result, host.builder.make("pop", host.tapes[tape], types=(number,)))
        return
    host.give(op.result, _bytes_of_tape(host, "retract", tape, op.result))
    if host.plan.blocks[op.result].owned:
        host.give(op.result, host.contiguous_copy(op.result))


def _lower_peek(host: OwningProgram, op: Op) -> None:
    """Read a number that stays on a tape."""
    tape, count = op.operands
    kind = op.result.type
    assert isinstance(kind, Scalar)
    host.set_number(op.result, host.builder.make("peek", host.tapes[tape], host.number(count), types=(kind,)))


def _lower_poke(host: OwningProgram, op: Op) -> None:
    """Put another number in the place of one."""
    tape, count, value = op.operands
    host.builder.add("poke", host.tapes[tape], host.number(count), host.number(value))


TAPE_OPS: Mapping[str, Callable[[OwningProgram, Op], None]] = {
    "tape": _lower_tape,
    "push": _lower_push,
    "pop": _lower_pop,
    "peek": _lower_peek,
    "poke": _lower_poke,
}


def room_on_tape(host: OwningProgram, tape: Value, value: Value) -> Storage:
    """Room for an array at the end of a tape, in C order."""
    return _bytes_of_tape(host, "extend", tape, value)


def _bytes_of_tape(host: OwningProgram, name: str, tape: Value, value: Value) -> Storage:
    kind = value.type
    assert isinstance(kind, Tensor)
    itemsize = kind.dtype.itemsize
    buffer = host.builder.make(name, host.tapes[tape], host.dim(product(kind.dims) * itemsize))
    return Storage(buffer, None, -1, kind.dtype, kind.dims, contiguous(kind.dims, itemsize))
