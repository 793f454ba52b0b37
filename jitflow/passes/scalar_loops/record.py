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

The same holds for what goes with the best number so far, such as where it was found: where the number is carried
itself, it and all that is kept unless another one is better are set in one branch.

What becomes one and the same number with each better one, such as what says of which kind the best is, needs not be
carried: it is that number behind the loop if the best is better than before it. So the loop is a plain maximum.

    %m, %k: ... = for ... (%i, %1, %2) {                  %m = for ... (%i, %1) {
      %3 = greater %x, %1                                   %3 = greater %x, %1
      %4 = select %3, %x, %1                       ->       %4 = select %3, %x, %1
      %5 = select %3, 1, %2                                 yield %4
      yield %4, %5                                        }
    }                                                     %k = select (greater %m, %before), 1, %k_before
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, uses, walk
from jitflow.ir.dims import Expression, symbols
from jitflow.ir.types import Scalar
from jitflow.passes.analyses.order import bound_sizes
from jitflow.passes.scalar_loops.turns import with_turns

__all__ = ["record"]


def record(function: Function) -> Function:
    """The function with its records in branches."""
    names = {op.name for op in walk(function.region)}
    if "select" not in names or names.isdisjoint(("for", "while")):
        return function
    return replace(function, region=with_turns(_with_told(function.region), _turn))


def _turn(region: Region, count: int) -> Region:
    """The body of a loop with its records in branches."""
    region = _with_bests(region, count)
    yielded = _kept(region, count)
    ops = [
        _in_branch(op, yielded.get(op.result))
        if op.name == "select" and _is_record(op, yielded.get(op.result), region)
        else op
        for op in region.ops
    ]
    return Region(region.parameters, tuple(ops))


def _kept(region: Region, count: int) -> dict[Value, Value]:
    """From what a turn hands on to what it found there."""
    carried = region.parameters[len(region.parameters) - count :] if count else ()
    return dict(zip(region.yielded[len(region.yielded) - count :], carried, strict=True)) if count else {}


# -- the best so far -------------------------------------------------------------------------------

_EXTREMA = {
    ("less", False): "minimum", ("less_equal", False): "minimum", ("greater", True): "minimum",
    ("greater_equal", True): "minimum", ("greater", False): "maximum", ("greater_equal", False): "maximum",
    ("less", True): "maximum", ("less_equal", True): "maximum",
}  # fmt: skip
"""What is the better of two integers, by how they are compared, and whether the second is it if that is true."""


_COMPARISONS = {name for name, _ in _EXTREMA}
_SETTINGS = ("select", "minimum", "maximum")


def _with_bests(region: Region, count: int) -> Region:
    """The body of a loop in which the best numbers so far are set in branches, with what goes with them."""
    kept, used = _kept(region, count), uses(region)
    settings = [op for op in region.body if op.name in _SETTINGS and _is_setting(op, kept.get(op.result), used)]
    for comparison in region.body if len(settings) > 1 else ():
        if comparison.name in _COMPARISONS:
            region = _with_best(region, comparison, settings, kept)
    return region


def _is_setting(op: Op, carried: Value | None, used: Counter[Value]) -> bool:
    """Whether an op gives what a loop carries, if it does not keep it, and nothing else."""
    return carried in op.operands[-2:] and used[op.result] == 1 and isinstance(op.result.type, Scalar)


def _with_best(region: Region, comparison: Op, settings: list[Op], kept: dict[Value, Value]) -> Region:
    """The region with what a comparison decides set in one branch, if that is the best number and something else."""
    condition, pair = comparison.result, set(comparison.operands)
    chosen = [op for op in settings if op.name == "select" and op.operands[0] is condition]
    keeps = {op.operands[1] is kept[op.result] for op in chosen}
    if len(keeps) != 1:
        return region
    (keeps_if_true,) = keeps
    best = [op for op in chosen if set(op.operands[1:]) == pair]
    others = [op for op in chosen if op not in best]
    best += [op for op in settings if set(op.operands) == pair and _is_better(op, comparison, kept, keeps_if_true)]
    if not best or not others:
        return region
    group = [op for op in region.ops if op in best or op in others]
    return replace(region, ops=tuple(_together(region.ops, group, condition, keeps_if_true, kept)))


def _is_better(op: Op, comparison: Op, kept: dict[Value, Value], keeps_if_true: bool) -> bool:
    """Whether an op is the number that a branch on the comparison would set."""
    type = op.result.type
    if op.name == "select" or not isinstance(type, Scalar) or not type.dtype.is_integer:
        return False
    second_if_true = (comparison.operands[1] is kept[op.result]) == keeps_if_true
    return op.name == _EXTREMA[comparison.name, second_if_true]


