"""Arithmetic notation over a `Machine`.

The expansions are formulas and should read as formulas. A `Term` is a value of
the machine that can be written with operators; a Python number beside a term
becomes a constant of the term's dtype. `expansion` turns a function on terms
into one that takes a machine and its values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias

from jitflow.passes.expand.machine import Machine, V


class Term(Generic[V]):
    """A value together with the machine that computes it."""

    __slots__ = ("machine", "value")

    def __init__(self, machine: Machine[V], value: V) -> None:
        self.machine = machine
        self.value = value

    @property
    def dtype(self) -> str:
        return self.machine.dtype(self.value)

    def like(self, operand: Operand[V]) -> V:
        """The operand's value, made a constant of this dtype if it is a number."""
        if isinstance(operand, Term):
            return operand.value
        return self.machine.constant(operand, self.dtype)

    def constant(self, number: float) -> Term[V]:
        return Term(self.machine, self.like(number))

    def __add__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.add(self.value, self.like(other)))

    def __radd__(self, other: float) -> Term[V]:
        return self.constant(other) + self

    def __sub__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.subtract(self.value, self.like(other)))

    def __rsub__(self, other: float) -> Term[V]:
        return self.constant(other) - self

    def __mul__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.multiply(self.value, self.like(other)))

    def __rmul__(self, other: float) -> Term[V]:
        return self.constant(other) * self

    def __truediv__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.divide(self.value, self.like(other)))

    def __rtruediv__(self, other: float) -> Term[V]:
        return self.constant(other) / self

    def __neg__(self) -> Term[V]:
        return Term(self.machine, self.machine.negative(self.value))

    def __abs__(self) -> Term[V]:
        return Term(self.machine, self.machine.absolute(self.value))

    def __lt__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.less(self.value, self.like(other)))

    def __le__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.less_equal(self.value, self.like(other)))

    def __gt__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.greater(self.value, self.like(other)))

    def __ge__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.greater_equal(self.value, self.like(other)))

    def equals(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.equal(self.value, self.like(other)))

    def differs(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.not_equal(self.value, self.like(other)))

    def __and__(self, other: Operand[V]) -> Term[V]:
        operation = self.machine.logical_and if self.dtype == "bool" else self.machine.bitwise_and
        return Term(self.machine, operation(self.value, self.like(other)))

    def __or__(self, other: Operand[V]) -> Term[V]:
        operation = self.machine.logical_or if self.dtype == "bool" else self.machine.bitwise_or
        return Term(self.machine, operation(self.value, self.like(other)))

    def __xor__(self, other: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.bitwise_xor(self.value, self.like(other)))

    def __invert__(self) -> Term[V]:
        operation = self.machine.logical_not if self.dtype == "bool" else self.machine.bitwise_not
        return Term(self.machine, operation(self.value))

    def __lshift__(self, amount: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.left_shift(self.value, self.like(amount)))

    def __rshift__(self, amount: Operand[V]) -> Term[V]:
        return Term(self.machine, self.machine.right_shift(self.value, self.like(amount)))

    def cast(self, dtype: str) -> Term[V]:
        return Term(self.machine, self.machine.cast(self.value, dtype))

    def bitcast(self, dtype: str) -> Term[V]:
        return Term(self.machine, self.machine.bitcast(self.value, dtype))

    def rint(self) -> Term[V]:
        return Term(self.machine, self.machine.rint(self.value))

    def sqrt(self) -> Term[V]:
        return Term(self.machine, self.machine.sqrt(self.value))


Operand: TypeAlias = "Term[V] | float"


LONGEST_CHAIN = 12


def expansion(build: Callable[..., Term[Any]]) -> Callable[..., Any]:
    """Make a function on terms one on a machine and its values."""

    @functools.wraps(build)
    def expand(machine: Machine[V], *operands: V) -> V:
        value: V = build(*(Term(machine, operand) for operand in operands)).value
        return value

    return expand


def fma(a: Term[V], b: Operand[V], c: Operand[V]) -> Term[V]:
    """Compute a * b + c with a single rounding."""
    return Term(a.machine, a.machine.fma(a.value, a.like(b), a.like(c)))


