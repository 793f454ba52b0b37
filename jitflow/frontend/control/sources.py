"""What a loop runs over: ranges, arrays, indices, and ``zip``, ``enumerate`` and ``reversed`` of them.

What ``zip`` and its like give is an iterator in Python, which goes on where it was left.
"""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.control.steps import Source, Steps, python_int
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.characters import numbers_of
from jitflow.frontend.texts.traced import waits
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dims import Dim, maximum, minimum, product

__all__ = ["Once", "Product", "Rest", "Sequenced", "as_source", "is_open", "traced_enumerate", "traced_ndenumerate",
           "traced_ndindex", "traced_reversed", "traced_zip"]  # fmt: skip


class Items(Source):
    """The items of an array, along its first axis."""

    once = False

    def __init__(self, array: Any) -> None:
        if not array.ndim:
            raise located(UserTypeError("iteration over a 0-d array"))
        self.array = array
        self.count = self.span = current_trace().resolve(array.type.dims[0])

    def item(self, position: Any) -> Any:
        return self.array[position]


class Sequenced(Source):
    """The items of a list or tuple, which need the number of the position."""

    once = False

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self.count = self.span = len(items)

    def item(self, position: Any) -> Any:
        return self.items[position]


class Rest(Source):
    """The items of a source from a position on, which is not beyond its end."""

    once = False

    def __init__(self, source: Source, start: Dim) -> None:
        self.source, self.start = source, start
        self.count, self.span = source.count - start, source.span - start

    def item(self, position: Any) -> Any:
        return self.source.item(tracers.size_of(self.start) + position)


class Once(Rest):
    """The items of a list that an iterator of Python's gives, to be gone through once."""

    once = True

    def __init__(self, source: Source, kind: type | None = None) -> None:
        super().__init__(source, 0)
        self.stands_for = kind


class _Left(Rest):
    """What `next` has left of a source, which is gone through once."""

    def begin(self) -> None:
        self.source.begin()


class Enumerated(Source):
    stands_for = builtins.enumerate

    def __init__(self, source: Source, start: Any) -> None:
        self.source, self.start = source, start
        self.count, self.span = source.count, source.span

    def end(self) -> None:
        self.source.end()

    def item(self, position: Any) -> Any:
        return self.start + position, self.source.item(position)


class Zipped(Source):
    stands_for = builtins.zip

    def __init__(self, sources: Sequence[Source], strict: bool = False) -> None:
        self.sources, self._strict = sources, strict
        self.count = minimum(*(source.count for source in sources))
        self.span = sources[0].span if len({source.count for source in sources}) == 1 else self.count

    def require_end(self) -> None:
        if self._strict and len({source.count for source in self.sources}) > 1:
            raise located(UserNotImplementedError(
                "a loop over zip(..., strict=True) that may be left before its end",
                mend="compare the lengths in front of the loop, and leave out strict=True",
            ))  # fmt: skip

    def end(self) -> None:
        for source in self.sources:
            source.end()
        if self._strict:
            self._require_one_length()

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        if self._strict:
            self._require_one_length()

    def _require_one_length(self) -> None:
        """Raise behind the last item, as Python does: the first source to end says what is wrong with the others."""
        first, *others = (values.size_value(source.count) for source in self.sources)
        shortest = values.size_value(self.count)
        for is_longer in (True, False):
            for number, other in enumerate(others, 2):
                one, long = (first, other) if is_longer else (other, first)
                wrong = values.emit("logical_and", values.emit("equal", one, shortest),
                                    values.emit("greater", long, shortest))  # fmt: skip
                before = "argument 1" if number == 2 else f"arguments 1-{number - 1}"
                message = f"zip() argument {number} is {'longer' if is_longer else 'shorter'} than {before}"
                values.check(values.emit("logical_not", wrong), ValueError, message)

    def item(self, position: Any) -> Any:
        return tuple(source.item(position) for source in self.sources)


class Endless(Source):
    """``itertools.count(start, step)`` and ``itertools.repeat(thing)`` beside what comes to an end."""

    count = span = 1 << 62

    def __init__(self, item_at: Callable[[Any], Any]) -> None:
        self._item_at = item_at

    def item(self, position: Any) -> Any:
        return self._item_at(position)


def _endless(thing: Any) -> Source | None:
    reduced: Any = thing.__reduce__()[1] if type(thing) in (itertools.count, itertools.repeat) else ()
    if type(thing) is itertools.count:
        start, step = (*reduced, 1)[:2]
        return Endless(lambda position: start + position * step)
    return Endless(lambda position: reduced[0]) if len(reduced) == 1 else None


class Reversed(Source):
    def __init__(self, source: Source, kind: type) -> None:
        self.source, self.stands_for = source, kind
        self.count, self.span = source.count, source.span

    def begin(self) -> None:
        super().begin()
        self.source.begin()

    def end(self) -> None:
        self.source.end()

    def item(self, position: Any) -> Any:
        return self.source.item(tracers.size_of(self.span - 1) - position)


