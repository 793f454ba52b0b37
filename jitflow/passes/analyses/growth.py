"""How the numbers that a loop carries change from turn to turn.

A number *moves* up if no turn makes it smaller, whichever way the turn takes, and down likewise. It *counts* if every
turn adds small constants to it or sets it to one: from near 0 it does not reach the largest integer in anybody's
lifetime, so nobody need ask whether the next step overflows.

    %count: int = while %zero {...} (%c: int) {
      %more: int = add %c, %one {checked=true}        moves up, and counts
      yield %more
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Index, Scalar

__all__ = ["EARLY", "FURTHEST", "SMALL_STEP", "Growth", "keeps_value"]

SMALL_STEP = 16
"""The largest step that is small."""
EARLY = 1 << 61
"""A number below it that grows by small steps does not reach the largest integer in anybody's lifetime."""
FURTHEST = 1 << 62
"""What no number reaches that was early once: 2**57 steps at the least lie between."""


class Growth:
    """Answers about the numbers that the loops of a function carry, in the function as it was given."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._producers: dict[Value, Op] | None = None

    def moves(self, value: Value, carried: Value, start: Dim, sign: int) -> bool:
        """Whether ``value`` is never below (``sign`` 1) or above (-1) what is ``carried`` in this turn."""
        if value is carried:
            return True
        op = self._producer(value)
        if op is None:
            return False
        if op.name in ("add", "subtract") and op.operands[0].type == value.type:
            step = self._constant(op.operands[1])
            if step is None or step * sign * (1 if op.name == "add" else -1) < 0:
                return False
            exact = _is_exact(op) or (abs(step) <= SMALL_STEP and isinstance(start, int) and abs(start) <= EARLY)
            return bool(exact) and self.moves(op.operands[0], carried, start, sign)
        if op.name == ("maximum" if sign > 0 else "minimum"):
            return any(self.moves(operand, carried, start, sign) for operand in op.operands)
        if op.name == "select":
            return all(self.moves(operand, carried, start, sign) for operand in op.operands[1:])
        if op.name == "if":
            position = op.results.index(value)
            return all(self.moves(region.yielded[position], carried, start, sign) for region in op.regions)
        if op.name in ("for", "while"):
            first, inner, last = _carried_by(op, value)
            return self.moves(last, inner, start, sign) and self.moves(first, carried, start, sign)
        return False

    def counts(self, value: Value, carried: Value) -> bool:
        """Whether ``value`` is what is ``carried`` and a small number, or a number that is early."""
        if value is carried:
            return True
        op = self._producer(value)
        if op is None or not isinstance(value.type, Scalar) or value.type.dtype != I64:
            return False
        if op.name == "constant" or (op.name == "cast" and keeps_value(op)):
            number = self._constant(value)
            return number is not None and abs(number) <= EARLY
        if op.name in ("add", "subtract"):
            step = self._constant(op.operands[1])
            return step is not None and abs(step) <= SMALL_STEP and self.counts(op.operands[0], carried)
        if op.name in ("maximum", "minimum", "select"):
            return all(self.counts(operand, carried) for operand in op.operands[-2:])
        if op.name == "if":
            position = op.results.index(value)
            return all(self.counts(region.yielded[position], carried) for region in op.regions)
        if op.name not in ("for", "while"):
            return False
        first, inner, last = _carried_by(op, value)
        return self.counts(first, carried) and self.counts(last, inner)

    def set_to(self, value: Value, carried: Value) -> list[Dim] | None:
        """The dims that a turn may set what is ``carried`` to, if it does nothing else with it."""
        if value is carried:
            return []
        op = self._producer(value)
        if op is None:
            return None
        options: Sequence[Value] = ()
        if op.name == "select":
            options = op.operands[1:]
        elif op.name == "if":
            options = [region.yielded[op.results.index(value)] for region in op.regions]
        elif op.name == "cast" and keeps_value(op):
            kind = op.operands[0].type
            return [kind.dim] if isinstance(kind, Index) and kind.dim is not None else None
        found = [self.set_to(option, carried) for option in options]
        known = [dims for dims in found if dims is not None]
        return [dim for dims in known for dim in dims] if found and len(known) == len(found) else None

    def _producer(self, value: Value) -> Op | None:
        if self._producers is None:
            self._producers = {result: op for op in walk(self._function.region) for result in op.results}
        return self._producers.get(value)

    def _constant(self, value: Value) -> int | None:
        op = self._producer(value)
        while op is not None and op.name == "cast" and keeps_value(op):
            op = self._producer(op.operands[0])
        if op is None or op.name != "constant" or not isinstance(op.attributes["value"], int):
            return None
        return int(op.attributes["value"])


def _carried_by(loop: Op, result: Value) -> tuple[Value, Value, Value]:
    """What a result of a loop starts as, what carries it in a turn, and what the turn hands on."""
    position, leading = loop.results.index(result), int(loop.name == "for")
    body = loop.regions[-1]
    return loop.operands[3 * leading + position], body.parameters[leading + position], body.yielded[position]


def _is_exact(op: Op) -> bool:
    """Whether arithmetic on integers never wraps around: that of Python's ints raises, or has been proved not to."""
    kind = op.results[0].type
    return bool(op.attributes.get("checked")) or (isinstance(kind, Scalar) and kind.weak)


def keeps_value(op: Op) -> bool:
    """Whether a conversion of an integer gives the same number."""
    source, target = op.operands[0].type, op.result.type
    if not isinstance(target, Scalar) or not target.dtype.is_integer:
        return False
    if isinstance(source, Index):
        return target.dtype == I64
    if not isinstance(source, Scalar) or not source.dtype.is_integer:
        return False
    return source.dtype == target.dtype or (
        target.dtype.bits > source.dtype.bits and (target.dtype.kind == "i" or source.dtype.kind == "u")
    )
