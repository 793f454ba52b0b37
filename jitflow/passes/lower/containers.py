"""Containers are the same in the host program: a reference is a number, which stands in kernels as well.

Only what makes one is told of the heap, which belongs to the whole program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitflow.ir.core import Op, Value
from jitflow.ir.ops.containers import CONTAINER_OPS
from jitflow.ir.ops.texts import TEXT_OPS
from jitflow.ir.types import Place
from jitflow.passes.lower.numbers import lower_arithmetic
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage

__all__ = ["CONTAINER_LOWERING"]


def _heap(host: OwningProgram) -> Value:
    """The heap, made in front of everything when it is first asked for."""
    if host.heap is None:
        host.heap = host.scopes.open[0].builder.make("heap")
    return host.heap


def _lower_make(host: OwningProgram, op: Op) -> None:
    host.set_number(op.result, host.builder.make("make_container", _heap(host), type=op.result.type))


def _lower_text(host: OwningProgram, op: Op) -> None:
    characters = op.attributes["characters"]
    host.set_number(op.result, host.builder.make("text_constant", _heap(host), characters=characters))


def _lower_concatenation(host: OwningProgram, op: Op) -> None:
    texts = map(host.number, op.operands)
    host.set_number(op.result, host.builder.make("concatenate_texts", _heap(host), *texts))


def _lower_pack(host: OwningProgram, op: Op) -> None:
    held = map(host.number, op.operands)
    host.set_number(op.result, host.builder.make("pack_containers", _heap(host), *held))


def _lower_passed(host: OwningProgram, op: Op) -> None:
    (address,) = map(host.number, op.operands)
    number = op.attributes["number"]
    made = host.builder.make("pass_container", _heap(host), address, number=number, type=op.result.type)
    host.set_number(op.result, made)


def _lower_given(host: OwningProgram, op: Op) -> None:
    host.builder.add(op.name, _heap(host), *map(host.number, op.operands))


def _lower_shown(host: OwningProgram, op: Op) -> None:
    """Memory that the heap owns, which may be held until the end of the program."""
    kind, (held,) = op.result.type, map(host.number, op.operands)
    assert isinstance(kind, Place)
    kept = {"kept": True} if host.plan.blocks[op.result].kept else {}
    buffer = host.builder.make("item_memory", held, **kept)
    if not kept:
        host.held[op.result] = held
    host.give(op.result, Storage(buffer, None, -1, kind.dtype, kind.dims, host.layouts[op.result]))


CONTAINER_LOWERING: Mapping[str, Callable[[OwningProgram, Op], None]] = {
    **dict.fromkeys((definition.name for definition in (*CONTAINER_OPS, *TEXT_OPS)), lower_arithmetic),
    "make_container": _lower_make,
    "text_constant": _lower_text,
    "concatenate_texts": _lower_concatenation,
    "pack_containers": _lower_pack,
    "pass_container": _lower_passed,
    "give_containers": _lower_given,
    "tell_containers": _lower_given,
    "add_items": lower_arithmetic,
    "show_items": _lower_shown,
}
