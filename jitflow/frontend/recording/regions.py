"""Regions under construction: ops are appended to the innermost, at the user's line that is running.

A `Scope` collects the ops of one region. What is learnt inside a region of sizes (a check that was passed, the range of
a loop's position) and of kinds (a branch on them) does not hold outside, because the region may never run: a scope
keeps what was known when it was entered, and gives it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from types import CodeType, FrameType, MappingProxyType
from typing import Any, TypeVar

from jitflow.errors import CompilerBug, UserError, UserNotImplementedError
from jitflow.frontend.recording.budget import MOST_WORK, REGION_WORK, Budget, spent
from jitflow.frontend.recording.choices import Choice, Choices, Restart, Restarts, Site
from jitflow.frontend.recording.locate import Locator
from jitflow.frontend.syntax import is_block
from jitflow.ir.core import Builder, Fact, Op, Region, TypeRuleError, Value
from jitflow.ir.dims import Dim, Expression, lower_bound, substitute
from jitflow.ir.location import Loc
from jitflow.ir.ops import OPS
from jitflow.ir.types import Type
from jitflow.records import dataclass

__all__ = ["MOST_WRITTEN_OUT", "Knowledge", "Regions", "Scope", "is_known_to_change", "recursion_site",
           "refused_in_batch"]  # fmt: skip

_Error = TypeVar("_Error", bound=UserError)

_DEEP = 64
"""How deep branches and loops lie in each other before it is asked whether that is for a recursion without end."""
_DEEPEST = 128
"""How deep they may lie in each other: the passes call themselves for what is inside."""
_RECURSION_SHOWS = 4
"""How deep they lie, and how much deeper each time, when it is looked whether a function calls itself."""
MOST_WRITTEN_OUT = 8
"""How many calls of a function lie in each other while what is known when it is traced may tell when it ends."""


def recursion_site(code: CodeType) -> Site:
    """Where it is known whether a function that calls itself is one of the running program."""
    return Site(Choice.RECURSIVE, code.co_filename, code.co_firstlineno, code.co_qualname, function=code.co_name)


def is_known_to_change(given: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether one call of a function gets other numbers than another, which the trace knows."""
    return any(
        type(one) is type(other) and type(one) in (int, bool, str, float) and one != other
        for one, other in zip(given, before, strict=False)
    )


def _given(call: FrameType) -> list[Any]:
    code = call.f_code
    names, known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], call.f_locals
    return [known.get(name) for name in names]


class Knowledge:
    """What holds of sizes and of kinds at some point of the program.

    ``kinds`` says what the numbers of kinds may be. ``at_least`` maps names to a number that they are never below;
    ``at_most`` to a dim that they are never above, later names in terms of earlier ones (a loop's position in terms of
    the sizes around it).
    """

    def __init__(self) -> None:
        self.at_least: dict[str, int] = {}
        self.at_most: dict[str, Dim] = {}
        self.established: set[Fact] = set()
        self.equal: dict[str, Dim] = {}
        self.kinds: dict[Value, frozenset[int]] = {}

    def copy(self) -> Knowledge:
        """The same knowledge, to be added to."""
        copied = Knowledge()
        copied.at_least, copied.at_most = dict(self.at_least), dict(self.at_most)
        copied.established, copied.equal, copied.kinds = set(self.established), dict(self.equal), dict(self.kinds)
        return copied

    def never_below(self, dim: Dim, number: int) -> bool:
        """Whether ``dim >= number`` follows: sizes with an upper bound are replaced by it where they are subtracted."""
        bound = lower_bound(dim, self.at_least)
        if bound is not None and bound >= number:
            return True
        for name in reversed(self.at_most):
            if isinstance(dim, Expression) and _is_subtracted(dim, name):
                dim = substitute(substitute(dim, {name: self.at_most[name]}), self.equal)
                bound = lower_bound(dim, self.at_least)
                if bound is not None and bound >= number:
                    return True
        return False


def _is_subtracted(dim: Expression, name: str) -> bool:
    """Whether the size occurs in one term only, alone and with a negative factor."""
    found = False
    for monomial, coefficient in dim.terms:
        if any(name in str(atom) for atom in monomial):
            if found or len(monomial) != 1 or str(monomial[0]) != name or coefficient > 0:
                return False
            found = True
    return found


