"""Spread: threads share a loop of the user's whose turns are independent.

    for %0, %n, %1 (%i: index) {                   share %n, %work {step=1, threads=8} (%first, %last, %worker) {
      %2 = multiply %i, %8                           for %first, %last, %1 (%i: index) {
      %3 = read %x, %2                       ->        ...
      write %y, %2, %3                               }
    }                                              }

Turns are independent if each writes to bytes of its own, and reads from what is written nothing but these. Offsets are
polynomials of positions and sizes: the position of the loop times a *stride*, and a rest that does not depend on it.
All accesses to memory that is written have the same stride, and it must be at least the width of what one turn touches;
where a loop inside ends depends on the turn, as in a triangle, that is the width of what all of them touch together.
What of that depends on sizes is asked when the loop runs: where it does not hold, the work that is said to be worth
sharing is 0.

A turn that may fail must write to memory of the program's own alone: later turns have written by then, which nobody may
see. Not shared are loops that hand a value from turn to turn. The attribute ``spread`` of the kernel says what was
decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value
from jitflow.ir.types import Buffer, Index
from jitflow.passes.schedule.cost import SOME_TURNS, WORTH, cost_of

__all__ = ["spread"]

Polynomial = dict[tuple[Value, ...], int]
"""Products of values, each with its factor; the product of none is 1."""

_ALLOWED = frozenset(("read", "write", "check", "for", "while", "if", "yield"))


def spread(host: Function) -> Function:
    """The host program with those kernels of scalar code shared whose outermost loop has independent turns."""
    threads = host.attributes.get("threads", 1)
    if threads == 1:
        return host
    functions = (_spread(one, threads) if one.attributes.get("scalar") else one for one in host.functions)
    return replace(host, functions=tuple(functions))


def _spread(kernel: Function, threads: int) -> Function:
    try:
        region, said = _Turns(kernel).shared(threads), "shared by threads"
    except _DependentError as error:
        region, said = kernel.region, f"on one thread: {error}"
    return replace(kernel, region=region, attributes=MappingProxyType({**kernel.attributes, "spread": said}))


class _DependentError(Exception):
    """Why turns are not known to be independent."""


class _Turns:
    """The turns of the loop that a kernel is."""

    def __init__(self, kernel: Function) -> None:
        self.kernel = kernel
        if not kernel.region.body:
            raise _DependentError("it does nothing")
        *self.before, self.loop = kernel.region.body
        if self.loop.name != "for" or self.loop.results or any(op.regions or op.own_effects for op in self.before):
            raise _DependentError("turns hand on what they have computed")
        self.position = self.loop.regions[0].parameters[0]
        self.known: dict[Value, Polynomial | None] = {}
        for op in self.before:
            self._learn(op)
        self.outside = {*kernel.parameters, *(result for op in self.before for result in op.results)}
        self.ends: dict[Value, tuple[Polynomial | None, Polynomial | None]] = {}
        """From where to where the loops inside run, by their positions."""
        self.accesses: dict[Value, list[Op]] = {}
        """Reads and writes, by the memory."""
        self.may_fail = False
        self.known[self.position] = {(self.position,): 1}
        self._visit(self.loop.regions[0])

    def shared(self, threads: int) -> Region:
        """The kernel's region with the loop shared."""
        start, stop, step = self.loop.operands[:3]
        if self.of(step) != {(): 1}:
            raise _DependentError("it does not go from one position to the next")
        builder = Builder(loc=self.loop.loc)
        builder.ops += self.before
        conditions = [holds for memory in self._written() for holds in self._are_apart(builder, memory)]
        work = self._work(builder, self.loop.regions[0])
        for holds in conditions:
            work = builder.make("select", holds, work, builder.make("size", dim=0))
        count = builder.make("subtract", stop, start)
        first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
        inside = Builder(loc=self.loop.loc)
        ends = [inside.make("add", start, end) for end in (first, last)]
        inside.ops.append(replace(self.loop, operands=(*ends, step)))
        region = inside.region((first, last, worker), ())
        builder.add("share", count, work, types=(), regions=(region,), step=1, threads=threads, worth=WORTH)
        return builder.region(self.kernel.region.parameters, ())

    # What is inside

    def _visit(self, region: Region) -> None:
        for op in region.ops:
            if op.own_effects and op.name not in _ALLOWED and any(one.kind != "check" for one in op.own_effects):
                raise _DependentError(f"{op.name} is done in the order of the turns")
            self.may_fail = self.may_fail or any(one.kind == "check" for one in op.own_effects)
            if op.name in ("read", "write"):
                self.accesses.setdefault(op.operands[0], []).append(op)
            elif any(isinstance(value.type, Buffer) for value in (*op.operands, *op.results)):
                raise _DependentError("what memory a turn uses is decided in it")
            if op.name == "for":
                self.ends[op.regions[0].parameters[0]] = self.of(op.operands[0]), self.of(op.operands[1])
                self.known[op.regions[0].parameters[0]] = {(op.regions[0].parameters[0],): 1}
            for inner in op.regions:
                self._visit(inner)
            self._learn(op)

    def _learn(self, op: Op) -> None:
        if op.name == "size" and isinstance(op.attributes["dim"], int):
            self.known[op.result] = {(): op.attributes["dim"]}
        elif op.name in _ARITHMETIC and isinstance(op.result.type, Index):
            left, right = map(self.of, op.operands)
            made = None if left is None or right is None else _ARITHMETIC[op.name](left, right)
            self.known[op.result] = {(op.result,): 1} if made is None and op in self.before else made

    def of(self, value: Value) -> Polynomial | None:
        """A value as a polynomial of positions and of what is outside; None if it is none."""
        if value in self.known:
            return self.known[value]
        return {(value,): 1} if value in getattr(self, "outside", self.kernel.parameters) else None

    # What is written

    def _written(self) -> list[Value]:
        attributes, parameters = self.kernel.attributes, self.kernel.parameters
        found = [memory for memory, ops in self.accesses.items() if any(op.name == "write" for op in ops)]
        for memory in found:
            position = parameters.index(memory) if memory in parameters else -1
            if position not in attributes["unaliased"]:
                raise _DependentError("what it writes to may be what it reads")
            if self.may_fail and position not in attributes["owned"]:
                raise _DependentError("a turn may fail, and who calls would see what later ones have written")
        return found

    def _are_apart(self, builder: Builder, memory: Value) -> list[Value]:
        """What must hold for turns to touch different bytes of some memory."""
        assert isinstance(memory.type, Buffer)
        strides, common, lows, highs, unknown = [], [], [], [], []
        for op in self.accesses[memory]:
            stride, rest, steps = self._parts(op.operands[1])
            strides.append(stride)
            common.append({product: factor for product, factor in rest.items() if product})
            at: Polynomial = {(): rest.get((), 0)}
            size: Polynomial = {(): memory.type.dtype.itemsize}
            lows.append(_sum([at, *(_product(step, low) for step, low, _ in steps)]))
            tops = (_product(step, _sum([high, {(): -1}])) for step, _, high in steps)
            highs.append(_sum([at, size, *tops]))
            unknown += [step for step, _, _ in steps if any(step)]
        if any(one != strides[0] for one in strides) or any(one != common[0] for one in common):
            raise _DependentError("turns may write where others read or write")
        conditions: list[Polynomial] = []
        for one in [*(_sum([strides[0], low, _product({(): -1}, high)]) for low in lows for high in highs), *unknown]:
            if one not in conditions:
                conditions.append(one)
        if any(set(one) <= {()} and one.get((), 0) < 0 for one in conditions):
            raise _DependentError("turns may write where others read or write")
        zero = builder.make("size", dim=0)
        return [builder.make("greater_equal", _made(builder, one), zero) for one in conditions if set(one) - {()}]

    def _parts(self, offset: Value) -> tuple[Polynomial, Polynomial, list[tuple[Polynomial, Polynomial, Polynomial]]]:
        """The stride, what no loop changes, and for each loop inside its step and its ends."""
        whole = self.of(offset)
        if whole is None:
            raise _DependentError("where a turn writes is computed in it")
        stride, rest = _split(whole, self.position)
        steps = []
        for position, (low, high) in self.ends.items():
            step, rest = _split(rest, position)
            if not step:
                continue
            low, high = self._in_all_turns(low, largest=False), self._in_all_turns(high, largest=True)
            if low is None or high is None or not all(map(self._is_fixed, (low, high, step))):
                raise _DependentError("how much a turn writes is decided in it")
            if any(factor < 0 for factor in step.values()):
                raise _DependentError("it writes backwards")
            steps.append((step, low, high))
        if not stride or not self._is_fixed(stride) or not self._is_fixed(rest):
            raise _DependentError("all turns write to the same place" if not stride else "its turns write in no order")
        return stride, rest, steps

    def _in_all_turns(self, end: Polynomial | None, *, largest: bool) -> Polynomial | None:
        """The least or the largest that an end of a loop inside comes to, in the first turn or in the last one."""
        factor, rest = _split(end or {}, self.position)
        if not factor:
            return end
        first, behind = map(self.of, self.loop.operands[:2])
        if first is None or behind is None or set(factor) != {()}:
            return None
        turn = _sum([behind, {(): -1}]) if (factor[()] > 0) == largest else first
        return _sum([rest, _product(factor, turn)])

    def _is_fixed(self, polynomial: Polynomial) -> bool:
        """Whether nothing inside the loop changes it."""
        return all(value in self.outside for product in polynomial for value in product)

    # What a turn costs

    def _work(self, builder: Builder, region: Region) -> Value:
        work = builder.make("size", dim=1 + sum(cost_of(op) for op in region.body))
        for op in region.body:
            for inner in op.regions:
                turns = builder.make("size", dim=SOME_TURNS if op.name == "while" else 1)
                if op.name == "for":
                    low, high = self.ends[inner.parameters[0]]
                    low, high = self._in_all_turns(low, largest=False), self._in_all_turns(high, largest=True)
                    if low is not None and high is not None and self._is_fixed(low) and self._is_fixed(high):
                        count = builder.make("subtract", _made(builder, high), _made(builder, low))
                        turns = builder.make("maximum", count, builder.make("size", dim=0))
                    else:
                        turns = builder.make("size", dim=SOME_TURNS)
                work = builder.make("add", work, builder.make("multiply", turns, self._work(builder, inner)))
        return work


