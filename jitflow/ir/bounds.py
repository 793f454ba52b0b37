"""Proofs that a dim is not negative, from what is known of the sizes in it.

Sizes come one after the other: those of the arguments, then positions of loops, inner ones later. Of each it may be
known that it is never below or never above dims of earlier sizes, that it is the smaller or larger of two dims, or one
of two dims depending on a condition. To prove ``dim >= 0`` the latest size in it is replaced by the worst that it may
be, and so on until nothing but numbers is left; inequalities that are known otherwise (facts of the guards, conditions
of branches, checks that were passed) are subtracted where that may help.

    i <= n - 1,  j <= i - 1    |-    n - j - 2 >= 0      since  n - (i - 1) - 2  =  n - i - 1  >=  n - (n - 1) - 1  =  0

A proof is right or is not found: the search, which tries with few facts first, ends after some dozen steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jitflow.ir.core import Fact
from jitflow.ir.dims import Call, Dim, Expression, Monomial, Symbol, symbol, symbols

__all__ = ["Bounds", "Choice"]

_STEPS = 24
_LARGEST = (1 << 63) - 1
_HUGE = 1 << 62
_FACTS = 2
"""How many known inequalities may be subtracted, one after the other."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a size is: the ``min`` or ``max`` of several dims, or one of them (``any``).

    ``given`` holds, for each dim, inequalities that hold where the size is that one.
    """

    kind: str
    options: tuple[Dim, ...]
    given: tuple[tuple[Dim, ...], ...] = ()


_Cases = Sequence[tuple[Dim, Sequence[Dim]]]
"""Dims that must all be at least 0, each with inequalities that hold in its case."""


class Bounds:
    """What is known of the sizes of a function, and the facts that hold at some point of it.

    Sizes that nothing is said about are at least 0, but for names that start with ``$``, which stand for any integer.
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.lower: dict[str, list[Dim]] = {}
        self.upper: dict[str, list[Dim]] = {}
        self.choices: dict[str, Choice] = {}
        self.signed: set[str] = set()
        """Names that may be negative as far as is known; what they are never below says more."""
        self.facts: list[Dim] = []
        """Dims that are at least 0."""
        self._order: dict[str, int] = {}
        self._steps = 0
        self._failed: set[Dim] = set()
        self._seen: set[tuple[Dim, int, int]] = set()
        self._above: dict[str, set[str]] = {}
        """From sizes to those that something has been said about that may bound them from above."""
        self._capped: set[str] = set()
        """Sizes that are never above some number."""
        for dim in _as_dims(facts):
            self.learn(dim)

    # Learning

    def name(self, name: str, *, signed: bool = False, lower: Iterable[Dim] = (), upper: Iterable[Dim] = ()) -> None:
        """Enter a size with what it is never below and never above, in terms of earlier ones."""
        self._order[name] = len(self._order)
        self.lower.setdefault(name, []).extend(lower)
        self.upper.setdefault(name, []).extend(upper)
        if signed:
            self.signed.add(name)
        for bound in upper:
            self._note_above(name, bound)

    def choose(self, name: str, choice: Choice) -> None:
        """Enter an integer that is one of several."""
        self.name(name, signed=True, upper=[])
        self.choices[name] = choice
        for option in choice.options:
            self._note_above(name, option)
        for given in choice.given:
            for dim in given:
                self._note_fact(dim)

    def learn(self, dim: Dim) -> None:
        """From here on ``dim`` is at least 0, until `forget`."""
        if not isinstance(dim, int) and dim not in self.facts:
            self.facts.append(dim)
            self._failed.clear()
            self._note_fact(dim)

    def mark(self) -> int:
        """How much is known now, for `forget`."""
        return len(self.facts)

    def forget(self, mark: int) -> None:
        """Forget the facts that were learnt since `mark`."""
        del self.facts[mark:]

    def _note_above(self, name: str, bound: Dim) -> None:
        if isinstance(bound, int):
            if bound < _HUGE:
                self._capped.add(name)
        else:
            self._above.setdefault(name, set()).update(symbols(bound))

    def _note_fact(self, dim: Dim) -> None:
        if isinstance(dim, Expression):
            names = set(symbols(dim))
            for name in names:
                self._above.setdefault(name, set()).update(names)
            if len(names) == 1:
                self._capped |= names

    # Proving

    def proves(self, dim: Dim) -> bool:
        """Whether ``dim >= 0`` follows."""
        if isinstance(dim, int):
            return dim >= 0
        if self._plainly(dim):
            return True
        if dim in self._failed:
            return False
        if self._is_hopeless(dim):
            self._failed.add(dim)
            return False
        for facts in range(_FACTS + 1 if self.facts or self.choices else 1):
            self._steps, self._seen = _STEPS, set()
            if self._holds(dim, facts, self.facts):
                return True
        self._failed.add(dim)
        return False

    def _is_hopeless(self, dim: Expression) -> bool:
        """Whether something is subtracted that nothing ties to what is added."""
        added: set[str] = set()
        subtracted: set[str] = set()
        for monomial, coefficient in dim.terms:
            if not monomial and coefficient > _HUGE:
                return False
            for atom in monomial:
                if isinstance(atom, Call):
                    added.update(_names(atom))
                else:
                    (added if coefficient > 0 else subtracted).add(atom.name)
        return not all(self._reaches(name, added) for name in subtracted)

    def _reaches(self, name: str, targets: set[str]) -> bool:
        seen = {name}
        pending = [name]
        while pending:
            name = pending.pop()
            if name in targets or name in self._capped:
                return True
            for other in self._above.get(name, ()):
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return False

    def fits(self, dim: Dim) -> bool:
        """Whether ``dim`` is one of the integers of 64 bits."""
        return self.proves(_LARGEST - dim) and self.proves(dim + _LARGEST + 1)

    def may_be_negative(self, dim: Dim) -> bool:
        """Whether ``dim`` mentions a size that is not known to be at least 0."""
        return any(self._is_signed(name) and not self.proves(symbol(name)) for name in symbols(dim))

    def _holds(self, dim: Dim, facts: int, known: Sequence[Dim]) -> bool:
        if isinstance(dim, int):
            return dim >= 0
        if self._plainly(dim):
            return True
        self._steps -= 1
        if self._steps < 0 or (dim, facts, len(known)) in self._seen:
            return False
        self._seen.add((dim, facts, len(known)))
        for alternative in self._worst(dim):
            if self._steps < 0:
                return False
            if all(self._holds(case, facts, (*known, *given)) for case, given in alternative):
                return True
        if facts:
            wanted = self._open_terms(dim)
            for fact in known:
                if isinstance(fact, Expression) and any((m, c > 0) in wanted for m, c in fact.terms):
                    if self._steps < 0:
                        return False
                    if self._holds(dim - fact, facts - 1, known):
                        return True
        return False

    def _open_terms(self, dim: Expression) -> set[tuple[Monomial, bool]]:
        """The terms, with their signs, that keep ``dim`` from being plainly at least 0.

        If that is a number alone, those that might make up for it.
        """
        terms = {
            (monomial, coefficient > 0)
            for monomial, coefficient in dim.terms
            if monomial and (coefficient < 0 or not all(map(self._natural, monomial)))
        }
        return terms or {(monomial, True) for monomial, _ in dim.terms if monomial}

    def _plainly(self, dim: Expression) -> bool:
        """Whether every term of ``dim`` is at least 0."""
        return all(coefficient >= 0 and all(map(self._natural, monomial)) for monomial, coefficient in dim.terms)

    def _natural(self, atom: Symbol | Call) -> bool:
        if isinstance(atom, Symbol):
            return not self._is_signed(atom.name) or any(
                isinstance(bound, int) and bound >= 0 for bound in self.lower.get(atom.name, ())
            )
        parts = [operand >= 0 if isinstance(operand, int) else self._plainly(operand) for operand in atom.operands]
        return any(parts) if atom.operator == "max" else all(parts)

    def _worst(self, dim: Expression) -> Iterator[_Cases]:
        """Ways to get rid of an atom: in each, ``dim`` holds if all its cases do, under what is given in them."""
        constant = next((coefficient for monomial, coefficient in dim.terms if not monomial), 0)
        for atom in self._atoms(dim):
            factor = _factor(dim, atom)
            if factor is None:
                continue
            if isinstance(atom, Call):
                if isinstance(factor, int):
                    yield from _without_call(dim, atom, factor)
                continue
            rises, falls = self._sign(factor)
            own = symbol(atom.name)
            choice = self.choices.get(atom.name)
            if choice is not None:
                cases = [dim + (option - own) * factor for option in choice.options]
                given = choice.given or ((),) * len(cases)
                if choice.kind == "any" or (choice.kind == "min" and rises) or (choice.kind == "max" and falls):
                    yield list(zip(cases, given, strict=True))
                elif rises or falls:
                    yield from ([(case, ())] for case in cases)
            bounds = self.lower if rises else self.upper if falls else {}
            for bound in bounds.get(atom.name, ()):
                if not isinstance(bound, int) or abs(bound) < _HUGE or abs(constant) > _HUGE:
                    yield [(dim + (bound - own) * factor, ())]
            if falls and constant > _HUGE:
                yield [(dim + (_LARGEST - own) * factor, ())]

    def _is_signed(self, name: str) -> bool:
        return name in self.signed or name.startswith("$")

    def _sign(self, factor: Dim) -> tuple[bool, bool]:
        """Whether what is multiplied with ``factor`` makes a dim rise, or fall."""
        if isinstance(factor, int):
            return factor > 0, factor < 0
        negative = -factor
        return self._plainly(factor), isinstance(negative, Expression) and self._plainly(negative)

    def _atoms(self, dim: Expression) -> list[Symbol | Call]:
        """The atoms of ``dim``: calls first, then what is subtracted, the latest sizes before earlier ones."""
        atoms: dict[Symbol | Call, bool] = {}
        for monomial, coefficient in dim.terms:
            for atom in monomial:
                atoms[atom] = atoms.get(atom, False) or coefficient < 0
        return sorted(atoms, key=lambda atom: (isinstance(atom, Symbol), not atoms[atom], self._when(atom)))

    def _when(self, atom: Symbol | Call) -> int:
        return 0 if isinstance(atom, Call) else -self._order.get(atom.name, -1)


