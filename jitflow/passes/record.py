"""Records: an index that stays what it is until something better is found is set in a branch.

The smallest of ``x`` so far is at ``m``: the next turn cannot read ``x[m]`` before it knows ``m``. A selection would
make every turn wait for the comparison of the one before, while a processor foretells a branch that is hardly ever
taken. New records are rare: of n numbers in no order, some log n are smaller than all before.

    %3: bool = less ... x[j] ..., ... x[m] ...        %4: int = if %3 () {
    %4: int = select %3, %j, %m              ->         yield %j
    yield %4                      ; the next %m       } () {
                                                        yield %m
                                                      } {rare=0}

It looks at numbers that a loop carries, and either keeps or sets to one that does not come from the turn before, on a
condition that reads where they say. A binary search is none of these: what it sets comes from where it was.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import Expression, symbols
from jitflow.ir.types import Scalar
from jitflow.passes.order import bound_sizes
from jitflow.passes.turns import with_turns

__all__ = ["record"]


def record(function: Function) -> Function:
    """The function with its records in branches."""
    names = {op.name for op in walk(function.region)}
    if "select" not in names or names.isdisjoint(("for", "while")):
        return function
    return replace(function, region=with_turns(function.region, _turn))


def _turn(region: Region, count: int) -> Region:
    """The body of a loop with its records in branches."""
    carried = region.parameters[len(region.parameters) - count :] if count else ()
    yielded = dict(zip(region.yielded[len(region.yielded) - count :], carried, strict=True)) if count else {}
    ops = [
        _in_branch(op, yielded.get(op.result))
        if op.name == "select" and _is_record(op, yielded.get(op.result), region)
        else op
        for op in region.ops
    ]
    return Region(region.parameters, tuple(ops))


def _is_record(op: Op, carried: Value | None, region: Region) -> bool:
    """Whether a selection keeps what is ``carried``, or sets it anew, by what is read where it says."""
    if carried is None or not isinstance(op.result.type, Scalar) or not op.result.type.dtype.is_integer:
        return False
    condition, *options = op.operands
    if carried not in options:
        return False
    found = _Found(region, carried)
    return condition in found.read and all(value is carried or value not in found.computed for value in options)


class _Found:
    """What is computed from a number, and what is read where it says."""

    def __init__(self, region: Region, number: Value) -> None:
        self.computed: set[Value] = {number}
        self.read: set[Value] = set()
        names: set[str] = set()
        for op in region.body:
            if not self.computed.isdisjoint(op.operands):
                self.computed.update(op.results)
                names.update(bound_sizes(op))
            there = "view" in op.definition.traits and not names.isdisjoint(_names(op))
            if there or not self.read.isdisjoint(op.operands):
                self.read.update(op.results)
                self.computed.update(op.results)


def _names(op: Op) -> set[str]:
    starts = op.attributes.get("starts", ())
    return {name for dim in starts if isinstance(dim, Expression) for name in symbols(dim)}


def _in_branch(op: Op, carried: Value | None) -> Op:
    """A selection as an ``if`` that hardly ever sets a new number."""
    condition, yes, no = op.operands
    rare = int(yes is carried)
    builder = Builder(loc=op.loc)
    regions = tuple(builder.region((), [value]) for value in (yes, no))
    builder.add("if", condition, types=[op.result.type], regions=regions, rare=rare)
    return replace(builder.ops[-1], results=op.results)
