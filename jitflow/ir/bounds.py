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

from jitflow.ir.core import Fact
from jitflow.ir.dims import Call, Dim, Expression, Symbol, symbol, symbols
from jitflow.ir.monomials import Monomials, Terms, factor_of, sum_of
from jitflow.records import dataclass

__all__ = ["Bounds", "Choice"]

_STEPS = 24
_LARGEST = (1 << 63) - 1
_HUGE = 1 << 62
_FACTS = 2
"""How many known inequalities may be subtracted, one after the other."""

_Cases = Sequence[tuple[Terms, Sequence[Terms]]]
"""Dims that must all be at least 0, each with inequalities that hold in its case."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a size is: the ``min`` or ``max`` of several dims, or one of them (``any``).

    ``given`` holds, for each dim, inequalities that hold where the size is that one.
    """

    kind: str
    options: tuple[Dim, ...]
    given: tuple[tuple[Dim, ...], ...] = ()


class Bounds:
    """What is known of the sizes of a function, and the facts that hold at some point of it.

    Sizes that nothing is said about are at least 0, but for names that start with ``$``, which stand for any integer.
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts: list[Dim] = []
        """Dims that are at least 0."""
        self._among_facts: set[Dim] = set()
        self._known: list[Terms] = []
        """The same, as the search has them."""
        self._places: dict[tuple[int, bool], list[int]] = {}
        """Where among them there are those with a monomial, by whether it is added."""
        self._monomials = Monomials()
        self._lower: dict[str, list[Terms]] = {}
        self._upper: dict[str, list[Terms]] = {}
        self._choices: dict[str, tuple[str, list[Terms], list[list[Terms]]]] = {}
        self._signed: set[str] = set()
        """Names that may be negative as far as is known; what they are never below says more."""
        self._natural: set[str] = set()
        """Of these the ones that a number is known for that they are not below, and that is at least 0."""
        self._order: dict[str, int] = {}
        self._above: dict[str, set[str]] = {}
        """From sizes to those that something has been said about that may bound them from above."""
        self._capped: set[str] = set()
        """Sizes that are never above some number."""
        self._tied: set[str] = set()
        """Sizes that may have to be larger than 0, for something else to be as large as it is."""
        self._unsigned: set[str] = set()
        """Names of integers that may be above the largest one with a sign, as no size is."""
        self._failed: set[Dim] = set()
        self._seen: set[tuple[frozenset[tuple[int, int]], int, int]] = set()
        self._steps = 0
        for dim in _as_dims(facts):
            self.learn(dim)

    # Learning

    def name(self, name: str, *, signed: bool = False, lower: Iterable[Dim] = (), upper: Iterable[Dim] = ()) -> None:
        """Enter a size with what it is never below and never above, in terms of earlier ones."""
        self._order[name] = len(self._order)
        if signed:
            self._signed.add(name)
        for bound in lower:
            self.at_least(name, bound)
        for bound in upper:
            self.at_most(name, bound)

    def knows(self, name: str) -> bool:
        """Whether a size has been entered."""
        return name in self._order

    def at_least(self, name: str, bound: Dim) -> None:
        """A size is never below ``bound``."""
        self._lower.setdefault(name, []).append(self._monomials.terms(bound))
        if isinstance(bound, int) and bound >= 0:
            self._natural.add(name)

    def at_most(self, name: str, bound: Dim) -> None:
        """A size is never above ``bound``."""
        self._upper.setdefault(name, []).append(self._monomials.terms(bound))
        self._note_above(name, bound)

    def choose(self, name: str, choice: Choice) -> None:
        """Enter an integer that is one of several."""
        self.name(name, signed=True)
        options = [self._monomials.terms(option) for option in choice.options]
        given = [[self._monomials.terms(dim) for dim in dims] for dims in choice.given] or [[] for _ in options]
        self._choices[name] = (choice.kind, options, given)
        for option in choice.options:
            self._note_above(name, option)
        for dims in choice.given:
            for dim in dims:
                self._note_fact(self._monomials.terms(dim))

    def learn(self, dim: Dim) -> None:
        """From here on ``dim`` is at least 0, until `forget`."""
        if not isinstance(dim, int) and dim not in self._among_facts:
            terms = self._monomials.terms(dim)
            for number, coefficient in terms.items():
                self._places.setdefault((number, coefficient > 0), []).append(len(self._known))
            self.facts.append(dim)
            self._among_facts.add(dim)
            self._known.append(terms)
            self._failed.clear()
            self._note_fact(terms)
            for more in _sharper(dim):
                self.learn(more)

    def mark(self) -> int:
        """How much is known now, for `forget`."""
        return len(self.facts)

    def forget(self, mark: int) -> None:
        """Forget the facts that were learnt since `mark`."""
        for terms in self._known[mark:]:
            for number, coefficient in terms.items():
                self._places[number, coefficient > 0].pop()
        self._among_facts.difference_update(self.facts[mark:])
        del self.facts[mark:], self._known[mark:]

    def _note_above(self, name: str, bound: Dim) -> None:
        if isinstance(bound, int):
            if bound < _HUGE:
                self._capped.add(name)
            elif bound > _LARGEST:
                self._unsigned.add(name)
        else:
            self._above.setdefault(name, set()).update(symbols(bound))
            self._tied.update(symbols(bound))

    def _note_fact(self, terms: Terms) -> None:
        """What is subtracted in a fact is never above what is added."""
        added, subtracted = self._sides(terms)
        self._tied |= added
        for name in subtracted:
            self._above.setdefault(name, set()).update(added)
            if added <= {name}:
                self._capped.add(name)

    def _sides(self, terms: Terms) -> tuple[set[str], set[str]]:
        """The sizes that are added and those that are subtracted; what stands in a call may be either."""
        added: set[str] = set()
        subtracted: set[str] = set()
        for number, coefficient in terms.items():
            within_call = any(isinstance(atom, Call) for atom in self._monomials.all[number])
            if coefficient > 0 or within_call:
                added |= self._monomials.names[number]
            if coefficient < 0 or within_call:
                subtracted |= self._monomials.names[number]
        return added, subtracted

    # Asking

    def proves(self, dim: Dim) -> bool:
        """Whether ``dim >= 0`` follows."""
        if isinstance(dim, int):
            return dim >= 0
        terms = self._monomials.terms(dim)
        if self._plainly(terms):
            return True
        if dim in self._failed:
            return False
        if not self._is_hopeless(terms):
            for facts in range(_FACTS + 1 if self._known or self._choices else 1):
                self._steps, self._seen = _STEPS, set()
                if self._holds(terms, facts, self._known):
                    return True
        self._failed.add(dim)
        return False

    def fits(self, dim: Dim) -> bool:
        """Whether ``dim`` is one of the integers of 64 bits."""
        return self.proves(_LARGEST - dim) and self.proves(dim + _LARGEST + 1)

    def may_be_negative(self, dim: Dim) -> bool:
        """Whether ``dim`` mentions a size that is not known to be at least 0."""
        return any(self._is_signed(name) and not self.proves(symbol(name)) for name in symbols(dim))

    def _is_signed(self, name: str) -> bool:
        return name in self._signed or name.startswith("$")

    def _is_hopeless(self, terms: Terms) -> bool:
        """Whether something is subtracted that nothing ties to what is added, or all that is added may be 0."""
        constant = terms.get(0, 0)
        if constant > _HUGE:
            return False
        if constant < 0 and all(
            self._is_natural(number) if factor < 0 else self._may_be_zero(number) for number, factor in terms.items()
        ):
            return True
        added, subtracted = self._sides(terms)
        return not all(self._reaches(name, added) for name in subtracted)

    def _may_be_zero(self, number: int) -> bool:
        """Whether nothing says of a monomial, a size, that it is larger than 0."""
        name = self._monomials.symbol[number]
        return name is not None and not self._is_signed(name) and name not in self._tied and name not in self._lower

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

    # The search

    def _holds(self, terms: Terms, facts: int, known: Sequence[Terms]) -> bool:
        if self._plainly(terms):
            return True
        self._steps -= 1
        key = (frozenset(terms.items()), facts, len(known))
        if self._steps < 0 or key in self._seen:
            return False
        self._seen.add(key)
        for alternative in self._worst(terms):
            if self._steps < 0:
                return False
            if all(self._holds(case, facts, (*known, *given) if given else known) for case, given in alternative):
                return True
        if facts:
            for fact in self._helpful(self._open_terms(terms), known):
                if self._steps < 0:
                    return False
                if self._holds(sum_of(terms, fact, -1), facts - 1, known):
                    return True
        return False

    def _helpful(self, wanted: set[tuple[int, bool]], known: Sequence[Terms]) -> Iterator[Terms]:
        """The known inequalities that have one of the terms."""
        for place in sorted({place for term in wanted for place in self._places.get(term, ())}):
            yield known[place]
        for fact in known[len(self._known) :]:
            if any((number, coefficient > 0) in wanted for number, coefficient in fact.items()):
                yield fact

    def _open_terms(self, terms: Terms) -> set[tuple[int, bool]]:
        """The terms, with their signs, that keep a dim from being plainly at least 0.

        If that is a number alone, those that might make up for it.
        """
        found = {
            (number, coefficient > 0)
            for number, coefficient in terms.items()
            if number and (coefficient < 0 or not self._is_natural(number))
        }
        return found or {(number, True) for number in terms if number}

    def _plainly(self, terms: Terms) -> bool:
        """Whether every term is at least 0."""
        for number, coefficient in terms.items():
            if coefficient < 0 or (number and not self._is_natural(number)):
                return False
        return True

    def _is_natural(self, number: int) -> bool:
        """Whether a monomial is at least 0."""
        return all(map(self._is_natural_atom, self._monomials.all[number]))

    def _is_natural_atom(self, atom: Symbol | Call) -> bool:
        if isinstance(atom, Symbol):
            return not self._is_signed(atom.name) or atom.name in self._natural
        parts = (
            operand >= 0 if isinstance(operand, int) else self._plainly(self._monomials.terms(operand))
            for operand in atom.operands
        )
        return any(parts) if atom.operator == "max" else all(parts)

    def _worst(self, terms: Terms) -> Iterator[_Cases]:
        """Ways to get rid of an atom: in each, the dim holds if all its cases do, under what is given in them."""
        for number in sorted((number for number in terms if number), key=lambda number: self._turn(number, terms)):
            call, name = self._monomials.call[number], self._monomials.symbol[number]
            if call is not None:
                yield from self._without_call(terms, number, call)
            elif name is not None and sum(name in self._monomials.names[other] for other in terms) == 1:
                yield from self._without_symbol(terms, number, name)
            elif name is None:
                yield from self._without_factor(terms, number)

    def _turn(self, number: int, terms: Terms) -> tuple[int, bool, int]:
        """Calls come first, then what is subtracted, the latest sizes before earlier ones, products at last."""
        name = self._monomials.symbol[number]
        if name is None:
            return (0 if self._monomials.call[number] is not None else 2, terms[number] > 0, 0)
        return (1, terms[number] > 0, -self._order.get(name, -1))

    def _without_symbol(self, terms: Terms, number: int, name: str) -> Iterator[_Cases]:
        factor, constant = terms[number], terms.get(0, 0)
        rest = {other: coefficient for other, coefficient in terms.items() if other != number}
        choice = self._choices.get(name)
        if choice is not None:
            kind, options, given = choice
            cases = [sum_of(rest, option, factor) for option in options]
            if kind == "any" or (kind == "min") == (factor > 0):
                yield list(zip(cases, given, strict=True))
            else:
                yield from ([(case, ())] for case in cases)
        for bound in (self._lower if factor > 0 else self._upper).get(name, ()):
            if abs(bound.get(0, 0)) < _HUGE or len(bound) > 1 or abs(constant) > _HUGE:
                yield [(sum_of(rest, bound, factor), ())]
        if factor < 0 and constant > _HUGE and name not in self._unsigned:
            yield [(sum_of(rest, {0: _LARGEST}, factor), ())]

    def _without_call(self, terms: Terms, number: int, call: Call) -> Iterator[_Cases]:
        factor = terms[number]
        rest = {other: coefficient for other, coefficient in terms.items() if other != number}
        operands = [self._monomials.terms(operand) for operand in call.operands]
        if call.operator in ("min", "max"):
            cases: list[tuple[Terms, Sequence[Terms]]] = [(sum_of(rest, operand, factor), ()) for operand in operands]
            if (call.operator == "max") == (factor < 0):
                yield cases
            else:
                yield from ([case] for case in cases)
            return
        right = call.operands[1]
        if not isinstance(right, int) or right <= 0:
            return
        if call.operator == "//":  # right * (left // right) lies between left - right + 1 and left
            worst = sum_of(operands[0], {0: 1 - right}, 1) if factor > 0 else operands[0]
            yield [(sum_of({other: coefficient * right for other, coefficient in rest.items()}, worst, factor), ())]
        else:
            yield [(rest if factor > 0 else sum_of(rest, {0: right - 1}, factor), ())]

    def _without_factor(self, terms: Terms, number: int) -> Iterator[_Cases]:
        """Replace the latest size in a product, wherever it stands in the dim."""
        sizes = [atom.name for atom in self._monomials.all[number] if isinstance(atom, Symbol)]
        if not sizes:
            return
        name = max(sizes, key=lambda size: self._order.get(size, -1))
        if not (self._lower.get(name) or self._upper.get(name)):
            return
        dim = self._monomials.dim(terms)
        factor = factor_of(dim, Symbol(name))
        if factor is None:
            return
        rises = self._plainly(self._monomials.terms(factor))
        if rises or self._plainly(self._monomials.terms(-factor)):
            rest = dim - factor * symbol(name)
            for bound in (self._lower if rises else self._upper).get(name, ()):
                yield [(self._monomials.terms(rest + self._monomials.dim(bound) * factor), ())]


def _sharper(dim: Dim) -> Iterator[Dim]:
    """What follows from ``max(x, 0) - 1 >= 0``, say: where the maximum cannot be a number, ``x - 1 >= 0``."""
    if not isinstance(dim, Expression):
        return
    calls = [monomial for monomial, coefficient in dim.terms if coefficient == 1 and len(monomial) == 1]
    number = next((coefficient for monomial, coefficient in dim.terms if not monomial), 0)
    for (atom,) in calls:
        if isinstance(atom, Call) and atom.operator == "max" and len(dim.terms) == 1 + (number != 0):
            rest = [operand for operand in atom.operands if not isinstance(operand, int) or operand + number >= 0]
            if len(rest) == 1:
                yield rest[0] + number


def _as_dims(facts: Iterable[Fact]) -> Iterator[Dim]:
    """The dims that facts say are at least 0."""
    for fact in facts:
        if fact.relation in (">=", "=="):
            yield fact.left - fact.right
        if fact.relation == "==":
            yield fact.right - fact.left
        if fact.relation == "<":
            yield fact.right - fact.left - 1
