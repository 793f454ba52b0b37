"""Regions under construction: ops are appended to the innermost, at the user's line that is running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from jitflow.errors import CompilerBug, UserError, UserNotImplementedError
from jitflow.frontend.recording.budget import Budget, spent
from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.locate import Locator
from jitflow.frontend.recording.scopes import Scope
from jitflow.frontend.syntax import is_block
from jitflow.ir.core import Builder, Op, Region, TypeRuleError, Value
from jitflow.ir.location import Loc
from jitflow.ir.types import Type

__all__ = ["Regions"]

_DEEPEST = 64
"""How deep branches and loops may lie in each other."""


class Regions:
    """The function under construction. ``bottom`` is the frame that traces: the user's lines are above it."""

    def __init__(self, name: str, bottom: FrameType | None) -> None:
        self.name = name
        self.scope = self.root = Scope()
        self.parameters: list[Value] = []
        self.budget = Budget()
        self.noted: Callable[[Op], None] = lambda _: None
        """Called with each op that is appended."""
        self.refusals: list[UserError] = []
        """Errors that only jitflow raises: a program that catches one would go on where NumPy would not have."""
        self.left_by: Exception | None = None
        """What a region inside the current one was left by."""
        self.restart: Restart | None = None
        """What was raised to start anew, in case that the program catches all exceptions."""
        self._locator = Locator()
        self._bottom = bottom

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
        self.noted(builder.ops[-1])
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
        """Another region is the innermost now."""

    def here(self) -> Loc:
        """The user's line that is running."""
        return self._locator.here(self._bottom)

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
