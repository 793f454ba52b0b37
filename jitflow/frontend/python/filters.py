"""`filter` and its like over what only the running program knows, and `next`, which takes items one by one.

The function is called where the program asks for an item: in the turns of a loop (`jitflow.frontend.control.woven`), in
the steps of `next` and of what takes items one by one.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.branch import choose, or_
from jitflow.frontend.control.comparisons import is_traced
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.stepwise import attempted_step, is_stepwise, iterator_of, step
from jitflow.frontend.control.woven import Woven
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.python.iterated import is_running, source_of
from jitflow.frontend.python.stepped import Positions, stepping
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers.base import located

__all__ = ["SIFTING", "filter_", "next_"]


class _Sifted(Woven):
    """What a function says of an item is whether there is something for it."""

    def __init__(self, kind: type, function: Callable[..., Any] | None, items: Any) -> None:
        super().__init__(kind, items)
        self._function = function
        self.has_begun: Any = False

    def holds(self, item: Any) -> Any:
        """The function's answer."""
        return item if self._function is None else self._function(item)

    def sifted(self, item: Any) -> tuple[Any, Any]:
        return self.holds(item), item

    def step(self) -> Any:
        return programs.next_sifted(self, self.items)

    def prepare(self) -> None:
        self.require_unbegun()
        if not isinstance(self.items, Positions):
            if is_stepwise(self.items):
                raise located(UserNotImplementedError(
                    f"single items of {self.stands_for.__name__}(...) of an iterator of the program's own classes",
                    mend="go through it in a loop, or make a list of it before: list(...)",
                ))  # fmt: skip
            self.items = Positions(source_of(self.items))


class _Left(_Sifted):
    def holds(self, item: Any) -> Any:
        return not_(super().holds(item))


class _Taken(_Sifted):
    ends = True


class _Dropped(_Sifted):
    def sifted(self, item: Any) -> tuple[Any, Any]:
        self.has_begun = or_(self.has_begun, lambda: not_(self.holds(item)))
        return self.has_begun, item


@raising_for_the_program
def next_(iterator: Any, *default: Any) -> Any:
    """`next`."""
    if active_trace() is not None and is_stepwise(iterator):
        iterator = stepping(iterator)
        if not default:
            return step(iterator)
        item, ended = attempted_step(iterator)
        return choose(ended == 0, lambda: item, lambda: default[0])
    if not isinstance(iterator, Source) or (isinstance(iterator, Recorded) and not iterator.once):
        found: Any = iterator
        return next(found, *default)
    iterator = iterator.gone_through()
    if iterator.once and iterator.used:
        iterator.begin()  # which raises
    place, iterator.taken = iterator.taken, iterator.taken + 1
    if default:
        return programs.item_or(iterator, place, tracers.size_of(iterator.count), *default)
    return programs.item_at(iterator, place, tracers.size_of(iterator.count))


def _sifting(kind: Any, sifted: type[_Sifted]) -> Callable[..., Any]:
    def call(function: Any, items: Any) -> Any:
        items = iterator_of(items)
        if active_trace() is None or not (is_running(items) or is_traced(items) or is_stepwise(items)):
            return kind(function, items)
        return sifted(kind, function, items)

    return call


filter_ = _sifting(builtins.filter, _Sifted)
SIFTING = {
    itertools.dropwhile: _sifting(itertools.dropwhile, _Dropped),
    itertools.filterfalse: _sifting(itertools.filterfalse, _Left),
    itertools.takewhile: _sifting(itertools.takewhile, _Taken),
}
"""What runs in the place of functions of `itertools`."""
