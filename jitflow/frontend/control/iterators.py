"""Python's own iterators: how far they are, and what they take their items from."""

from __future__ import annotations

import gc
import itertools
import operator
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.alternatives import is_iterator
from jitflow.records import dataclass

__all__ = ["GIVEN", "gone_through", "progress", "runs_code", "with_inner"]

GIVEN = "_given_while_tracing"
"""The attribute of iterators that tells how many items they have given, where Python does not."""


def progress(iterator: Any) -> Any:
    """What tells how far an iterator is."""
    if isinstance(iterator, GeneratorType):
        frame = iterator.gi_frame  # which may come back to the same instruction, with other locals
        held = () if frame is None else (frame.f_lasti, *map(_Itself, frame.f_locals.values()))
        return *held, progress(iterator.gi_yieldfrom) if isinstance(iterator.gi_yieldfrom, Iterator) else None
    if type(iterator) in (itertools.count, itertools.repeat):
        return repr(iterator)
    numbers = [part for part in _parts(iterator) if type(part) is int]
    found = operator.length_hint(iterator, -1), getattr(iterator, GIVEN, 0), *numbers
    return [*found, *map(progress, _iterators_inside(iterator))]


@dataclass(eq=False)
class _Itself:
    """An object, which is equal to nothing else."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.thing is other.thing

    __hash__ = None  # type: ignore[assignment]


def _iterators_inside(iterator: Any) -> list[Any]:
    """The iterators that one takes its items from."""
    return [part for part in _parts(iterator) if isinstance(part, Iterator)]


def _parts(iterator: Any) -> list[Any]:
    """What an iterator is made of."""
    try:
        parts = iterator.__reduce__()[1:]
    except (TypeError, AttributeError):
        parts = [] if isinstance(iterator, GeneratorType) else [tuple(gc.get_referents(iterator))]
    return [part for group in parts if isinstance(group, tuple) for part in group]


def runs_code(iterator: Any) -> bool:
    """Whether the steps of an iterator run code of the program's: they do what they do where it goes on."""
    kinds = GeneratorType, map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile
    if isinstance(iterator, kinds):
        return True
    return any(map(runs_code, _iterators_inside(iterator))) if type(iterator) in (zip, enumerate) else False


def gone_through(things: Iterable[Any]) -> list[Any]:
    """Things, with what they take their items from in the place of iterators that are of one kind each."""
    found = []
    waiting = [(thing, False) for thing in things]
    for thing, is_of_a_kind in waiting:
        if type(thing) is Alternatives:
            waiting += ((option, True) for option in thing.options.values())
        elif is_of_a_kind and is_iterator(thing):
            parts = _parts(thing) if isinstance(thing, Iterator) else gc.get_referents(thing)
            waiting += ((part, True) for part in parts)
        else:
            found.append(thing)
    return found


def with_inner(iterator: Any) -> Iterator[Any]:
    """An iterator, those that it takes its items from, those that these take theirs from."""
    yield iterator
    for part in _iterators_inside(iterator):
        yield from with_inner(part)
