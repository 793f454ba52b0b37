"""Dims as sums of numbered monomials, which can be added in no time.

A dim's normal form is made to be compared and printed. A search that adds and subtracts thousands of dims keeps them as
coefficients by the number of their monomial instead; 0 is the constant.

    2*n*m - n + 3      is      {4: 2, 1: -1, 0: 3}      where n*m has the number 4 and n the number 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jitflow.ir.dims import Call, Dim, Expression, Monomial, Symbol, symbols

__all__ = ["Monomials", "Terms", "factor_of", "sizes_in", "sum_of"]

Terms = Mapping[int, int]
"""From the numbers of monomials to their coefficients, none of which is 0."""


class Monomials:
    """The monomials of a function's dims, numbered."""

    def __init__(self) -> None:
        self.all: list[Monomial] = [()]
        self.names: list[frozenset[str]] = [frozenset()]
        """The sizes in each."""
        self.symbol: list[str | None] = [None]
        """The size that it is, if it is one."""
        self.call: list[Call | None] = [None]
        self._numbers: dict[Monomial, int] = {(): 0}

    def number(self, monomial: Monomial) -> int:
        """The number of a monomial."""
        number = self._numbers.get(monomial)
        if number is None:
            number = self._numbers[monomial] = len(self.all)
            only = monomial[0] if len(monomial) == 1 else None
            self.all.append(monomial)
            self.names.append(frozenset(name for atom in monomial for name in sizes_in(atom)))
            self.symbol.append(only.name if isinstance(only, Symbol) else None)
            self.call.append(only if isinstance(only, Call) else None)
        return number

    def terms(self, dim: Dim) -> Terms:
        """The terms of a dim."""
        if isinstance(dim, int):
            return {0: dim} if dim else {}
        return {self.number(monomial): coefficient for monomial, coefficient in dim.terms}

    def dim(self, terms: Terms) -> Dim:
        """The dim that the terms come to."""
        total: Dim = 0
        for number, coefficient in terms.items():
            total = total + (Expression(((self.all[number], coefficient),)) if number else coefficient)
        return total


def sum_of(left: Terms, right: Terms, factor: int) -> Terms:
    """``left + factor * right``."""
    total = dict(left)
    for number, coefficient in right.items():
        new = total.get(number, 0) + coefficient * factor
        if new:
            total[number] = new
        else:
            total.pop(number, None)
    return total


def sizes_in(atom: Symbol | Call) -> Iterator[str]:
    """The sizes that an atom of a dim depends on."""
    if isinstance(atom, Call):
        for operand in atom.operands:
            yield from symbols(operand)
    else:
        yield atom.name


def factor_of(dim: Dim, atom: Symbol) -> Dim | None:
    """What ``atom`` is multiplied with in ``dim``; None if it occurs squared, or inside another atom."""
    factor: Dim = 0
    for monomial, coefficient in dim.terms if isinstance(dim, Expression) else ():
        count = monomial.count(atom)
        if count > 1 or any(atom.name in sizes_in(other) for other in monomial if other != atom):
            return None
        if count:
            rest = list(monomial)
            rest.remove(atom)
            factor = factor + (Expression(((tuple(rest), coefficient),)) if rest else coefficient)
    return factor
