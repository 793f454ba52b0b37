"""Loops.

Everything carried is a phi. A loop is written with its test at the end, behind a guard, which is the form that code
generation keeps: one jump a turn. Addresses that it does not change stand in front of it (`before_loops.py`).

A ``for`` of a kernel that polls and has no such ``for`` inside does not count its turns, which would keep LLVM from
making vectors of them. It takes them in pieces, most often in one, and polls between:

    piece: low, carried
           high = low + min(stop - low, turns of a piece)
    turn:  ... from low to high ...
    end:   high = stop ? done : poll, then the next piece from high on

So does a ``while`` that counts towards a bound: between two polls a nearer one takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emit_control import phi
from jitflow.backends.llvm.emission.emit_poll import call_poll, count_turns, poll_in_time
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emission, Emitter
from jitflow.backends.llvm.emission.types import register_type
from jitflow.ir.core import Op, Region, Value, walk

__all__ = ["LOOP_EMISSION"]


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
    guard = _before(out, start, stop, step)
    body, done = out.label("loop"), out.label("done")
    leaving: list[tuple[Sequence[str], str]] = [(initial, out.block)]
    """What is carried, by the block from which the end is reached."""
    if out.function.layer != "host" and _is_literal(step) and _goes_in_pieces(op):
        inside = out.label("inside")
        out.branch(guard, inside, done)
        out.begin(inside)
        leaving.append(_in_pieces(out, op, (start, stop, step), initial, done))
    else:
        last = _last(out, stop, step)
        with out.loop():
            out.branch(guard, body, done)
            before = out.block
            out.begin(body)
            yielded = _turns(out, op, (start, last, step), initial, before, done, polls="polls" in op.attributes)
        leaving.append((yielded, out.block))
    out.begin(done)
    return [
        out.let(phi(register_type(result.type), *((values[number], block) for values, block in leaving)))
        for number, result in enumerate(op.results)
    ]


def _goes_in_pieces(op: Op) -> bool:
    """Whether a loop polls and none inside it does, but for ``while``, which turn a few times as a rule."""
    inside = (inner.name for inner in walk(op.regions[0]) if "polls" in inner.attributes)
    return "polls" in op.attributes and "for" not in inside


def _last(out: Emitter, stop: str, step: str) -> str:
    """``stop - step``, which saturates: there is another turn if the position has not come to that.

    Asked in this way the sum of position and step is used only where it is inside the range, so it cannot overflow.
    """
    return out.call("i64", "llvm.ssub.sat.i64", f"i64 {stop}", f"i64 {step}")


def _turns(
    out: Emitter, op: Op, span: tuple[str, str, str], initial: Sequence[str], before: str, done: str, *, polls: bool
) -> list[str]:
    """The turns over a span (start, last, step), in the block that has begun and is entered from ``before``."""
    (start, last, step), (region,), body = span, op.regions, out.block
    phis = [(_parameter(out, parameter), out.reserve()) for parameter in region.parameters]
    yielded = out.emit_region(region)
    if polls:
        poll_in_time(out, op)
    position = phis[0][0]
    more = _before(out, position, last, step)
    following = out.let(f"add nsw i64 {position}, {step}")
    latch = out.block
    out.branch(more, body, done)
    for (name, line), parameter, first, next_ in zip(
        phis, region.parameters, [start, *initial], [following, *yielded], strict=True
    ):
        out.lines[line] = f"  {name} = {phi(register_type(parameter.type), (first, before), (next_, latch))}"
    return yielded


def _in_pieces(
    out: Emitter, op: Op, span: tuple[str, str, str], initial: Sequence[str], done: str
) -> tuple[list[str], str]:
    """A loop that polls, over a span (start, stop, step) that is not empty, piece by piece, with a poll between two."""
    (start, stop, step), before, piece = span, out.block, out.label("piece")
    out.jump(piece)
    out.begin(piece)
    phis = [(f"%p{out.fresh()}", out.reserve()) for _ in (start, *initial)]
    low, *carried = (name for name, _ in phis)
    stride = abs(int(step))
    most = min(op.attributes["polls"] * _PIECE, _LARGEST // stride) * stride
    length = out.call("i64", "llvm.umin.i64", f"i64 {_distance(out, low, stop, step)}", f"i64 {most}")
    high = out.let(f"{'add' if int(step) > 0 else 'sub'} i64 {low}, {length}")
    last, turn, end, due, finished = _last(out, high, step), *map(out.label, ("turn", "end", "due", "finished"))
    out.jump(turn)
    out.begin(turn)
    yielded = _turns(out, op, (low, last, step), carried, piece, end, polls=False)
    out.begin(end)
    out.branch(out.let(f"icmp eq i64 {high}, {stop}"), finished, due, UNLIKELY)
    with out.cold(due):
        call_poll(out, op)
        again = out.block
        out.jump(piece)
    out.begin(finished)
    count_turns(out, op, length if stride == 1 else out.let(f"udiv i64 {length}, {stride}"))
    out.jump(done)
    types = ["i64", *(register_type(value.type) for value in op.operands[3:])]
    for (name, line), type, first, next_ in zip(phis, types, [start, *initial], [high, *yielded], strict=True):
        out.lines[line] = f"  {name} = {phi(type, (first, before), (next_, again))}"
    return yielded, finished


def _distance(out: Emitter, position: str, stop: str, step: str | int) -> str:
    return out.let(f"sub i64 {stop}, {position}" if int(step) > 0 else f"sub i64 {position}, {stop}")


_LARGEST = (1 << 64) - 1
_PIECE = 4
"""How many times the turns between two polls a piece has: it begins and ends with what vectors leave over."""


def _parameter(out: Emitter, value: Value) -> str:
    """A name for a phi that is written when what comes into it is known."""
    out.operands[value] = name = f"%p{out.fresh()}"
    return name


# -- while


def _while(out: Emitter, op: Op) -> Sequence[str]:
    """The condition stands at the top, since it may be long, and its block is entered from both sides."""
    polling = any("polls" in inner.attributes for region in op.regions for inner in walk(region))
    if "counts" in op.attributes and "polls" in op.attributes and out.function.layer != "host" and not polling:
        return _while_in_pieces(out, op)
    initial = [out.operand(value) for value in op.operands]
    return _tested_turns(out, op, initial, polls="polls" in op.attributes)


def _tested_turns(out: Emitter, op: Op, initial: Sequence[str], *, polls: bool) -> list[str]:
    """Turns as long as the condition holds; what they carry behind them."""
    done = out.label("done")
    carried = _turns_until(out, op, initial, done, polls=polls)
    out.begin(done)
    return carried


def _turns_until(
    out: Emitter, op: Op, initial: Sequence[str], done: str, *, arrived: str = "", bound: str = "", polls: bool = False
) -> list[str]:
    """Turns which end at one of two labels, where the number that counts has come to the ``bound``, or else before."""
    condition, step = op.regions
    test, body, before = out.label("test"), out.label("while"), out.block
    out.jump(test)
    out.begin(test)
    varying = zip(condition.parameters, initial, strict=not bound)
    phis = [(_parameter(out, parameter), out.reserve(), parameter, first) for parameter, first in varying]
    names = [name for name, *_ in phis]
    if bound:
        out.operands[condition.parameters[-1]] = bound
    (proceed,) = out.emit_region(condition)
    if bound:
        _end_either_way(out, condition, body, done, arrived)
    else:
        out.branch(proceed, body, done)
    out.begin(body)
    out.operands.update(zip(step.parameters, [*names, bound], strict=False))
    yielded = out.emit_region(step)
    if polls:
        poll_in_time(out, op)
    latch = out.block
    out.jump(test)
    for (name, line, parameter, first), following in zip(phis, yielded, strict=False):
        out.lines[line] = f"  {name} = {phi(register_type(parameter.type), (first, before), (following, latch))}"
    return names


def _end_either_way(out: Emitter, condition: Region, body: str, done: str, arrived: str) -> None:
    """Go on, or end, by the bound or before it.

    What may end a loop before is asked first if both are known: then a flag that does is known in all turns, and in
    front of the next piece, and nobody need carry it.
    """
    proceed, asked = condition.yielded[0], out.label("asked")
    both = out.producers[proceed]
    if both.name == "logical_and":
        near, rest = map(out.operand, both.operands)
        out.branch(rest, asked, done)
        out.begin(asked)
        out.branch(near, body, arrived)
    else:
        compare = next(inner for inner in condition.body if condition.parameters[-1] in inner.operands)
        out.branch(out.operand(proceed), body, asked)
        out.begin(asked)
        out.branch(out.operand(compare.result), done, arrived)


def _while_in_pieces(out: Emitter, op: Op) -> Sequence[str]:
    """A loop that counts towards a bound, and may end before: the bound is set nearer, and a poll stands behind it."""
    number, step = op.attributes["counts"]
    *initial, bound = (out.operand(value) for value in op.operands)
    before, piece, arrived, due, done = out.block, *map(out.label, ("piece", "arrived", "due", "done"))
    most = min(op.attributes["polls"], _LARGEST // (2 * abs(step))) * abs(step)
    first_edge = _edge(out, initial[number], bound, step, most)
    out.jump(piece)
    out.begin(piece)
    edge, edge_line = f"%p{out.fresh()}", out.reserve()
    phis = [(f"%p{out.fresh()}", out.reserve()) for _ in initial]
    carried = _turns_until(out, op, [name for name, _ in phis], done, arrived=arrived, bound=edge)
    out.begin(arrived)
    out.branch(out.let(f"icmp eq i64 {edge}, {bound}"), done, due)
    with out.cold(due):
        call_poll(out, op)
        next_edge = _edge(out, carried[number], bound, step, most)
        again = out.block
        out.jump(piece)
    out.lines[edge_line] = f"  {edge} = {phi('i64', (first_edge, before), (next_edge, again))}"
    for (name, line), value, first, following in zip(phis, op.operands, initial, carried, strict=False):
        out.lines[line] = f"  {name} = {phi(register_type(value.type), (first, before), (following, again))}"
    out.begin(done)
    taken = _distance(out, phis[number][0], carried[number], step)
    count_turns(out, op, taken if abs(step) == 1 else out.let(f"udiv i64 {taken}, {abs(step)}"))
    return [*carried, bound]


def _edge(out: Emitter, start: str, bound: str, step: int, most: int) -> str:
    """The nearer one of a bound and what lies so far from the start, which a sum does not wrap around to."""
    there, nearer = ("add", "smin") if step > 0 else ("sub", "smax")
    far = out.call("i64", f"llvm.s{there}.sat.i64", f"i64 {start}", f"i64 {most}")
    return out.call("i64", f"llvm.{nearer}.i64", f"i64 {far}", f"i64 {bound}")


LOOP_EMISSION: dict[str, Emission] = {"for": _for, "while": _while}
