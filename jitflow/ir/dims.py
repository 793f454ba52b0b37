"""Sizes as values: a dim is an ``int`` or an integer expression over named sizes.

Expressions are kept in a normal form (a sum of products of atoms with integer coefficients, sorted), so that two
dims are equal exactly when their normal forms are: ``(n + 1) * 2`` and ``2*n + 2`` are one dim. Atoms are symbols and
the four operations that are not polynomial: ``//``, ``%``, ``min``, ``max``.

Sizes are never negative, and arithmetic on them is exact here; the compiled code checks that byte sizes fit in 63 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache, reduce

from jitflow.records import dataclass

__all__ = ["Call", "Dim", "Expression", "Monomial", "Symbol", "evaluate", "evaluate_known", "lower_bound", "maximum",
           "minimum", "product", "substitute", "symbol", "symbols", "upper_bound"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size known only at run time, named uniquely within its function."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Call:
    """An operation that is not polynomial: ``operator`` is one of ``//  %  min  max``."""

    operator: str
    operands: tuple[Dim, ...]

    def __str__(self) -> str:
        if self.operator in ("min", "max"):
            return f"{self.operator}({', '.join(map(str, self.operands))})"
        left, right = (f"({d})" if isinstance(d, Expression) and not d.is_symbol else str(d) for d in self.operands)
        return f"{left} {self.operator} {right}"


Atom = Symbol | Call
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum of ``coefficient * atom * atom...``; never a plain number (those are ``int``)."""

    terms: tuple[tuple[Monomial, int], ...]
    _hash: int = field(init=False, repr=False, compare=False)
    is_symbol: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))  # found once: dims are keys everywhere
        monomial, coefficient = self.terms[0]
        alone = len(self.terms) == 1 and coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Symbol)
        object.__setattr__(self, "is_symbol", alone)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        return self if other == 0 else _sum(self, other)

    def __radd__(self, other: int) -> Dim:
        return self + other

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        return self if other == 1 else _product(self, other)

    def __rmul__(self, other: int) -> Dim:
        return self * other

    def __floordiv__(self, other: Dim) -> Dim:
        return _floor_divide(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return _floor_divide(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return _modulo(self, other)

    def __rmod__(self, other: int) -> Dim:
        return _modulo(other, self)

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            factors = "*".join(f"({a})" if isinstance(a, Call) and a.operator in "//%" else str(a) for a in monomial)
            size = abs(coefficient)
            term = str(size) if not monomial else factors if size == 1 else f"{size}*{factors}"
            sign = "-" if coefficient < 0 else "+"
            text = f"{text} {sign} {term}" if text else (f"-{term}" if coefficient < 0 else term)
        return text

    __repr__ = __str__


Dim = int | Expression


@lru_cache(maxsize=1 << 12)
def symbol(name: str) -> Expression:
    """The dim that is the run-time size ``name``."""
    return Expression((((Symbol(name),), 1),))


def minimum(*operands: Dim) -> Dim:
    """The smallest of several dims."""
    return _extremum("min", operands)


def maximum(*operands: Dim) -> Dim:
    """The largest of several dims."""
    return _extremum("max", operands)


def product(dims: tuple[Dim, ...] | list[Dim]) -> Dim:
    """The number of elements of an array with these dims."""
    return reduce(lambda left, right: left * right, dims, 1)


def symbols(dim: Dim) -> tuple[str, ...]:
    """The names that a dim depends on, each as often as it occurs."""
    return _symbols(dim) if isinstance(dim, Expression) else ()


@lru_cache(maxsize=1 << 14)  # asked again and again: by every pass, of every type
def _symbols(dim: Expression) -> tuple[str, ...]:
    names: list[str] = []
    for monomial, _ in dim.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                names.append(atom.name)
            else:
                names += (name for operand in atom.operands for name in symbols(operand))
    return tuple(names)


def substitute(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """``dim`` with names replaced by dims; names that ``mapping`` lacks stay."""
    if not isinstance(dim, Expression):
        return dim
    names = _symbols(dim)
    if dim.is_symbol:
        return mapping.get(names[0], dim)
    if not any(name in mapping for name in names):
        return dim
    return rebuild(dim, lambda name: mapping[name] if name in mapping else symbol(name))


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The number that ``dim`` is under ``sizes``."""
    number = rebuild(dim, lambda name: sizes[name])
    assert isinstance(number, int)
    return number


