"""What is known of sizes, and what the program has asked Python to decide on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import FrameType

from jitflow.errors import UserNotImplementedError, UserRuntimeError
from jitflow.frontend.recording.choices import Choices
from jitflow.frontend.recording.regions import Knowledge, Regions, Scope
from jitflow.ir.core import Fact
from jitflow.ir.dims import Dim, Expression, evaluate, maximum, substitute, symbol, symbols
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.lengths import length
from jitflow.ir.location import Loc
from jitflow.records import dataclass

__all__ = ["MOST_TURNS", "Decision", "Sizes", "is_long"]

MOST_TURNS = 2048
"""What cannot be one native loop is unrolled up to so many turns."""
LONGEST = 64
"""Sizes and calls with which a size is written, at most."""
_NEGATIONS = {"==": "!=", "!=": "==", ">=": "<", "<": ">="}


@dataclass(frozen=True, slots=True)
class Decision:
    """A fact that the program asked Python to decide, where, and by doing what."""

    fact: Fact
    location: Loc
    why: str


class Sizes(Regions):
    """The sizes of a function: ``hints`` maps their names to the numbers that they have at the call that is traced."""

    def __init__(self, name: str, bottom: FrameType | None, choices: Choices) -> None:
        super().__init__(name, bottom, choices)
        self.hints: dict[str, int] = {}
        self.described: set[str] = set()
        """Sizes that nobody has seen yet, since a `Spec` names them: their hints are made up."""
        self.decisions: list[Decision] = []
        self.found_sizes: set[str] = set()
        """Sizes that the data decides: any number, 1 as well."""
        self._unbound: dict[str, Scope] = {}
        self._same_names: Counter[str] = Counter()

    def _recall(self) -> None:
        """Know what was decided while another region was recorded: a guard tests it, so it holds in all of them."""
        for decision in self.decisions[self.scope.recalled :]:
            self.establish(decision.fact)
        self.scope.recalled = len(self.decisions)

    @property
    def knowledge(self) -> Knowledge:
        """What is known about sizes in the region that is being recorded."""
        return self.scope.knowledge

    def size(self, name: str, hint: int | None = None, *, bound_by_call: bool = False) -> Expression:
        """A new size, called ``name`` or, if that is taken, ``name`` with a number.

        ``bound_by_call`` says that the arguments determine it, so that a guard can test facts about it; a size that
        an op finds at run time (`broadcast_dims`) cannot be decided on.
        """
        unique = name
        while unique in self.hints or unique in self._unbound or unique in DTYPES:
            self._same_names[name] += 1
            unique = f"{name}{self._same_names[name] + 1}"
        if hint is None or not bound_by_call:
            self._unbound[unique] = self.scope
        else:
            self.hints[unique] = hint
        return symbol(unique)

    def known(self, left: Dim, relation: str, right: Dim) -> bool | None:
        """Whether ``left relation right`` (``== != >= <``) follows from the facts so far; None if it does not follow.

        Decides nothing and adds no fact.
        """
        if relation in ("!=", "<"):
            opposite = self.known(left, _NEGATIONS[relation], right)
            return None if opposite is None else not opposite
        left, right = self.resolve(left), self.resolve(right)
        above, below = left - right, right - left
        if isinstance(above, int):
            return above == 0 if relation == "==" else above >= 0
        if _fact(left, relation, right) in self.knowledge.established:
            return True
        if _fact(left, _NEGATIONS[relation], right) in self.knowledge.established:
            return False
        if relation == "==":
            return False if self._at_least(above, 1) or self._at_least(below, 1) else None
        if self._at_least(above, 0):
            return True
        return False if self._at_least(below, 1) else None

    def decide(self, left: Dim, relation: str, right: Dim, why: str) -> bool:
        """Answer as Python would at this call, and record the fact that the answer rests on.

        Raises `UserError` where no guard could test that fact.
        """
        known = self.known(left, relation, right)
        if known is not None:
            return known
        numbers = self.number_of(left, why), self.number_of(right, why)
        holds = {
            "==": numbers[0] == numbers[1],
            "!=": numbers[0] != numbers[1],
            ">=": numbers[0] >= numbers[1],
            "<": numbers[0] < numbers[1],
        }[relation]
        fact = Fact(left, relation if holds else _NEGATIONS[relation], right)
        self._record(fact, why)
        return holds

    def _record(self, fact: Fact, why: str) -> None:
        """Let a guard test a fact."""
        self.decisions.append(Decision(fact, self.here(), why))
        self.establish(fact)

    def is_visible_in(self, scope: Scope) -> Callable[[Dim], bool]:
        """A test whether a dim's sizes are all bound where ``scope`` is, and not in a region that it does not see."""
        around = set(scope.around())
        return lambda dim: all(name not in self._unbound or self._unbound[name] in around for name in symbols(dim))

    def is_named(self, dim: Dim) -> bool:
        """Whether all sizes of a dim have been found by now: those that an earlier trace has met may come later."""
        return all(name in self.hints or name in self._unbound for name in symbols(dim))

    def are_one_size(self, size: Dim, other: Dim, reason: str) -> bool:
        """Whether two sizes are equal: provably, or by the arguments of this call, which a guard then tests."""
        known = self.known(size, "==", other)
        if known is not None or self.is_open(size) or self.is_open(other):
            return known is True
        return self.number_of(size, "") == self.number_of(other, "") and self.decide(size, "==", other, reason)

    def is_open(self, dim: Dim) -> bool:
        """Whether the dim has a size in it that only the running program finds, so that no guard can test it."""
        return any(name in self._unbound for name in symbols(dim))

    def fix(self, dim: Dim, why: str) -> int:
        """The number that ``dim`` is at this call, recorded as an equality."""
        if isinstance(dim, int):
            return dim
        number = self.number_of(dim, why)
        if not self.decide(dim, "==", number, why):
            # Where this call never comes to, other numbers may be known; what is made for this one needs its guard.
            self._record(Fact(dim, "==", number), why)
        return number

    def fix_turns(self, count: Dim, what: str) -> int:
        """The number of turns of ``what``, which Python takes one by one, recorded as an equality."""
        number = self.number_of(count, what)
        if number > MOST_TURNS:
            raise self.locate(
                UserNotImplementedError(
                    f"{what} has {number} turns, each of which would be compiled for itself",
                    expected=f"at most {MOST_TURNS} turns",
                    mend="use whole-array functions, or a loop that writes to an array made before it",
                )
            )
        return self.fix(count, what)

    def number_of(self, dim: Dim, why: str) -> int:
        """The number that ``dim`` is at this call, without recording anything."""
        unbound = [name for name in symbols(dim) if name in self._unbound]
        if unbound:
            error = UserRuntimeError(
                f"{why} needs a size that is known only when the compiled code runs",
                found=f"the size {dim}, which the program computes",
                mend="use the size in shapes and arithmetic only, or decide on a size of an argument",
            )
            error.needs_number = True
            raise self.locate(error)
        return evaluate(dim, self.hints)

    def establish(self, fact: Fact) -> None:
        """Take a fact as given, because a guard tests it."""
        left, right = self.resolve(fact.left), self.resolve(fact.right)
        self.knowledge.established.add(_fact(left, fact.relation, right))
        if fact.relation == "==":
            for name, other in ((left, right), (right, left)):
                if isinstance(name, Expression) and name.is_symbol and _name(name) not in set(symbols(other)):
                    self.knowledge.equal[_name(name)] = other
                    self._say_anew(_name(name))
                    break
        if fact.relation == ">=":
            self.raise_bound(left - right)
        elif fact.relation == "<":
            self.raise_bound(right - left - 1)

    def _say_anew(self, name: str) -> None:
        """What is known of a size holds of that to which it is equal."""
        facts = [fact for fact in self.knowledge.established if name in set(symbols(fact.left))]
        self.knowledge.established |= {_fact(self.resolve(fact.left), fact.relation, fact.right) for fact in facts}

    def resolve(self, dim: Dim) -> Dim:
        """``dim`` with the sizes that are known to be equal to another one replaced by it."""
        equal = self.knowledge.equal
        while equal and isinstance(dim, Expression) and any(name in equal for name in symbols(dim)):
            dim = substitute(dim, equal)
        return dim

    def shortened(self, dim: Dim) -> Dim:
        """The dim itself, or, if it is very long, the number that it is at this call.

        A size that is used twice in the next one, as in ``x = np.concatenate((x[n:], x[:n]))``, doubles its length.
        """
        if not is_long(dim) or self.is_open(dim) or not self.described.isdisjoint(symbols(dim)):
            return dim
        return self.fix(dim, "a size that is computed of many others")

    def not_negative(self, dim: Dim) -> Dim:
        """``max(dim, 0)``, or ``dim`` itself where the facts say that it is not negative."""
        return dim if self._at_least(self.resolve(dim), 0) else maximum(dim, 0)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that were decided, in order."""
        return tuple(decision.fact for decision in self.decisions)

    def _at_least(self, dim: Dim, number: int) -> bool:
        return self.knowledge.never_below(dim, number)

    def raise_bound(self, dim: Dim) -> None:
        """Learn from ``dim >= 0`` where it is a symbol less a number."""
        if not isinstance(dim, Expression):
            return
        constant = dict(dim.terms).get((), 0)
        base = dim - constant
        if isinstance(base, Expression) and base.is_symbol:
            at_least, name = self.knowledge.at_least, _name(base)
            at_least[name] = max(at_least.get(name, 0), -constant)


def is_long(dim: Dim) -> bool:
    """Whether a size is written with so many others that what is made of it would soon be too long to work with."""
    return length(dim) > LONGEST


def _fact(left: Dim, relation: str, right: Dim) -> Fact:
    """A fact in normal form: everything on the left, and of ``a - b == 0`` and ``b - a == 0`` always the same one."""
    difference = left - right
    if relation in ("==", "!=") and isinstance(difference, Expression):
        _, coefficient = max(difference.terms, key=lambda term: [str(atom) for atom in term[0]])
        difference = -difference if coefficient < 0 else difference
    return Fact(difference, relation, 0)


def _name(dim: Expression) -> str:
    return symbols(dim)[0]
