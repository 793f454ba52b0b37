"""Which buffers of a kernel lie apart from what it writes, whoever launches it: C++ calls their pointers restricted.

What a host program has allocated and only hands to kernels, or takes pieces of, lies apart from everything else. Of
other memory, that of arguments and what goes through loops and branches by another name, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.types import Buffer

__all__ = ["restricted", "written_by"]


def written_by(kernel: Function) -> set[Value]:
    """The parameters through which a kernel writes."""
    return {
        op.operands[effect.operand]
        for op in walk(kernel.region)
        for effect in op.own_effects
        if effect.kind == "writes"
    }


def restricted(program: Function) -> dict[str, set[Value]]:
    """For each kernel that a host program launches the parameters that nothing else which it writes overlaps."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    ops = [*walk(program.region)]
    roots = _roots(ops)
    own = {op.result for op in ops if op.name == "alloc"} - _renamed(ops, roots)
    found: dict[str, set[Value]] = {}
    for launch in (op for op in ops if op.name == "launch" and op.attributes["kernel"] in kernels):
        kernel = kernels[launch.attributes["kernel"]]
        given = zip(kernel.parameters, launch.operands, strict=False)  # the shape of the grid comes behind
        lies = {parameter: roots.get(value, value) for parameter, value in given}
        alone = _alone(lies, written_by(kernel), own)
        found[kernel.name] = found.get(kernel.name, alone) & alone
    return found


def _alone(lies: dict[Value, Value], written: set[Value], own: set[Value]) -> set[Value]:
    """The parameters, given in which memory they lie, that no other of which one is written may overlap."""

    def meet(one: Value, other: Value) -> bool:
        return lies[one] is lies[other] or not own & {lies[one], lies[other]}

    buffers = [*filter(_is_buffer, lies)]
    return {
        one
        for one in buffers
        if not any(other is not one and written & {one, other} and meet(one, other) for other in buffers)
    }


def _roots(ops: Sequence[Op]) -> dict[Value, Value]:
    """What each piece of memory is a piece of."""
    roots: dict[Value, Value] = {}
    for op in ops:
        if op.name == "offset":
            roots[op.result] = roots.get(op.operands[0], op.operands[0])
    return roots


def _renamed(ops: Sequence[Op], roots: dict[Value, Value]) -> set[Value]:
    """Memory that has another name as well, by which a kernel may get it."""
    handed = [
        value
        for op in ops
        if op.name == "yield" or op.regions or (op.name != "offset" and any(map(_is_buffer, op.results)))
        for value in op.operands
    ]
    return {roots.get(value, value) for value in handed}


def _is_buffer(value: Value) -> bool:
    return isinstance(value.type, Buffer)