def select(mask: Term[V], a: Operand[V], b: Operand[V]) -> Term[V]:
    """Take a where the mask is set and b elsewhere; one of them must be a term."""
    model = a if isinstance(a, Term) else b
    if not isinstance(model, Term):
        raise TypeError("expected a term among the alternatives of a select, got two numbers")
    return Term(mask.machine, mask.machine.select(mask.value, model.like(a), model.like(b)))


def multiply_high(a: Term[V], b: Term[V]) -> Term[V]:
    """The upper word of the product of two unsigned words."""
    return Term(a.machine, a.machine.multiply_high(a.value, b.value))


def copysign(magnitude: Term[V], sign: Term[V]) -> Term[V]:
    """The magnitude with the other's sign, that of zeros and NaN included."""
    return Term(magnitude.machine, magnitude.machine.copysign(magnitude.value, sign.value))


def minimum(x: Term[V], bound: Operand[V]) -> Term[V]:
    """The smaller one; NaN stays NaN. One instruction on most machines."""
    return select(x > bound, bound, x)


def maximum(x: Term[V], bound: Operand[V]) -> Term[V]:
    """The larger one; NaN stays NaN. One instruction on most machines."""
    return select(x < bound, bound, x)


def if_any(mask: Term[V], then: Callable[[], Sequence[Term[V]]], otherwise: Sequence[Term[V]]) -> list[Term[V]]:
    """`otherwise` where no lane of the mask is set, else what `then` yields."""
    machine = mask.machine
    values = machine.if_any(
        mask.value,
        lambda: tuple(term.value for term in then()),
        tuple(term.value for term in otherwise),
    )
    return [Term(machine, value) for value in values]


def settle(rare: Term[V], compute: Callable[[], Term[V]], otherwise: Term[V]) -> Term[V]:
    """`otherwise` where no lane of the mask is set, which is nearly always, else what `compute` yields for all."""
    (settled,) = if_any(rare, lambda: (compute(),), (otherwise,))
    return settled


def in_rare_lanes(mask: Term[V], compute: Callable[[Term[V]], Term[V]], x: Term[V], otherwise: Term[V]) -> Term[V]:
    """What `compute` makes of x where the mask is set, one lane after the other, and `otherwise` elsewhere."""
    machine = mask.machine

    def compute_value(lane: V) -> V:
        return compute(Term(machine, lane)).value

    return Term(machine, machine.in_rare_lanes(mask.value, compute_value, x.value, otherwise.value))


def polynomial(x: Term[V], coefficients: Sequence[float]) -> Term[V]:
    """The polynomial with these coefficients, lowest power first, by Horner's rule.

    A processor overlaps the vectors of a loop, and so the length of one chain
    of operations hardly matters, but their number does. Only a long chain is
    worth breaking in two, of even and of odd powers; the first terms, whose
    rounding errors count, stay outside.
    """
    if len(coefficients) > LONGEST_CHAIN:
        square, rest = x * x, coefficients[2:]
        result = fma(evaluate_chain(square, rest[1::2]), x, evaluate_chain(square, rest[0::2]))
        return fma(fma(result, x, coefficients[1]), x, coefficients[0])
    return evaluate_chain(x, coefficients)


def evaluate_chain(x: Term[V], coefficients: Sequence[float]) -> Term[V]:
    """Horner's rule, one operation after the other."""
    result = fma(x, coefficients[-1], coefficients[-2])
    for coefficient in reversed(coefficients[:-2]):
        result = fma(result, x, coefficient)
    return result


def add_exactly(a: Operand[V], b: Term[V]) -> tuple[Term[V], Term[V]]:
    """Return a + b as a rounded sum and its rounding error, if |a| >= |b| or a is 0.

    Dekker's fast two-sum, "A floating-point technique for extending the
    available precision", 1971.
    """
    total = b + a
    return total, b - (total - a)


def multiply_exactly(a: Term[V], b: Operand[V]) -> tuple[Term[V], Term[V]]:
    """Return a * b as a rounded product and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)
