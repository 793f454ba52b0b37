"""Generators of the program: a loop over one is a call of it, whose ``yield`` calls the block of the loop.

What the program gets is Python's own generator, of the function as it was written; beside it stands the function that
hands on (`syntax.pushed`) with what it is called with. A loop that goes through a generator from its first item calls
that function instead, so that the loops of both are one nest, and one that calls itself is a recursion like others.
Where Python itself asks for items, it goes through its own generator while tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import GEN_CREATED, getgeneratorstate
from types import FunctionType, GeneratorType
from typing import Any

from jitflow.frontend.control.cells import Cells, within
from jitflow.frontend.control.decided_late import find, lose
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.recursive import recursive
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.surface import surface
from jitflow.records import dataclass

__all__ = ["Pushed", "generator", "handed_on", "is_pushed", "pushed_form"]


@dataclass(frozen=True, eq=False)
class Pushed:
    """A generator that has given nothing yet."""

    generator: GeneratorType[Any, Any, Any]
    function: FunctionType
    args: tuple[Any, ...]
    keywords: dict[str, Any]

    def run(self, put: Callable[[Any], Any]) -> Any:
        """Call ``put`` with each item; whether that has ended it.

        Python would go on with a generator that was left, as it would with one that is asked for items in between.
        """
        self.generator.close()
        lose(self.generator)
        is_left = recursive(self.function)(put, *self.args, **self.keywords)
        if is_left is False:
            find(self.generator)
        return is_left

    def loop(self, body: Any, test: Any, temporaries: Sequence[str]) -> None:
        """``for item in generator: body(item)``; what a turn leaves in ``temporaries`` nobody reads."""
        cells = Cells(body, test)

        def put(item: Any) -> Any:
            before = cells.read(temporaries)
            body(item)
            cells.write(before)
            return False if test is None else not_(test())

        self.run(within(put, body))
        if test is None:
            find(self.generator)


class _Forms(dict[int, Pushed]):
    """What hands on in the place of the generators that the program has made, by their identity."""


def generator(plain: FunctionType) -> Callable[[FunctionType], Callable[..., Any]]:
    """What makes the generator function ``plain`` one whose generators have a function that hands on."""
    current_trace().straight[plain.__code__] = None  # where a number is needed, loops go through what it gives

    def made(function: FunctionType) -> Callable[..., Any]:
        @wraps(plain)
        def call(*args: Any, **keywords: Any) -> Any:
            found = plain(*args, **keywords)
            current_trace().state(_Forms)[id(found)] = Pushed(found, function, args, keywords)
            return found

        return call

    return made


def pushed_form(thing: Any) -> Pushed | None:
    """The function that hands on the items of a generator; None if it is none, or has given items."""
    if type(thing) is not GeneratorType or (trace := active_trace()) is None:
        return None
    found = trace.state(_Forms).get(id(thing))
    return found if found is not None and getgeneratorstate(thing) == GEN_CREATED else None


def is_pushed(thing: Any) -> bool:
    """Whether Python cannot go through a generator itself, since that would need numbers of the running program."""
    if (form := pushed_form(thing)) is None:
        return False
    code = form.generator.gi_code
    return bool(current_trace().choices.answer(Site(Choice.REWRITTEN, code.co_filename, code.co_firstlineno)))


def handed_on(put: Any, things: Any) -> Any:
    """``yield from things`` of a function that hands on."""
    form = pushed_form(things)
    return surface.program(_each)(put, things) if form is None else form.run(put)


def _each(put: Any, things: Any) -> Any:
    return any(put(item) for item in things)
