"""Loops, branches and checks.

Everything carried is a phi. A loop is written with its test at the end, behind a guard, which is the form that code
generation keeps: one jump a turn, and what does not change moves in front of it.

Kernels hide the position of a loop from LLVM's analyses (`Emitter.hidden`). Their addresses are a base and one index,
which is what processors add up for nothing; strength reduction would look for something better, find nothing, and take
a fifth of code generation for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emitter import Emission, Emitter
from jitflow.backends.llvm.slots import ERROR_SLOTS, to_slots
from jitflow.backends.llvm.types import register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value

__all__ = ["CHECK_FAILED", "CONTROL_EMISSION", "OUT_OF_MEMORY", "report"]

CHECK_FAILED, OUT_OF_MEMORY = 1, 2
"""What the first error slot says, and also the status."""


def _phi(type: str, *incoming: tuple[str, str]) -> str:
    return f"phi {type} " + ", ".join(f"[ {operand}, %{block} ]" for operand, block in incoming)


# -- if


def _if(out: Emitter, op: Op) -> Sequence[str]:
    condition = out.operand(op.operands[0])
    yes, no, join = out.label("then"), out.label("else"), out.label("join")
    out.branch(condition, yes, no)
    arms = []
    for label, region in zip((yes, no), op.regions, strict=True):
        out.begin(label)
        arms.append((out.emit_region(region), out.block))
        out.jump(join)
    out.begin(join)
    (first, first_block), (second, second_block) = arms
    return [
        out.let(_phi(register_type(result.type), (first[number], first_block), (second[number], second_block)))
        for number, result in enumerate(op.results)
    ]


# -- for


def _is_literal(operand: str) -> bool:
    return operand.lstrip("-").isdigit()


def _before(out: Emitter, position: str, bound: str, step: str) -> str:
    """Whether a position has not come to the bound yet, in the direction of the step."""
    if _is_literal(step):
        predicate = "slt" if int(step) > 0 else "sgt"
        return out.let(f"icmp {predicate} i64 {position}, {bound}")
    up = out.let(f"icmp slt i64 {position}, {bound}")
    down = out.let(f"icmp sgt i64 {position}, {bound}")
    forward = out.let(f"icmp sgt i64 {step}, 0")
    return out.let(f"select i1 {forward}, i1 {up}, i1 {down}")


def _for(out: Emitter, op: Op) -> Sequence[str]:
    start, stop, step = (out.operand(value) for value in op.operands[:3])
    initial = [out.operand(value) for value in op.operands[3:]]
    (region,) = op.regions
    over_sizes = _runs_over_sizes(out, step)
    guard = _before(out, start, stop, step)
    last = stop if over_sizes else out.call("i64", "llvm.ssub.sat.i64", f"i64 {stop}", f"i64 {step}")
    body, done, before = out.label("loop"), out.label("done"), out.block
    out.branch(guard, body, done)
    out.begin(body)
    phis = [(_parameter(out, parameter), out.reserve()) for parameter in region.parameters]
    position = phis[0][0]
    if over_sizes:
        out.operands[region.parameters[0]] = position = out.hidden("i64", position)
    yielded = out.emit_region(region)
    following = out.let(f"add {'' if over_sizes else 'nsw '}i64 {position}, {step}")
    more = _before(out, following if over_sizes else position, last, step)
    latch = out.block
    out.branch(more, body, done)
    for (name, line), parameter, first, next_ in zip(
        phis, region.parameters, [start, *initial], [following, *yielded], strict=True
    ):
        out.lines[line] = f"  {name} = {_phi(register_type(parameter.type), (first, before), (next_, latch))}"
    out.begin(done)
    return [
        out.let(_phi(register_type(result.type), (first, before), (last_, latch)))
        for result, first, last_ in zip(op.results, initial, yielded, strict=True)
    ]


def _runs_over_sizes(out: Emitter, step: str) -> bool:
    """Whether a loop counts up to a size, which is too small for the sum of position and step to overflow.

    Where it may overflow, there is another turn if the position has not come to ``stop - step``, a bound that
    saturates: the sum is used only where it is inside the range.
    """
    function = out.function
    return function.layer == "loop" and not function.attributes.get("scalar") and _is_literal(step) and int(step) > 0


def _parameter(out: Emitter, value: Value) -> str:
    """A name for a phi that is written when what comes into it is known."""
    out.operands[value] = name = f"%p{out.fresh()}"
    return name


# -- while


def _while(out: Emitter, op: Op) -> Sequence[str]:
    """The condition stands at the top, since it may be long, and its block is entered from both sides."""
    initial = [out.operand(value) for value in op.operands]
    condition, step = op.regions
    test, body, done, before = out.label("test"), out.label("while"), out.label("done"), out.block
    out.jump(test)
    out.begin(test)
    phis = [(_parameter(out, parameter), out.reserve()) for parameter in condition.parameters]
    (proceed,) = out.emit_region(condition)
    out.branch(proceed, body, done)
    out.begin(body)
    for parameter, (name, _) in zip(step.parameters, phis, strict=True):
        out.operands[parameter] = name
    yielded = out.emit_region(step)
    latch = out.block
    out.jump(test)
    for (name, line), parameter, first, following in zip(phis, condition.parameters, initial, yielded, strict=True):
        out.lines[line] = f"  {name} = {_phi(register_type(parameter.type), (first, before), (following, latch))}"
    out.begin(done)
    return [name for name, _ in phis]


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

    out.fail_unless(out.operand(condition), fail)
    return ()


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


def _call(out: Emitter, op: Op) -> Sequence[str]:
    return [out.call(register_type(op.result.type), op.attributes["function"], *map(out.typed, op.operands))]


def _yield(out: Emitter, op: Op) -> Sequence[str]:
    raise CompilerBug("expected yield to be written by the op that owns its region")


CONTROL_EMISSION: dict[str, Emission] = {
    "if": _if,
    "for": _for,
    "while": _while,
    "check": _check,
    "call": _call,
    "broadcast_dims": _broadcast_dims,
    "yield": _yield,
}