def _sum(parts: Iterable[Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for part in parts:
        for product, factor in part.items():
            total[product] = total.get(product, 0) + factor
    return {product: factor for product, factor in total.items() if factor}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    terms = (
        {tuple(sorted((*first, *second), key=id)): one * other}
        for first, one in left.items()
        for second, other in right.items()
    )
    return _sum(terms)


_ARITHMETIC = {
    "add": lambda left, right: _sum([left, right]),
    "subtract": lambda left, right: _sum([left, _product({(): -1}, right)]),
    "multiply": _product,
}


def _split(whole: Polynomial, position: Value) -> tuple[Polynomial, Polynomial]:
    """What a position is multiplied with, and the rest."""
    factor: Polynomial = {}
    rest: Polynomial = {}
    for product, number in whole.items():
        if position not in product:
            rest[product] = number
            continue
        others = list(product)
        others.remove(position)
        factor[tuple(others)] = number
    return factor, rest


def _made(builder: Builder, polynomial: Polynomial) -> Value:
    """The ops that compute a polynomial."""
    total = builder.make("size", dim=polynomial.get((), 0))
    for product, factor in polynomial.items():
        if product:
            term = builder.make("size", dim=factor)
            for value in product:
                term = builder.make("multiply", term, value)
            total = builder.make("add", total, term)
    return total