def _factor(dim: Expression, atom: Symbol | Call) -> Dim | None:
    """What ``atom`` is multiplied with in ``dim``; None if it occurs squared, or inside another atom."""
    factor: Dim = 0
    name = atom.name if isinstance(atom, Symbol) else None
    for monomial, coefficient in dim.terms:
        count = monomial.count(atom)
        if count > 1 or (name is not None and any(name in _names(other) for other in monomial if other != atom)):
            return None
        if count:
            rest = list(monomial)
            rest.remove(atom)
            factor = factor + (Expression(((tuple(rest), coefficient),)) if rest else coefficient)
    return factor


def _names(atom: Symbol | Call) -> Iterator[str]:
    if isinstance(atom, Call):
        for operand in atom.operands:
            yield from symbols(operand)
    else:
        yield atom.name


def _without_call(dim: Expression, call: Call, factor: int) -> Iterator[_Cases]:
    """Ways to replace ``call``, which is multiplied with ``factor``, by the worst that it may be."""
    rest = dim - Expression((((call,), factor),))
    if call.operator in ("min", "max"):
        cases = [rest + operand * factor for operand in call.operands]
        if (call.operator == "max") == (factor < 0):
            yield [(case, ()) for case in cases]
        else:
            yield from ([(case, ())] for case in cases)
        return
    left, right = call.operands
    if not isinstance(right, int) or right <= 0:
        return
    if call.operator == "//":  # right * (left // right) lies between left - right + 1 and left
        worst = left - (right - 1) if factor > 0 else left
        yield [(rest * right + worst * factor, ())]
    else:
        yield [(rest if factor > 0 else rest + (right - 1) * factor, ())]


def _as_dims(facts: Iterable[Fact]) -> Iterator[Dim]:
    """The dims that facts say are at least 0."""
    for fact in facts:
        if fact.relation in (">=", "=="):
            yield fact.left - fact.right
        if fact.relation == "==":
            yield fact.right - fact.left
        if fact.relation == "<":
            yield fact.right - fact.left - 1
