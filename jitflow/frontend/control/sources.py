"""What a loop runs over: ranges, arrays, indices, and ``zip``, ``enumerate`` and ``reversed`` of them.

A source knows how many items it has and gives the item at a position, which may be the position of a rolled loop. It
can also be iterated by Python itself, which takes its length as a number. What ``zip`` and its like give is an iterator
in Python, which goes on where it was left.
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
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.arrays.runtime_sizes import bind, integer
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.characters import numbers_of
from jitflow.frontend.texts.traced import waits
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, minimum, product
from jitflow.ir.dtypes import I64, DType

__all__ = ["Product", "Range", "Rest", "Sequenced", "Source", "as_source", "is_integer", "traced_enumerate",
           "traced_ndenumerate", "traced_ndindex", "traced_range", "traced_reversed", "traced_zip"]  # fmt: skip


class Source:
    """``count`` items; ``span`` is the dim that the count is where there is an item at all."""

    count: Dim
    span: Dim
    once = True
    used = False

    def gone_through(self) -> Source:
        """What a loop over it goes through."""
        return self

    def end(self) -> None:
        """The loop that went through the items has been traced."""

    def require_end(self) -> None:
        """The loop may be left before its end. Raises where that is refused."""

    def begin(self) -> None:
        """The program goes through the items. Raises where it has done so before, and Python would go on from there."""
        if self.once and self.used:
            raise located(
                UserNotImplementedError(
                    "an iterator that the program has gone through, or into, before",
                    mend="make it anew where it is used: write zip(...) or enumerate(...) in the head of the loop",
                )
            )
        self.used = True

    def item(self, position: Any) -> Any:
        """The item at a position: an int or a size below the count."""
        raise NotImplementedError

    def __len__(self) -> int:
        return current_trace().fix(self.count, "the length of a range")

    def __iter__(self) -> Iterator[Any]:
        self.begin()
        items = self.gone_through()
        turns = current_trace().fix_turns(items.count, "an iteration by Python")
        return iter([items.item(position) for position in range(turns)])

    def __getitem__(self, position: Any) -> Any:
        return self.item(position)


class Range(Source, ArraySource):
    """``range(start, stop, step)`` of sizes and numbers."""

    once = False

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.step = start, step
        known = [tracers.dim_of(item) if _is_size(item) else None for item in (start, stop, step)]
        first, last, pace = known
        if pace is None:
            self.count = self.span = _count_of_steps(*(integer(item) for item in (start, stop, step)))
            return
        if pace == 0:
            raise located(UserValueError("range() arg 3 must not be zero"))
        trace = current_trace()
        if not isinstance(pace, int):
            nonzero = values.emit("not_equal", values.size(pace), values.size(0))
            values.check(nonzero, ValueError, "range() arg 3 must not be zero")
        forward = not isinstance(pace, int) or pace > 0
        if first is not None and last is not None:
            span = last - first if forward else first - last
        else:
            one, other = (integer(item) for item in (start, stop))
            number = values.emit("subtract", other, one) if forward else values.emit("subtract", one, other)
            span = bind(values.emit("maximum", number, values.constant(0, I64)), "count")
        self.count, self.span = trace.not_negative(span), span
        if pace not in (1, -1):
            width = pace if forward else -pace
            self.count = self.span = (self.count + (width - 1)) // width

    def item(self, position: Any) -> Any:
        offset = position if _is_one(self.step) else position * self.step
        if not isinstance(self.start, tracers.Tracer) or _is_size(self.start) or not _is_size(offset):
            return self.start + offset
        numbers = [values.as_scalar(tracers.lift(_python_int(part))) for part in (self.start, offset)]
        return tracers.wrap(values.emit("add", *numbers))  # which comes before the stop, so it fits

    def as_array(self, dtype: DType | None = None) -> Any:
        found = tracers.wrap(values.iota(I64, (self.count,)), owned=True)
        return np.add(self.start, found * self.step, dtype=np.int64)


def _count_of_steps(start: Value, stop: Value, step: Value) -> Dim:
    """How many steps there are where only the running program knows the step, and whether it leads up or down."""
    zero, one = values.constant(0, I64), values.constant(1, I64)
    values.check(values.emit("not_equal", step, zero), ValueError, "range() arg 3 must not be zero")
    up = values.emit("greater", step, zero)
    ahead = [values.emit("subtract", *pair) for pair in ((stop, start), (start, stop))]
    width = values.emit("maximum", values.emit("absolute", step), one)
    last = values.emit("subtract", values.emit("select", up, *ahead), one)
    count = values.emit("add", values.emit("floor_divide", last, width), one)
    return bind(values.emit("maximum", count, zero), "count")


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


class Enumerated(Source):
    def __init__(self, source: Source, start: Any) -> None:
        self.source, self.start = source, start
        self.count, self.span = source.count, source.span

    def end(self) -> None:
        self.source.end()

    def item(self, position: Any) -> Any:
        return self.start + position, self.source.item(position)


class Zipped(Source):
    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.count = minimum(*(source.count for source in sources))
        self.span = sources[0].span if len({source.count for source in sources}) == 1 else self.count

    def end(self) -> None:
        for source in self.sources:
            source.end()

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
    def __init__(self, source: Source) -> None:
        self.source = source
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
        return thing.gone_through()
    if type(thing) is TracedText and numbers_of(thing) is None and waits(thing):
        return as_source(surface.program_text(thing))
    if type(thing) is range:
        return Range(thing.start, thing.stop, thing.step)
    return Items(thing) if isinstance(thing, tracers.ArrayTracer) else None


def _needed(thing: Any) -> Source | None:
    source = as_source(thing)
    return Sequenced(thing) if source is None and isinstance(thing, list | tuple) else source


def _is_size(item: Any) -> bool:
    kind: type = type(item)  # a traced number says that it is an int
    return issubclass(kind, int | tracers.SizeTracer)


def _is_one(step: Any) -> bool:
    return not isinstance(step, tracers.Tracer) and step == 1


# -- Python's functions -------------------------------------------------------------------------------------


def traced_range(*bounds: Any) -> Any:
    """`range`."""
    sizes = [bound.each(_python_int) if type(bound) is tracers.Alternatives else _bound(bound) for bound in bounds]
    if not any(isinstance(size, tracers.Tracer) for size in sizes):
        return builtins.range(*sizes)
    start, stop, step = (0, *sizes, 1) if len(sizes) == 1 else (*sizes, 1)[:3]
    return Range(start, stop, step)


def _bound(bound: Any) -> Any:
    size = tracers.as_size(pinned(bound))
    if not isinstance(size, int) and not is_integer(size):
        kind = size.__class__.__name__
        raise located(UserTypeError(f"'{kind}' object cannot be interpreted as an integer"))
    is_number = isinstance(size, tracers.Tracer) and not _is_size(size)
    return tracers.wrap(as_weak(values.as_scalar(tracers.lift(size)), I64)) if is_number else size


def _python_int(bound: Any) -> Any:
    """Python's int, whatever integer it is."""
    return tracers.wrap(as_weak(values.as_scalar(tracers.lift(_bound(bound))), I64))


def is_integer(thing: Any) -> bool:
    """Whether it is an integer, known or of the running program."""
    if not isinstance(thing, tracers.Tracer):
        return type(thing) is int
    return bool(values.dtype_of_value(tracers.lift(thing)).is_integer)


def traced_enumerate(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    source = as_source(iterable)
    if source is None:
        return builtins.enumerate(iterable, start)
    source.begin()
    return Enumerated(source, start)


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
    return Zipped(found)


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
    return builtins.reversed(sequence) if source is None else Reversed(source)
