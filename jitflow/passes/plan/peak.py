"""How much memory a program takes at most, and the least that the lives of its values ask for.

What counts is what is taken from the system: arrays of the program and its results, copies and scratch memory of
kernels. Arguments are the caller's, and tapes grow as the run decides; a size that only the run knows counts as
nothing. The first is an expression of sizes, the second is told for given ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import (
    Dim,
    Expression,
    evaluate,
    lower_bound,
    maximum,
    minimum,
    product,
    substitute,
    symbol,
    symbols,
)
from jitflow.ir.routines import comes_with_memory
from jitflow.ir.types import Index, Type
from jitflow.passes.plan.record import Plan
from jitflow.records import dataclass

__all__ = ["Peak", "find_peak", "least_bytes"]


@dataclass(frozen=True, slots=True)
class Peak:
    """The most ``bytes`` that a program has allocated at a time; ``complete``: there is nothing of unknown size."""

    bytes: Dim
    complete: bool

    def at(self, sizes: Mapping[str, int]) -> int:
        """How many these are for given sizes; those that are not given are 1."""
        return evaluate(self.bytes, {**dict.fromkeys(symbols(self.bytes), 1), **sizes})


def find_peak(host: Function) -> Peak:
    """What a host program takes at most."""
    walk = _Walk({function.name: function for function in host.functions})
    most, _ = walk.region(host.region)
    return Peak(maximum(*most), walk.complete)


class _Walk:
    def __init__(self, called: Mapping[str, Function]) -> None:
        self.called = called
        self.numbers: dict[Value, Dim] = {}
        """The indices that are known."""
        self.complete = True
        self.loops = 0

    def region(self, region: Region) -> tuple[list[Dim], Dim]:
        """The most bytes that a region has at a time beside what was there before, and how many it leaves."""
        most: list[Dim] = [0]
        now: Dim = 0
        for op in region.ops:
            if op.regions:
                inside, left = self.inner(op)
                most = _largest(most, *(now + one for one in inside))
                now = now + left
            elif op.name == "alloc":
                now = now + self.size(op)
                most = _largest(most, now)
            elif op.name == "invoke":
                now = now + self.made(op)
                most = _largest(most, now)
            elif op.name == "free":
                now = now - self.size(op)
            elif op.name == "call" and op.attributes.get("frames") == 0:
                inside, left = self.called_inside(op)
                most = _largest(most, *(now + one for one in inside))
                now = now + left
            else:
                self.compute(op)
        return most, now

    def size(self, op: Op) -> Dim:
        """How many bytes an op allocates or frees."""
        self.complete &= op.operands[-1] in self.numbers
        return self.numbers.get(op.operands[-1], 0)

    def made(self, op: Op) -> Dim:
        """How many bytes a call of a routine comes with, of those that are known before."""
        taken = sum(1 + 2 * (kind if isinstance(kind, int) else 0) for _, kind in op.attributes["takes"])
        given = iter(op.operands[taken:])
        total: Dim = 0
        for dtype, dims in op.attributes["gives"]:
            comes = comes_with_memory(op.attributes, dims)
            sizes = [next(given) for number in (*dims, *(() if comes else (-1,))) if number < 0]
            if comes:
                known = [self.numbers[size] for size in sizes if size in self.numbers]
                self.complete &= len(known) == len(dims)
                total = total + (product(known) * dtype.itemsize if len(known) == len(dims) else 0)
        return total

    def inner(self, op: Op) -> tuple[list[Dim], Dim]:
        if op.name == "for":
            return self.loop(op)
        found = [self.region(region) for region in op.regions]
        left = maximum(*(left for _, left in found))
        if op.name == "if":
            for result, *ways in zip(op.results, *(region.yielded for region in op.regions), strict=True):
                self.choose(result, op.operands[0], *ways)
        if op.name == "while":  # what each turn leaves is as much as there are turns
            self.complete &= left == 0
        return _largest([], *(one for most, _ in found for one in most)), left

    def loop(self, op: Op) -> tuple[list[Dim], Dim]:
        """A loop with a position. Sizes fall or rise from turn to turn, so that the first or the last needs most."""
        (region,) = op.regions
        bounds = [self.numbers.get(operand) for operand in op.operands[:3]]
        self.loops += 1
        turn = f"turn${self.loops}"
        self.numbers[region.parameters[0]] = symbol(turn)
        inside, left = self.region(region)
        start, stop, step = (0 if bound is None else bound for bound in bounds)
        if None in bounds or not isinstance(step, int):
            self.complete &= left == 0 and not any(turn in symbols(one) for one in inside)
            return [substitute(one, {turn: start}) for one in inside], left
        count = (stop - start + step - (1 if step > 0 else -1)) // step
        ends = (start, start + (count - 1) * step)
        most = [substitute(one, {turn: end}) for one in inside for end in ends]
        return _largest([], *most), maximum(*(substitute(left, {turn: end}) * count for end in ends))

    def compute(self, op: Op) -> None:
        if op.name == "size":
            self.numbers[op.result] = op.attributes["dim"]
        elif op.name == "argument" and isinstance(op.result.type, Index):
            dim = op.result.type.dim
            self.numbers[op.result] = symbol(op.result.name) if dim is None else dim
        elif op.name in _ARITHMETIC and all(operand in self.numbers for operand in op.operands):
            left, right = (self.numbers[operand] for operand in op.operands)
            if right != 0 or op.name not in _DIVISIONS:
                self.numbers[op.result] = _ARITHMETIC[op.name](left, right)
        elif op.name == "select":
            self.choose(op.result, *op.operands)
        elif op.name == "call" and "frames" not in op.attributes:
            self.call(op)

    def called_inside(self, op: Op) -> tuple[list[Dim], Dim]:
        """What a function that computes arrays takes at most, and leaves."""
        inside, function = self.entered(op)
        found = inside.region(function.region)
        self.complete &= inside.complete
        return found

    def entered(self, op: Op) -> tuple[_Walk, Function]:
        """A walk through a function, which knows the numbers that it is called with."""
        function = self.called[op.attributes["function"]]
        inside = _Walk(self.called)
        operands = zip(function.parameters, op.operands, strict=True)
        inside.numbers = {parameter: self.numbers[value] for parameter, value in operands if value in self.numbers}
        return inside, function

    def call(self, op: Op) -> None:
        """A function of numbers, for those that are known here."""
        inside, function = self.entered(op)
        inside.region(function.region)
        results = zip(op.results, function.results, strict=True)
        self.numbers |= {result: inside.numbers[value] for result, value in results if value in inside.numbers}

    def choose(self, result: Value, *given: Value) -> None:
        """One of two sizes, by a flag, if all are known."""
        if all(value in self.numbers for value in given):
            flag, yes, no = (self.numbers[value] for value in given)
            self.numbers[result] = no + flag * (yes - no)


def _largest(kept: list[Dim], *more: Dim) -> list[Dim]:
    """Those of some numbers of bytes that no other one is surely as large as; the ``kept`` are such already."""
    for one in more:
        if not any(_is_as_large(other, one) for other in kept):
            kept = [other for other in kept if not _is_as_large(one, other)] + [one]
    return kept


def _is_as_large(one: Dim, other: Dim) -> bool:
    bound = lower_bound(one - other)
    return bound is not None and bound >= 0


_DIVISIONS = ("floor_divide", "remainder", "divide_truncated", "remainder_truncated")
_ARITHMETIC: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "minimum": minimum,
    "maximum": maximum,
    "greater": lambda left, right: minimum(maximum(left - right, 0), 1),
    **dict(zip(_DIVISIONS, (operator.floordiv, operator.mod) * 2, strict=True)),
}


def least_bytes(function: Function, plan: Plan, sizes: Mapping[str, int]) -> int:
    """The most bytes that values of a fused function which are alive at the same time have, memory by memory."""
    return _Liveness(plan, sizes).region(function.region)


class _Liveness:
    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.plan = plan
        self.lifetimes = plan.lifetimes
        self.sizes = dict(sizes)

    def region(self, region: Region) -> int:
        last = {root: number for number, roots in self.lifetimes.ending(region).items() for root in roots}
        end = len(region.ops)
        alive = self.born(region.parameters)
        most = sum(alive.values())
        for number, op in enumerate(region.ops):
            handed = {root for value in self.handed(op) for root in self.lifetimes.roots(value)}
            runs_regions = bool(op.regions) and op.name != "fusion"
            if handed or runs_regions:
                ending = [root for root in alive if root in handed and last.get(root, end) <= number]
                inside = self.inside(op) if runs_regions else 0
                most = max(most, inside + sum(alive.values()) - sum(alive[root] for root in ending))
                for root in ending:  # what ends here may live on in what begins
                    del alive[root]
            alive.update(self.born([*op.results, *self.begun(op)]))
            most = max(most, sum(alive.values()) + self.product(op))
            alive = {root: size for root, size in alive.items() if last.get(root, end) > number}
        return most

    def begun(self, op: Op) -> Iterator[Value]:
        """The concatenations whose memory there is from here on, since an op writes a part of them."""
        for result in op.results:
            place = self.plan.places.get(result)
            if place is not None and place.op.name == "concatenate":
                yield place.op.result

    def handed(self, op: Op) -> Iterator[Value]:
        """The values that an op makes others of, whose memory it may hand on."""
        replaced = self.plan.replaced
        if op.name == "fusion":
            yield from (replaced[result] for result in op.results if result in replaced)
        elif op.name == "variable" or op.regions:
            yield from op.operands
        if op.name == "if":
            for region in op.regions:
                yield from region.yielded

    def inside(self, op: Op) -> int:
        """The most bytes in the regions of a loop or branch; sizes may fall or rise from turn to turn."""
        position = op.regions[0].parameters[0].type if op.name == "for" else None
        if not isinstance(position, Index) or not isinstance(position.dim, Expression):
            return max(map(self.region, op.regions))
        start, stop, step = (self.number(operand.type) for operand in op.operands[:3])
        turns = range(start, stop, step or 1)
        found = [0]
        for turn in {turns[0], turns[-1]} if turns else ():
            self.sizes[str(position.dim)] = turn
            found.append(self.region(op.regions[0]))
        return max(found)

    def product(self, op: Op) -> int:
        """The bytes of the product that the library leaves for a kernel."""
        planned = self.plan.products.get(op)
        if planned is None or not planned.behind_library:
            return 0
        return sum(self.born((planned.product.result,)).values())

    def born(self, values: Iterable[Value]) -> dict[Value, int]:
        """Values that have memory of their own, and how many bytes each."""
        found: dict[Value, int] = {}
        for value in values:
            block = self.plan.blocks.get(value)
            own = block is not None and block.owned and self.lifetimes.roots(value) <= {value}
            if block is not None and own and value not in self.lifetimes.lender:
                found[value] = self.bytes(product(block.dims) * block.dtype.itemsize)
        return found

    def number(self, type: Type) -> int:
        return self.bytes(type.dim) if isinstance(type, Index) and type.dim is not None else 0

    def bytes(self, dim: Dim) -> int:
        return evaluate(dim, self.sizes) if all(name in self.sizes for name in symbols(dim)) else 0
