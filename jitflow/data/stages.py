"""The stages of a pipeline: each gives the elements of one pass, from any element on.

What flows from stage to stage are *promises*, functions without arguments that make an element. They are kept where
an element is needed: at the end, or by a filter. So a pipeline that is resumed, sharded or shuffled leaves out
elements without making them, and threads that make them ahead of time need to know nothing of stages.

A stage is *indexed* if it can say what its i-th element is without going through those before it. Sources with a length
and positions are, and so is whatever keeps positions. What comes in one order only (a file, a filter) is streamed:
going on in the middle means going through the promises in front of it.

Orders are drawn by Philox (Salmon and others, 2011) from the seed and the number of the pass, and so the same for the
same seed, in every process.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np

from jitflow.data.structure import stacked
from jitflow.errors import UserRuntimeError, UserTypeError

__all__ = ["Batches", "Filtered", "Mapped", "Part", "Prefetched", "Repeated", "Shuffled", "Source", "Stage"]

Promise = Callable[[], Any]


class Stage:
    """One stage; ``number`` is that of the pass, so that each pass has an order of its own."""

    indexed = False

    def length(self) -> float | None:
        """Elements of a pass; infinite where it does not end, None where nobody knows before."""
        return None

    def at(self, number: int, index: int) -> Any:
        """Make the element at an index, if the stage is `indexed`."""
        raise NotImplementedError

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        """Promises of the elements from ``start`` on."""
        length = self.length()
        assert self.indexed
        assert length is not None
        return (partial(self.at, number, index) for index in range(start, int(length)))


class Source(Stage):
    """An iterable, a sequence, or a function that makes an iterable for each pass."""

    def __init__(self, given: Any) -> None:
        if not (callable(given) or isinstance(given, Iterable) or _has_positions(given)):
            raise UserTypeError(
                f"a {type(given).__name__} is no source of elements",
                expected="an iterable, a sequence, or a function that makes an iterable",
            )
        self.given = given
        self.indexed = _has_positions(given)
        self._used = False

    def length(self) -> float | None:
        return len(self.given) if self.indexed else None

    def at(self, number: int, index: int) -> Any:
        return self.given[index]

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        if self.indexed:
            return super().stream(number, start)
        elements = iter(self.given() if callable(self.given) else self.given)
        if elements is self.given:
            if self._used:
                raise UserRuntimeError(
                    f"a {type(elements).__name__} gives its elements once, and it has given them",
                    mend="make a dataset of a list, or of a function that makes an iterator for each pass",
                )
            self._used = True
        return (partial(_itself, element) for element in islice(elements, start, None))


class Mapped(Stage):
    """A function of each element."""

    def __init__(self, inner: Stage, function: Callable[[Any], Any]) -> None:
        self.inner, self.function, self.indexed = inner, function, inner.indexed

    def length(self) -> float | None:
        return self.inner.length()

    def at(self, number: int, index: int) -> Any:
        return self.function(self.inner.at(number, index))

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        return (partial(self._make, promise) for promise in self.inner.stream(number, start))

    def _make(self, promise: Promise) -> Any:
        return self.function(promise())


class Filtered(Stage):
    """The elements for which a predicate is true; to know that, they are made."""

    def __init__(self, inner: Stage, predicate: Callable[[Any], Any]) -> None:
        self.inner, self.predicate = inner, predicate

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        return islice(filter(None, map(self._kept, self.inner.stream(number, 0))), start, None)

    def _kept(self, promise: Promise) -> Promise | None:
        """The element if it stays. One that cannot be made or asked about has a place: nobody may leave it out."""
        try:
            element = promise()
            return partial(_itself, element) if self.predicate(element) else None
        except Exception as error:
            return partial(_raised, error)


class Part(Stage):
    """Elements ``start, start + step, ...`` in front of ``stop``."""

    def __init__(self, inner: Stage, start: int, stop: int | None, step: int) -> None:
        self.inner, self.indexed = inner, inner.indexed
        self.start, self.stop, self.step = start, stop, step

    def length(self) -> float | None:
        inner = self.inner.length() if self.stop != self.start else 0
        if inner is None or (inner == math.inf and self.stop is None):
            return inner
        stop = inner if self.stop is None else min(inner, self.stop)
        return max(0, math.ceil((stop - self.start) / self.step))

    def at(self, number: int, index: int) -> Any:
        return self.inner.at(number, self.start + index * self.step)

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        first = self.start + start * self.step
        count = None if self.stop is None else max(0, self.stop - first)
        return islice(self.inner.stream(number, first), 0, count, self.step)


class Repeated(Stage):
    """Pass after pass, ``times`` of them; None for no end."""

    def __init__(self, inner: Stage, times: int | None) -> None:
        self.inner, self.times = inner, times
        length = inner.length()
        self.indexed = inner.indexed and length is not None and 0 < length < math.inf

    def length(self) -> float | None:
        inner = self.inner.length()
        if inner == 0 or self.times == 0:
            return 0
        if inner is None:  # it may have no elements
            return None
        return math.inf if self.times is None else inner * self.times

    def at(self, number: int, index: int) -> Any:
        turn, place = divmod(index, int(self.inner.length() or 1))
        return self.inner.at(self._pass(number, turn), place)

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        length = self.inner.length()
        if length is None or not 0 < length < math.inf:
            return islice(self._passes(number, 0, 0), start, None)
        return self._passes(number, *divmod(start, int(length)))

    def _passes(self, number: int, turn: int, place: int) -> Iterator[Promise]:
        while self.times is None or turn < self.times:
            empty = place == 0
            for promise in self.inner.stream(self._pass(number, turn), place):
                empty = False
                yield promise
            if empty:
                return
            turn, place = turn + 1, 0

    def _pass(self, number: int, turn: int) -> int:
        """The number of a turn, another one in each pass of what an endless repetition is a part of, too."""
        return (number << 64) + turn if self.times is None else number * self.times + turn


class Shuffled(Stage):
    """Another order in each pass: of all elements where they have positions, else out of a buffer."""

    def __init__(self, inner: Stage, seed: int, buffer: int) -> None:
        length = inner.length()
        self.inner, self.seed, self.buffer = inner, seed, buffer
        self.indexed = inner.indexed and length is not None and length < math.inf
        self._order = lru_cache(maxsize=2)(self._draw_order)

    def length(self) -> float | None:
        return self.inner.length()

    def at(self, number: int, index: int) -> Any:
        return self.inner.at(number, int(self._order(number, int(self.inner.length() or 0))[index]))

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        if self.indexed:
            return super().stream(number, start)
        return islice(self._out_of_buffer(number), start, None)

    def _out_of_buffer(self, number: int) -> Iterator[Promise]:
        draw = self._random(number)
        promises = self.inner.stream(number, 0)
        waiting = list(islice(promises, self.buffer))
        for promise in promises:
            place = int(draw.integers(len(waiting)))
            chosen, waiting[place] = waiting[place], promise
            yield chosen
        yield from (waiting[place] for place in draw.permutation(len(waiting)))

    def __getstate__(self) -> dict[str, Any]:
        """What is drawn is drawn again by a copy."""
        return {name: value for name, value in vars(self).items() if name != "_order"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._order = lru_cache(maxsize=2)(self._draw_order)

    def _draw_order(self, number: int, length: int) -> Any:
        return self._random(number).permutation(length)

    def _random(self, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, number])))


class Batches(Stage):
    """So many elements as one, stacked along a new first axis; the last batch of a pass may have fewer."""

    def __init__(self, inner: Stage, size: int, partial_last: bool) -> None:
        self.inner, self.size, self.partial_last, self.indexed = inner, size, partial_last, inner.indexed

    def length(self) -> float | None:
        inner = self.inner.length()
        if inner is None or inner == math.inf:
            return inner
        return math.ceil(inner / self.size) if self.partial_last else inner // self.size

    def at(self, number: int, index: int) -> Any:
        length = self.inner.length()
        assert length is not None
        stop = min(length, (index + 1) * self.size)
        return stacked([self.inner.at(number, place) for place in range(index * self.size, int(stop))])

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        promises = self.inner.stream(number, start * self.size)
        while taken := list(islice(promises, self.size)):
            if len(taken) < self.size and not self.partial_last:
                return
            yield partial(_stack, taken)


class Prefetched(Stage):
    """The same elements, ``ahead`` of which are made before they are asked for, by ``threads`` in the background."""

    def __init__(self, inner: Stage, ahead: int, threads: int) -> None:
        self.inner, self.ahead, self.threads, self.indexed = inner, ahead, threads, inner.indexed

    def length(self) -> float | None:
        return self.inner.length()

    def at(self, number: int, index: int) -> Any:
        return self.inner.at(number, index)

    def stream(self, number: int, start: int) -> Iterator[Promise]:
        promises = self.inner.stream(number, start)
        source = ThreadPoolExecutor(1, thread_name_prefix="jitflow-data-source")
        makers = ThreadPoolExecutor(self.threads, thread_name_prefix="jitflow-data")

        def go_on() -> Future[Any] | None:
            promise = next(promises, None)
            return None if promise is None else makers.submit(promise)

        waiting = deque(source.submit(go_on) for _ in range(self.ahead))
        try:
            while (element := waiting.popleft().result()) is not None:
                waiting.append(source.submit(go_on))
                yield element.result
        finally:  # elements that were handed on may be asked for yet, by a buffer; all others are not
            source.shutdown(wait=False, cancel_futures=True)
            makers.shutdown(wait=False)
            for found in waiting:
                if found.done() and not found.cancelled() and found.exception() is None and (left := found.result()):
                    left.cancel()


def _stack(promises: Sequence[Promise]) -> Any:
    return stacked([promise() for promise in promises])


def _itself(element: Any) -> Any:
    return element


def _raised(error: Exception) -> Any:
    raise error


def _has_positions(given: Any) -> bool:
    return hasattr(given, "__getitem__") and hasattr(given, "__len__") and not hasattr(given, "keys")
