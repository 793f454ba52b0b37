"""Selections, of which code generation for x86 would make arithmetic where that is longer.

    %3 = bitwise_xor %crc, %p ; %crc' = select %bit, %3, %crc

becomes ``%crc ^ (%p & -%bit)`` there, four instructions one after the other, where a conditional move needs two. Each
turn of a loop waits for them if the number is carried on and says itself what is selected, as in shift registers and
products of bits. There LLVM is not shown that one arm comes from the other. Such a loop is no candidate for vectors,
which would want to see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.types import lanes_of, register_type
from jitflow.ir.core import Op, Value
from jitflow.ir.types import Scalar, Vector

__all__ = ["SELECT_EMISSION"]

_STEPS = frozenset({"bitwise_xor", "bitwise_or", "add", "subtract"})
_DEPTH = 6
"""How many ops away what a number comes from is looked for."""


def _select(out: Emitter, op: Op) -> Sequence[str]:
    condition, yes, no = op.operands
    lanes = max(lanes_of(operand.type) for operand in op.operands)
    text = register_type(op.result.type)
    mask = f"<{lanes} x i1>" if isinstance(condition.type, Vector) else "i1"
    arms = [out.shaped(arm, lanes) for arm in (yes, no)]
    if out.function.attributes.get("scalar") and isinstance(op.result.type, Scalar):
        pairs = ((yes, no), (no, yes))
        arms = [
            out.hidden(text, name) if _is_step_of_itself(out, condition, arm, other) else name
            for name, (arm, other) in zip(arms, pairs, strict=True)
        ]
    return [out.let(f"select {mask} {out.operand(condition)}, {text} {arms[0]}, {text} {arms[1]}")]


def _is_step_of_itself(out: Emitter, condition: Value, arm: Value, other: Value) -> bool:
    """Whether an arm is one step from the other one, on a condition that comes from the same carried number."""
    step = out.producers.get(arm)
    if step is None or step.name not in _STEPS or step.operands[0] is not other or not _is_integer(arm):
        return False
    return not _carried(out, other, _DEPTH).isdisjoint(_carried(out, condition, _DEPTH))


def _carried(out: Emitter, value: Value, depth: int) -> frozenset[Value]:
    """The integers from which a number is computed and that no op computes: those that loops carry."""
    op = out.producers.get(value)
    if op is None:
        is_carried = _is_integer(value) and value not in out.function.parameters
        return frozenset((value,)) if is_carried else frozenset()
    if op.regions or not depth:
        return frozenset()
    return frozenset[Value]().union(*(_carried(out, operand, depth - 1) for operand in op.operands))


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, Scalar) and value.type.dtype.is_integer


SELECT_EMISSION: dict[str, Emission] = {"select": _select}
