"""One trace: the function that is being recorded while the user's program runs on tracers.

A `Trace` owns the builder, knows the sizes that were seen at the call that caused it (*hints*), and collects the
*decisions* on sizes that Python asked for. A decision becomes a `Fact`: part of the key of the specialisation, so that
another size for which it would have gone the other way compiles anew, and every other size does not.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.errors import CompilerBug, UserError, UserNotImplementedError, UserRuntimeError
from jitflow.frontend.budget import Budget, spent
from jitflow.frontend.locate import Locator
from jitflow.frontend.scopes import Knowledge, Scope
from jitflow.frontend.storage import Restart, Site, Storage
from jitflow.frontend.syntax import is_block
from jitflow.ir.core import Builder, Fact, Region, TypeRuleError, Value
from jitflow.ir.dims import Dim, Expression, evaluate, maximum, substitute, symbol, symbols
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.location import Loc
from jitflow.ir.types import Type

if TYPE_CHECKING:
    from jitflow.frontend.naming import Part
    from jitflow.frontend.tracers import VariableTracer
    from jitflow.runtime.plan import Guard
    from jitflow.runtime.variable import Variable

__all__ = ["MOST_TURNS", "Decision", "LoopDecision", "Trace", "active_trace", "current_trace", "recording"]

MOST_TURNS = 2048
"""What cannot be one native loop is unrolled up to so many turns."""

_DEEPEST = 64
"""How deep branches and loops may lie in each other."""
_NEGATIONS = {"==": "!=", "!=": "==", ">=": "<", "<": ">="}


@dataclass(frozen=True, slots=True)
class Decision:
    """A fact that the program asked Python to decide, where, and by doing what."""

    fact: Fact
    location: Loc
    why: str


@dataclass(frozen=True, slots=True)
class LoopDecision:
    """What became of a loop of the program, where, in words."""

    location: Loc
    text: str


class Trace:
    """The state of one tracing.

    ``hints`` maps the names of sizes to the numbers that they have at this call. ``bottom`` is the frame that traces:
    the user's lines are above it.
    """

    def __init__(
        self, name: str = "function", bottom: FrameType | None = None,
        place_sites: Mapping[Site, Any] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.name = name
        self.scope = self.root = Scope()
        self.parameters: list[Value] = []
        self.hints: dict[str, int] = {}
        self.decisions: list[Decision] = []
        self.loops: list[LoopDecision] = []
        """What became of each loop, inner ones first."""
        self.refusals: list[UserError] = []
        """Errors that only jitflow raises: a program that catches one would go on where NumPy would not have."""
        self.left_by: Exception | None = None
        """What a region inside the current one was left by."""
        self.restart: Restart | None = None
        """What was raised to start anew, in case that the program catches all exceptions."""
        self.storage = Storage(self, place_sites)
        self.budget = Budget()
        self.lessons: dict[tuple[tuple[str, int], str], Any] = {}
        """What loops have taught about their locals, while the loop around them is being traced."""
        self._learns = False
        self.deep_branches: Counter[tuple[str, int]] = Counter()
        """How often branches were traced deep in helpers; see `control.sharing`."""
        self.shared_calls: dict[Scope, Any] = {}
        """What the calls give that paths of branches make."""
        self.handled: list[Callable[[type[BaseException]], bool]] = []
        """For each ``try`` statement whose body is being traced: whether it handles exceptions of a class."""
        self.unfinished: list[Any] = []
        """What the program may raise before each ``finally`` block that follows."""
        self.found_sizes: set[str] = set()
        """Sizes that the data decides: any number, 1 as well."""
        self.clamped: dict[tuple[tuple[Value, int], Dim, bool], tuple[Scope, Dim]] = {}
        """The bounds of slices that sums of integers have become, by size and whether the slice steps backwards, each
        with the region that knows it."""
        self.found_positions: dict[Value, tuple[Scope, Value]] = {}
        """Where masks hold, for those that were asked before, and the region that knows it."""
        self.capture: Callable[[np.ndarray[Any, Any]], Value] | None = None
        """Makes an input of an array that was computed while tracing."""
        self.variables: dict[int, VariableTracer] = {}
        """The tracer of each variable that is an input, by the identity of the object outside."""
        self.adopt: Callable[[Variable], Any] | None = None
        """Makes an input of a variable."""
        self.guard: Callable[[Guard], None] | None = None
        """Makes every call check something."""
        self.pin: Callable[[Any], Any] | None = None
        """Finds the object outside that something of the program stands for, and guards that it is this very one."""
        self.lists: dict[int, tuple[list[Any], Site]] = {}
        """The lists that statements have made, by identity, and where."""
        self.choices: list[Any] = []
        """The objects that the running program chooses from; see `control.identity`."""
        self.splits_loops = True
        """Whether loops are split where the kinds of their values change; see `control.splitting`."""
        self.growing: list[Any] = []
        """The lists that are part of the running program; see `growing`."""
        self.strong: Callable[[Any], Any] = _no_switch
        """NumPy's number in the place of one that may be Python's, of the same dtype; None for all else."""
        self.origins: Mapping[int, int] = {}
        """The registers of the objects from outside, by the identity of what stands for them in the program."""
        self.options: list[Any] = []
        """The kinds that values of several kinds are of, by number; see `control.alternatives`."""
        self.option_numbers: dict[Hashable, int] = {}
        """The number of each of these kinds."""
        self.implied: dict[Value, tuple[Value, frozenset[int], frozenset[int]]] = {}
        """What conditions say of the number of a kind: that number, what it may be if they hold, and if not."""
        self.switch: Callable[[Any, Callable[[Any], Any], Sequence[Any]], Any] = _no_switch
        """Does something once for each kind that a value may be of; see `control.switching`."""
        self.part: Part | None = None
        """The part of the program that is wanted, if it is not all of it."""
        self._unbound: dict[str, Scope] = {}
        self._locator = Locator()
        self._bottom = bottom

    # -- ops --------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        *operands: Value,
        types: Sequence[Type] | None = None,
        regions: tuple[Region, ...] = (),
        names: Sequence[str] = (),
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Append an op at the user's line and return its results."""
        builder = self.builder
        builder.loc = self._locator.here(self._bottom)
        try:
            results = builder.add(name, *operands, types=types, regions=regions, names=names, **attributes)
        except TypeRuleError as error:
            operation = f"{name}({', '.join(str(operand.type) for operand in operands)}) {attributes or ''}"
            raise CompilerBug(str(error), pass_name="trace", operation=operation, location=builder.loc) from error
        if self.budget.is_spent(builder.loc, len(regions)):
            raise self.locate(self._spent(builder.loc))
        self.storage.note(builder.ops[-1])
        return results

    def make(self, name: str, *operands: Value, **keywords: Any) -> Value:
        """`add` for an op with one result."""
        (result,) = self.add(name, *operands, **keywords)
        return result

    def parameter(self, kind: Type, name: str) -> Value:
        """A new parameter of the function."""
        value = Value(kind, name)
        self.parameters.append(value)
        self.storage.note_parameter(value)
        return value

    def variable(self, variable: Variable) -> VariableTracer:
        """The one tracer that stands for a variable, found by identity; the variable becomes an input if it is none."""
        if id(variable) not in self.variables:
            if self.adopt is None:
                raise CompilerBug("a variable was read by a trace that has no inputs", pass_name="trace")
            self.adopt(variable)
        return self.variables[id(variable)]

    @contextmanager
    def whole_loops(self) -> Iterator[None]:
        """Loops that are recorded meanwhile are not split where the kinds of their values change."""
        before, self.splits_loops = self.splits_loops, False
        try:
            yield
        finally:
            self.splits_loops = before

    def is_passed(self, thing: Any) -> bool:
        """Whether it stands for an object from outside, and is no copy of it or view on it."""
        return id(thing) in self.origins

    def positions(self, values: Collection[Value]) -> frozenset[int]:
        """Which parameters are among some arrays."""
        known = {self.storage.variables.get(value, value) for value in values}
        return frozenset(index for index, parameter in enumerate(self.parameters) if parameter in known)

    def require(self, guard: Guard) -> None:
        """Let every call check this."""
        if self.guard is None:
            raise CompilerBug("a guard was made by a trace that has no inputs", pass_name="trace")
        self.guard(guard)

    @property
    def builder(self) -> Builder:
        """What collects the ops of the region that is being recorded."""
        return self.scope.builder

    @property
    def knowledge(self) -> Knowledge:
        """What is known about sizes in the region that is being recorded."""
        return self.scope.knowledge

    @contextmanager
    def region(self, scope: Scope | None = None) -> Iterator[Scope]:
        """Record into a region inside the current one: a new one, or ``scope`` once more."""
        outer = self.scope
        if len(list(outer.around())) > _DEEPEST:
            raise self.locate(
                UserNotImplementedError(
                    "a function that calls itself where only the running program knows how often",
                    mend="write a loop; or name the argument that decides in static=, to compile anew for each value",
                )
            )
        if scope is None:
            scope = Scope(Builder(loc=outer.builder.loc), outer.knowledge.copy(), outer, recalled=outer.recalled)
        self.scope = scope
        self._recall()
        try:
            yield scope
        except Exception as error:
            self.left_by = error
            raise
        finally:
            self.scope = outer
            self._recall()

    def _recall(self) -> None:
        """Know what was decided while another region was recorded: a guard tests it, so it holds in all of them."""
        for decision in self.decisions[self.scope.recalled :]:
            self.establish(decision.fact)
        self.scope.recalled = len(self.decisions)

    # -- places and errors ------------------------------------------------------------------------

    def here(self) -> Loc:
        """The user's line that is running."""
        return self._locator.here(self._bottom)

    @contextmanager
    def learning(self) -> Iterator[None]:
        """While a loop is traced, what the loops inside it teach is kept for when they are traced again."""
        outermost, self._learns = not self._learns, True
        try:
            yield
        finally:
            if outermost:
                self.lessons.clear()
                self._learns = False

    def _spent(self, loc: Loc) -> UserError:
        codes = [code for code in self._locator.codes(self._bottom) if not is_block(code)]
        calls = Counter(codes)
        recursive = next((code.co_name for code in codes if calls[code] > 1), "")
        return spent(recursive, codes[0].co_name if len(codes) > 1 else "", loc)

    def user_frame(self) -> FrameType | None:
        """The frame of the user's line that is running."""
        return self._locator.frame(self._bottom)

    def locate(self, error: UserError) -> UserError:
        """``error`` at the user's line that is running, with the calls that led there."""
        asks = isinstance(error, AttributeError)  # whoever looks for an attribute that need not be there
        if error.is_refusal and not asks and error not in self.refusals:
            self.refusals.append(error)
        callers = dict.fromkeys(self._locator.callers(self._bottom))  # recursion shows each of its lines once
        return error.at(self._locator.here(self._bottom), tuple(callers))

    def running_code(self) -> tuple[CodeType, ...]:
        """The user's code that is running, innermost first."""
        return tuple(self._locator.codes(self._bottom))

    def begin_anew(self, restart: Restart) -> Restart:
        """What to raise so that the trace starts anew."""
        self.restart = self.restart or restart
        return restart

    def forget(self, error: UserError) -> None:
        """Take back a refusal, because what was refused is not used."""
        if error in self.refusals:
            self.refusals.remove(error)

    # -- sizes ------------------------------------------------------------------------------------

    def size(self, name: str, hint: int | None = None, *, bound_by_call: bool = False) -> Expression:
        """A new size, called ``name`` or, if that is taken, ``name`` with a number.

        ``bound_by_call`` says that the arguments determine it, so that a guard can test facts about it; a size that
        an op finds at run time (`broadcast_dims`) cannot be decided on.
        """
        unique, count = name, 1
        while unique in self.hints or unique in self._unbound or unique in DTYPES:
            count += 1
            unique = f"{name}{count}"
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
                    break
        if fact.relation == ">=":
            self.raise_bound(left - right)
        elif fact.relation == "<":
            self.raise_bound(right - left - 1)

    def resolve(self, dim: Dim) -> Dim:
        """``dim`` with the sizes that are known to be equal to another one replaced by it."""
        equal = self.knowledge.equal
        while equal and isinstance(dim, Expression) and any(name in equal for name in symbols(dim)):
            dim = substitute(dim, equal)
        return dim

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


