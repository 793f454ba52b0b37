"""`map`, `functools.reduce` and `itertools` over things of which only the running program knows how many there are.

What gives an item for each position is a source, as `zip` is. What has to remember something is a list that is made at
once, or goes from one choice of places to the next (`arrangements`). All else is left to Python.
"""

from __future__ import annotations

import builtins
import functools
import heapq
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.arrays.runtime_sizes import bind, integer
from jitflow.frontend.containers.lists import of_numbers
from jitflow.frontend.containers.made_containers import begun_list
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.identity import within_reach
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.sources import as_source
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.control.trying import has_written
from jitflow.frontend.control.woven import Woven
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.python.arrangements import COUNTED, combinations, list_of, once, permutations, with_replacement
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.dtypes import I64

__all__ = ["ITERATED", "is_running", "map_", "source_of"]


def is_running(thing: Any) -> bool:
    """Whether only the running program knows how many items there are."""
    if active_trace() is None:
        return False
    if isinstance(thing, Recorded | Woven):
        return True
    source = as_source(thing)
    if type(thing) is list and any(isinstance(item, Recorded) for item in thing):
        return True
    return source is not None and not isinstance(source.count, int)


def source_of(thing: Any) -> Source:
    """What gives an item for each position."""
    if isinstance(woven := thing, Woven):
        thing = _at_once("list(...)", lambda found: own_loop(woven, found.append), woven)
    if isinstance(thing, Recorded) and not isinstance(thing, Source):
        thing = list_of(thing)
    if isinstance(thing, list | tuple):
        thing = of_numbers([*thing])
    source = as_source(thing)
    if source is None:
        raise located(UserNotImplementedError(
            "an iterator of Python's beside things of which only the running program knows how many there are",
            mend="make a list of it before: list(...)",
        ))  # fmt: skip
    source.begin()
    return source


def _at_once(name: str, fill: Callable[[Any], Any], *but: Any) -> Any:
    """A list of all items, where Python takes them one by one: raises if somebody would notice that."""
    trace, reach = current_trace(), within_reach(but=but)
    contents, scope, first = trace.state(Stores).contents(), trace.scope, len(trace.scope.builder.ops)
    found = begun_list(name)
    fill(found)
    if reach.changed() or trace.state(Stores).has_changed(contents) or has_written(scope, first):
        raise located(UserNotImplementedError(
            "an iterator that is made at once, of a function that changes something",
            mend="write it as a loop, or make a list of it before: list(...)",
        ))  # fmt: skip
    return found


# -- an item for each position ----------------------------------------------------------------------------------


class _Several(Source):
    """What is made of the items of sources, as many as the shortest has."""

    def __init__(self, sources: Sequence[Source], count: Dim | None = None) -> None:
        self.sources = sources
        self.count = self.span = minimum(*(source.count for source in sources)) if count is None else count

    def end(self) -> None:
        for source in self.sources:
            source.end()


class _Mapped(_Several):
    def __init__(self, function: Callable[..., Any], sources: Sequence[Source], *, spread: bool = False) -> None:
        super().__init__(sources)
        self._function, self._spread = function, spread

    def item(self, position: Any) -> Any:
        given = [source.item(position) for source in self.sources]
        return self._function(*(given[0] if self._spread else given))


class _Pairs(_Several):
    """`itertools.pairwise`."""

    def item(self, position: Any) -> Any:
        (source,) = self.sources
        return source.item(position), source.item(position + 1)


class _Chained(_Several):
    def item(self, position: Any) -> Any:
        first, *others = self.sources
        return self._from(first, others, position)

    def _from(self, first: Source, others: Sequence[Source], position: Any) -> Any:
        if not others:
            return first.item(position)
        count = tracers.size_of(first.count)
        return choose(position < count, lambda: first.item(position),
                      lambda: self._from(others[0], others[1:], position - count))  # fmt: skip


class _Longest(_Several):
    def __init__(self, sources: Sequence[Source], filling: Any) -> None:
        super().__init__(sources, maximum(*(source.count for source in sources)))
        self._filling = filling

    def item(self, position: Any) -> Any:
        return tuple(
            choose(position < tracers.size_of(source.count), partial(source.item, position), lambda: self._filling)
            for source in self.sources
        )


class _Sliced(_Several):
    """`itertools.islice`."""

    def __init__(self, source: Source, start: Any, step: int, count: Dim) -> None:
        super().__init__([source], count)
        self._start, self._step = start, step

    def item(self, position: Any) -> Any:
        return self.sources[0].item(self._start + position * self._step)


class _Product(_Several):
    """`itertools.product`, the last of its operands fastest."""

    def __init__(self, sources: Sequence[Source]) -> None:
        count: Dim = 1
        for source in sources:
            count = count * source.count
        super().__init__(sources, count)

    def item(self, position: Any) -> Any:
        found: list[Any] = []
        for source in reversed(self.sources[1:]):
            size = tracers.size_of(maximum(source.count, 1))
            found.append(source.item(position % size))
            position = position // size
        return (self.sources[0].item(position), *found[::-1])


def _map(function: Any, *items: Any) -> Any:
    return _Mapped(function, [*builtins.map(source_of, items)])


def _starmap(function: Any, items: Any) -> Any:
    return _Mapped(function, [source_of(items)], spread=True)


def _pairwise(items: Any) -> Any:
    source = source_of(items)
    return _Pairs([source], maximum(source.count - 1, 0))