@dataclass(eq=False)
class Scope:
    """One region under construction."""

    builder: Builder = field(default_factory=Builder)
    knowledge: Knowledge = field(default_factory=Knowledge)
    outer: Scope | None = None
    recalled: int = 0
    """How many of the trace's decisions, which hold everywhere, are known here."""
    once: bool = False
    """Whether the region runs once, where it stands: it is no loop and no branch."""
    is_branch: bool = False
    """Whether the region runs once or never, where it stands."""
    is_differentiated: bool = False
    """Whether the region is the function of a derivative."""
    is_batched: bool = False
    """Whether the region is the function of a batch: it is one example's, and runs for all of them."""
    inserted: dict[Value, list[Op]] = field(default_factory=dict)
    """Ops that stand right behind the op, or at the start if it is a parameter, that made a value."""

    @property
    def depth(self) -> int:
        """In how many scopes it lies, itself among them."""
        return sum(1 for _ in self.around())

    def around(self) -> Iterator[Scope]:
        """The scope, and those that it lies in."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    @property
    def is_straight(self) -> bool:
        """Whether what is recorded here runs exactly once in each call."""
        return all(scope.once or scope.outer is None for scope in self.around())

    def insert(self, value: Value, name: str, *operands: Value, results: Sequence[Value], **attributes: Any) -> None:
        """Put an op behind the one that made ``value``."""
        op = Op(OPS[name], operands, tuple(results), MappingProxyType(attributes), loc=self.builder.loc)
        self.inserted.setdefault(value, []).append(op)

    def close(self, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """The region, with what was inserted in its place."""
        region = self.builder.region(parameters, yielded)
        if not self.inserted:
            return region
        ops: list[Op] = []
        for parameter in parameters:
            ops += self.inserted.get(parameter, ())
        for op in region.ops:
            ops.append(op)
            for result in op.results:
                ops += (replace(each, loc=op.loc) for each in self.inserted.get(result, ()))
        return Region(region.parameters, tuple(ops))


def refused_in_batch(what: str) -> UserNotImplementedError:
    """The error for what no example of a batch may do."""
    return UserNotImplementedError(
        f"jitflow.vmap of a function {what}",
        found="it runs for every example, and there is no order among them",
        mend="return what is to be written, and write it behind the vmap; or write a loop over the examples",
    )


class Regions(Restarts):
    """The function under construction. ``bottom`` is the frame that traces: the user's lines are above it."""

    def __init__(self, name: str, bottom: FrameType | None, choices: Choices) -> None:
        super().__init__(choices)
        self.name = name
        self.scope = self.root = Scope()
        self.parameters: list[Value] = []
        self.budget = Budget()
        self._work: Counter[Loc] = Counter()
        """How much was recorded for each place of the program."""
        self.recorded = 0
        """How many ops were, what was taken back included."""
        self.noted: Callable[[Op], None] = lambda _: None
        """Called with each op that is appended."""
        self.announced: Callable[[Op], None] | None = None
        """Called with each op that is appended, if somebody has to do something in front of it."""
        self.watched = 0
        """How many things of the caller's that is done for."""
        self.refusals: list[UserError] = []
        """Errors that only jitflow raises: a program that catches one would go on where NumPy would not have."""
        self.left_by: Exception | None = None
        """What a region inside the current one was left by."""
        self.device = ""
        """Where the program wants what it computes now; empty where it does not say."""
        self.exact = False
        """Whether what a mask leaves out may not be computed, though nobody would see it."""
        self.includes_ones = False
        """Whether the sizes of arguments may be 1 as well."""
        self.refused_operand = ""
        """What Python calls the type of the number that an operator did not take last."""
        self.straight: dict[CodeType, None] = {}
        """The code of the functions that are not rewritten."""
        self.rewritten: set[CodeType] = set()
        """The user's code of those that are."""
        self._locator = Locator()
        self._bottom = bottom
        self.caller: FrameType | None = None
        """The frame that calls the function which is compiled: whoever returns to it leaves the program."""

    @property
    def is_batched(self) -> bool:
        """Whether what is recorded is done for each example of a batch."""
        return any(scope.is_batched for scope in self.scope.around())

    def end(self) -> None:
        """Let go of the frames that trace, themselves or in the tracebacks of exceptions.

        What a trace is made of refers to each other. So it stays until the garbage collector comes, and with it would
        all that frames know: the function that is compiled, and the arguments of the call.
        """
        self._bottom = self.caller = self.left_by = None
        self.refusals.clear()
        self.restarts.clear()

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
        builder.loc = self.here()
        try:
            results = builder.add(name, *operands, types=types, regions=regions, names=names, **attributes)
        except TypeRuleError as error:
            operation = f"{name}({', '.join(str(operand.type) for operand in operands)}) {attributes or ''}"
            raise CompilerBug(str(error), pass_name="trace", operation=operation, location=builder.loc) from error
        self.recorded += 1
        work = self._work[builder.loc] = self._work[builder.loc] + (REGION_WORK if regions else 1)
        if work > MOST_WORK:
            raise self.too_large()
        op = builder.ops[-1]
        if "checked" in attributes or regions or self.exact or op.own_effects:  # which may fail when it runs
            builder.relocate_last(self.here(with_callers=True))
        self.noted(builder.ops[-1])
        if self.announced is not None:
            self.announced(builder.ops[-1])
        return results

    def make(self, name: str, *operands: Value, **keywords: Any) -> Value:
        """`add` for an op with one result."""
        (result,) = self.add(name, *operands, **keywords)
        return result

    @property
    def builder(self) -> Builder:
        """What collects the ops of the region that is being recorded."""
        return self.scope.builder

    @contextmanager
    def region(self, scope: Scope | None = None) -> Iterator[Scope]:
        """Record into a region inside the current one: a new one, or ``scope`` once more."""
        outer, depth = self.scope, self.scope.depth
        if depth % _RECURSION_SHOWS == 0:
            self._look_for_recursion()
        if depth > _DEEP:
            self._require_end(depth)
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

    def _look_for_recursion(self) -> None:
        """Start anew if a function calls itself, and nothing that is known now says that it will end."""
        running: dict[Site, list[FrameType]] = {}  # by place: a method has code of its own for each call
        for frame in self.user_frames():
            if not is_block(frame.f_code):
                running.setdefault(recursion_site(frame.f_code), []).append(frame)
        again = [frames for frames in running.values() if len(frames) > 1]
        if not again:
            return
        frames = again[-1]  # that of the outermost call
        site = recursion_site(frames[0].f_code)
        if self.choices.answer(site) is None and site in self.choices.refused_for and len(frames) > MOST_WRITTEN_OUT:
            raise self.choices.refused_for[site]  # Python goes through its calls next, and knows more of their ends
        if self.choices.answer(site) or self.choices.is_settled(site):
            return
        may_end = is_known_to_change(*map(_given, frames[:2]))
        if not may_end or len(frames) >= MOST_WRITTEN_OUT:
            raise self.begin_anew(Restart(site, is_wish=may_end))

    def _require_end(self, depth: int) -> None:
        """Raise if regions lie in each other because a function calls itself, or are more than passes can go down."""
        codes = Counter(recursion_site(code) for code in self.running_code() if not is_block(code))
        if max(codes.values(), default=0) > _DEEP // 2:
            for code in self.running_code():
                if recursion_site(code) in self.choices.refused_for:
                    raise self.choices.refused_for[recursion_site(code)]
            error = UserNotImplementedError(
                "a function that calls itself where only the running program knows how often",
                mend="write a loop; or name the argument that decides in static=, to compile anew for each value",
            )
            raise self.locate(error)
        if depth > _DEEPEST:
            error = UserNotImplementedError(
                f"branches and loops that lie more than {_DEEPEST} deep in each other",
                mend="look the case up in an array, or decide on some cases before the others",
            )
            raise self.locate(error)

    def _recall(self) -> None:
        """Another region is the innermost now."""

    def here(self, with_callers: bool = False) -> Loc:
        """The user's line that is running."""
        return self._locator.here(self._bottom, self.device, with_callers)

    def too_large(self) -> UserError:
        """The error for a place that is recorded too often: a function that calls itself, a helper, or a loop."""
        codes = [code for code in self.running_code() if not is_block(code)]
        calls = Counter(codes)
        recursive = next((code.co_name for code in codes if calls[code] > 1), "")
        return self.locate(spent(recursive, codes[0].co_name if len(codes) > 1 else ""))

    def user_frame(self) -> FrameType | None:
        """The frame of the user's line that is running."""
        return self._locator.frame(self._bottom)

    def user_frames(self) -> Iterator[FrameType]:
        """The frames of the user's lines that are running, innermost first."""
        return self._locator.frames(self._bottom)

    def locate(self, error: _Error) -> _Error:
        """``error`` at the user's line that is running, with the calls that led there."""
        asks = isinstance(error, AttributeError)  # whoever looks for an attribute that need not be there
        if error.is_refusal and not asks and error not in self.refusals:
            self.refusals.append(error)
        return error.at(self._locator.here(self._bottom))

    def running_code(self) -> tuple[CodeType, ...]:
        """The user's code that is running, innermost first."""
        return tuple(frame.f_code for frame in self.user_frames())

    def depth_of_calls(self) -> int:
        """How many calls of the user's functions lie in each other here."""
        return sum(1 for code in self.running_code() if not is_block(code))

    def forget(self, error: UserError) -> None:
        """Take back a refusal, because what was refused is not used."""
        if error in self.refusals:
            self.refusals.remove(error)