def _no_switch(*_: Any) -> Any:
    raise CompilerBug("a value of several kinds in a trace without a program", pass_name="trace")


def _fact(left: Dim, relation: str, right: Dim) -> Fact:
    """A fact in normal form: everything on the left, and of ``a - b == 0`` and ``b - a == 0`` always the same one."""
    difference = left - right
    if relation in ("==", "!=") and isinstance(difference, Expression):
        _, coefficient = max(difference.terms, key=lambda term: [str(atom) for atom in term[0]])
        difference = -difference if coefficient < 0 else difference
    return Fact(difference, relation, 0)


def _name(dim: Expression) -> str:
    return next(symbols(dim))


# -- the trace that this thread is recording -----------------------------------------------------------


class _ThreadState(threading.local):
    trace: Trace | None = None


_STATE = _ThreadState()


def active_trace() -> Trace | None:
    """The trace that this thread is recording, or None."""
    return _STATE.trace


def current_trace() -> Trace:
    """The trace that this thread is recording. Raises `CompilerBug` if there is none."""
    trace = _STATE.trace
    if trace is None:
        raise CompilerBug("an op was recorded while nothing is being traced", pass_name="trace")
    return trace


@contextmanager
def recording(trace: Trace | None) -> Iterator[Trace | None]:
    """Make ``trace`` the current one of this thread, or none: what runs then is plain Python, once, while tracing."""
    outer, _STATE.trace = _STATE.trace, trace
    try:
        yield trace
    finally:
        _STATE.trace = outer