def _chain(*items: Any) -> Any:
    sources = [*builtins.map(source_of, items)]
    count: Dim = 0
    for source in sources:
        count = count + source.count
    return _Chained(sources, count)


def _zip_longest(*items: Any, fillvalue: Any = None) -> Any:
    return _Longest([*builtins.map(source_of, items)], fillvalue)


def _islice(items: Any, *bounds: Any) -> Any:
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, None)[:3]
    start, step = 0 if start is None else start, 1 if step is None else step
    if type(step) is not int or step < 1:
        raise located(UserNotImplementedError("itertools.islice by a step that only the running program knows"))
    source = source_of(items)
    first, last = _size(start), source.count if stop is None else minimum(_size(stop), source.count)
    return _Sliced(source, tracers.size_of(first), step, (maximum(last - first, 0) + (step - 1)) // step)


def _size(bound: Any) -> Dim:
    """A bound that may not be negative."""
    if isinstance(bound, int | tracers.SizeTracer):
        return tracers.dim_of(bound)
    number = integer(bound)
    message = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
    values.check(values.emit("greater_equal", number, values.constant(0, I64)), ValueError, message)
    return bind(number, "count")


def _product(*items: Any, repeat: Any = 1) -> Any:
    return _Product([source_of(each) for _ in range(repeat) for each in items])


# -- lists ------------------------------------------------------------------------------------------------------


def _iterator(name: str, fill: Callable[[Any], Any]) -> Any:
    """What an iterator of Python's gives, in a list that is made at once."""
    return once(_at_once(name, fill))


def _accumulate(items: Any, func: Any = None, *, initial: Any = None) -> Any:
    def fill(found: Any) -> None:
        found.extend([] if initial is None else [initial])
        programs.accumulated(found, items, operator.add if func is None else func)

    return _iterator("accumulate(...)", fill)


def _groupby(items: Any, key: Any = None) -> Any:
    return _iterator("groupby(...)", lambda found: programs.grouped(found, items, key or (lambda item: item)))


def _from_iterable(items: Any) -> Any:
    return _iterator("chain.from_iterable(...)", lambda found: own_loop(items, found.extend))


def _best(reverse: bool, number: Any, items: Any, key: Any = None) -> Any:
    """`heapq.nsmallest` and `heapq.nlargest`."""
    return surface.sorted_container(items, key, reverse)[:number]


def _merge(*lists: Any, key: Any = None, reverse: Any = False) -> Any:
    """`heapq.merge`: of two, then of what comes of that and the next one."""

    def fill(found: Any, lists: Sequence[Any] = lists) -> None:
        *others, last = lists
        first = others[0] if others else ()
        if len(others) > 1:
            first = begun_list(f"the first {len(others)} of heapq.merge(...)")
            fill(first, others)
        other = list_of(last, f"number {len(lists)} of heapq.merge(...)")
        programs.merged(found, first, other, key or (lambda item: item), reverse)

    return _iterator("heapq.merge(...)", fill)


def _reduce(function: Any, items: Any, *initial: Any) -> Any:
    source = source_of(items)
    if not initial:
        some = values.emit("greater", values.size(source.count), values.size(0))
        values.check(some, TypeError, "reduce() of empty iterable with no initial value")
    total = initial[0] if initial else source.item(0)

    def turn(position: Any) -> None:
        nonlocal total
        total = function(total, source.item(position))

    own_loop(traced_range(0 if initial else 1, tracers.size_of(source.count)), turn, "total")
    source.end()
    return total


_TAKING_ALL = (functools.reduce, heapq.nlargest, heapq.nsmallest)


def _where_running(function: Any, handler: Any, kind: Any = None) -> Any:
    """A function, which makes iterators of a class, that is Python's unless it is given something of the run."""
    kind = function if kind is None else kind
    plain = COUNTED.get(function, function)

    @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
    def call(*args: Any, **keywords: Any) -> Any:
        if function in _TAKING_ALL:
            args = tuple(list_of(one) if is_stepwise(one) else one for one in builtins.map(iterator_of, args))
        if not any(builtins.map(is_running, args)):
            return plain(*args, **keywords)
        found = handler(*args, **keywords)
        if isinstance(found, Source) and isinstance(kind, type):
            found.stands_for = kind
        return found

    return call


_HANDLERS: Mapping[Any, Callable[..., Any]] = {
    heapq.nlargest: partial(_best, True),
    heapq.nsmallest: partial(_best, False),
    heapq.merge: _merge,
    functools.reduce: _reduce,
    itertools.accumulate: _accumulate,
    itertools.combinations: combinations,
    itertools.combinations_with_replacement: with_replacement,
    itertools.groupby: _groupby,
    itertools.islice: _islice,
    itertools.pairwise: _pairwise,
    itertools.permutations: permutations,
    itertools.product: _product,
    itertools.starmap: _starmap,
    itertools.zip_longest: _zip_longest,
}
_chained = _where_running(itertools.chain, _chain)
_chained.from_iterable = _where_running(itertools.chain.from_iterable, _from_iterable, itertools.chain)
map_ = _where_running(builtins.map, _map)
ITERATED: dict[Any, Callable[..., Any]] = {
    function: _where_running(function, handler) for function, handler in _HANDLERS.items()
} | {itertools.chain: _chained}
"""What runs in the place of functions of `functools` and `itertools`."""
