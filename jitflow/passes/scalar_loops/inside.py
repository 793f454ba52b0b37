"""Inside: an index that is hardly ever negative is looked at once.

Data may say where an element lies, counted from either end. To bring an index inside and to look whether it is there
costs six instructions, and the address waits for three of them. An index that is inside as it is, which one comparison
without signs tells, needs neither; the others go another way.

    %negative: bool = less %i, %zero               %i_: u64 = bitcast %i
    %end: i64 = add %i, %n                         %n_: u64 = bitcast (maximum %n, %zero)
    %w: i64 = select %negative, %end, %i           %inside: bool = less %i_, %n_
    %low: bool = greater_equal %w, %zero    ->     %w: i64 = if %inside () {
    %high: bool = less %w, %n                        yield %i
    %fits: bool = logical_and %low, %high          } () {
    check %fits, %i, %n {...}                        ... %v: i64 = select ... check ...
                                                     yield %v
                                                   } {rare=1}

Where it is known already that the index is not beyond the size, the comparison is with 0. It is done in the loops of
scalar kernels, for what changes from turn to turn: what does not, LLVM looks at before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, uses, walk
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.types import Scalar
from jitflow.passes.scalar_loops.outline import in_scalar_kernels
from jitflow.records import dataclass

__all__ = ["inside"]

_LOOPS = ("for", "while")
_LONG = Scalar(DTYPES["i64"])


def inside(host: Function) -> Function:
    """The host program and its kernels, whose loops look once at an index that is inside."""
    return in_scalar_kernels(host, "check", lambda kernel: _Kernel(kernel).region(kernel.region, frozenset()))


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """An index that is counted from the end where it is negative, up to the check that it fits."""

    index: Value
    size: Value
    zero: Value
    ops: tuple[Op, ...]
    """The selection, the comparisons, what joins them, and the check."""

    @property
    def is_compared(self) -> bool:
        """Whether it may be beyond the size."""
        return any(op.name == "less" for op in self.ops)


class _Kernel:
    def __init__(self, function: Function) -> None:
        self.producer = {result: op for op in walk(function.region) for result in op.results}
        self.counts = uses(function.region)

    def region(self, region: Region, varying: Set[Value]) -> Region:
        found = {w.ops[-1]: w for w in map(self.wrapped, region.ops) if w is not None and w.index in varying}
        found = {check: wrapped for check, wrapped in found.items() if _is_together(wrapped, region)}
        moved = {op for wrapped in found.values() for op in wrapped.ops}
        ops: list[Op] = []
        for op in region.ops:
            if op in found:
                ops += _branch(found[op])
            elif op not in moved:
                ops.append(self.inner(op, varying))
        return Region(region.parameters, tuple(ops))

    def inner(self, op: Op, varying: Set[Value]) -> Op:
        if not op.regions:
            return op
        if op.name in _LOOPS:
            varying = _varying(op)
        return replace(op, regions=tuple(self.region(region, varying) for region in op.regions))

    def wrapped(self, check: Op) -> _Wrapped | None:
        """What an index is before its check, if the check is one of that kind."""
        joined = self.once(check.operands[0]) if check.name == "check" else None
        if joined is None:
            return None
        halves = [self.once(operand) for operand in joined.operands] if joined.name == "logical_and" else [joined]
        selections = {self.producer.get(half.operands[0]) for half in halves if half is not None and half.operands}
        if None in halves or len(selections) != 1:
            return None
        (selection,) = selections
        parts = self.parts(selection)
        comparisons = [half for half in halves if half is not None]
        if parts is None or selection is None or not all(self.compares(half, *parts[1:]) for half in comparisons):
            return None
        between = () if joined in comparisons else (joined,)
        return _Wrapped(*parts, (selection, *comparisons, *between, check))

    def parts(self, selection: Op | None) -> tuple[Value, Value, Value] | None:
        """Of ``select (less i, 0), (add i, size), i``: the index, the size and the zero."""
        if selection is None or selection.name != "select" or selection.result.type != _LONG:
            return None
        condition, end, index = selection.operands
        negative, total = self.producer.get(condition), self.producer.get(end)
        if negative is None or negative.name != "less" or negative.operands[0] is not index:
            return None
        if total is None or total.name != "add" or total.operands[0] is not index or total.attributes:
            return None
        zero = negative.operands[1]
        return (index, total.operands[1], zero) if self.is_zero(zero) else None

    def compares(self, op: Op, size: Value, zero: Value) -> bool:
        """Whether an op is one half of the question whether an index is inside."""
        if op.name == "greater_equal":
            return self.is_zero(op.operands[1])
        return op.name == "less" and op.operands[1] is size

    def once(self, value: Value) -> Op | None:
        """The op that makes a value which is used once."""
        return self.producer.get(value) if self.counts[value] == 1 else None

    def is_zero(self, value: Value) -> bool:
        op = self.producer.get(value)
        return op is not None and op.name == "constant" and op.attributes["value"] == 0


def _is_together(wrapped: _Wrapped, region: Region) -> bool:
    """Whether all of it is in one region, and the index is used by nothing else before the check."""
    selection, *_, check = wrapped.ops
    if not set(wrapped.ops) <= set(region.ops):
        return False
    between = region.ops[region.ops.index(selection) : region.ops.index(check)]
    others = (op for op in between if op not in wrapped.ops)
    return not any(selection.result in op.operands or op.regions for op in others)


def _branch(wrapped: _Wrapped) -> Sequence[Op]:
    """The index as a branch that is hardly ever the second one."""
    selection, *_, check = wrapped.ops
    builder = Builder(loc=check.loc)
    kept = builder.region((), [wrapped.index])
    value = Value(_LONG)
    for op in wrapped.ops:
        operands = tuple(value if operand is selection.result else operand for operand in op.operands)
        builder.ops.append(replace(op, operands=operands, results=(value,) if op is selection else op.results))
    brought = builder.region((), [value])
    if wrapped.is_compared:
        size = builder.make("maximum", wrapped.size, wrapped.zero)
        words = (builder.make("bitcast", word, dtype=DTYPES["u64"]) for word in (wrapped.index, size))
        fits = builder.make("less", *words)
    else:
        fits = builder.make("greater_equal", wrapped.index, wrapped.zero)
    builder.add("if", fits, types=(_LONG,), regions=(kept, brought), rare=1)
    builder.ops[-1] = replace(builder.ops[-1], results=selection.results)
    return builder.ops


def _varying(loop: Op) -> Set[Value]:
    """What changes from turn to turn of a loop, as far as LLVM knows: what is read where the loop writes does."""
    written = {op.operands[0] for region in loop.regions for op in walk(region) if op.name == "write"}
    found = {parameter for region in loop.regions for parameter in region.parameters}
    for region in loop.regions:
        for op in walk(region):
            anew = op.name == "read" and op.operands[0] in written
            if op.regions or anew or not found.isdisjoint(op.operands):
                found.update(op.results)
                found.update(parameter for inner in op.regions for parameter in inner.parameters)
    return found
