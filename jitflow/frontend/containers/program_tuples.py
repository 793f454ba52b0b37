"""Tuples of which only the running program knows the length: lists that nobody changes once they are made."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NoReturn

from jitflow.errors import UserAttributeError, UserTypeError
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.held_items import KINDS
from jitflow.frontend.containers.list_operations import take_slice
from jitflow.frontend.containers.made_containers import like_of
from jitflow.frontend.containers.program_lists import ProgramList, Turns, new_list
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.sources import as_source
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.types import Container

__all__ = ["ProgramTuple", "tuple_"]


def _unchanging(words: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any) -> NoReturn:
        raise located(UserTypeError(f"'tuple' object {words}"))

    return refuse


class ProgramTuple(ProgramList):
    """A tuple of the running program."""

    held = Container(kind="tuple")

    def _with(self, *parts: Any) -> Any:
        held = next((part.held for part in (self, *parts) if isinstance(part, ProgramTuple) and part.is_known), None)
        return _tuple_of(*parts, held=held)

    def __mul__(self, number: Any) -> Any:
        found = self._with()
        own_loop(traced_range(number), lambda _: _put(found, self))
        return found

    __rmul__ = __imul__ = __mul__
    __iadd__ = ProgramList.__add__
    __setitem__ = _unchanging("does not support item assignment")
    __delitem__ = _unchanging("doesn't support item deletion")

    def _slice(self, position: slice) -> Any:
        found = new_list("[...]", self.held if self.is_known else None, kind="tuple")
        if self.is_known:
            take_slice(self, position, _Open(found))
        return found

    def __hash__(self) -> int:  # type: ignore[override]
        raise refusal(
            "a tuple of which only the running program knows the length, as a key of a dict or an item of a set",
            "make a text of it: '-'.join(map(str, items))",
        )


class _Open:
    """A tuple while it is made."""

    def __init__(self, found: ProgramTuple) -> None:
        self._found = found

    def append(self, item: Any) -> None:
        """Put an item there."""
        ProgramList.append(self._found, item)


def _put(found: ProgramTuple, items: Any) -> None:
    own_loop(Turns(items, stays=False) if isinstance(items, ProgramList) else items, _Open(found).append)


def _tuple_of(*parts: Any, held: Container | None = None) -> Any:
    found = new_list("tuple(...)", held, kind="tuple")
    for part in parts:
        if not (isinstance(part, ProgramList) and not part.is_known):
            _put(found, part)
    return found


def tuple_(*items: Any) -> Any:
    """`tuple`."""
    given = iterator_of(items[0]) if len(items) == 1 else ()
    if active_trace() is None or len(items) != 1 or not _has_open_length(given):
        return builtins.tuple(*items)
    return given if isinstance(given, ProgramTuple) else _tuple_of(given, held=like_of(given, "tuple"))


def _has_open_length(thing: Any) -> bool:
    """Whether not even the sizes of arguments decide how many items there are."""
    if (isinstance(thing, Recorded) and thing.flows) or is_stepwise(thing):
        return True
    source = as_source(thing)
    return source is not None and current_trace().is_open(source.count)


def _lacking(name: str) -> property:
    def refuse(_: Any) -> NoReturn:
        raise located(UserAttributeError(f"'tuple' object has no attribute '{name}'"))

    return property(refuse)


for _name in ("append", "clear", "copy", "extend", "insert", "pop", "remove", "reverse", "sort"):
    setattr(ProgramTuple, _name, _lacking(_name))


KINDS.update(tuple=ProgramTuple)
