"""What sizes are taken to be, where only a run knows them.

Sizes of arguments are those of the call for which the program is compiled (the function's ``hints``). What follows from
them by arithmetic on whole numbers is computed; a loop is thought to be in the middle of its turns, and what it carries
to be as large as when it began; of what an op finds (`nonzero`) there is half of what there could be. What remains is
`GUESSED_SIZE`, and a loop that nobody can count goes round `GUESSED_TURNS` times.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, rebuild
from jitflow.ir.types import Index, Place, Scalar, Tensor, Type, Variable, dims_of

__all__ = ["GUESSED_SIZE", "GUESSED_TURNS", "NO_TURNS", "Sizes", "Turns"]

Turns = Mapping[str | int, float]
"""How often loops go round, by their lines: ``{12: 40.5}``, or ``{"heat.py:12": 40.5}``."""

NO_TURNS: Turns = MappingProxyType({})

GUESSED_SIZE = 100
GUESSED_TURNS = 20

_LARGEST = 1 << 62


def _power(base: float, exponent: float) -> float | None:
    return base**exponent if base > 0 and abs(exponent) < 64 and base**exponent < _LARGEST else None


_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
    "divide": lambda a, b: a / b if b else 0,
    "power": _power,
    "absolute": abs,
    "left_shift": lambda a, b: a << b if 0 <= b < 62 else None,
    "right_shift": lambda a, b: a >> b if b >= 0 else None,
    "bitwise_and": operator.and_,
    "maximum": max,
    "minimum": min,
    "negative": operator.neg,
    "less": lambda a, b: None if a == b else a < b,
    "less_equal": lambda a, b: None if a == b else a < b,
    "greater": lambda a, b: None if a == b else a > b,
    "greater_equal": lambda a, b: None if a == b else a > b,
    "equal": lambda a, b: None if a == b else False,
    "not_equal": lambda a, b: None if a == b else True,
    "logical_not": operator.not_,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "select": lambda condition, a, b: a if condition else b,
    "cast": lambda a: a,
    "copy": lambda a: a,
    "to_index": lambda a: a,
}


_LIKELY: Mapping[str, Callable[..., float]] = {
    "equal": lambda a, b: 0.1,
    "not_equal": lambda a, b: 0.9,
    "logical_not": lambda a: 1 - a,
    "cast": lambda a: a,
}

LINE = 64
"""Bytes that a cache moves at once."""


class Sizes:
    """The numbers that the sizes of a function are taken to be."""

    def __init__(self, function: Function, turns: Turns = NO_TURNS) -> None:
        self.told = turns
        self.guessed: dict[str, None] = {}
        """The lines of loops that nobody can count."""
        self.numbers: dict[str, int] = {name: int(number) for name, number in function.attributes.get("hints", ())}
        self._counts: dict[tuple[Dim, ...], float] = {}
        self._known: dict[Value, float] = {}
        self._turns: dict[Op, float] = {}
        self._likely: dict[Value, float] = {}
        self._spread: dict[Value, float] = {}
        for position, number in function.attributes.get("numbers", ()):
            self._know(function.parameters[position], number)
        self._explore(function.region)

    def number(self, dim: Dim) -> int:
        """What a size is taken to be."""
        if isinstance(dim, int):
            return dim
        found = rebuild(dim, lambda name: self.numbers.get(name, GUESSED_SIZE))
        assert isinstance(found, int)
        return found

    def count(self, kind: Type) -> float:
        """How many numbers a value of this type has."""
        dims = dims_of(kind)
        if not dims:
            return 1.0
        found = self._counts.get(dims)
        if found is None:
            found = self._counts[dims] = float(prod(max(0, self.number(dim)) for dim in dims))
        return found

    def bytes(self, kind: Type) -> float:
        """How many bytes a value of this type has; a tape has what is pushed on it."""
        if not isinstance(kind, Tensor | Variable | Place | Scalar):
            return 8.0
        return self.count(kind) * kind.dtype.numpy.itemsize

    def turns(self, loop: Op) -> float:
        """How often a loop goes round."""
        return self._turns.get(loop, float(GUESSED_TURNS))

    def _know(self, value: Value, number: int) -> None:
        self._known[value] = number
        if isinstance(value.type, Index) and isinstance(value.type.dim, Expression) and value.type.dim.is_symbol:
            self.numbers.setdefault(str(value.type.dim), number)

    def _explore(self, region: Region) -> None:
        for op in region.ops:
            if op.regions:
                self._enter(op)
            elif op.results:
                if "view" in op.definition.traits:
                    self._spread_out(op)
                if "binds" in op.attributes:
                    self._bind(op)
                elif isinstance(op.result.type if len(op.results) == 1 else None, Scalar | Index):
                    self._compute(op)
                elif op.name in ("broadcast", "cast") and op.operands[0] in self._known:
                    self._known[op.result] = self._known[op.operands[0]]
                elif op.definition.infer is None:
                    self._find(op)

    def _value(self, value: Value) -> float | None:
        if isinstance(value.type, Index) and value.type.dim is not None:
            return self.number(value.type.dim)
        return self._known.get(value)

    def _compute(self, op: Op) -> None:
        if op.name == "constant":
            number: Any = op.attributes["value"]
        else:
            operation = _ARITHMETIC.get(op.name)
            operands = [self._value(operand) for operand in op.operands]
            if op.name in _LIKELY:
                self._likely[op.result] = _LIKELY[op.name](*(self.likelihood(operand) for operand in op.operands))
            if operation is None or None in operands:
                return
            number = operation(*operands)
        if isinstance(number, complex) and not number.imag:
            number = number.real
        if isinstance(number, int | float):
            whole = isinstance(op.result.type, Index) or op.result.type.dtype.numpy.kind in "iub"
            self._known[op.result] = int(number) if whole and isfinite(number) else number

    def likelihood(self, condition: Value) -> float:
        """How often a condition holds: half of the time, but that numbers are equal is rare (Ball and Larus, 1993)."""
        known = self._known.get(condition)
        return self._likely.get(condition, 0.5) if known is None else float(bool(known))

    def spread(self, value: Value) -> float:
        """How many bytes a cache moves for each byte of a value: of columns whole lines, of broadcasts a part."""
        return self._spread.get(value, 1.0)

    def _spread_out(self, view: Op) -> None:
        source, shown = view.operands[0].type, view.result.type
        around = self.spread(view.operands[0])
        if view.name == "broadcast":
            around *= self.bytes(source) / max(self.bytes(shown), 1.0)
        elif view.name == "slice" and isinstance(shown, Tensor | Place) and len(shown.dims) > 0:
            most, step = LINE / shown.dtype.numpy.itemsize, self.number(view.attributes["steps"][-1])
            alone = shown.dims[-1] == 1 and dims_of(source)[-1] != 1 and len(shown.dims) > 1
            around = max(around, most if alone else min(most, abs(step)))
        if around != 1.0:
            self._spread[view.result] = around

    def known(self, value: Value) -> float | None:
        """The number that a value is, or all of its elements are, if that is known."""
        return self._known.get(value)

    def _bind(self, op: Op) -> None:
        """A size that an op gives a name: the number it is made of, or the largest of those that meet in it."""
        found = [int(number) for operand in op.operands if (number := self._value(operand)) is not None]
        found += [self.number(dim) for dim in op.attributes.get("dims", ()) if not isinstance(dim, tuple)]
        if found:
            self.numbers.setdefault(op.attributes["binds"], max(0, *found))

    def _find(self, op: Op) -> None:
        """Sizes that come with the results of an op."""
        most = max((self.count(operand.type) for operand in op.operands), default=2.0 * GUESSED_SIZE)
        for result in op.results:
            for dim in dims_of(result.type):
                if isinstance(dim, Expression) and dim.is_symbol:
                    self.numbers.setdefault(str(dim), max(1, int(most) // 2))

    def _enter(self, op: Op) -> None:
        if op.name == "if":
            for region in op.regions:
                self._explore(region)
            for region in reversed(op.regions):
                self._hand(region.yielded, op.results)
            return
        bounds = 3 if op.name == "for" else 0
        if op.name in ("for", "while"):
            self._count_turns(op)
        initial = op.operands[bounds:]
        for region in op.regions:
            if op.name in ("for", "while"):
                self._hand(initial, region.parameters[bounds // 3 :])
            self._explore(region)
        if op.name in ("for", "while"):
            self._hand(initial, op.results)

    def _count_turns(self, loop: Op) -> None:
        told = self.told.get(str(loop.loc), self.told.get(loop.loc.line))
        if told is not None:
            self._turns[loop] = float(told)
        operands = loop.operands[:3] if loop.name == "for" else ()
        bounds = [int(number) for operand in operands if (number := self._value(operand)) is not None]
        if len(bounds) < 3 or not bounds[2]:
            if told is None:
                self.guessed[str(loop.loc)] = None
            return
        first, stop, step = bounds
        self._turns.setdefault(loop, float(max(0, -((first - stop) // step))))
        position = loop.regions[0].parameters[0]
        self._known[position] = (first + stop) // 2
        if isinstance(position.type, Index) and isinstance(position.type.dim, Expression):
            self.numbers.setdefault(str(position.type.dim), (first + stop) // 2)

    def _hand(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """Values come into a region or out of it, where their sizes may have other names."""
        for source, target in zip(sources, targets, strict=True):
            number = self._value(source)
            if number is not None:
                self._known[target] = number
            for dim, known in zip(_dims(target.type), _dims(source.type), strict=False):
                if isinstance(dim, Expression) and dim.is_symbol:
                    self.numbers.setdefault(str(dim), self.number(known))


def _dims(kind: Type) -> Sequence[Dim]:
    if isinstance(kind, Index):
        return () if kind.dim is None else (kind.dim,)
    return dims_of(kind)
