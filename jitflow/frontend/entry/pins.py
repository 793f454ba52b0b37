"""Numbers that Python or NumPy asks for: an axis, a count of turns, a decision of code that is not rewritten.

    x.sum(axis=n % 2)          the specialisation is one for n % 2 == 1, not for n

A number that is computed of arguments alone, by arithmetic and comparisons, is known at the call. Where a trace can go
on in no other way, the next one has the number itself there, and calls with another one do not fit. So what the running
program can choose, size or select stays a matter of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from jitflow.errors import UserError
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.recording.trace import Trace
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Index, Scalar, Type
from jitflow.records import dataclass
from jitflow.runtime.entry.asked_numbers import Formula, number_of
from jitflow.runtime.entry.plan import EqualsConstant, Made

__all__ = ["Pins"]


_KINDS: Mapping[str, type[Any]] = {"b": bool, "i": int, "u": int, "f": float}
_SIGNS: Mapping[str, str] = {
    "add": "+", "subtract": "-", "multiply": "*", "floor_divide": "//", "remainder": "%", "divide": "/", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "logical_and": "and",
    "logical_or": "or", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_FORMS: Mapping[str, str] = {
    "negative": "-{}", "absolute": "abs({})", "logical_not": "not {}", "minimum": "min({}, {})",
    "maximum": "max({}, {})", "log2": "log2({})", "rint": "round({})", "floor": "floor({})",
    "ceil": "ceil({})",
}  # fmt: skip
_MOST_OPS = 64


@dataclass(frozen=True, eq=False)
class Expression:
    """What a number is, of the numbers in some registers."""

    text: str
    registers: tuple[int, ...]
    formula: Formula

    @property
    def at(self) -> partial[Any]:
        """What computes the number of what is in the registers at a call."""
        return partial(number_of, self.formula, self.registers)


@dataclass(eq=False)
class Pins:
    """The numbers of one trace that Python has asked for."""

    trace: Trace
    inputs: Inputs
    texts: dict[str, None] = field(default_factory=dict)
    settled: dict[Value, Any] = field(default_factory=dict)
    """The numbers by what they are in the program, whose tests of them are Python's from there on."""

    def known(self, value: Value) -> Any:
        """What a number is at this call, without asking for it; None if it is not computed of arguments alone."""
        found = self._expression(value, self.trace.number_of)
        return None if found is None else self._now(found)

    def asked(self, value: Value) -> Any:
        """The number, which each call compares from now on; None if it is not computed of arguments alone."""
        found = self._expression(value, self.trace.fix)
        number = None if found is None else self._now(found)
        if found is None or number is None:
            return None
        if found.registers:  # sizes have become facts
            register = found.registers[0]
            if found.text != self.inputs.path(register) or type(self.inputs.seen[register]) is not type(number):
                register = self.inputs.register_asked(found.text, found.registers, Made(found.at, found.registers))
            self.inputs.guard(EqualsConstant(register, number, type(number)))
            self.texts[found.text] = None
        self.settled[value] = number
        return number

    def _now(self, found: Expression) -> Any:
        try:
            number = found.at(*(self.inputs.seen[register] for register in found.registers))
        except (KeyError, ArithmeticError, ValueError):
            return None
        return number if type(number) is bool or (type(number) is int and -(1 << 63) <= number < 1 << 63) else None

    def _expression(self, value: Value, size: Callable[[Dim, str], int]) -> Expression | None:
        makers = {result: op for op in self._ops() for result in op.results}
        try:
            return _Reader(self, makers, size).read(value)
        except (_NotKnown, UserError):
            return None

    def _ops(self) -> Iterator[Op]:
        for scope in self.trace.scope.around():
            yield from scope.builder.ops
            for ops in scope.inserted.values():
                yield from ops


class _NotKnown(Exception):
    """A number is made of something else than arguments."""


class _Reader:
    """Reads how a number is computed, from its op to those of its operands."""

    def __init__(self, pins: Pins, makers: dict[Value, Op], size: Callable[[Dim, str], int]) -> None:
        self._pins, self._makers, self._size, self._ops = pins, makers, size, 0

    def read(self, value: Value) -> Expression:
        """What computes a value. Raises `_NotKnown` where it cannot be computed before the call."""
        inputs, parameters = self._pins.inputs, self._pins.trace.parameters
        self._ops += 1
        op = self._makers.get(value)
        position = next((position for position, one in enumerate(parameters) if one is value), None)
        if op is None and position is not None and isinstance(value.type, Scalar | Index):
            register = inputs.leaves[position].register
            return Expression(inputs.path(register), (register,), ("input", register))
        if op is None or (op.regions and op.name != "if") or self._ops > _MOST_OPS:
            raise _NotKnown
        if op.name in ("constant", "size"):
            number = op.attributes["value"] if op.name == "constant" else self._number_of(op.attributes["dim"])
            return Expression(str(number), (), ("known", number))
        operands, name = op.operands, op.name
        if name == "if":  # `and` and `or`, and what paths leave
            place, name = op.results.index(value), "select"
            operands = (*operands, *(region.yielded[place] for region in op.regions))
            self._makers |= {result: inner for region in op.regions for inner in region.ops for result in inner.results}
        parts = [self.read(operand) for operand in operands]
        registers = tuple(dict.fromkeys(register for part in parts for register in part.registers))
        shown = [part.text if part.text.isidentifier() or part.text.isdigit() else f"({part.text})" for part in parts]
        formulas = [part.formula for part in parts]
        if name in ("cast", "to_index"):
            before, kind = (_KINDS.get(_letter(one.type)) for one in (op.operands[0], op.results[0]))
            if kind is None:
                raise _NotKnown
            text = parts[0].text if kind is before else f"{kind.__name__}({parts[0].text})"
            return Expression(text, registers, (kind.__name__, *formulas))
        if name == "select":
            text = f"{shown[1]} if {shown[0]} else {shown[2]}"
            return Expression(text, registers, (name, *formulas))
        if name in _SIGNS:
            text = f" {_SIGNS[name]} ".join(shown)
        elif name in _FORMS:
            text = _FORMS[name].format(*(part.text for part in parts))
        else:
            raise _NotKnown
        return Expression(text, registers, (name, *formulas))

    def _number_of(self, dim: Dim) -> int:
        if self._pins.trace.is_open(dim):
            raise _NotKnown
        return dim if isinstance(dim, int) else self._size(dim, "a number that Python asked for")


def _letter(kind: Type) -> str:
    return kind.dtype.kind if isinstance(kind, Scalar) else "i"