def _together(
    ops: Sequence[Op], group: list[Op], condition: Value, keeps_if_true: bool, kept: dict[Value, Value]
) -> Iterator[Op]:
    """The ops with those of the group as one ``if``, where the last of them was."""
    for op in ops:
        if op is group[-1]:
            pairs = []
            for one in group:
                (new,) = [value for value in one.operands[-2:] if value is not kept[one.result]]
                pairs.append((kept[one.result], new) if keeps_if_true else (new, kept[one.result]))
            branch = _branch(op, condition, pairs, keeps_if_true)
            yield replace(branch, results=tuple(one.result for one in group))
        elif op not in group:
            yield op


# -- what the best number tells --------------------------------------------------------------------


def _with_told(region: Region) -> Region:
    """The region, in whose loops nothing is carried that the best numbers tell behind them."""
    ops: list[Op] = []
    for op in region.ops:
        op = replace(op, regions=tuple(map(_with_told, op.regions)))
        behind: tuple[Op, ...] = ()
        while op.name == "for" and (found := _told(op)) is not None:
            op, behind = found[0], (*found[1], *behind)
        ops += [op, *behind]
    return Region(region.parameters, tuple(ops))


def _told(loop: Op) -> tuple[Op, Sequence[Op]] | None:
    """A loop without one of the numbers that it carries, and the ops behind it that tell the number."""
    (body,), count = loop.regions, len(loop.results)
    used, made = uses(body), {op.result: op for op in body.body if len(op.results) == 1}
    carried, initial = body.parameters[len(body.parameters) - count :], loop.operands[len(loop.operands) - count :]
    yielded = body.yielded[len(body.yielded) - count :]
    for place, value in enumerate(yielded):
        op = made.get(value)
        if op is None or op.name != "select" or op.operands[2] is not carried[place]:
            continue
        comparison, number = (made.get(operand) for operand in op.operands[:2])
        if comparison is None or number is None or number.name != "constant":
            continue
        bests = (
            other for other in range(count)
            if other != place and _is_set_by(comparison, made.get(yielded[other]), carried[other])
        )  # fmt: skip
        best = next(bests, None)
        if best is None or used[carried[place]] > 1 or used[value] > 1:
            continue
        builder = Builder(loc=loop.loc)
        pair = [loop.results[best], initial[best]]
        (answer,) = builder.add(comparison.name, *(pair if comparison.operands[1] is carried[best] else pair[::-1]))
        (constant,) = builder.add("constant", **number.attributes)
        builder.add("select", answer, constant, initial[place])
        behind = (*builder.ops[:-1], replace(builder.ops[-1], results=(loop.results[place],)))
        return _without(loop, place, op), behind
    return None


def _is_set_by(comparison: Op, op: Op | None, carried: Value) -> bool:
    """Whether an op sets a number to another one exactly if that compares as better."""
    if op is None or comparison.name not in ("less", "greater") or carried not in comparison.operands:
        return False
    if {*op.operands[-2:]} != {*comparison.operands}:
        return False
    is_chosen = op.name == "select" and op.operands[0] is comparison.result and op.operands[2] is carried
    return is_chosen or _is_better(op, comparison, {op.result: carried}, keeps_if_true=False)


def _without(loop: Op, place: int, op: Op) -> Op:
    """A loop that does not carry what one of its ops sets."""
    (body,), count = loop.regions, len(loop.results)

    def others(values: Sequence[Value]) -> tuple[Value, ...]:
        at = len(values) - count + place
        return (*values[:at], *values[at + 1 :])

    last = body.ops[-1]
    ops = (*(each for each in body.ops[:-1] if each is not op), replace(last, operands=others(last.operands)))
    return replace(loop, operands=others(loop.operands), results=others(loop.results),
                   regions=(Region(others(body.parameters), ops),))  # fmt: skip


# -- what is read where a number says --------------------------------------------------------------


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
    return replace(_branch(op, condition, [(yes, no)], yes is carried), results=op.results)


def _branch(op: Op, condition: Value, pairs: Sequence[Sequence[Value]], keeps_if_true: bool) -> Op:
    """An ``if`` between pairs of values, in place of an op; it hardly ever chooses what is not kept."""
    builder = Builder(loc=op.loc)
    regions = tuple(builder.region((), list(values)) for values in zip(*pairs, strict=True))
    types = [yes.type for yes, _ in pairs]
    builder.add("if", condition, types=types, regions=regions, rare=int(keeps_if_true))
    return builder.ops[-1]
