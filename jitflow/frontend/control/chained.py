"""Exceptions with what they come from: `__cause__`, and `__context__`, which was handled where they were raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jitflow.errors import another
from jitflow.frontend.control.telling import Make
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers import Tracer
from jitflow.records import dataclass

__all__ = ["Later", "chain_of", "linked", "maker_of", "parts_of", "remade"]


@dataclass(eq=False)
class Later:
    """An exception that has not been made yet: its constructor is the program's."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    links: tuple[Any, Any, bool] = (None, None, False)
    """Its cause, its context, and whether that is not to be shown."""

    @property
    def args(self) -> tuple[Any, ...]:
        return (*self.arguments, *self.keywords.values())

    def of(self, parts: Sequence[Any]) -> Later:
        """The same with other arguments."""
        count = len(self.arguments)
        keywords = dict(zip(self.keywords, parts[count:], strict=True))
        return replace(self, arguments=tuple(parts[:count]), keywords=keywords)

    def made(self) -> BaseException:
        return self.kind(*self.arguments, **self.keywords)


def linked(error: Any, cause: tuple[Any, ...], context: Any) -> Any:
    """An exception, as ``raise error from cause`` leaves it where ``context`` is handled."""
    before, handled, is_hidden = _links_of(error)
    if context is not None and context is not error:
        handled = context
    if cause:
        before, is_hidden = cause[0]() if isinstance(cause[0], type) else cause[0], True
    return _with_links(error, (before, handled, is_hidden)) if cause or context is not None else error


def _links_of(error: Any) -> tuple[Any, Any, bool]:
    if isinstance(error, Later):
        return error.links
    return error.__cause__, error.__context__, error.__suppress_context__


def _with_links(error: Any, links: tuple[Any, Any, bool]) -> Any:
    if isinstance(error, Later):
        return replace(error, links=links)
    error = another(error)
    error.__cause__, error.__context__, error.__suppress_context__ = links
    return error


def chain_of(error: Any, *, is_whole: bool = True) -> list[Any]:
    """An exception and all that it comes from, each once; what was handled only if it ``is_whole``."""
    found = [error]
    for one in found:  # which grows
        links = _links_of(one)[: 2 if is_whole else 1]
        found += [link for link in links if link is not None and not any(link is other for other in found)]
    return found


def parts_of(error: Any) -> tuple[Any, ...]:
    """What the running program may know of an exception."""
    return error.args if isinstance(error, Later) else (*error.args, *vars(error).values())


def remade(chain: Sequence[Any], parts: Sequence[Any], *, later: bool = False) -> Any:
    """The first exception of a chain, with other parts in all of them. It is made now, unless ``later``."""
    rest, made = iter(parts), list[Any]()
    for one in chain:
        mine = [next(rest) for _ in parts_of(one)]
        if not isinstance(one, Later):
            made.append(another(one, mine[: len(one.args)], mine[len(one.args) :]))
        elif later:
            made.append(one.of(mine))
        else:
            made.append(one.of(mine).made())
    of = {id(one): other for one, other in zip(chain, made, strict=True)}
    for place, one in enumerate(chain):
        cause, context, is_hidden = _links_of(one)
        links = of.get(id(cause)), of.get(id(context)), is_hidden
        if isinstance(made[place], Later):
            made[place].links = links
        else:
            made[place].__cause__, made[place].__context__, made[place].__suppress_context__ = links
    return made[0]


def maker_of(chain: Sequence[Any]) -> tuple[list[Tracer], Make]:
    """The numbers in a chain of exceptions, and what makes the first one again of such numbers."""
    operands: dict[int, Tracer] = {}
    template: list[tuple[Any, list[int]]] = []
    for part in (part for one in chain for part in parts_of(one)):
        inside = part.operands if type(part) is TracedText else (part,) if isinstance(part, Tracer) else ()
        operands |= {id(operand): operand for operand in inside}
        template.append((part, [[*operands].index(id(operand)) for operand in inside]))

    def make(numbers: Sequence[Any]) -> BaseException:
        parts = []
        for part, places in template:
            inside = [numbers[place] for place in places]
            text = type(part) is TracedText
            parts.append(TracedText(part.template, tuple(inside)) if text else inside[0] if inside else part)
        found: BaseException = remade(chain, parts)
        return found

    return [*operands.values()], make
