"""Loops in ``try`` statements that are attempted part by part: the step that gives the next item is an attempt as well.

A ``map`` or an iterator of the program's own classes calls functions between the turns, and what these raise is for
the handlers around the loop. So each turn is given its item together with the number of the handler, and runs the block
if that is 0. All else that a loop does beside its block raises nothing; what would, as a generator may, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jitflow.frontend.control.attempts import attempt
from jitflow.frontend.control.branch import and_, decide
from jitflow.frontend.control.cells import Cells, statement_of, within
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.rolling import Body, Test
from jitflow.frontend.control.sources import Items, Sequenced
from jitflow.frontend.control.steps import Source, Steps, Stepwise
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of, step
from jitflow.frontend.control.trying import Handlers, Statements, refusal
from jitflow.frontend.control.woven import Woven
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.ir.core import Op
from jitflow.records import dataclass

__all__ = ["Tried", "TriedSteps", "tried_items"]

_RAISE_NOTHING = (Items, Sequenced, Steps, Recorded)
"""Sources whose items are found without calls of the program's functions."""


@dataclass(frozen=True, eq=False)
class Tried:
    """``things`` that a loop goes through, where exceptions are ``handled``; see `attempts.attempt`.

    ``names`` are the locals that say which handler is for what was raised, and what is told of it.
    """

    things: Any
    handled: Callable[[], tuple[Any, ...]]
    numbers: Sequence[int]
    names: Sequence[str]
    asking: Sequence[int] | None = None

    def of(self, things: Any) -> Tried:
        """The same of other things."""
        return replace(self, things=things)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within, the loop is traced: refuse what may raise outside of attempts."""
        trace, handlers = current_trace(), Handlers(self.handled, self.numbers)
        statements, noted = trace.state(Statements), trace.noted
        attempting = statements.attempting

        def note(op: Op) -> None:
            noted(op)
            if statements.attempting == attempting and (kind := handlers.first_raised(op)) is not None:
                raise trace.locate(refusal(kind, op))

        trace.noted = note
        try:
            yield
        finally:
            trace.noted = noted

    def loop(self, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> Any:
        """What to go through instead, and the block and the test for that."""
        iterator = iterator_of(self.things)
        if is_stepwise(iterator) and not isinstance(iterator, Woven):
            return TriedSteps(iterator, self), *self._block(body, test, state, temporaries)
        if isinstance(iterator, Source) and not isinstance(iterator, _RAISE_NOTHING):
            return _TriedItems(iterator.gone_through(), self), *self._block(body, test, state, temporaries)
        return iterator, body, test

    def attempt(self, take: Callable[[], Any], ends: bool = False) -> tuple[Any, ...]:
        """What an attempt gives; with ``ends``, ``end`` stands for a StopIteration."""
        kinds = (lambda: (StopIteration, *self.handled())) if ends else self.handled
        asking = () if self.asking is None else (self.asking,)
        return attempt(take, kinds, (self.end, *self.numbers) if ends else self.numbers, *asking)

    @property
    def end(self) -> int:
        """A number that no handler has."""
        return 1 + max(self.numbers)

    def _block(self, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> Any:
        """The block for what an attempt gives, and a test that ends the loop behind one that has failed."""
        cells, names = Cells(body), self.names
        key = statement_of(body).__code__.co_filename, statement_of(body).__code__.co_firstlineno

        def turn(given: Any) -> None:
            item, *failed = given

            def go() -> None:
                body(item)

            def escape() -> None:
                for name, told in zip(names, failed, strict=True):
                    cells.set(name, told)

            answer = truth(failed[0] == 0)
            if isinstance(answer, bool):
                (go if answer else escape)()
            else:
                decide(answer, go, escape, Cells(go, escape, body), state, temporaries, key)

        def goes_on() -> Any:
            return and_(cells.get(names[0]) == 0, test or (lambda: True))

        return within(turn, body), within(goes_on, test or body)


class TriedSteps(Stepwise):
    """Steps that are attempted."""

    def __init__(self, iterator: Any, tried: Tried) -> None:
        self.iterator, self._tried = iterator, tried

    def attempted(self) -> tuple[Any, Any]:
        """What the attempt of a step gives, and whether there was no further item."""

        def one() -> Any:
            return step(self.iterator)

        found = self._tried.attempt(one, ends=True)
        return found, found[1] == self._tried.end


class _TriedItems(Source):
    """Items with the number of the handler that is for what was raised instead, and what is told of it."""

    def __init__(self, source: Source, tried: Tried) -> None:
        self.source, self._tried = source, tried
        self.count, self.span, self.once = source.count, source.span, source.once

    def begin(self) -> None:
        self.source.begin()

    def end(self) -> None:
        self.source.end()

    def require_end(self) -> None:
        self.source.require_end()

    def item(self, position: Any) -> Any:
        def one() -> Any:
            return self.source.item(position)

        return self._tried.attempt(one)


def tried_items(
    things: Any, handled: Callable[[], tuple[Any, ...]], numbers: Sequence[int], names: Sequence[str],
    asking: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """What a loop in a ``try`` goes through; all else is as in `attempts.attempt`."""
    return things if active_trace() is None else Tried(things, handled, numbers, names, asking)