def evaluate_known(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """The same, None where ``sizes`` do not tell, or where it is divided by one that is 0."""
    try:
        return evaluate(dim, sizes) if sizes.keys() >= {*symbols(dim)} else None
    except ZeroDivisionError:
        return None


def rebuild(dim: Dim, leaf: Callable[[str], Dim]) -> Dim:
    """``dim`` computed anew with ``leaf(name)`` for every name."""
    if not isinstance(dim, Expression):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        term: Dim = coefficient
        for atom in monomial:
            term = term * _rebuild_atom(atom, leaf)
        total = total + term
    return total


def lower_bound(dim: Dim, at_least: Mapping[str, int] | None = None) -> int | None:
    """A number that ``dim`` is never below, sizes being at least 0 (or as ``at_least`` says), or None if unknown."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        if coefficient < 0 and monomial:
            return None
        bound = coefficient
        for atom in monomial:
            factor = _atom_bound(atom, at_least or {})
            if factor is None or factor < 0:
                return None
            bound *= factor
        total += bound
    return total


def _atom_bound(atom: Atom, at_least: Mapping[str, int]) -> int | None:
    if isinstance(atom, Symbol):
        return at_least.get(atom.name, 0)
    bounds = [lower_bound(operand, at_least) for operand in atom.operands]
    if atom.operator == "max":
        known = [bound for bound in bounds if bound is not None]
        return max(known, default=None)
    if atom.operator == "min":
        return None if None in bounds else min(bound for bound in bounds if bound is not None)
    return 0 if all(bound is not None and bound >= 0 for bound in bounds) else None


def upper_bound(dim: Dim, at_most: Mapping[str, Dim] | None = None) -> int | None:
    """A number that ``dim`` is never above, as its extrema and ``at_most`` say, or None if unknown."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        bound = 1 if not monomial else _highest(monomial[0], at_most or {}) if len(monomial) == 1 else None
        if bound is None or (monomial and coefficient < 0):
            return None
        total += coefficient * bound
    return total


def _highest(atom: Atom, at_most: Mapping[str, Dim]) -> int | None:
    if isinstance(atom, Symbol):
        limit = at_most.get(atom.name)
        return limit if isinstance(limit, int) else None
    bounds = [upper_bound(operand, at_most) for operand in atom.operands]
    known = [bound for bound in bounds if bound is not None]
    if atom.operator == "min":
        return min(known, default=None)
    return max(known) if atom.operator == "max" and len(known) == len(bounds) else None


def _rebuild_atom(atom: Atom, leaf: Callable[[str], Dim]) -> Dim:
    if isinstance(atom, Symbol):
        return leaf(atom.name)
    operands = [rebuild(operand, leaf) for operand in atom.operands]
    if atom.operator in ("min", "max"):
        return _extremum(atom.operator, tuple(operands))
    return operands[0] // operands[1] if atom.operator == "//" else operands[0] % operands[1]


@lru_cache(4096)
def _order(atom: Atom) -> tuple[int, str]:
    return (0, atom.name) if isinstance(atom, Symbol) else (1, str(atom))


def _terms(dim: Dim) -> dict[Monomial, int]:
    return {(): dim} if isinstance(dim, int) else dict(dim.terms)


@lru_cache(4096)
def _sum(left: Dim, right: Dim) -> Dim:
    total = _terms(left)
    for monomial, coefficient in _terms(right).items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return _normal(total)


@lru_cache(4096)
def _product(left: Expression, right: Dim) -> Dim:
    if isinstance(right, int) and right > 0:
        return Expression(tuple((monomial, coefficient * right) for monomial, coefficient in left.terms))
    total: dict[Monomial, int] = {}
    for before, a in left.terms:
        for after, b in _terms(right).items():
            monomial = tuple(sorted(before + after, key=_order))
            total[monomial] = total.get(monomial, 0) + a * b
    return _normal(total)


def _normal(total: dict[Monomial, int]) -> Dim:
    terms = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    if all(not monomial for monomial, _ in terms):
        return sum(coefficient for _, coefficient in terms)
    if len(terms) > 1:
        terms.sort(key=lambda term: (not term[0], term[1] < 0, -len(term[0]), [_order(atom) for atom in term[0]]))
    return Expression(tuple(terms))


def _call(operator: str, *operands: Dim) -> Dim:
    return Expression((((Call(operator, operands),), 1),))


def _floor_divide(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    if right == 1 or left == 0:
        return left
    if left == right:
        return 1
    if isinstance(left, Expression):
        if isinstance(right, int) and all(coefficient % right == 0 for _, coefficient in left.terms):
            return _normal({monomial: coefficient // right for monomial, coefficient in left.terms})
        quotient = _cancel(left, right)
        if quotient is not None:
            return quotient
        if isinstance(right, int) and right > 0:
            return _divided(left, right)
    return _call("//", left, right)


def _divided(left: Expression, right: int) -> Dim:
    """``left // right`` with whole multiples in front, and a quotient of a quotient as one: halves of halves."""
    whole = {monomial: coefficient for monomial, coefficient in left.terms if monomial and coefficient % right == 0}
    if whole:
        quotient = _normal({monomial: coefficient // right for monomial, coefficient in whole.items()})
        return quotient + (left - _normal(whole)) // right
    number = dict(left.terms).get((), 0)
    inner = _as_call(left - number, "//")
    if inner is not None and isinstance(inner.operands[1], int) and inner.operands[1] > 0:
        shown, divisor = inner.operands
        assert isinstance(divisor, int)
        return (shown + number * divisor) // (divisor * right)
    return _call("//", left, right)


def _cancel(left: Expression, right: Dim) -> Dim | None:
    """``left // right`` where ``right`` is one monomial that divides every term of ``left``."""
    if not isinstance(right, Expression) or len(right.terms) != 1:
        return None
    divisor, scale = right.terms[0]
    result: dict[Monomial, int] = {}
    for monomial, coefficient in left.terms:
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % scale:
            return None
        result[tuple(rest)] = coefficient // scale
    return _normal(result)


def _modulo(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    if right == 1 or left == right:
        return 0
    if isinstance(left, Expression):
        if isinstance(right, int) and all(coefficient % right == 0 for _, coefficient in left.terms):
            return 0
        if _cancel(left, right) is not None:
            return 0
    return _call("%", left, right)


def _extremum(operator: str, operands: tuple[Dim, ...]) -> Dim:
    choose = min if operator == "min" else max
    flat: list[Dim] = []
    for operand in operands:
        inner = _as_call(operand, operator)
        flat.extend(inner.operands if inner is not None else (operand,))
    numbers = [operand for operand in flat if isinstance(operand, int)]
    rest = sorted({operand for operand in flat if not isinstance(operand, int)}, key=str)
    kept: list[Dim] = [
        operand for operand in rest
        if not any(other is not operand and _dominates(other, operand, operator) for other in rest)
    ]  # fmt: skip
    if numbers:
        number = choose(numbers)
        above = [operand for operand in kept if (bound := lower_bound(operand)) is not None and bound >= number]
        if operator == "min":
            kept = [operand for operand in kept if operand not in above]
        if operator == "min" or not above:
            kept.append(number)
    return kept[0] if len(kept) == 1 else _call(operator, *kept)


def _dominates(left: Dim, right: Dim, operator: str) -> bool:
    """Whether ``left`` makes ``right`` superfluous: their difference is a number of the right sign."""
    difference = left - right
    return isinstance(difference, int) and (difference > 0 if operator == "max" else difference < 0)


def _as_call(dim: Dim, operator: str) -> Call | None:
    if isinstance(dim, Expression) and len(dim.terms) == 1:
        monomial, coefficient = dim.terms[0]
        if coefficient == 1 and len(monomial) == 1:
            atom = monomial[0]
            if isinstance(atom, Call) and atom.operator == operator:
                return atom
    return None
