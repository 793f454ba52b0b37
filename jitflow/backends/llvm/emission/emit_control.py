"""Branches and checks. What they give is a phi."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emission, Emitter
from jitflow.backends.llvm.emission.slots import ERROR_SLOTS, to_slots
from jitflow.backends.llvm.emission.types import register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value
from jitflow.ir.status import CHECK_FAILED

__all__ = ["CONTROL_EMISSION", "phi", "report"]


def phi(type: str, *incoming: tuple[str, str]) -> str:
    """What a value is, by the block that was left: pairs of operand and block."""
    return f"phi {type} " + ", ".join(f"[ {operand}, %{block} ]" for operand, block in incoming)


# -- if


def _if(out: Emitter, op: Op) -> Sequence[str]:
    condition = out.operand(op.operands[0])
    yes, no, join = out.label("then"), out.label("else"), out.label("join")
    rare = op.attributes.get("rare")
    if rare is None:
        out.branch(condition, yes, no)
    elif rare == 1:
        out.branch(condition, yes, no, UNLIKELY)
    else:
        out.branch(out.let(f"xor i1 {condition}, true"), no, yes, UNLIKELY)
    arms = []
    for number, (label, region) in enumerate(zip((yes, no), op.regions, strict=True)):
        out.begin(label)
        yielded = out.emit_region(region)
        if number == rare:  # what nobody sees into cannot be computed before the branch, to be selected there
            yielded = [out.hidden(register_type(v.type), name) for v, name in zip(op.results, yielded, strict=True)]
        arms.append((yielded, out.block))
        out.jump(join)
    out.begin(join)
    (first, first_block), (second, second_block) = arms
    return [
        out.let(phi(register_type(result.type), (first[number], first_block), (second[number], second_block)))
        for number, result in enumerate(op.results)
    ]


# -- checks


def report(out: Emitter, code: int, op: Op, values: Sequence[Value]) -> None:
    """Fill the error slots: the code, the site, and the values as far as there is room."""
    words = [str(code), str(out.module.site(op))]
    for value in values:
        words += to_slots(out, value.type, out.operand(value))
    for slot, word in enumerate(words[:ERROR_SLOTS]):
        out.do(f"store i64 {word}, ptr {out.at('%error', str(8 * slot))}, align 8")


def _check(out: Emitter, op: Op) -> Sequence[str]:
    condition, *values = op.operands

    def fail() -> None:
        report(out, CHECK_FAILED, op, values)
        out.leave(str(CHECK_FAILED))

    either = out.producers.get(condition)
    if either is not None and either.name == "logical_or":
        excuse, expected = map(out.operand, either.operands)
        _fail_unless_either(out, expected, excuse, fail)
    else:
        out.fail_unless(out.operand(condition), fail)
    return ()


def _fail_unless_either(out: Emitter, expected: str, excuse: str, fail: Callable[[], None]) -> None:
    """Look for an excuse only where it does not hold what is expected: then the usual way is one comparison."""
    proceed, doubt, failed = out.label("ok"), out.label("doubt"), out.label("failed")
    out.branch(expected, proceed, doubt, UNLIKELY)
    with out.cold(doubt):
        out.branch(excuse, proceed, failed)
        with out.cold(failed):
            fail()
    out.begin(proceed)


def _broadcast_dims(out: Emitter, op: Op) -> Sequence[str]:
    """The common size, where a size of 1 gives way to any other, and a failure where two others differ."""
    size, *others = (out.operand(value) for value in op.operands)

    def fail() -> None:
        report(out, CHECK_FAILED, op, op.operands)
        out.leave(str(CHECK_FAILED))

    for other in others:
        flexible = out.let(f"icmp eq i64 {other}, 1")
        yielding = out.let(f"icmp eq i64 {size}, 1")
        equal = out.let(f"icmp eq i64 {size}, {other}")
        either = out.let(f"or i1 {flexible}, {yielding}")
        out.fail_unless(out.let(f"or i1 {either}, {equal}"), fail)
        size = out.let(f"select i1 {yielding}, i64 {other}, i64 {size}")
    return [size]


def _yield(out: Emitter, op: Op) -> Sequence[str]:
    raise CompilerBug("expected yield to be written by the op that owns its region")


CONTROL_EMISSION: dict[str, Emission] = {
    "if": _if,
    "check": _check,
    "broadcast_dims": _broadcast_dims,
    "yield": _yield,
}