class Places(Source):
    """All indices of a shape, the last axis fastest: ``np.ndindex``."""

    stands_for = np.ndindex

    def __init__(self, dims: Sequence[Dim]) -> None:
        self.dims = tuple(dims)
        self.count = self.span = product(self.dims)

    def item(self, position: Any) -> Any:
        found: list[Any] = []
        rest = position
        for dim in self.dims[:0:-1]:
            size = tracers.size_of(maximum(dim, 1))  # where a size is 0, there is no item
            rest, place = rest // size, rest % size
            found.append(place)
        return (*([rest] if self.dims else []), *found[::-1])


class Product(Source):
    """``itertools.product``, the last of its operands fastest."""

    def __init__(self, pools: Sequence[Sequence[Any]]) -> None:
        self.pools = [_as_range(pool) for pool in pools]
        self.turns = prod(len(pool) for pool in pools)
        self.count = self.span = self.turns

    def item(self, position: Any) -> Any:
        found: list[Any] = []
        rest = position
        for pool in self.pools[:0:-1]:
            rest, place = rest // len(pool), rest % len(pool)
            found.append(_item_of(pool, place))
        return (*(_item_of(pool, rest) for pool in self.pools[:1]), *found[::-1])


def _as_range(pool: Sequence[Any]) -> Sequence[Any]:
    """The integers of a range as that range, whose items a position can be computed of."""
    if len(pool) < 2 or any(type(item) is not int for item in pool) or pool[0] == pool[1]:
        return pool
    found = range(pool[0], pool[-1] + (1 if pool[1] > pool[0] else -1), pool[1] - pool[0])
    return found if len(found) == len(pool) and all(map(operator.eq, found, pool)) else pool


def _item_of(pool: Sequence[Any], place: Any) -> Any:
    return pool.start + place * pool.step if isinstance(pool, range) else pool[place]


class Placed(Source):
    """The indices of an array with its elements: ``np.ndenumerate``."""

    stands_for = np.ndenumerate

    def __init__(self, array: Any) -> None:
        self.array = array
        self.places = Places([current_trace().resolve(dim) for dim in array.type.dims])
        self.count, self.span = self.places.count, self.places.span

    def item(self, position: Any) -> Any:
        place = self.places.item(position)
        return place, self.array[place]


def as_source(thing: Any) -> Source | None:
    """The source that a loop over ``thing`` has, None if Python iterates it: lists, dicts, generators."""
    if isinstance(thing, Source):
        source = thing.gone_through()
        is_whole = type(source.taken) is int and source.taken == 0
        return source if is_whole else _Left(source, minimum(tracers.dim_of(source.taken), source.count))
    if type(thing) is TracedText and numbers_of(thing) is None and waits(thing):
        return as_source(surface.program_text(thing))
    if type(thing) is range:
        return Steps(thing.start, thing.stop, thing.step)
    if type(thing) is Range:
        return thing.steps
    return Items(thing) if isinstance(thing, tracers.ArrayTracer) else None


def is_open(thing: Any) -> bool:
    """Whether it is an iterator of which only the running program knows how many items it gives."""
    return isinstance(thing, Source) and thing.once and current_trace().is_open(thing.gone_through().count)


def _needed(thing: Any) -> Source | None:
    source = as_source(thing)
    return Sequenced(thing) if source is None and isinstance(thing, list | tuple) else source


# -- Python's functions -------------------------------------------------------------------------------------


def traced_enumerate(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    source = as_source(iterable)
    if source is None:
        return builtins.enumerate(iterable, start)
    source.begin()
    return Enumerated(source, start if type(start) is int else python_int(start))


def traced_zip(*iterables: Any, strict: bool = False) -> Any:
    """`zip`."""
    if not any(as_source(iterable) is not None for iterable in iterables):
        return builtins.zip(*iterables, strict=strict)
    sources = [_endless(iterable) or _needed(iterable) for iterable in iterables]
    found = [source for source in sources if source is not None]
    if len(found) < len(sources):
        return builtins.zip(*iterables, strict=strict)
    for source in found:
        source.begin()
    return Zipped(found, strict)


def traced_ndindex(*shape: Any) -> Any:
    """`numpy.ndindex`."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    found = [tracers.as_size(pinned(size)) for size in sizes]
    if not any(isinstance(size, tracers.Tracer) for size in found):
        return np.ndindex(*found)
    return Places([tracers.dim_of(size) for size in found])


def traced_ndenumerate(array: Any) -> Any:
    """`numpy.ndenumerate`."""
    return Placed(array) if isinstance(array, tracers.ArrayTracer) else np.ndenumerate(array)


def traced_reversed(sequence: Any) -> Any:
    """`reversed`."""
    source = as_source(sequence)
    if source is None:
        return builtins.reversed(sequence)
    plain = range(0) if isinstance(sequence, range | Range) else () if isinstance(sequence, tracers.Tracer) else []
    return Reversed(source, type(builtins.reversed(plain)))
