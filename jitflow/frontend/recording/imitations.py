"""Copies of arrays that would be views for NumPy, or may be.

Whether ``x.ravel()`` shows ``x`` or copies it depends on how ``x`` lies in memory, and that is not always known while a
program is traced; the real part of a complex array is a view for NumPy and an array of its own here. A copy is right as
long as no write makes a difference: a write to the copy always does, and a write to the array that it was made of does
if the copy is read after it. Both are refused, at the line of the write or of the read. Where the caller gets one and
has or gets what it may show, NumPy makes it when the call is over: by the imitation's step, of the array, and by the
views that lead on from there (`jitflow.runtime.objects.remade`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.views import Views
from jitflow.ir.core import Op, Value
from jitflow.records import dataclass

__all__ = ["Imitations", "Step"]

Step = tuple[str, Mapping[str, Any]]
"""What makes a view, and its attributes, as an op has them."""


@dataclass(eq=False)
class _Imitation:
    """What a copy was made of, by what, and whether that has been written to since."""

    source: Value
    what: str
    step: Step
    is_view: bool
    stale: bool = False


_STALE = "is read after a write to the array"


class Imitations:
    """The imitated views of one trace."""

    def __init__(self, views: Views, locate: Callable[[UserError], UserError]) -> None:
        self._views, self._locate = views, locate
        self.of: dict[Value, _Imitation] = {}
        self._read: list[Value] = []

    def add(self, copy: Value, source: Value, what: str, step: Step, *, is_view: bool = False) -> None:
        """``copy`` imitates a view of ``source``, by a ``step`` of NumPy's, which always ``is_view`` or not."""
        self.of[copy] = _Imitation(source, what, step, is_view)

    def sources(self, *arrays: Value) -> set[Value]:
        """The roots of arrays, and of what those imitate that are imitated views.

        What the turns of a loop carry may imitate itself.
        """
        found: set[Value] = set()
        while arrays:
            more = self._views.behind(*arrays) - found
            found |= more
            arrays = tuple(self.of[root].source for root in more if root in self.of)
        return found

    def returned(self, arrays: Sequence[Value]) -> set[Value]:
        """Those of ``arrays``, which the caller gets, that show what it has or gets, or what was written to."""
        shown = {value: self.sources(value) for value in arrays}
        found = set()
        for value in filter(self.shows, shown):
            others = set().union(*(roots for other, roots in shown.items() if other is not value))
            copies = [self.of[copy] for copy in self._among(value)]
            behind = self.sources(*(copy.source for copy in copies))  # what else stands behind is no view for NumPy
            is_had = any(self._views.is_parameter(root) or root in others for root in behind)
            if is_had or any(copy.stale for copy in copies):
                found.add(value)
                self._require_remade(value)
        return found

    def _require_remade(self, value: Value) -> None:
        """Raise where NumPy cannot make an imitated view anew when the call is over."""
        copy = self._views.root(value)
        if copy not in self.of:
            raise self._refused(self._among(value)[0], "is returned behind a branch or loop")
        if self.of[copy].stale and not self.of[copy].is_view:
            raise self._refused(copy, _STALE)

    def shows(self, value: Value) -> bool:
        """Whether an array is an imitated view, or a view of one."""
        return bool(self._among(value))

    def read(self, value: Value) -> None:
        """The program reads an array. Raises `UserNotImplementedError` if NumPy's would have changed meanwhile."""
        for copy in self._among(value):
            self._read.append(copy)
            if self.of[copy].stale:
                raise self._refused(copy, _STALE)

    def write(self, value: Value) -> None:
        """The program writes to an array. Raises `UserNotImplementedError` if it is an imitated view."""
        for copy in self._among(value):
            raise self._refused(copy, "is written to")
        behind = self._views.behind(value)
        for imitation in self.of.values():
            imitation.stale |= not behind.isdisjoint(self._views.behind(imitation.source))

    def steps(self, value: Value) -> tuple[Value, Sequence[Step]]:
        """The array that an imitated view is one of, and the steps that make it of that."""
        steps: list[Step] = []
        while value not in self.of:
            source = self._views.source(value)
            assert source is not None
            steps += [(source.name, source.attributes)] if isinstance(source, Op) else []
            value = source.operands[0] if isinstance(source, Op) else source
        return self.of[value].source, [self.of[value].step, *steps[::-1]]

    def now(self) -> int:
        """How many reads of imitations there were."""
        return len(self._read)

    def end_turn(self, turn: Scope, since: int, written: list[Value]) -> None:
        """What a loop's turn reads, the next turn reads after everything that this one has ``written``."""
        behind = self._views.behind(*written)
        for copy, imitation in self.of.items():
            if not self._views.is_made_in(turn, copy) and behind & self._views.behind(imitation.source):
                imitation.stale = True
                if copy in self._read[since:]:
                    raise self._refused(copy, "is read in a loop that writes to the array")

    def _among(self, value: Value) -> list[Value]:
        return [root for root in self._views.behind(value) if root in self.of]

    def _refused(self, copy: Value, why: str) -> UserError:
        error = UserNotImplementedError(
            f"{self.of[copy].what} {why}",
            found="a copy, where NumPy may give a view of the array: how it lies in memory decides",
            mend="copy it where a copy is meant (.copy()), or write to the array itself",
        )
        return self._locate(error)
